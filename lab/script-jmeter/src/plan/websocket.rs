//! WebSocket samplers and frame filters, as the plug-in of Peter Doornbosch saves them.

use crate::text::Text;
use std::sync::Arc;

/// One of the plug-in's samplers.
#[derive(Debug)]
pub(crate) struct WebSocketSampler {
    pub(crate) action: WebSocketAction,
    /// Where a new connection goes; none: the sampler uses the one that its user has.
    pub(crate) address: Option<WebSocketAddress>,
    pub(crate) read_timeout_ms: Text,
    /// Outer ones first.
    pub(crate) filters: Vec<Arc<FrameFilter>>,
    pub(crate) headers: Vec<(Text, Text)>,
    /// Index into the group's managers.
    pub(crate) cookies: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct WebSocketAddress {
    pub(crate) is_tls: bool,
    pub(crate) server: Text,
    pub(crate) port: Text,
    pub(crate) path: Text,
    pub(crate) connect_timeout_ms: Text,
}

/// What is done over the connection.
#[derive(Debug)]
pub(crate) enum WebSocketAction {
    Open,
    /// Sends a message and reads one of the same kind.
    Request(Payload),
    Write(Payload),
    Read {
        wanted: WantedFrame,
        /// Nothing that comes within the time-out is no failure.
        is_optional: bool,
    },
    PingPong {
        /// A pong is sent that nobody asked for, and nothing is read.
        is_pong_only: bool,
    },
    Close {
        status: Text,
    },
}

#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) data: Text,
    /// A file's content instead.
    pub(crate) file: Option<Text>,
    pub(crate) kind: PayloadKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PayloadKind {
    Text,
    /// Text in which `^@` is the zero byte that ends a frame of STOMP.
    Stomp,
    /// Hexadecimal digits.
    Binary,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WantedFrame {
    Text,
    Binary,
    Any,
}

/// Frames that samplers in its scope do not see.
#[derive(Debug)]
pub(crate) enum FrameFilter {
    /// All text frames, or those that compare so.
    Text(Option<FrameComparison>),
    Binary(Option<FrameComparison>),
    Pings {
        pings: bool,
        pongs: bool,
    },
}

#[derive(Debug)]
pub(crate) struct FrameComparison {
    pub(crate) relation: Relation,
    pub(crate) is_negated: bool,
    /// A text, a regular expression, or hexadecimal digits.
    pub(crate) value: Text,
    /// Where in a binary frame the value stands; empty: anywhere.
    pub(crate) position: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equals,
    Contains,
    StartsWith,
    EndsWith,
    ContainsRegex,
    EqualsRegex,
}
