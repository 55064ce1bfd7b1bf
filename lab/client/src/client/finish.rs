//! Ends requests, and tells their owner how.

use super::{Client, Pending};
use crate::event::{ClientEvent, EventKind, Failure, Finished};
use crate::ids::{ConnectionId, RequestId};
use crate::request::{Request, Stage};
use prony_model::Nanos;
use prony_model::program::call::{CallBytes, CallFault};
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
                request.stage = Stage::Failing(failure.clone());
                self.failed.push_back(Pending::Request(id));
            }
        }
    }

    /// Nothing more is wanted of a request or a WebSocket, and nothing is told of it any more. A connection that carried it
    /// alone is closed.
    pub fn abandon(&mut self, id: RequestId) {
        let mut abandoned = Some(id);
        while let Some(id) = abandoned {
            let Some(request) = self.requests.get_mut(id) else { return };
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

    fn release(&mut self, id: RequestId) {
        if let Some(request) = self.requests.release(id) {
            mem::take(&mut request.sink).recycle(&mut self.spare);
            request.end();
        }
    }

    // ---- tell

    /// The event that is pending; nothing where it is of something that was abandoned.
    pub(super) fn tell(&mut self, pending: Pending) -> Option<ClientEvent<C>> {
        match pending {
            Pending::Request(id) => self.tell_request(id),
            Pending::Messages(id) => self.tell_message(id),
            Pending::Ended(id) => self.tell_ended(id),
        }
    }

    fn tell_request(&mut self, id: RequestId) -> Option<ClientEvent<C>> {
        let now = self.requests.get(id).filter(|request| matches!(request.stage, Stage::Failing(_)));
        let now = now.map(|_| self.now());
        let request = self.requests.get_mut(id)?;
        let is_websocket = request.accept.is_some();
        let (bytes, times, peer) = (mem::take(&mut request.bytes), request.times, request.peer);
        let (status, is_open) = match &mut request.stage {
            Stage::Finished(status) => (*status, false),
            Stage::WebSocket => (101, true),
            stage @ Stage::Failing(_) => {
                let Stage::Failing(failure) = mem::take(stage) else { return None };
                request.end_times(now.unwrap_or_default());
                let times = request.times;
                let kind = if is_websocket {
                    EventKind::Lost { failure, times }
                } else {
                    EventKind::Failed { failure, times, peer }
                };
                return self.last_event(id, bytes, kind);
            }
            Stage::Resolving | Stage::Opening | Stage::Underway => return None,
        };
        let finished = Finished { status, sink: mem::take(&mut request.sink), times, peer };
        if is_open {
            let context = request.context.clone()?;
            return Some(ClientEvent { request: id, context, bytes, kind: EventKind::Opened(finished) });
        }
        let kind = if is_websocket { EventKind::Refused(finished) } else { EventKind::Response(finished) };
        self.last_event(id, bytes, kind)
    }

    /// Nothing follows for the request.
    pub(super) fn last_event(
        &mut self,
        id: RequestId,
        bytes: CallBytes,
        kind: EventKind,
    ) -> Option<ClientEvent<C>> {
        let context = self.requests.get_mut(id)?.context.take()?;
        self.release(id);
        Some(ClientEvent { request: id, context, bytes, kind })
    }

    pub(super) fn request_of(&mut self, connection: ConnectionId) -> Option<(RequestId, &mut Request<C>)> {
        let id = self.connections.get(connection)?.carries?;
        Some((id, self.requests.get_mut(id)?))
    }
}
