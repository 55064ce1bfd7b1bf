//! A request as an API is given it, borrowed from whoever has read it.

use std::fmt::Debug;

use http::{HeaderMap, HeaderName, Method};

/// One request at a path of the API.
#[derive(Debug, Clone, Copy)]
pub struct ApiRequest<'r> {
    /// HEAD is responded to as GET; the server leaves the body out.
    pub method: &'r Method,
    /// As it was sent; [`percent`](super::percent) decodes its segments.
    pub path: &'r str,
    /// What stands behind the `?`; [`query`](super::query) reads it.
    pub query: Option<&'r str>,
    pub headers: &'r dyn RequestHeaders,
    /// The whole body, where it has been read; empty where there is none.
    pub body: Option<&'r [u8]>,
}

/// The header fields of a request.
pub trait RequestHeaders: Debug {
    /// The value of the first field of this name, without the spaces around it.
    fn value(&self, name: &HeaderName) -> Option<&[u8]>;
}

impl RequestHeaders for HeaderMap {
    fn value(&self, name: &HeaderName) -> Option<&[u8]> {
        self.get(name).map(http::HeaderValue::as_bytes)
    }
}
