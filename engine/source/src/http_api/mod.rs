//! The traits of an HTTP API that a source brings beside GraphQL. The server reads requests, finds the API by the path, and
//! writes responses, with its own codec or by hyper; an API is called in the same way for both and knows of neither.
//!
//! An [`HttpApi`] is shared by all cores. An [`ApiConnection`] is what it keeps for one client's connection: buffers, and the
//! request that waits. The requests of a connection come one after the other.

mod body;
mod progress;
mod request;
mod response;

pub mod accept;
pub mod percent;
pub mod query;

use std::{
    borrow::Cow,
    fmt::Debug,
    task::{Context, Poll},
};

use http::{Method, StatusCode};

pub use self::{
    body::{BodyError, RequestBody, WholeBody},
    progress::{AsyncResponder, Progress},
    request::{ApiRequest, RequestHeaders},
    response::{ApiResponse, AsyncResponse, BodyCut, ResponseStream},
};

/// An HTTP API of an open source.
pub trait HttpApi: Debug + Send + Sync {
    /// The paths that are its own, beside those of the server: each of these and all paths below it; of one that ends with a
    /// slash, only the paths below it. Where two APIs have a path, it is the one's whose source comes first.
    fn prefixes(&self) -> &'static [&'static str];

    /// The methods that its paths may have, as the value of `Allow` that the server sends in response to OPTIONS.
    fn allow(&self) -> &'static str;

    /// The content codings (RFC 9110, section 8.4.1) that bodies of requests at one of its paths may have beside `identity`; it decodes
    /// them itself. Others are refused by the server.
    fn content_codings(&self, path: &str) -> &'static [&'static str] {
        let _ = path;
        &[]
    }

    /// Of all spellings of a path that its calls do not tell apart the one by which rules for calls are found; percent-encoding is none of
    /// its concern.
    fn canonical_path<'p>(&self, path: &'p str) -> Cow<'p, str> {
        Cow::Borrowed(path)
    }

    /// What a call is, for logs that hold nothing of what clients choose.
    fn route(&self, method: &Method, path: &str) -> ApiRoute {
        let is_own = |prefix: &&&str| path.starts_with(**prefix);
        ApiRoute {
            path: Cow::Borrowed(self.prefixes().iter().find(is_own).copied().unwrap_or("/")),
            changes: !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS),
        }
    }

    /// Whether it also responds, with a 404 of its own form, at paths that are nobody's.
    fn takes_unknown_paths(&self) -> bool {
        false
    }

    /// Whether it responds at `/health` in its own form, to everybody, where its source is the only one of a server.
    fn responds_to_health(&self) -> bool {
        false
    }

    /// Writes a refusal that the server has decided on, such as of a body that is too large, in the form of this API.
    fn refuse(&self, status: StatusCode, message: &str, response: &mut ApiResponse);

    /// Begins to serve a client's connection, on the thread of its core and inside its `LocalSet`.
    fn connect(&self, limits: ApiLimits) -> Box<dyn ApiConnection>;
}

/// What a call is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRoute {
    /// With names in braces for what clients choose, such as `/db/{graph}/node/{id}`.
    pub path: Cow<'static, str>,
    /// Whether it may change anything.
    pub changes: bool,
}

/// Limits of the server that an API may have to observe itself.
#[derive(Debug, Clone, Copy)]
pub struct ApiLimits {
    /// What is taken whole has no more bytes; of a body that is read [in pieces](RequestBody), each of its parts.
    pub max_body_bytes: usize,
}

/// One client's connection to an API; it lives on the thread of one core.
pub trait ApiConnection: Debug {
    /// Begins to respond to a request; no other one waits. It must not block. `response` is empty, with status 200; what is in
    /// it counts only where it is [done](Progress::Done), [waits](Progress::Waits) or [streams](Progress::Streams).
    ///
    /// The body of the request is there or not; only with [`Progress::NeedsBody`] it is there the next time.
    fn begin(&mut self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> Progress;

    /// Called after [`Progress::Waits`], with the same response: ready when that is what is to be sent. A connection that is
    /// dropped before has no client any more; what was accepted stays accepted.
    fn poll(&mut self, context: &mut Context<'_>, response: &mut ApiResponse) -> Poll<()> {
        let _ = (context, response);
        Poll::Ready(())
    }
}
