//! What a client tells its owner.

use crate::http1::sink::Sink;
use crate::ids::RequestId;
use crate::transport::Fault;
use prony_model::TransportError;
use prony_model::program::call::{CallBytes, CallFault, CallTimes, Peer, SocketClose, SocketMessage};

/// Something that happened to a request, with the context that its owner gave it.
#[derive(Debug)]
pub struct ClientEvent<C> {
    pub request: RequestId,
    pub context: C,
    /// Of the request; of a WebSocket since its last event.
    pub bytes: CallBytes,
    pub kind: EventKind,
}

#[derive(Debug)]
pub enum EventKind {
    /// The response is whole; no further event follows.
    Response(Finished),
    /// No response comes; no further event follows.
    Failed {
        failure: Failure,
        times: CallTimes,
        peer: Peer,
    },
    /// The target has agreed to the WebSocket.
    Opened(Finished),
    /// The target has answered something else than 101; no further event follows.
    Refused(Finished),
    Message(SocketMessage),
    /// The WebSocket is closed; no further event follows.
    Closed(SocketClose),
    /// The WebSocket is gone, or was never opened; no further event follows.
    Lost {
        failure: Failure,
        times: CallTimes,
    },
}

/// A whole response.
#[derive(Debug)]
pub struct Finished {
    pub status: u16,
    /// What was kept of it; [`crate::Client::recycle`] takes it back.
    pub sink: Sink,
    pub times: CallTimes,
    pub peer: Peer,
}

/// Why a request has no response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// As outcomes of requests count it.
    pub error: TransportError,
    /// As scripts see it.
    pub fault: CallFault,
}

impl Failure {
    pub(crate) fn of(fault: CallFault) -> Self {
        Self { error: fault.kind.transport(), fault }
    }

    pub(crate) fn of_transport(fault: &Fault) -> Self {
        Self { error: fault.kind, fault: crate::fault::of_transport(fault) }
    }
}

/// What a client has counted of its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    pub opened: u64,
    /// In place of one that the target had closed or that had failed; with [`crate::Pooling::One`] only.
    pub reopened: u64,
    pub refused: u64,
    /// No port was left to connect from.
    pub ports_exhausted: u64,
    pub tls_full_handshakes: u64,
    pub tls_resumed: u64,
    /// Bytes of open WebSockets.
    pub websocket_bytes_received: u64,
}
