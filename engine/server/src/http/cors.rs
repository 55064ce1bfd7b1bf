//! Cross-origin requests (Fetch standard, section 3.2): off unless origins are configured.

use http::{HeaderMap, HeaderValue, StatusCode, header, uri::Authority};

use super::reply::{Reply, empty};

/// What the preflight allows, and for how long a browser may remember it.
const ALLOWED_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
const ALLOWED_HEADERS: HeaderValue = HeaderValue::from_static(
    "accept, authorization, content-type, fiware-correlator, fiware-service, fiware-servicepath, fiware-timeindex-attribute, if-none-match, \
     ngsild-tenant, traceparent, tracestate, x-api-key, x-graphql-event-stream-token, x-prony-cost, x-prony-role, x-prony-timing, x-request-id",
);
/// Beside those that each page may read (Fetch standard, section 3.2.5).
const EXPOSED_HEADERS: &str = "etag, fiware-correlator, fiware-total-count, ngsild-results-count, ratelimit, ratelimit-policy, retry-after, \
     server-timing, www-authenticate, x-prony-cost, x-request-id, x-total-count";
const MAX_AGE_SECONDS: HeaderValue = HeaderValue::from_static("600");

/// The answer to OPTIONS: a preflight where the origin is allowed, otherwise what the path allows.
pub(crate) fn options(headers: &HeaderMap, origins: &[String], allow: &'static str) -> Reply {
    let mut response = empty(StatusCode::NO_CONTENT);
    let answers = response.headers_mut();
    answers.insert(header::ALLOW, HeaderValue::from_static(allow));
    if allowed(headers, origins).is_some() {
        answers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, ALLOWED_METHODS);
        answers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ALLOWED_HEADERS);
        answers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_SECONDS);
    }
    response
}

/// The value of `Access-Control-Allow-Origin`, where the request comes from an allowed origin.
pub(crate) fn allowed(headers: &HeaderMap, origins: &[String]) -> Option<HeaderValue> {
    if origins.is_empty() {
        return None;
    }
    let origin = headers.get(header::ORIGIN)?;
    is_allowed(origin.as_bytes(), origins).then(|| origin.clone())
}

pub(crate) fn is_allowed(origin: &[u8], origins: &[String]) -> bool {
    origins.iter().any(|known| known == "*" || known.as_bytes() == origin)
}

/// Browsers say whose page asks: it must be of this server or of a listed origin. What is no browser sends no origin.
pub(crate) fn comes_from_a_friend(headers: &HeaderMap, origins: &[String]) -> bool {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    headers.get_all(header::ORIGIN).into_iter().all(|origin| is_friend(origin.as_bytes(), host, origins))
}

/// The same of the values of `Origin` and `Host`.
pub(crate) fn is_friend(origin: &[u8], host: Option<&[u8]>, origins: &[String]) -> bool {
    if is_allowed(origin, origins) {
        return true;
    }
    let authority = |text: &[u8]| Authority::try_from(text).ok();
    let of_page = memchr::memmem::find(origin, b"://").and_then(|end| authority(&origin[end + 3..]));
    of_page.is_some() && of_page == host.and_then(authority)
}

/// Marks a response as readable by the origin.
pub(crate) fn mark(response: &mut Reply, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    headers.append(header::VARY, HeaderValue::from_static("origin"));
}

/// What [`mark`] adds, as lines of a head.
pub(crate) fn header_lines(origin: &[u8]) -> Vec<u8> {
    let lines = [
        b"access-control-allow-origin: ",
        origin,
        b"\r\naccess-control-expose-headers: ",
        EXPOSED_HEADERS.as_bytes(),
        b"\r\nvary: origin\r\n",
    ];
    lines.concat()
}
