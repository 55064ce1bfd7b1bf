//! Making responses: nearly all bodies are whole, so that their length is known and one write sends them.

use std::{
    any::Any,
    convert::Infallible,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use prony_graphql::json;
use prony_source::http_api::{BodyCut, ResponseStream};

pub(crate) type Reply = Response<ReplyBody>;

/// What a response sends after its head.
#[derive(Debug)]
pub(crate) enum ReplyBody {
    Whole(Full<Bytes>),
    /// What is made as the client takes it: by the API of a source, or server-sent events until either side ends them.
    Stream(Box<StreamedBody>),
}

/// A body whose length is not known, and its beginning.
pub(crate) struct StreamedBody {
    beginning: Bytes,
    rest: ResponseStream,
    /// Dropped with it.
    held: Option<Box<dyn Any>>,
}

impl StreamedBody {
    pub(crate) const fn new(beginning: Bytes, rest: ResponseStream) -> Self {
        Self { beginning, rest, held: None }
    }

    /// Keeps something until the last piece is sent or nobody reads.
    pub(crate) fn hold(&mut self, held: Box<dyn Any>) {
        self.held = Some(held);
    }

    /// The next bytes; none when the body has ended.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyCut>>> {
        if self.beginning.is_empty() {
            return self.rest.as_mut().poll_next(context);
        }
        Poll::Ready(Some(Ok(std::mem::take(&mut self.beginning))))
    }
}

impl fmt::Debug for StreamedBody {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("StreamedBody").field("beginning", &self.beginning).finish_non_exhaustive()
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = BodyCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyCut>>> {
        match self.get_mut() {
            Self::Whole(whole) => {
                Pin::new(whole).poll_frame(context).map_err(|never: Infallible| match never {})
            }
            Self::Stream(stream) => stream.poll(context).map_ok(Frame::data),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_end_stream(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

/// A response with a content type.
pub(crate) fn reply(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(ReplyBody::Whole(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// A refusal that clients of GraphQL can read too.
pub(crate) fn refusal(status: StatusCode, content_type: HeaderValue, message: &str) -> Reply {
    reply(status, content_type, refusal_text(message))
}

/// The body of a refusal.
pub(crate) fn refusal_text(message: &str) -> Vec<u8> {
    let mut body = b"{\"errors\":[{\"message\":".to_vec();
    json::write_string(&mut body, message);
    body.extend_from_slice(b"}]}");
    body
}

/// A 405 that says what is allowed.
pub(crate) fn not_allowed(allowed: &'static str, message: &str) -> Reply {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, JSON, message);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut response = Response::new(ReplyBody::Whole(Full::default()));
    *response.status_mut() = status;
    response
}
