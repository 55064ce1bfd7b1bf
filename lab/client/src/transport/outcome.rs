//! What comes of connecting and of reading, and why a connection cannot go on.

use prony_model::TransportError;
use std::io;

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Bytes at the beginning of the buffer. Where `is_all` holds, more bytes make a new event.
    Bytes {
        count: usize,
        is_all: bool,
    },
    Nothing,
    /// The peer sends no more.
    End,
}

/// How far a new connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The next event tells more.
    Waiting,
    /// Requests can be sent.
    Open,
}

/// Why a connection cannot go on, and as which outcome that is counted.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Fault {
    pub kind: TransportError,
    pub cause: io::Error,
}

impl Fault {
    pub(super) fn of(kind: TransportError) -> impl Fn(io::Error) -> Self {
        move |cause| Self { kind, cause }
    }

    /// True where the peer has closed a connection that was open.
    pub fn is_end(&self) -> bool {
        self.kind == TransportError::Read && self.cause.kind() == io::ErrorKind::UnexpectedEof
    }

    /// The peer has closed where an answer was awaited.
    pub fn end_of_connection() -> Self {
        let cause =
            io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended before the answer did");
        Self { kind: TransportError::Read, cause }
    }
}
