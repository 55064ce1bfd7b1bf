//! Spans of requests to other servers that say who asks (OpenTelemetry, "Semantic conventions for HTTP spans"), and what these are told of
//! the trace (W3C Trace Context).

use http::{StatusCode, Uri};
use prony_source::trace::{
    AttributeValue, DetachedSpan, OpenSpan, SpanKind, TRACE_PARENT, TRACE_STATE, begin_span,
};

/// Time that a request waits for keys that another one is fetching.
pub(super) const KEYS_WAIT: &str = "keys wait";

/// Whether a header says something of a trace.
pub(super) fn is_of_trace(name: &str) -> bool {
    [TRACE_PARENT, TRACE_STATE].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// A GET to this address, and the headers by which the other server is told of it; none where the request that it is sent for is not
/// traced.
pub(super) fn begin(address: &str) -> (Option<DetachedSpan>, Vec<(&'static str, String)>) {
    let Some(mut span) = begin_span("GET", SpanKind::Client) else { return (None, Vec::new()) };
    describe(address, |name, value| span.set(name, value));
    let fields = trace_fields(&span);
    (span.detach(), fields)
}

/// What is said of an address: neither its query nor a user with a password, which may be secret.
fn describe(address: &str, mut set: impl FnMut(&'static str, AttributeValue)) {
    set("http.request.method", "GET".into());
    let Ok(uri) = address.parse::<Uri>() else { return };
    let (Some(scheme), Some(host)) = (uri.scheme_str(), uri.host()) else { return };
    let port = uri.port_u16();
    let shown = port.map_or_else(String::new, |port| format!(":{port}"));
    set("url.full", format!("{scheme}://{host}{shown}{}", uri.path()).into());
    set("server.address", host.trim_matches(['[', ']']).to_owned().into());
    let usual = if scheme == "https" { 443 } else { 80 };
    set("server.port", u64::from(port.unwrap_or(usual)).into());
}

/// Headers that name the span, and what the client has said.
fn trace_fields(span: &OpenSpan) -> Vec<(&'static str, String)> {
    let Some((parent, state)) = span.context() else { return Vec::new() };
    let state = state.map(|state| (TRACE_STATE, state.to_owned()));
    [(TRACE_PARENT, parent.header_value())].into_iter().chain(state).collect()
}

/// With the status of the response, or the kind of what has kept one from coming.
pub(super) fn describe_outcome(span: &mut OpenSpan, sent: Result<StatusCode, &'static str>) {
    match sent {
        Ok(status) => {
            span.set("http.response.status_code", u64::from(status.as_u16()));
            if status.is_client_error() || status.is_server_error() {
                span.fail(status.as_u16().to_string());
            }
        }
        Err(kind) => span.fail(kind),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "reads like the address beside it")]
    fn check(address: &str, expected: Expect) {
        let mut lines = Vec::new();
        describe(address, |name, value| {
            let shown = match value {
                AttributeValue::Text(text) => text.into_owned(),
                AttributeValue::Integer(number) => number.to_string(),
            };
            lines.push(format!("{name}={shown}"));
        });
        expected.assert_eq(&lines.join(" "));
    }

    #[test]
    fn an_address_is_told_without_what_may_be_secret() {
        check(
            "https://max:geheim@keys.test/a/jwks.json?key=geheim",
            expect![
                "http.request.method=GET url.full=https://keys.test/a/jwks.json server.address=keys.test server.port=443"
            ],
        );
        check(
            "http://[::1]:8081",
            expect![
                "http.request.method=GET url.full=http://[::1]:8081/ server.address=::1 server.port=8081"
            ],
        );
        check("no address", expect!["http.request.method=GET"]);
    }
}
