//! WebSockets: opened as requests are, then messages in both directions until one side closes.

use super::{Alarm, Client, Pending};
use crate::connection::{Carrier, Connection};
use crate::event::{ClientEvent, EventKind, Failure};
use crate::http1::scanner::Answer;
use crate::ids::{ConnectionId, Id as _, RequestId};
use crate::request::Stage;
use crate::transport::Fault;
use crate::websocket::{self, GOING_AWAY, OUTGOING_BYTES_MAX, OpenWebSocket, Received, WebSocketEnd};
use prony_model::Nanos;
use prony_model::program::call::{CallFaultKind, SocketClose, SocketMessage};
use std::mem;

/// As long as the peer may take to answer a close.
const CLOSE_TIMEOUT: Nanos = Nanos::from_secs(5);

impl<C: Clone> Client<'_, C> {
    // ---- open

    /// The opening was answered.
    pub(super) fn finish_opening(
        &mut self,
        id: ConnectionId,
        request_id: RequestId,
        response: Answer,
        now: Nanos,
    ) {
        let Some(request) = self.requests.get_mut(request_id) else { return };
        request.end_times(now);
        if response.status != 101 {
            request.connection = None;
            self.close(id);
            self.finish(request_id, response.status, now);
            return;
        }
        let accept = request.accept.as_deref().unwrap_or_default();
        if let Some(fault) = websocket::opening_fault(request.sink.answer(101).head, accept) {
            return self.give_up(request_id, fault);
        }
        request.stage = Stage::WebSocket;
        let is_streamed = request.options.is_streamed;
        self.pending.push_back(Pending::Request(request_id));
        if let Some(connection) = self.connections.get_mut(id) {
            connection.peer.take_if(|_| is_streamed);
            connection.upgrade(|transport| {
                if is_streamed {
                    Carrier::Frames(transport)
                } else {
                    Carrier::WebSocket(transport, Box::new(OpenWebSocket::new()))
                }
            });
        }
    }

    // ---- send

    /// Sends a message; nothing happens where the WebSocket is not open.
    pub fn send_message(&mut self, id: RequestId, message: SocketMessage) {
        let Some(connection) = self.connection_of_websocket(id) else { return };
        let entry = self.connections.get_mut(connection);
        let Some((_, socket)) = entry.and_then(Connection::websocket) else { return };
        match socket.send(message) {
            Ok(()) => self.flush_websocket(connection),
            Err(fault) => self.set_end(connection, WebSocketEnd::Failed(fault)),
        }
    }

    /// Begins the closing handshake (RFC 6455, 7.1.2). One that is not open yet fails.
    pub fn close_websocket(&mut self, id: RequestId, close: SocketClose) {
        let now = self.now();
        let Some(connection) = self.connection_of_websocket(id) else {
            return self
                .give_up(id, crate::fault::new(CallFaultKind::Connect, "it was closed before it was open"));
        };
        let entry = self.connections.get_mut(connection);
        let Some((_, socket)) = entry.and_then(Connection::websocket) else { return };
        socket.close_by = now.plus(CLOSE_TIMEOUT);
        socket.alarm.set(&mut self.timers, socket.close_by, Alarm::Close(connection.index()));
        socket.close(close);
        self.flush_websocket(connection);
    }

    /// The connection of a WebSocket that is open.
    fn connection_of_websocket(&self, id: RequestId) -> Option<ConnectionId> {
        let request = self.requests.get(id)?;
        request.connection.filter(|_| matches!(request.stage, Stage::WebSocket))
    }

    /// Sends what the WebSocket has written, as soon as the connection takes it.
    pub(super) fn flush_websocket(&mut self, id: ConnectionId) {
        let entry = self.connections.get_mut(id);
        let Some((transport, socket)) = entry.and_then(Connection::websocket) else { return };
        if socket.output().is_empty() {
            return;
        }
        if transport.has_unsent() {
            if socket.output().len() > OUTGOING_BYTES_MAX {
                let message =
                    format!("more than {OUTGOING_BYTES_MAX} bytes wait for a peer that does not read");
                let fault = crate::fault::new(CallFaultKind::Write, message);
                self.set_end(id, WebSocketEnd::Failed(fault));
            }
            return;
        }
        let sent = transport.send(socket.output());
        socket.note_sent();
        if let Err(fault) = sent {
            self.end_websocket(id, &fault);
        }
    }

    // ---- receive

    pub(super) fn take_websocket_bytes(&mut self, id: ConnectionId, bytes: &[u8]) {
        self.counts.websocket_bytes_received += bytes.len() as u64;
        let entry = self.connections.get_mut(id);
        if let Some((_, socket)) = entry.and_then(Connection::websocket) {
            socket.take(bytes);
            self.pending.push_back(Pending::Messages(id));
        }
    }

    /// The next message; each is told before the next is read, since its owner may close the WebSocket.
    pub(super) fn tell_message(&mut self, id: ConnectionId) -> Option<ClientEvent> {
        let entry = self.connections.get_mut(id);
        let (_, socket) = entry.and_then(Connection::websocket)?;
        if socket.end.is_some() {
            return None;
        }
        let received = socket.receive();
        self.flush_websocket(id);
        match received? {
            Received::End(end) => {
                self.set_end(id, end);
                None
            }
            Received::Message(message) => {
                self.pending.push_front(Pending::Messages(id));
                let request = self.note_bytes(id)?;
                Some(ClientEvent { request, kind: EventKind::Message(message) })
            }
        }
    }

    /// Adds the bytes that came and went since the last event to those of the request.
    fn note_bytes(&mut self, id: ConnectionId) -> Option<RequestId> {
        let entry = self.connections.get_mut(id);
        let (_, socket) = entry.and_then(Connection::websocket)?;
        let bytes = mem::take(&mut socket.bytes);
        let (request, entry) = self.request_of(id)?;
        entry.bytes.sent += bytes.sent;
        entry.bytes.received += bytes.received;
        Some(request)
    }

    // ---- end

    pub(super) fn end_websocket(&mut self, id: ConnectionId, fault: &Fault) {
        self.set_end(id, WebSocketEnd::Failed(crate::fault::of_transport(fault)));
    }

    pub(super) fn end_websocket_abnormally(&mut self, id: ConnectionId) {
        self.set_end(id, WebSocketEnd::abnormal());
    }

    /// The WebSocket is gone; its owner hears of it as soon as nothing else is being done.
    fn set_end(&mut self, id: ConnectionId, end: WebSocketEnd) {
        let entry = self.connections.get_mut(id);
        if let Some((_, socket)) = entry.and_then(Connection::websocket)
            && socket.end.is_none()
        {
            socket.end = Some(end);
            self.failed.push_back(Pending::Ended(id));
        }
    }

    pub(super) fn tell_ended(&mut self, id: ConnectionId) -> Option<ClientEvent> {
        let request = self.note_bytes(id)?;
        let entry = self.connections.get_mut(id);
        let (_, socket) = entry.and_then(Connection::websocket)?;
        let kind = match socket.end.take()? {
            WebSocketEnd::Closed(close) => EventKind::Closed(close),
            WebSocketEnd::Failed(fault) => EventKind::Lost(Failure::of(fault)),
        };
        self.close(id);
        if let Some(request) = self.requests.get_mut(request) {
            (request.connection, request.stage) = (None, Stage::Finished(0));
        }
        Some(ClientEvent { request, kind })
    }

    /// A peer that was told of the close has had its time to answer it.
    pub(super) fn check_close(&mut self, index: u32, at: Nanos, now: Nanos) {
        let (id, entry) = self.connections.at(index);
        let (Some(id), Some((_, socket))) = (id, entry.websocket()) else { return };
        if !socket.alarm.rings(at) || !socket.is_closing {
            return;
        }
        if socket.close_by > now {
            socket.alarm.set(&mut self.timers, socket.close_by, Alarm::Close(index));
            return;
        }
        self.end_websocket_abnormally(id);
    }

    /// Its owner goes away: the peer is told, if that takes no waiting.
    pub(super) fn leave_websocket(&mut self, id: RequestId) {
        let Some(connection) = self.connection_of_websocket(id) else { return };
        let entry = self.connections.get_mut(connection);
        if let Some((_, socket)) = entry.and_then(Connection::websocket)
            && socket.end.is_none()
        {
            socket.close(SocketClose { code: GOING_AWAY, reason: String::new() });
            self.flush_websocket(connection);
        }
        self.close(connection);
    }
}
