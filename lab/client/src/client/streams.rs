//! Requests as streams of HTTP/2 connections: sent, driven, told of.

use super::{Client, Pending, SendError};
use crate::connection::{Carrier, Connection};
use crate::event::{Failure, FailureScope};
use crate::http1::sink::Sink;
use crate::http2::connection::{Http2Connection, Http2State, StreamEvent};
use crate::http2::streams::Interest;
use crate::http2::streams::StreamKey;
use crate::ids::{ConnectionId, RequestId};
use crate::request::{Form, Request, Stage};
use crate::transport::Fault;
use http::{HeaderMap, Response};
use prony_model::program::call::CallFaultKind;
use prony_model::{Nanos, TransportError};
use std::io;
use std::mem;
use std::rc::Rc;

impl<C: Clone> Client<'_, C> {
    /// The target of a connection that has just opened speaks HTTP/2 on it. Other requests of its pool share it, unless it
    /// was opened for one alone; where the pool has one already, that one is used.
    pub(super) fn turn_to_http2(&mut self, id: ConnectionId, request: RequestId) {
        let Some(entry) = self.requests.get(request) else { return };
        let (route, is_fresh) = (entry.route, entry.options.is_fresh);
        let shared = if is_fresh { None } else { self.pool(route.pool).shared(route.target) };
        if let Some(shared) = shared {
            self.close(id);
            self.send_stream(shared, request);
            return;
        }
        let buffer = Rc::clone(&self.http2_buffer);
        let Some(connection) = self.connections.get_mut(id) else { return };
        connection.upgrade(|transport| {
            let mut http2 = Http2Connection::new(transport, buffer);
            // What came along with the handshake is reported by no event.
            http2.note_event(true, false);
            Carrier::Http2(Box::new(http2))
        });
        connection.carries = None;
        if let Some(peer) = &mut connection.peer {
            peer.is_http2 = true;
        }
        if !is_fresh {
            self.pool(route.pool).shared.push((id, route.target));
        }
        self.send_stream(id, request);
    }

    /// Sends a request over a connection of HTTP/2, as soon as that is driven.
    pub(super) fn send_stream(&mut self, connection: ConnectionId, id: RequestId) {
        if let Err(message) = self.prepare_stream(id) {
            return self.give_up(id, crate::fault::new(CallFaultKind::Protocol, message));
        }
        let (Some(entry), Some(request)) = (self.connections.get_mut(connection), self.requests.get_mut(id))
        else {
            return;
        };
        (request.connection, request.stage, request.is_stream) = (Some(connection), Stage::Underway, true);
        request.peer = entry.peer();
        let (key, pieces) = (StreamKey(id.to_u64()), request.pieces.take());
        let Some(translated) = request.translated.clone() else {
            if let Some(http2) = entry.http2() {
                http2.await_open(key);
            }
            return self.mark_dirty(connection);
        };
        request.bytes.sent += request.length;
        let interest = match request.sink {
            Sink::Ignore => Interest::Status,
            _ => Interest::Everything,
        };
        let wants_times = request.options.wants_times;
        if let Some(http2) = entry.http2() {
            http2.sending.extend(wants_times.then_some(id));
            match pieces {
                None => http2.send(key, translated, interest),
                Some(pieces) => http2.send_open(key, translated, pieces),
            }
        }
        self.mark_dirty(connection);
    }

    fn prepare_stream(&mut self, id: RequestId) -> Result<(), String> {
        let Some(request) = self.requests.get_mut(id).filter(|request| request.translated.is_none()) else {
            return Ok(());
        };
        if request.form == Form::Connection {
            return Ok(());
        }
        let (target, text) = (request.route.target, mem::take(&mut request.text));
        let translated = self.translate(target, &text).map_err(|error| error.to_string());
        if let Some(request) = self.requests.get_mut(id) {
            request.text = text;
            request.translated = Some(translated?);
        }
        Ok(())
    }

    pub(super) fn cancel_stream(&mut self, connection: ConnectionId, id: RequestId) {
        let entry = self.connections.get_mut(connection);
        let Some(http2) = entry.and_then(Connection::http2) else { return };
        http2.cancel(StreamKey(id.to_u64()));
        let is_of_channel = self.requests.get(id).is_some_and(|request| request.form != Form::Exchange);
        // Without anybody else on it, it may be dead. The connection of a channel stays as long as its owner wants it.
        if http2.is_idle() && !is_of_channel {
            self.close(connection);
        } else {
            self.mark_dirty(connection);
        }
    }

    /// Writes what was asked on a connection and reads what came.
    pub(super) fn drive(&mut self, id: ConnectionId) -> io::Result<()> {
        let mut events = mem::take(&mut self.stream_events);
        let Some(connection) = self.connections.get_mut(id) else { return Ok(()) };
        let Some(http2) = connection.http2() else { return Ok(()) };
        let sent = mem::take(&mut http2.sending);
        let driven = http2.drive(&mut events);
        let is_closed = matches!(driven, Ok(Http2State::Closed));
        let (is_idle, has_work) = (http2.is_idle(), http2.has_work());
        let opened = http2.is_open().then(|| http2.handshake());
        if let Some(handshake) = opened {
            self.count_handshake(id, handshake);
        }
        match driven {
            Ok(Http2State::Accepting) => {}
            Ok(Http2State::Draining) if !is_idle => self.retire(id),
            Ok(Http2State::Draining | Http2State::Closed) => self.close(id),
            Err(fault) => self.lose_http2(id, &fault),
        }
        if has_work {
            self.mark_dirty(id);
        }
        let now = self.now();
        self.note_streams_sent(id, sent, now);
        for event in events.drain(..) {
            self.take_stream_event(event, is_closed, now).map_err(io::Error::other)?;
        }
        self.stream_events = events;
        Ok(())
    }

    /// A connection that could not be opened.
    fn lose_http2(&mut self, id: ConnectionId, fault: &Fault) {
        let entry = self.connections.get_mut(id);
        let queued = entry.and_then(Connection::http2).map(Http2Connection::take_queued);
        self.close(id);
        self.count_connect_fault(fault);
        for key in queued.into_iter().flatten() {
            let id = RequestId::of_u64(key.0);
            if let Some(request) = self.requests.get_mut(id) {
                (request.connection, request.is_stream) = (None, false);
                self.fail(id, &Failure::of_opening(fault));
            }
        }
    }

    /// New requests go to another connection; streams that are open come to their end on this one.
    fn retire(&mut self, id: ConnectionId) {
        if let Some(connection) = self.connections.get(id) {
            let pool = connection.pool;
            self.pool(pool).forget_shared(id);
        }
    }

    fn note_streams_sent(&mut self, connection: ConnectionId, mut sent: Vec<RequestId>, now: Nanos) {
        for id in sent.drain(..) {
            if let Some(request) = self.requests.get_mut(id)
                && request.connection == Some(connection)
                && request.times.sent == Nanos::ZERO
            {
                request.times.sent = now;
            }
        }
        if let Some(http2) = self.connections.get_mut(connection).and_then(Connection::http2) {
            http2.sending = sent;
        }
    }

    /// The request of a stream, unless it was abandoned meanwhile.
    pub(super) fn of_stream(&mut self, key: StreamKey) -> Option<(RequestId, &mut Request<C>)> {
        let id = RequestId::of_u64(key.0);
        let request = self.requests.get_mut(id).filter(|request| request.is_stream)?;
        Some((id, request))
    }

    /// `is_closed`: its connection was closed along with it.
    fn take_stream_event(
        &mut self,
        event: StreamEvent,
        is_closed: bool,
        now: Nanos,
    ) -> Result<(), SendError> {
        match event {
            StreamEvent::Head { key, head } => {
                let Some((id, request)) = self.of_stream(key) else { return Ok(()) };
                request.times.first_byte.get_or_insert(now);
                match request.sink {
                    Sink::GraphQl(_) => request.content_length = content_length(&head),
                    Sink::Head(_) | Sink::Keep(_) => request.sink.take_head(&text_of(&head)),
                    Sink::Stream(_) => self.take_streamed(id, now, |sink| sink.take_head(&text_of(&head))),
                    Sink::Ignore => {}
                }
            }
            StreamEvent::Data { key, bytes } => {
                let Some((id, request)) = self.of_stream(key) else { return Ok(()) };
                if request.sink.is_stream() {
                    self.take_streamed(id, now, |sink| sink.feed(&bytes));
                    return Ok(());
                }
                if request.content_length == Some(bytes.len() as u64) {
                    request.sink.feed_whole(&bytes);
                } else {
                    request.sink.feed(&bytes);
                }
                if request.sink.is_too_long() {
                    self.give_up(id, crate::fault::too_long());
                }
            }
            StreamEvent::Begun { key } => {
                if let Some((_, request)) = self.of_stream(key) {
                    request.times.first_byte.get_or_insert(now);
                }
            }
            StreamEvent::End { key, status, received_bytes, trailers } => {
                self.keep_trailers(key, trailers);
                return self.end_stream(key, status, received_bytes, now);
            }
            StreamEvent::Failed { key, error, reset } => {
                let scope = if is_closed { FailureScope::ConnectionEnd } else { FailureScope::Stream };
                return self.lose_stream(key, error, scope, false, reset);
            }
            StreamEvent::Ready { key } => self.end_opening(key, now),
            StreamEvent::Unprocessed { key } => {
                let scope =
                    if is_closed { FailureScope::ConnectionEnd } else { FailureScope::UnprocessedStream };
                return self.lose_stream(key, TransportError::Read, scope, true, None);
            }
        }
        Ok(())
    }

    fn end_stream(
        &mut self,
        key: StreamKey,
        status: u16,
        received_bytes: u64,
        now: Nanos,
    ) -> Result<(), SendError> {
        let keeps_connections = self.settings.keeps_connections;
        let Some((id, request)) = self.of_stream(key) else { return Ok(()) };
        request.times.first_byte.get_or_insert(now);
        request.bytes.received += received_bytes;
        request.is_stream = false;
        let (connection, next) = (request.connection.take(), request.next.take());
        let is_fresh = request.options.is_fresh || !keeps_connections;
        self.finish(id, status, now);
        if let Some(connection) = connection.filter(|_| is_fresh) {
            self.close(connection);
        }
        match next {
            Some(next) => self.carry(next, None, now),
            None => Ok(()),
        }
    }

    /// A stream ends without a response. `is_untouched`: the peer says that it has not processed the request. `reset`: the code
    /// with which it has ended the stream.
    fn lose_stream(
        &mut self,
        key: StreamKey,
        error: TransportError,
        scope: FailureScope,
        is_untouched: bool,
        reset: Option<u32>,
    ) -> Result<(), SendError> {
        let Some((id, request)) = self.of_stream(key) else { return Ok(()) };
        // The stream is over: there is nothing to cancel.
        (request.connection, request.is_stream) = (None, false);
        let (route, is_streamed) = (request.route, request.options.is_streamed);
        let may_be_resent = is_untouched && request.form != Form::Pieces && request.may_be_resent();
        // A streamed response is one of several over one connection: it does not open another.
        if may_be_resent && (!is_streamed || self.is_connected(route)) {
            let now = self.now();
            return self.carry(id, None, now);
        }
        let cause = io::Error::other("the connection or its stream ended before the answer did");
        let mut failure = Failure { scope, ..Failure::of_transport(&Fault { kind: error, cause }) };
        self.describe_end(id, is_untouched, reset, &mut failure);
        self.fail(id, &failure);
        Ok(())
    }

    /// Takes some of a streamed response, which its owner is shown along with all that comes of it in this turn.
    fn take_streamed(&mut self, id: RequestId, now: Nanos, take: impl FnOnce(&mut Sink)) {
        self.add_received_bytes(id);
        let Some(request) = self.requests.get_mut(id) else { return };
        request.sink.begin_read(&mut self.spare);
        take(&mut request.sink);
        if request.sink.announce() {
            self.pending.push_back(Pending::Received(id, now));
        }
    }
}

/// Lines of HTTP/1.1 without an empty one at their end.
pub(super) fn lines_of(headers: &HeaderMap) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text
}

fn content_length(head: &Response<()>) -> Option<u64> {
    head.headers().get(http::header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// The head as HTTP/1.1 has it, which is what programs read.
fn text_of(head: &Response<()>) -> Vec<u8> {
    let status = head.status();
    let reason = status.canonical_reason().unwrap_or_default();
    let mut text = format!("HTTP/1.1 {} {reason}\r\n", status.as_u16()).into_bytes();
    text.extend_from_slice(&lines_of(head.headers()));
    text.extend_from_slice(b"\r\n");
    text
}
