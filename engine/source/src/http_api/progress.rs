//! How far the response to a request is after its begin.

use std::fmt;

use futures_util::future::LocalBoxFuture;

use super::{
    body::RequestBody,
    response::{AsyncResponse, ResponseStream},
};

/// Responds to a request whose body it reads piece by piece, or for which it works for long. Dropping the future cancels it.
pub type AsyncResponder = Box<dyn FnOnce(Box<dyn RequestBody>) -> LocalBoxFuture<'static, AsyncResponse>>;

/// What has become of a request.
pub enum Progress {
    /// The response is whole.
    Done,
    /// It was accepted, and [`poll`](super::ApiConnection::poll) makes the response whole. For what ends by itself, as a write
    /// that becomes durable, or a read that is told once what it has seen is: that the client has gone is not noticed before the end.
    Waits,
    /// The response is the head and the beginning of the body; the rest comes from this stream.
    Streams(ResponseStream),
    /// Nothing was done: to be begun again with its whole body.
    NeedsBody,
    /// Nothing was done, because too much is under way: to be begun again when this future is ready.
    NotReady(LocalBoxFuture<'static, ()>),
    /// Nothing was done: the role that the connection is [made for](crate::SourceSchema::api_connection) may not ask this.
    Refused,
    /// Nothing was done: the response is made by this function. Dropping it does nothing either.
    Asynchronous(AsyncResponder),
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Done => "Done",
            Self::Waits => "Waits",
            Self::Streams(_) => "Streams",
            Self::NeedsBody => "NeedsBody",
            Self::NotReady(_) => "NotReady",
            Self::Refused => "Refused",
            Self::Asynchronous(_) => "Asynchronous",
        })
    }
}
