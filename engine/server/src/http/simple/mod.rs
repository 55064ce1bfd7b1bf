//! The fast path: simple requests and their responses as bytes, without hyper. [`request`] says what is simple, [`responder`]
//! who responds; reading and writing them is `runtime`'s. A connection on which a request comes that is not simple, or that
//! nobody responds to here, is handed over to hyper for the rest of its life: [`Handover`] is the reason.

mod api;
mod client;
mod graphql;
pub(crate) mod request;
pub(crate) mod responder;
pub(crate) mod response;

pub(crate) use self::{request::SimpleRequest, responder::Responder};
use super::Reply;

/// What has become of a request.
#[derive(Debug)]
pub(crate) enum Responded {
    Written,
    /// [`Responder::poll`] writes the response.
    Waits,
    /// Nothing was done.
    HandOver(Handover),
    /// The response is here, and hyper has to write it.
    Made(Handover, Box<Reply>),
}

/// Why a connection was handed over to hyper; counted in `/metrics`, explained in `docs/serve.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handover {
    /// The head is no HTTP, or a length is no number.
    Malformed,
    /// Another version than HTTP/1.1.
    Version,
    /// Another method than GET, POST, PUT and DELETE.
    Method,
    /// The target is no path, or has characters beyond those of RFC 3986.
    Target,
    /// An `Upgrade`: a WebSocket.
    Upgrade,
    /// A `Connection` other than keep-alive.
    Connection,
    /// An `Expect`.
    Expect,
    /// A body without a length.
    TransferEncoding,
    /// A body in a coding, which is refused.
    ContentEncoding,
    /// `Accept`, `Content-Type` or `Content-Length` more than once.
    Repeated,
    /// Over a limit, or larger than what is waited for here.
    Size,
    /// The rest of the request has not come in time, or the client has ended sending.
    Incomplete,
    /// It names no host, or one by which this server is not asked for, or comes from a page of an origin that may not ask so.
    Refused,
    /// Nobody here responds to this request.
    Resource,
    /// What responds has set headers that hyper must write.
    Response,
}

impl Handover {
    pub(crate) const ALL: [Self; 15] = [
        Self::Malformed,
        Self::Version,
        Self::Method,
        Self::Target,
        Self::Upgrade,
        Self::Connection,
        Self::Expect,
        Self::TransferEncoding,
        Self::ContentEncoding,
        Self::Repeated,
        Self::Size,
        Self::Incomplete,
        Self::Refused,
        Self::Resource,
        Self::Response,
    ];

    /// The value of the label `reason`.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Version => "version",
            Self::Method => "method",
            Self::Target => "target",
            Self::Upgrade => "upgrade",
            Self::Connection => "connection",
            Self::Expect => "expect",
            Self::TransferEncoding => "transfer_encoding",
            Self::ContentEncoding => "content_encoding",
            Self::Repeated => "repeated_header",
            Self::Size => "size",
            Self::Incomplete => "incomplete",
            Self::Refused => "refused",
            Self::Resource => "resource",
            Self::Response => "response",
        }
    }
}
