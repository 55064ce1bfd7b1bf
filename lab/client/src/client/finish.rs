//! Ends requests, and tells their owner how.

use super::{Client, Pending};
use crate::event::{ClientEvent, Ended, EventKind, Failure};
use crate::http1::sink::Sink;
use crate::ids::{ConnectionId, RequestId};
use crate::request::{Form, Request, Stage};
use prony_model::Nanos;
use prony_model::program::call::{CallBytes, CallFault, CallTimes, Peer};
use std::mem;

impl<C: Clone> Client<'_, C> {
    /// The response is whole.
    pub(super) fn finish(&mut self, id: RequestId, status: u16, now: Nanos) {
        let Some(request) = self.requests.get_mut(id) else { return };
        request.end_times(now);
        request.stage = Stage::Finished(status);
        self.pending.push_back(Pending::Request(id));
    }

    pub(super) fn give_up(&mut self, id: RequestId, fault: CallFault) {
        self.fail(id, &Failure::of(fault));
    }

    /// The request has failed, and with it those behind it in a pipeline.
    pub(super) fn fail(&mut self, id: RequestId, failure: &Failure) {
        let mut failing = Some(id);
        while let Some(id) = failing {
            let Some(request) = self.requests.get_mut(id).filter(|request| !request.is_over()) else {
                return;
            };
            failing = request.next.take();
            self.detach(id);
            if let Some(request) = self.requests.get_mut(id) {
                request.stage = Stage::Failing(Box::new(failure.clone()));
                self.failed.push_back(Pending::Request(id));
            }
        }
    }

    /// Nothing more is wanted of a request or a WebSocket, and nothing is told of it any more. A connection that carried it
    /// alone is closed.
    pub fn abandon(&mut self, id: RequestId) {
        let mut abandoned = Some(id);
        while let Some(id) = abandoned {
            let Some(request) = self.requests.get_mut(id) else {
                if let Some(connection) = self.requests.frames(id).and_then(|frames| frames.connection) {
                    self.close(connection);
                }
                return self.release(id);
            };
            abandoned = request.next.take();
            match request.stage {
                Stage::WebSocket => self.leave_websocket(id),
                _ => self.detach(id),
            }
            self.release(id);
        }
    }

    /// Takes a request from its connection; that goes on where others use it.
    fn detach(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(id) else { return };
        if matches!(request.stage, Stage::Resolving) {
            self.resolving.retain(|other| *other != id);
        }
        let is_stream = mem::take(&mut request.is_stream);
        let Some(connection) = request.connection.take() else { return };
        if is_stream {
            self.cancel_stream(connection, id);
        } else {
            self.close(connection);
        }
    }

    /// Ends a request after its last event.
    pub fn release(&mut self, id: RequestId) {
        let Some(request) = self.requests.release(id) else { return };
        if !matches!(request.sink, Sink::Ignore) {
            mem::take(&mut request.sink).recycle(&mut self.spare);
        }
        request.end();
    }

    /// What is known of a request that has come to its end, which is over with this.
    pub fn take(&mut self, id: RequestId) -> Option<Ended<C>> {
        let request = self.requests.get_mut(id)?;
        let context = request.context.take()?;
        let (times, peer, bytes) = (request.times, request.peer, request.bytes);
        let (sink, trailers) = (mem::take(&mut request.sink), mem::take(&mut request.trailers));
        self.release(id);
        Some(Ended { context, times, peer, bytes, sink, trailers })
    }

    /// How a WebSocket was opened, and the response that did it. Of one whose owner reads its frames nothing else is kept.
    pub fn take_opening(&mut self, id: RequestId) -> Option<(CallTimes, Peer, Sink)> {
        let request = self.requests.get_mut(id)?;
        let opening = (request.times, request.peer, mem::take(&mut request.sink));
        if request.options.is_streamed {
            self.requests.turn_to_frames(id);
        }
        Some(opening)
    }

    /// What its owner gave with a request or a WebSocket.
    pub fn context(&self, id: RequestId) -> Option<&C> {
        match self.requests.get(id) {
            Some(request) => request.context(),
            None => self.requests.frames(id)?.context.as_ref(),
        }
    }

    /// A request whose last event has not been handled yet, or an open WebSocket.
    pub fn get(&self, id: RequestId) -> Option<&Request<C>> {
        self.requests.get(id)
    }

    /// The bytes of a WebSocket since they were last taken.
    pub fn take_bytes_of(&mut self, id: RequestId) -> CallBytes {
        if let Some(frames) = self.requests.frames_mut(id) {
            return CallBytes { sent: 0, received: mem::take(&mut frames.received_bytes) };
        }
        self.requests.get_mut(id).map(|request| mem::take(&mut request.bytes)).unwrap_or_default()
    }

    // ---- tell

    /// The event that is pending; nothing where it is of something that was abandoned.
    pub(super) fn tell(&mut self, pending: Pending) -> Option<ClientEvent> {
        match pending {
            Pending::Request(id) => self.tell_request(id),
            Pending::Messages(id) => self.tell_message(id),
            Pending::Ended(id) => self.tell_ended(id),
            Pending::Received(id, at) => self.tell_received(id, at),
        }
    }

    fn tell_request(&mut self, id: RequestId) -> Option<ClientEvent> {
        let Some(request) = self.requests.get_mut(id) else {
            let failure = self.requests.frames_mut(id)?.failure.take()?;
            return Some(ClientEvent { request: id, kind: EventKind::Lost(*failure) });
        };
        let is_websocket = request.accept.is_some();
        let kind = match &mut request.stage {
            Stage::Finished(status) if is_websocket => EventKind::Refused(*status),
            Stage::Finished(_) if request.form == Form::Connection => EventKind::Opened,
            Stage::Finished(status) => EventKind::Response(*status),
            Stage::WebSocket => EventKind::Opened,
            stage @ Stage::Failing(_) => {
                let Stage::Failing(failure) = mem::replace(stage, Stage::Finished(0)) else { return None };
                let now = self.clock.now();
                request.end_times(now);
                if is_websocket { EventKind::Lost(*failure) } else { EventKind::Failed(*failure) }
            }
            Stage::Resolving | Stage::Opening | Stage::Underway => return None,
        };
        Some(ClientEvent { request: id, kind })
    }

    pub(super) fn request_of(&mut self, connection: ConnectionId) -> Option<(RequestId, &mut Request<C>)> {
        let id = self.connections.get(connection)?.carries?;
        Some((id, self.requests.get_mut(id)?))
    }
}
