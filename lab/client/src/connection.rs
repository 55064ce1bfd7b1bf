//! One connection of a client: what brings its bytes, and which request it carries.

use crate::http1::scanner::Scanner;
use crate::http2::connection::Http2Connection;
use crate::ids::RequestId;
use crate::pool::PoolId;
use crate::targets::TargetId;
use crate::transport::Transport;
use crate::websocket::OpenWebSocket;
use prony_model::program::call::Peer;
use std::mem;

/// A place for one connection at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) carrier: Carrier,
    pub(crate) pool: PoolId,
    pub(crate) target: TargetId,
    /// The request that it serves, also while it is being opened, or the WebSocket that it is.
    pub(crate) carries: Option<RequestId>,
    /// It is among those that its pool keeps.
    pub(crate) is_idle: bool,
    /// Forgotten once it is a WebSocket whose owner reads the frames.
    pub(crate) peer: Option<Box<Peer>>,
    pub(crate) has_counted_handshake: bool,
    /// It is among those that have something to do.
    pub(crate) is_dirty: bool,
}

#[derive(Debug, Default)]
pub(crate) enum Carrier {
    #[default]
    Closed,
    Http1(Http1),
    Http2(Box<Http2Connection>),
    WebSocket(Transport, Box<OpenWebSocket>),
    /// A WebSocket whose owner reads and writes its frames.
    Frames(Transport),
}

#[derive(Debug)]
pub(crate) struct Http1 {
    pub(crate) transport: Transport,
    /// In memory of its own, which a WebSocket does not need.
    pub(crate) scanner: Box<Scanner>,
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            carrier: Carrier::Closed,
            pool: PoolId(0),
            target: TargetId(0),
            carries: None,
            is_idle: false,
            peer: None,
            has_counted_handshake: false,
            is_dirty: false,
        }
    }
}

impl Connection {
    pub(crate) fn begin(&mut self, pool: PoolId, target: TargetId, carrier: Carrier, peer: Peer) {
        (self.pool, self.target, self.carrier) = (pool, target, carrier);
        self.peer = Some(Box::new(peer));
        (self.carries, self.is_idle, self.has_counted_handshake) = (None, false, false);
        self.is_dirty = false;
    }

    pub(crate) fn end(&mut self) {
        self.carrier = Carrier::Closed;
        (self.carries, self.is_idle) = (None, false);
    }

    /// Who is at its other end.
    pub(crate) fn peer(&self) -> Peer {
        self.peer.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn transport(&mut self) -> Option<&mut Transport> {
        match &mut self.carrier {
            Carrier::Http1(http1) => Some(&mut http1.transport),
            Carrier::WebSocket(transport, _) | Carrier::Frames(transport) => Some(transport),
            Carrier::Closed | Carrier::Http2(_) => None,
        }
    }

    pub(crate) fn http2(&mut self) -> Option<&mut Http2Connection> {
        match &mut self.carrier {
            Carrier::Http2(http2) => Some(http2),
            _ => None,
        }
    }

    pub(crate) fn websocket(&mut self) -> Option<(&mut Transport, &mut OpenWebSocket)> {
        match &mut self.carrier {
            Carrier::WebSocket(transport, socket) => Some((transport, socket)),
            _ => None,
        }
    }

    /// What it speaks after HTTP/1.1, over the same transport.
    pub(crate) fn upgrade(&mut self, next: impl FnOnce(Transport) -> Carrier) {
        self.carrier = match mem::take(&mut self.carrier) {
            Carrier::Http1(http1) => next(http1.transport),
            other => other,
        };
    }
}
