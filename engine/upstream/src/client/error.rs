//! Why a request to an upstream has no response.

use std::{io, sync::Arc};

use crate::exchange_error::ExchangeError;

/// With what is known of the request's fate.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub(crate) struct SendError {
    pub(crate) kind: SendErrorKind,
    /// Whether any byte of the response has come.
    pub(crate) has_begun: bool,
    /// Whether the request may have reached the upstream.
    pub(crate) may_have_arrived: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum SendErrorKind {
    #[error("it cannot be connected to: {0}")]
    Connect(io::Error),
    #[error("the connection was closed before the response was there")]
    Closed,
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    #[error("{what} took longer than {limit_ms} ms ({option})")]
    Timeout { what: &'static str, limit_ms: u128, option: &'static str },
    #[error("the response has more than {max_bytes} bytes (max_response_bytes)")]
    TooLarge { max_bytes: usize },
    #[error("the response is not HTTP as it should be: {0}")]
    Protocol(String),
    /// To a subscription.
    #[error("it responded with status {status} and no events")]
    NoEvents { status: u16 },
    #[error("{waiting} requests wait for a connection already (max_waiting)")]
    QueueFull { waiting: usize },
    #[error("no connection was free within {limit_ms} ms (queue_timeout_ms)")]
    QueueTimeout { limit_ms: u128 },
    #[error("{0}")]
    Exchange(Arc<ExchangeError>),
    #[error("it has failed {failures} times in a row and is left alone")]
    BreakerOpen { failures: u32 },
}

impl SendError {
    /// Before anything was sent.
    pub(crate) fn unsent(kind: SendErrorKind) -> Self {
        Self { kind, has_begun: false, may_have_arrived: false }
    }

    /// After the request was sent, or a part of it.
    pub(crate) fn sent(kind: SendErrorKind, has_begun: bool) -> Self {
        Self { kind, has_begun, may_have_arrived: true }
    }

    /// Whether a connection that many share gets no more requests after it. A response that does not come may be late, or its server
    /// gone without a word: what is in flight may still end well.
    pub(crate) fn ends_connection(&self) -> bool {
        matches!(
            self.kind,
            SendErrorKind::Closed
                | SendErrorKind::Broken(_)
                | SendErrorKind::Protocol(_)
                | SendErrorKind::Connect(_)
                | SendErrorKind::Timeout { .. }
        )
    }
}
