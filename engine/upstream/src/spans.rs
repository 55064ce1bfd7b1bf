//! Spans of requests to an upstream, for requests that are traced (OpenTelemetry, "Semantic conventions for HTTP spans"), and what the
//! upstream is told of them (W3C Trace Context).

use prony_source::trace::{OpenSpan, SpanKind, TRACE_PARENT, TRACE_STATE, begin_span};

use crate::{
    address::Place,
    client::{IncomingResponse, SendError, SendErrorKind, TraceFields},
    settings::UpstreamSettings,
    upstream::{Endpoint, Upstream},
};

/// Time that a request waits for one of the connections that may be used at a time.
pub(crate) const POOL_WAIT: &str = "pool wait";

/// Whether a header says something of a trace; names are in lower case.
pub(crate) fn is_of_trace(name: &str) -> bool {
    [TRACE_PARENT, TRACE_STATE].contains(&name)
}

/// A request to this address, which was sent so often before.
pub(crate) fn begin(upstream: &Upstream, index: usize, resends: u64) -> Option<OpenSpan> {
    let mut span = begin_span("POST", SpanKind::Client)?;
    let Endpoint { address, .. } = &upstream.endpoints[index];
    span.set("http.request.method", "POST");
    match &address.place {
        Place::Tcp { host, port } => {
            span.set("server.address", host.clone());
            span.set("server.port", u64::from(*port));
        }
        Place::Unix(path) => span.set("server.address", path.to_string_lossy().into_owned()),
    }
    // Without the query, which may have a key.
    let path = address.target.split('?').next().unwrap_or_default();
    let scheme = if address.is_secure { "https" } else { "http" };
    span.set("url.full", format!("{scheme}://{}{path}", address.authority));
    if resends > 0 {
        span.set("http.request.resend_count", resends);
    }
    Some(span)
}

/// What the upstream is told, as far as the configuration forwards such headers.
pub(crate) fn trace_fields(settings: &UpstreamSettings, span: &OpenSpan) -> Option<TraceFields> {
    let forwards = |name: &str| settings.forward_headers.iter().any(|known| known == name);
    let (parent, state) = span.context().filter(|_| forwards(TRACE_PARENT))?;
    let state = state.filter(|_| forwards(TRACE_STATE)).map(str::to_owned);
    Some(TraceFields { parent: parent.header_value(), state })
}

pub(crate) fn end(span: Option<OpenSpan>, sent: &Result<IncomingResponse, SendError>) {
    let Some(mut span) = span else { return };
    match sent {
        Ok(response) => {
            span.set("http.response.status_code", u64::from(response.status));
            if response.status >= 400 {
                span.fail(response.status.to_string());
            }
        }
        Err(error) => span.fail(word(&error.kind)),
    }
    span.end();
}

fn word(kind: &SendErrorKind) -> &'static str {
    match kind {
        SendErrorKind::Connect(_) => "connect",
        SendErrorKind::Closed => "closed",
        SendErrorKind::Broken(_) => "broken",
        SendErrorKind::Timeout { .. } => "timeout",
        SendErrorKind::TooLarge { .. } => "too_large",
        SendErrorKind::Protocol(_) | SendErrorKind::NoEvents { .. } => "protocol",
        SendErrorKind::QueueFull { .. } => "queue_full",
        SendErrorKind::QueueTimeout { .. } => "queue_timeout",
        SendErrorKind::Exchange(_) => "token_exchange",
        SendErrorKind::BreakerOpen { .. } => "breaker_open",
    }
}
