//! Channels of programs that speak more than requests of HTTP: streams of HTTP/2 whose bodies are sent piece by piece, and
//! connections whose bytes their owner alone understands.

use super::{Client, Pending, SendError, streams};
use crate::connection::{Carrier, Connection};
use crate::event::Failure;
use crate::http2::streams::StreamKey;
use crate::http2::upload::{Pieces, WAITING_BYTES_MAX};
use crate::ids::{ConnectionId, RequestId};
use crate::request::{Form, Part, RequestOptions, Route, Stage};
use http::HeaderMap;
use prony_model::Nanos;
use prony_model::program::call::CallFaultKind;

impl<C: Clone> Client<'_, C> {
    /// Opens the connection of a channel, or takes an idle one of its pool; [`crate::EventKind::Opened`] tells. A channel of
    /// bytes is then written to with [`Client::send_frames`], and what comes is shown as that of a WebSocket.
    pub fn open_channel(
        &mut self,
        route: Route,
        speaks_http2: bool,
        timeout: Nanos,
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let is_streamed = !speaks_http2;
        let options = RequestOptions { timeout, wants_times: true, is_streamed, ..RequestOptions::STREAMED };
        let id = self.begin(route, Part { text_end: 0, options, context }, &[], asked);
        if let Some(request) = self.requests.get_mut(id) {
            request.form = if speaks_http2 { Form::Connection } else { Form::Bytes };
        }
        self.carry(id, None, asked)?;
        Ok(id)
    }

    /// Begins a stream of HTTP/2. Its text is the head alone; the body is [`Client::send_body`], and the response is streamed.
    pub fn open_stream(
        &mut self,
        route: Route,
        text: &[u8],
        timeout: Nanos,
        asked: Nanos,
        context: C,
    ) -> Result<RequestId, SendError> {
        let options = RequestOptions { timeout, wants_times: true, ..RequestOptions::STREAMED };
        let id = self.begin(route, Part { text_end: text.len(), options, context }, text, asked);
        if let Some(request) = self.requests.get_mut(id) {
            (request.form, request.pieces) = (Form::Pieces, Some(Box::default()));
            request.text.extend_from_slice(text);
        }
        self.carry(id, None, asked)?;
        Ok(id)
    }

    /// Sends more of the body of a stream; nothing happens where that is over.
    pub fn send_body(&mut self, id: RequestId, bytes: Vec<u8>, is_last: bool) {
        let Some(request) = self.requests.get_mut(id).filter(|request| request.form == Form::Pieces) else {
            return;
        };
        request.bytes.sent += bytes.len() as u64;
        let is_taken = match (&mut request.pieces, request.connection) {
            (Some(pieces), _) => Pieces::push(pieces, bytes, is_last),
            (None, Some(connection)) => {
                let http2 = self.connections.get_mut(connection).and_then(Connection::http2);
                let is_taken =
                    http2.is_none_or(|http2| http2.send_more(StreamKey(id.to_u64()), bytes, is_last));
                self.mark_dirty(connection);
                is_taken
            }
            (None, None) => true,
        };
        if !is_taken {
            let message = format!("more than {WAITING_BYTES_MAX} bytes wait for a peer that does not read");
            self.give_up(id, crate::fault::new(CallFaultKind::Write, message));
        }
    }

    /// What a channel of bytes was opened for is done: its connection goes to its pool, and nothing more is told of it.
    pub fn keep_channel(&mut self, id: RequestId) {
        if let Some(connection) = self.requests.frames(id).and_then(|frames| frames.connection) {
            self.rest(connection);
        }
        self.release(id);
    }

    /// Closes the connections of a channel that carry nothing.
    pub fn close_channel(&mut self, route: Route) {
        let pool = self.pool(route.pool);
        let of_channel = |(id, target): &(ConnectionId, _)| (*target == route.target).then_some(*id);
        let idle: Vec<_> = pool.idle.iter().filter_map(of_channel).collect();
        let shared: Vec<_> = pool.shared.iter().filter_map(of_channel).collect();
        for id in idle {
            self.close(id);
        }
        for id in shared {
            let http2 = self.connections.get_mut(id).and_then(Connection::http2);
            if http2.is_none_or(|http2| http2.is_idle()) {
                self.close(id);
            }
        }
    }

    /// A connection of bytes is open, or was taken from its pool.
    pub(super) fn begin_bytes(&mut self, connection: ConnectionId, id: RequestId) {
        let now = self.now();
        let (Some(entry), Some(request)) = (self.connections.get_mut(connection), self.requests.get_mut(id))
        else {
            return;
        };
        entry.upgrade(Carrier::Frames);
        (request.connection, request.stage, request.peer) =
            (Some(connection), Stage::WebSocket, entry.peer());
        request.end_times(now);
        self.pending.push_back(Pending::Request(id));
    }

    /// The connection of HTTP/2 that a request asks for is open.
    pub(super) fn end_opening(&mut self, key: StreamKey, now: Nanos) {
        let Some((id, request)) = self.of_stream(key) else { return };
        request.times.ready = now;
        (request.connection, request.is_stream) = (None, false);
        self.finish(id, 0, now);
    }

    pub(super) fn keep_trailers(&mut self, key: StreamKey, trailers: Option<Box<HeaderMap>>) {
        if let Some(trailers) = trailers
            && let Some((_, request)) = self.of_stream(key)
            && request.form == Form::Pieces
        {
            request.trailers = streams::lines_of(&trailers);
        }
    }

    /// Tells with which code the peer has reset a stream; the owner of a channel also, that it was not looked at.
    pub(super) fn describe_end(
        &self,
        id: RequestId,
        is_untouched: bool,
        reset: Option<u32>,
        failure: &mut Failure,
    ) {
        let is_of_channel = self.requests.get(id).is_some_and(|request| request.form == Form::Pieces);
        failure.fault.kind = match reset {
            Some(code) => CallFaultKind::StreamReset(code),
            None if is_untouched && is_of_channel => CallFaultKind::Unprocessed,
            None => return,
        };
    }
}
