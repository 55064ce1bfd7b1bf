//! What is noted of a request from its head on: for the access log, and for its trace where it is traced.

use std::net::IpAddr;

use http::{Method, Version};
use prony_source::trace::{IncomingContext, SpanKind, Trace};

use super::path::Path;
use crate::{
    observe::{Noted, REQUEST_ID},
    site::Site,
};

/// Methods that are known (OpenTelemetry, semantic conventions of HTTP); clients choose others.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
const OTHER_METHOD: &str = "_OTHER";

/// What is known of a request before anything is made of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestHead<'r> {
    pub(super) method: &'r Method,
    pub(super) path: &'r str,
    pub(super) version: Version,
    /// Of the other end of the connection.
    pub(super) address: Option<IpAddr>,
}

/// None where nobody looks. It is asked only where somebody may: the copies cost more than the rest of a short request.
pub(super) fn begin<'h, F>(site: &Site, head: RequestHead<'_>, fields: impl Fn() -> F) -> Option<Noted>
where
    F: Iterator<Item = (&'h str, &'h [u8])>,
{
    let trace = if site.tracer.is_on() { begin_trace(site, head, fields()) } else { None };
    let is_logged = site.access_log.is_on() || tracing::enabled!(tracing::Level::DEBUG);
    if !is_logged && trace.is_none() {
        return None;
    }
    let given_id = fields().find(|(name, _)| name.eq_ignore_ascii_case(REQUEST_ID.as_str()));
    let client = head.address.filter(|_| is_logged).map(|peer| site.access.client_address(fields(), peer));
    let given_id = given_id.map(|(_, value)| value);
    Some(site.access_log.begin((head.method, head.path), given_id, client, trace))
}

fn begin_trace<'h>(
    site: &Site,
    head: RequestHead<'_>,
    fields: impl Iterator<Item = (&'h str, &'h [u8])>,
) -> Option<Trace> {
    let path = Path::of(head.path, &site.settings, &site.apis);
    if matches!(path, Path::Health | Path::Live | Path::Ready | Path::Metrics) {
        // They are asked all the time, by whoever watches the server.
        return None;
    }
    let method = METHODS.into_iter().find(|known| *known == head.method.as_str());
    let route = route(site, path, head);
    let trace = site.tracer.begin(IncomingContext::of(fields), SpanKind::Server, || {
        let method = method.unwrap_or("HTTP");
        route.as_ref().map_or_else(|| method.into(), |route| format!("{method} {route}").into())
    })?;
    trace.set("http.request.method", method.unwrap_or(OTHER_METHOD));
    trace.set("url.path", head.path.to_owned());
    trace.set("url.scheme", if site.tls.is_some() { "https" } else { "http" });
    trace.set("network.protocol.version", if head.version == Version::HTTP_2 { "2" } else { "1.1" });
    if let Some(route) = route {
        trace.set("http.route", route);
    }
    if let Path::Api(id) = path {
        let source = usize::from(site.apis.source(id).0);
        trace.set("prony.source", site.engine.sources()[source].name.clone());
    }
    if let Some(address) = head.address {
        trace.set("client.address", address.to_string());
    }
    Some(trace)
}

/// What of a path clients do not choose.
fn route(site: &Site, path: Path, head: RequestHead<'_>) -> Option<String> {
    match path {
        Path::Api(id) => Some(site.apis.get(id).route(head.method, head.path).path.into_owned()),
        Path::Unknown => None,
        _ => Some(head.path.to_owned()),
    }
}
