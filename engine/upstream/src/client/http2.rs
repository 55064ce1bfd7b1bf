//! HTTP/2 to an upstream: one connection that all requests of a core share.

use std::{cell::Cell, io, rc::Rc, time::Duration};

use bytes::{Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, HeaderValue, Request, header};
use prony_source::ContentCoding;
use tokio::time::{Instant, timeout_at};

use super::{
    error::{SendError, SendErrorKind},
    head::{UNKNOWN_CODING, is_json},
    message::{ACCEPT, IncomingResponse, OutgoingRequest, TraceFields},
    transport::Transport,
};
use crate::address::Address;

/// A handle of the connection, which ends when it has no handles and no requests.
#[derive(Debug, Clone)]
pub(super) struct Http2 {
    sender: SendRequest<Bytes>,
    usage: Rc<Usage>,
}

#[derive(Debug)]
struct Usage {
    in_flight: Cell<usize>,
    /// When the last request ended, or the connection was opened.
    idle_since: Cell<Instant>,
}

/// Counts a request as long as it is there.
struct InFlight<'c>(&'c Usage);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.set(self.0.in_flight.get() - 1);
        self.0.idle_since.set(Instant::now());
    }
}

impl Http2 {
    /// Speaks HTTP/2 on a stream until either side ends it.
    pub(super) async fn open(transport: Transport) -> Result<Self, SendError> {
        let (sender, connection) = h2::client::handshake(transport)
            .await
            .map_err(|error| SendError::unsent(SendErrorKind::Protocol(error.to_string())))?;
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an HTTP/2 connection to an upstream ended");
            }
        });
        let usage = Usage { in_flight: Cell::new(0), idle_since: Cell::new(Instant::now()) };
        Ok(Self { sender, usage: Rc::new(usage) })
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.usage, &other.usage)
    }

    /// Whether nobody has used it for longer than this.
    pub(super) fn is_idle_for(&self, limit: Duration) -> bool {
        self.usage.in_flight.get() == 0 && self.usage.idle_since.get().elapsed() > limit
    }

    /// `own` are headers of the configuration.
    pub(super) async fn exchange(
        &self,
        address: &Address,
        own: &[(String, String)],
        request: &OutgoingRequest<'_>,
    ) -> Result<IncomingResponse, SendError> {
        let begun = Instant::now();
        self.usage.in_flight.set(self.usage.in_flight.get() + 1);
        let _in_flight = InFlight(&self.usage);
        let limits = &request.limits;
        let whole = begun + limits.whole;
        let first_byte = (begun + limits.first_byte).min(whole);
        let unsent = |error: h2::Error| SendError::unsent(failure(&error));
        let mut sender = self.sender.clone().ready().await.map_err(unsent)?;
        let head = head(address, own, request)?;
        let (response, mut body) = sender.send_request(head, false).map_err(unsent)?;
        let sent = |error: h2::Error, has_begun| {
            // What the peer has not processed, it has refused (RFC 9113, section 8.7).
            let is_refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
            SendError { may_have_arrived: !is_refused, ..SendError::sent(failure(&error), has_begun) }
        };
        body.send_data(Bytes::copy_from_slice(&request.body), true).map_err(|error| sent(error, false))?;
        let late = |what, limit: Duration, option, has_begun| {
            SendError::sent(SendErrorKind::Timeout { what, limit_ms: limit.as_millis(), option }, has_begun)
        };
        let response = timeout_at(first_byte, response)
            .await
            .map_err(|_| {
                late("the first byte of the response", limits.first_byte, "first_byte_timeout_ms", false)
            })?
            .map_err(|error| sent(error, false))?;
        let status = response.status().as_u16();
        let content_type = response.headers().get(header::CONTENT_TYPE);
        let is_json = content_type.is_some_and(|value| is_json(value.as_bytes()));
        let coding = coding(response.headers()).map_err(|kind| SendError::sent(kind, true))?;
        let read = timeout_at(whole, read_body(response.into_body(), limits.max_bytes));
        let body = read
            .await
            .map_err(|_| late("the response", limits.whole, "upstream_timeout_ms", true))?
            .map_err(|kind| SendError::sent(kind, true))?;
        Ok(IncomingResponse { status, is_json, coding, body })
    }
}

fn coding(headers: &HeaderMap) -> Result<ContentCoding, SendErrorKind> {
    let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(ContentCoding::Identity),
        (Some(value), None) => ContentCoding::parse(value.as_bytes()),
        (Some(_), Some(_)) => None,
    }
    .ok_or_else(|| SendErrorKind::Protocol(UNKNOWN_CODING.to_owned()))
}

fn head(
    address: &Address,
    own: &[(String, String)],
    request: &OutgoingRequest<'_>,
) -> Result<Request<()>, SendError> {
    let scheme = if address.is_secure { "https" } else { "http" };
    let mut head = Request::post(format!("{scheme}://{}{}", address.authority, address.target))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, ACCEPT)
        .header(header::CONTENT_LENGTH, request.body.len());
    for (name, value) in own {
        head = head.header(name, value);
    }
    for (name, value) in request.headers {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            head = head.header(&**name, value);
        }
    }
    for (name, value) in request.trace.iter().flat_map(TraceFields::iter) {
        head = head.header(name, value);
    }
    if let Some(value) = request.authorization {
        head = head.header(header::AUTHORIZATION, value);
    }
    head.body(()).map_err(|error| SendError::unsent(SendErrorKind::Protocol(error.to_string())))
}

async fn read_body(mut body: h2::RecvStream, max_bytes: usize) -> Result<Bytes, SendErrorKind> {
    let mut whole = BytesMut::new();
    while let Some(piece) = body.data().await {
        let piece = piece.map_err(|error| failure(&error))?;
        if piece.len() > max_bytes.saturating_sub(whole.len()) {
            return Err(SendErrorKind::TooLarge { max_bytes });
        }
        whole.extend_from_slice(&piece);
        body.flow_control().release_capacity(piece.len()).map_err(|error| failure(&error))?;
    }
    Ok(whole.freeze())
}

fn failure(error: &h2::Error) -> SendErrorKind {
    if error.is_io() || error.is_go_away() {
        return SendErrorKind::Closed;
    }
    if error.is_reset() && error.is_remote() {
        return SendErrorKind::Broken(io::Error::other(error.to_string()));
    }
    SendErrorKind::Protocol(error.to_string())
}
