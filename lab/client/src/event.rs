//! What a client tells its owner.

use crate::http1::sink::Sink;
use crate::ids::RequestId;
use crate::transport::Fault;
use prony_model::TransportError;
use prony_model::program::call::{CallBytes, CallFault, CallTimes, Peer, SocketClose, SocketMessage};

/// Something that happened to a request. What is known of it is read with [`crate::Client::get`]; after its last event its
/// owner ends it with [`crate::Client::take`] or [`crate::Client::release`].
#[derive(Debug)]
pub struct ClientEvent {
    pub request: RequestId,
    pub kind: EventKind,
}

#[derive(Debug)]
pub enum EventKind {
    /// The response of this status is whole; the last event.
    Response(u16),
    /// No response comes; the last event.
    Failed(Failure),
    /// The target has agreed to the WebSocket.
    Opened,
    /// The target has answered something else than 101; the last event.
    Refused(u16),
    Message(SocketMessage),
    /// The WebSocket is closed; the last event.
    Closed(SocketClose),
    /// The WebSocket is gone, or was never opened; the last event.
    Lost(Failure),
}

/// What is known of a request that has come to its end.
#[derive(Debug)]
pub struct Ended<C> {
    pub context: C,
    pub times: CallTimes,
    pub peer: Peer,
    /// Of the request; of a WebSocket since they were last taken.
    pub bytes: CallBytes,
    /// What was kept of the response; [`crate::Client::recycle`] takes it back.
    pub sink: Sink,
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
