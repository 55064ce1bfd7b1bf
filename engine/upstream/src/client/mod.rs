//! The HTTP client of upstreams: a [`pool`] of connections for each core, over which requests go as HTTP/1.1 ([`connection`], whose
//! responses [`head`] and [`chunked`] read strictly, and [`coding`] decodes) or HTTP/2 ([`http2`]), over TCP, TLS or Unix-domain sockets ([`transport`]).

mod chunked;
mod coding;
mod connection;
mod error;
mod form;
mod head;
mod http2;
mod message;
mod open_response;
mod pool;
mod tls;
mod transport;

pub(crate) use self::{
    coding::decode,
    error::{SendError, SendErrorKind},
    form::post_form,
    message::{IncomingResponse, OutgoingRequest, ResponseLimits, TraceFields},
    open_response::OpenResponse,
    pool::Pool,
    tls::{TlsError, connector},
    transport::{Connector, Transport},
};
