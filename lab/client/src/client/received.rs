//! What is streamed: shown to its owner after each read, before the next one.

use super::{Client, Pending};
use crate::connection::{Carrier, Connection};
use crate::event::{ClientEvent, EventKind, Failure};
use crate::ids::{ConnectionId, RequestId};
use crate::transport::Fault;
use prony_model::Nanos;
use prony_model::program::Answer;
use std::mem;
use std::ops::Range;

impl<C: Clone> Client<'_, C> {
    /// What came of a streamed response since the last event of it: its status, its head if that came, and some of its body.
    /// Of a WebSocket whose owner reads its frames the body is what was read, and the status 101.
    pub fn received(&self, id: RequestId) -> Answer<'_> {
        if let Some(request) = self.requests.get(id) {
            return request.sink.answer(request.sink.status());
        }
        let is_open = self.requests.frames(id).is_some();
        let body = self.buffer.get(self.frames.clone()).filter(|_| is_open).unwrap_or_default();
        Answer { status: 101, head: &[], body, has_graphql_errors: false }
    }

    /// Sends frames over a WebSocket whose owner writes them; nothing happens where it is not open.
    pub fn send_frames(&mut self, id: RequestId, frames: &[u8]) {
        let Some(connection) = self.requests.frames(id).and_then(|frames| frames.connection) else { return };
        let entry = self.connections.get_mut(connection);
        let Some(Carrier::Frames(transport)) = entry.map(|entry| &mut entry.carrier) else { return };
        if let Err(fault) = transport.send(frames) {
            self.close(connection);
            self.lose_frames(id, &fault);
        }
    }

    /// Frames were read at this moment; they are in this part of the buffer.
    pub(super) fn take_frames(&mut self, id: ConnectionId, frames: Range<usize>, now: Nanos) {
        match self.connections.get(id).map(|connection| connection.carries) {
            Some(Some(request)) => {
                self.frames = frames;
                self.pending.push_back(Pending::Received(request, now));
            }
            // Nobody asked for these bytes of a channel.
            _ => self.close(id),
        }
    }

    pub(super) fn tell_received(&mut self, id: RequestId, at: Nanos) -> Option<ClientEvent> {
        if let Some(frames) = self.requests.frames_mut(id) {
            frames.received_bytes += self.frames.len() as u64;
        } else {
            self.requests.get(id)?;
            self.shown = Some(id);
        }
        Some(ClientEvent { request: id, kind: EventKind::Received { at } })
    }

    /// The connection of a WebSocket was lost whose owner reads its frames.
    pub(super) fn lose_frames(&mut self, id: RequestId, fault: &Fault) {
        if let Some(frames) = self.requests.frames_mut(id).filter(|frames| frames.failure.is_none()) {
            (frames.connection, frames.failure) = (None, Some(Box::new(Failure::of_transport(fault))));
            self.failed.push_back(Pending::Request(id));
        }
    }

    /// The owner has seen what was received.
    pub(super) fn end_received(&mut self, id: RequestId) {
        if let Some(request) = self.requests.get_mut(id) {
            request.sink.end_read(&mut self.spare);
        }
    }

    /// Adds what came over a connection of HTTP/2 to the bytes of one of its streams.
    pub(super) fn add_received_bytes(&mut self, id: RequestId) {
        let connection = self.requests.get(id).and_then(|request| request.connection);
        let entry = connection.and_then(|connection| self.connections.get_mut(connection));
        let bytes = entry.and_then(Connection::http2).map_or(0, |http2| http2.take_received_bytes());
        if let Some(request) = self.requests.get_mut(id) {
            request.bytes.received += bytes;
        }
    }

    /// Gives back the memory of a streamed request's text, which is not sent again.
    pub(super) fn drop_text(&mut self, id: RequestId) {
        if let Some(request) = self.requests.get_mut(id).filter(|request| request.options.is_streamed) {
            drop(mem::take(&mut request.text));
        }
    }
}
