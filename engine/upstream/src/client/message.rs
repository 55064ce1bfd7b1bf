//! Requests to upstreams and their responses, whatever the version of HTTP.

use std::time::Duration;

use bytes::Bytes;
use prony_source::{
    AcceptedCodings, ContentCoding,
    trace::{TRACE_PARENT, TRACE_STATE},
};

/// Responses that are understood.
pub(super) const ACCEPT: &str = "application/graphql-response+json, application/json;q=0.9";

/// A request to one address.
#[derive(Debug)]
pub(crate) struct OutgoingRequest<'a> {
    /// Head lines of the client that are forwarded: `name: value\r\n` of each.
    pub(crate) headers: &'a [(Box<str>, Box<[u8]>)],
    /// The value of `Authorization`, where it is another for each client.
    pub(crate) authorization: Option<&'a str>,
    /// Of a request that is traced: in place of what the client has said of that.
    pub(crate) trace: Option<TraceFields>,
    pub(crate) body: Vec<u8>,
    pub(crate) limits: ResponseLimits,
    /// Codings in which the body of the response is wanted as it comes.
    pub(crate) kept_codings: AcceptedCodings,
}

/// What an upstream is told of a trace.
#[derive(Debug)]
pub(crate) struct TraceFields {
    pub(crate) parent: String,
    pub(crate) state: Option<String>,
}

impl TraceFields {
    /// Names and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let state = self.state.as_deref().map(|state| (TRACE_STATE, state));
        [(TRACE_PARENT, self.parent.as_str())].into_iter().chain(state)
    }
}

/// What a response may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseLimits {
    pub(crate) first_byte: Duration,
    pub(crate) whole: Duration,
    pub(crate) max_bytes: usize,
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct IncomingResponse {
    pub(crate) status: u16,
    /// Whether the content is JSON, as far as its type says.
    pub(crate) is_json: bool,
    /// In which the body is.
    pub(crate) coding: ContentCoding,
    pub(crate) body: Bytes,
}
