//! A response as an API writes it.

use std::{borrow::Cow, fmt, pin::Pin};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderName, HeaderValue, StatusCode};
use prony_graphql::json;

/// The rest of a body that has no known length. Dropping it ends the work for it; an error ends it before its end, in a way that the
/// client sees.
pub type ResponseStream = Pin<Box<dyn Stream<Item = Result<Bytes, BodyCut>>>>;

/// Why the rest of a body does not come.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the body ends before its end: {0}")]
pub struct BodyCut(pub Cow<'static, str>);

/// Status, header fields, and a body or its beginning. The server writes what says how long the response is, its date and
/// what becomes of the connection.
#[derive(Debug, Default)]
pub struct ApiResponse {
    pub status: StatusCode,
    pub content_type: Option<&'static str>,
    /// Other fields, in the order in which they are sent.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its memory is the server's, and is used again.
    pub body: Vec<u8>,
}

impl ApiResponse {
    /// An empty response that writes its body into this memory.
    pub fn in_buffer(mut body: Vec<u8>) -> Self {
        body.clear();
        Self { body, ..Self::default() }
    }

    /// Forgets what was written and says a status alone.
    pub fn set_empty(&mut self, status: StatusCode) {
        self.status = status;
        self.content_type = None;
        self.headers.clear();
        self.body.clear();
    }

    /// Forgets what was written; the body, of this type, is written behind this into what is returned.
    pub fn begin_body(&mut self, status: StatusCode, content_type: &'static str) -> &mut Vec<u8> {
        self.set_empty(status);
        self.content_type = Some(content_type);
        &mut self.body
    }

    /// As [`begin_body`](Self::begin_body), with a text as JSON.
    pub fn set_json_text(&mut self, status: StatusCode, text: &str) {
        json::write_string(self.begin_body(status, "application/json"), text);
    }
}

/// What an [`AsyncResponder`](super::AsyncResponder) has made.
#[derive(Default)]
pub struct AsyncResponse {
    pub response: ApiResponse,
    /// The rest of the body, where what is in the response is only its beginning.
    pub rest: Option<ResponseStream>,
    /// Whether the connection ends with it. It must where the request's body was not read to its end: what is left of that
    /// would be taken for the next request.
    pub closes_connection: bool,
}

impl fmt::Debug for AsyncResponse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AsyncResponse")
            .field("response", &self.response)
            .field("has_rest", &self.rest.is_some())
            .field("closes_connection", &self.closes_connection)
            .finish()
    }
}
