//! The body of a request that is read piece by piece, for bodies that need not fit in memory.

use std::{fmt::Debug, future::poll_fn, task::Context, task::Poll};

use bytes::Bytes;
use http::StatusCode;

/// Why a body is not there, or not to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyError {
    /// What the client is responded with, if it is still there.
    pub status: StatusCode,
    /// Names the limit or what has happened.
    pub message: String,
}

/// A body as it comes. The server holds its length and the client's pauses to its limits.
pub trait RequestBody: Debug {
    /// The next piece, if it has come; none at the end. The client's pause does not count.
    ///
    /// # Errors
    /// There is no more of it, and nothing more to be read.
    fn try_next(&mut self) -> Poll<Option<Result<Bytes, BodyError>>>;

    /// As [`try_next`](Self::try_next), and wakes who waits for it. A client that lets too long pass is an error.
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>>;
}

/// A body that is there whole, or none.
#[derive(Debug, Default)]
pub struct WholeBody(Option<Bytes>);

impl From<Bytes> for WholeBody {
    fn from(bytes: Bytes) -> Self {
        Self(Some(bytes))
    }
}

impl RequestBody for WholeBody {
    fn try_next(&mut self) -> Poll<Option<Result<Bytes, BodyError>>> {
        Poll::Ready(self.0.take().map(Ok))
    }

    fn poll_next(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.try_next()
    }
}

impl dyn RequestBody + '_ {
    /// Waits for the next piece; none at the end.
    ///
    /// # Errors
    /// There is no more of it, and nothing more to be read.
    pub async fn next(&mut self) -> Option<Result<Bytes, BodyError>> {
        poll_fn(|context| self.poll_next(context)).await
    }
}
