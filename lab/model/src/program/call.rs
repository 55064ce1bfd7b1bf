//! What a program that waits asks of the runner beside plain steps, and what it hears: HTTP calls, several at a time,
//! each over a connection of its user's own, and sockets that stay open (`WebSocket`).

use crate::measurement::record::TransportError;
use crate::program::response::{Answer, Keep};
use crate::units::Nanos;
use core::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The program's own number for something it asked for, unique among those that its user has open.
pub type AskId = u64;

/// Something asked for; what becomes of it is told by [`WaitEvent`].
#[derive(Debug)]
pub enum Ask {
    Call(Call),
    /// The answer is of no interest any more: its connection is closed, and nothing is heard of it. A stream of HTTP/2 is reset,
    /// and its connection goes on.
    DropCall(AskId),
    /// Opens the connection of a channel ([`crate::plan::target::Channel`]).
    OpenChannel(ChannelOpening),
    /// Begins a stream over a channel of HTTP/2.
    OpenStream(StreamOpening),
    /// More of the body of a stream of HTTP/2, or bytes for a channel of bytes.
    SendBytes {
        id: AskId,
        bytes: Vec<u8>,
        /// The stream's body ends with them.
        is_last: bool,
    },
    /// What a channel of bytes was opened for is done: its connection is kept for the user's next [`Ask::OpenChannel`].
    KeepChannel(AskId),
    /// Closes the connections of a channel that carry nothing at the moment; its index into the run's targets.
    CloseChannel(usize),
    OpenSocket(SocketOpening),
    SendSocket(AskId, SocketMessage),
    /// Begins the closing handshake (RFC 6455, 7.1.2); [`SocketEvent::Closed`] follows.
    CloseSocket(AskId, SocketClose),
    /// Closes the connections that the user keeps and does not use at the moment.
    CloseConnections,
}

/// One HTTP request.
#[derive(Debug, Clone)]
pub struct Call {
    pub id: AskId,
    /// Index into the run's [`crate::program::table::Tables::targets`].
    pub target: usize,
    /// Index into [`crate::program::table::Tables::names`], under which it is counted, if it is.
    pub request: Option<usize>,
    /// HTTP/1.1 text, whatever is spoken; in [`crate::program::Outgoing::text`].
    pub text: core::ops::Range<usize>,
    /// An answer to HEAD has no body, whatever its headers say.
    pub is_head: bool,
    pub keep: Keep,
    /// From when it is asked for to the last byte of its answer.
    pub timeout: Nanos,
    /// Over a connection that carries nothing else.
    pub is_fresh: bool,
    /// Statuses that count as a success; `None` is 200 to 399.
    pub expects: Option<Arc<[RangeInclusive<u16>]>>,
}

/// The connection of a channel: an idle one of the user's, or a new one.
#[derive(Debug, Clone)]
pub struct ChannelOpening {
    pub id: AskId,
    /// Index into the run's targets; that target has a channel.
    pub target: usize,
    /// Until it is open.
    pub timeout: Nanos,
}

/// A request whose body is sent, and whose response is received, piece by piece (RFC 9113).
#[derive(Debug, Clone)]
pub struct StreamOpening {
    pub id: AskId,
    /// Index into the run's targets; that target has a channel of HTTP/2.
    pub target: usize,
    /// Index into [`crate::program::table::Tables::names`], under which it is counted, if it is.
    pub request: Option<usize>,
    /// The request's head as HTTP/1.1 text, in [`crate::program::Outgoing::text`]. Its body is [`Ask::SendBytes`].
    pub text: core::ops::Range<usize>,
    /// From when it is asked for to the last byte of its response.
    pub timeout: Nanos,
    /// A field of the response's trailers and the value with which it counts as a success.
    pub expects: Option<(&'static str, &'static str)>,
}

/// When what of a call was over, from the start of the run. Where a kept connection was used, the moments up to
/// `ready` are all the moment at which it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallTimes {
    /// The program asked for it.
    pub asked: Nanos,
    /// The name was resolved, or no name was asked for.
    pub resolved: Nanos,
    /// The transport connection stood.
    pub connected: Nanos,
    /// The connection could be written to: TLS, where it is spoken, was agreed on.
    pub ready: Nanos,
    /// The last byte of the request was given to the system.
    pub sent: Nanos,
    pub first_byte: Option<Nanos>,
    pub ended: Nanos,
    /// True where a connection was opened for it.
    pub is_new_connection: bool,
}

/// Who answered, and how it was spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Peer {
    /// None behind a Unix-domain socket.
    pub address: Option<SocketAddr>,
    pub is_http2: bool,
    pub tls: Option<TlsFacts>,
}

/// Both as IANA numbers them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TlsFacts {
    /// Such as 0x0304 for TLS 1.3.
    pub version: u16,
    /// Such as 0x1301.
    pub cipher_suite: u16,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFault {
    pub kind: CallFaultKind,
    /// For people.
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallFaultKind {
    /// The name could not be resolved.
    Resolve,
    /// The name is known and has no address.
    NoAddress,
    /// The run must not connect to this name.
    BlockedName,
    /// The run must not connect to this address.
    BlockedAddress,
    Refused,
    ConnectTimeout,
    /// No connection, for another reason.
    Connect,
    /// The certificate is for another name.
    TlsHostname,
    /// The certificate's issuer is not trusted.
    TlsAuthority,
    Tls,
    Write,
    /// The target reset the connection.
    Reset,
    /// The connection ended before the answer did.
    Read,
    /// What came is no HTTP, or longer than what is kept.
    Protocol,
    Timeout,
    /// The target has reset the stream, with this code (RFC 9113, 7).
    StreamReset(u32),
    /// A stream of a channel that the target has not processed, and says so (RFC 9113, 8.7).
    Unprocessed,
}

impl CallFaultKind {
    /// As plain requests count it.
    pub const fn transport(self) -> TransportError {
        match self {
            Self::Resolve
            | Self::NoAddress
            | Self::BlockedName
            | Self::BlockedAddress
            | Self::Refused
            | Self::ConnectTimeout
            | Self::Connect => TransportError::Connect,
            Self::TlsHostname | Self::TlsAuthority | Self::Tls => TransportError::Tls,
            Self::Write => TransportError::Write,
            Self::Reset | Self::Read | Self::StreamReset(_) | Self::Unprocessed => TransportError::Read,
            Self::Protocol => TransportError::Protocol,
            Self::Timeout => TransportError::Timeout,
        }
    }
}

/// A WebSocket to open (RFC 6455).
#[derive(Debug, Clone)]
pub struct SocketOpening {
    pub id: AskId,
    /// Index into the run's targets; `wss` is a target with TLS.
    pub target: usize,
    /// The request text of the opening handshake, in [`crate::program::Outgoing::text`], without the headers
    /// `Connection`, `Upgrade`, `Sec-WebSocket-Key` and `Sec-WebSocket-Version`, which the runner adds.
    pub text: core::ops::Range<usize>,
    /// For the opening handshake.
    pub timeout: Nanos,
    /// It stays open when its user's iteration ends, until its user leaves. What comes of it while its user waits for nothing is
    /// lost.
    pub outlives_iteration: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMessage {
    Text(String),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SocketClose {
    /// RFC 6455, 7.4; 1005 where the peer gave none.
    pub code: u16,
    pub reason: String,
}

/// What comes to a user whose program waits.
#[derive(Debug)]
pub enum WaitEvent<'a> {
    /// The time of [`crate::program::Step::Wait`] is over.
    Woken,
    Answered {
        call: AskId,
        answer: Answer<'a>,
        times: CallTimes,
        peer: Peer,
        bytes: CallBytes,
    },
    Failed {
        call: AskId,
        fault: CallFault,
        times: CallTimes,
        peer: Peer,
        bytes: CallBytes,
    },
    Socket {
        socket: AskId,
        event: SocketEvent<'a>,
        /// Since its last event, its opening included.
        bytes: CallBytes,
    },
    /// Of a channel or a stream.
    Channel {
        id: AskId,
        event: ChannelEvent<'a>,
        /// Since its last event.
        bytes: CallBytes,
    },
    /// The load model gives the iteration no more time: it has to end now, without waiting for anything.
    Interrupted,
}

/// What becomes of a channel or a stream.
#[derive(Debug)]
pub enum ChannelEvent<'a> {
    /// The channel's connection is open. It is the last event of one of HTTP/2.
    Opened { times: CallTimes, peer: Peer },
    /// Some of a stream's response, with its head where that has come; of a channel of bytes what was read.
    Received { head: &'a [u8], body: &'a [u8], peer: Peer },
    /// The stream's response is whole; its last event. Trailers are lines of HTTP/1.1.
    Ended { status: u16, trailers: &'a [u8], times: CallTimes, peer: Peer },
    /// No more comes; the last event.
    Failed { fault: CallFault, times: CallTimes, peer: Peer },
}

/// As they went over the connection, heads included; TLS is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallBytes {
    pub sent: u64,
    pub received: u64,
}

#[derive(Debug)]
pub enum SocketEvent<'a> {
    /// The target agreed; the answer has its head.
    Opened {
        answer: Answer<'a>,
        times: CallTimes,
        peer: Peer,
    },
    /// The target answered something else than 101; the answer is whole.
    Refused {
        answer: Answer<'a>,
        times: CallTimes,
        peer: Peer,
    },
    Message(SocketMessage),
    /// Both sides have closed, or the peer is gone without (code 1006). Nothing more is heard of the socket.
    Closed(SocketClose),
    /// The socket is gone, or was never opened. Nothing more is heard of it.
    Failed {
        fault: CallFault,
        times: CallTimes,
    },
}
