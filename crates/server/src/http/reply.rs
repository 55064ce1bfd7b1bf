//! Making responses: bodies are whole, so that their length is known and one write sends them.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use prony_graphql::json;

pub(crate) type Reply = Response<Full<Bytes>>;

/// A response with a content type.
pub(crate) fn reply(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");

/// A refusal that clients of GraphQL can read too.
pub(crate) fn refusal(status: StatusCode, content_type: HeaderValue, message: &str) -> Reply {
    let mut body = b"{\"errors\":[{\"message\":".to_vec();
    json::write_string(&mut body, message);
    body.extend_from_slice(b"}]}");
    reply(status, content_type, body)
}

/// A 405 that says what is allowed.
pub(crate) fn not_allowed(allowed: &'static str, message: &str) -> Reply {
    let mut response = refusal(StatusCode::METHOD_NOT_ALLOWED, JSON, message);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}

/// A response without a body.
pub(crate) fn empty(status: StatusCode) -> Reply {
    let mut response = Response::new(Full::default());
    *response.status_mut() = status;
    response
}
