//! What a client tells its owner.

use crate::http1::sink::Sink;
use crate::ids::RequestId;
use crate::transport::Fault;
use prony_model::program::call::{CallBytes, CallFault, CallTimes, Peer, SocketClose, SocketMessage};
use prony_model::{Nanos, TransportError};

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
    /// No response comes, or no more of one that is streamed; the last event.
    Failed(Failure),
    /// Some of a streamed response, or of the frames of a WebSocket that its owner reads: read at this moment, before anything
    /// looked at it. [`crate::Client::received`] shows it until the next event is taken.
    Received {
        at: Nanos,
    },
    /// The target has agreed to the WebSocket, or the connection of a channel is open; of one of HTTP/2 it is the last event.
    Opened,
    /// The target has answered something else than 101; the last event.
    Refused(u16),
    Message(SocketMessage),
    /// The WebSocket is closed; the last event.
    Closed(SocketClose),
    /// The WebSocket, or the connection of a channel of bytes, is gone; the last event. Also where a WebSocket was never opened.
    Lost(Failure),
}

impl EventKind {
    /// Of a response that is whole.
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Response(status) => Some(*status),
            _ => None,
        }
    }
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
    /// Of the response to a request of [`crate::Client::open_stream`], as lines of HTTP/1.1.
    pub trailers: Vec<u8>,
}

/// Why a request has no response.
#[derive(Debug, Clone)]
pub struct Failure {
    /// As outcomes of requests count it.
    pub error: TransportError,
    /// As scripts see it.
    pub fault: CallFault,
    pub scope: FailureScope,
}

/// What has failed along with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureScope {
    /// No connection could be opened.
    Opening,
    /// The peer has closed the connection.
    ConnectionEnd,
    /// Its stream of HTTP/2; the connection goes on.
    Stream,
    /// Its stream of HTTP/2, of which the peer says that it has not processed it (RFC 9113, 8.7).
    UnprocessedStream,
    /// The request itself, or its connection for another reason.
    Request,
}

impl Failure {
    pub(crate) fn of(fault: CallFault) -> Self {
        Self { error: fault.kind.transport(), fault, scope: FailureScope::Request }
    }

    pub(crate) fn of_transport(fault: &Fault) -> Self {
        let scope = if fault.is_end() { FailureScope::ConnectionEnd } else { FailureScope::Request };
        Self { error: fault.kind, fault: crate::fault::of_transport(fault), scope }
    }

    pub(crate) fn of_opening(fault: &Fault) -> Self {
        Self { scope: FailureScope::Opening, ..Self::of_transport(fault) }
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
