//! The console at `/`: GraphiQL from the binary, and `/console.json`, which tells it what is served. Nothing is
//! loaded from elsewhere, and the policy sent with it lets nothing be.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prony_source::{AcceptedCodings, ContentCoding};
use serde::Serialize;

use super::{
    explain,
    reply::{JSON, Reply, empty, reply},
};
use crate::graphql::{Asker, CoreEngine, Description, ExecutionContext as _, RequestContext};

/// A file of the console, made by the build script.
struct Page {
    path: &'static str,
    content_type: &'static str,
    /// Its name holds a hash of its content, so that it never changes.
    immutable: bool,
    identity: &'static [u8],
    gzip: Option<&'static [u8]>,
    brotli: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/pages.rs"));

pub(super) const DESCRIPTION_PATH: &str = "/console.json";

/// The editor writes styles into elements, so styles may be inline; everything else comes from this server.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     font-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'",
);

pub(super) fn has(path: &str) -> bool {
    path == DESCRIPTION_PATH || page(path).is_some()
}

fn page(path: &str) -> Option<&'static Page> {
    let path = if path == "/" { "/index.html" } else { path };
    PAGES.iter().find(|page| page.path == path)
}

/// What a page needs to know of who asks, and what is served to them.
#[derive(Debug, Serialize)]
struct ConsoleDescription<'a> {
    /// Whether `/explain` is there for them.
    explain: bool,
    /// Whether `/metrics` is served beside the page.
    metrics: bool,
    /// None where everybody may do everything.
    role: Option<RoleDescription<'a>>,
    #[serde(flatten)]
    served: &'a Description,
}

#[derive(Debug, Serialize)]
struct RoleDescription<'a> {
    name: &'a str,
    unrestricted: bool,
}

/// What is served to who asks, and who that is.
pub(super) fn description(core: &CoreEngine, context: &RequestContext) -> Reply {
    let settings = core.settings();
    let role = context.asker.as_ref().map(Asker::role);
    let served = core.served(context);
    let told = ConsoleDescription {
        explain: explain::is_on(settings) && explain::is_for(context),
        metrics: settings.admin_listen.is_empty(),
        role: role.map(|role| RoleDescription { name: &role.name, unrestricted: role.unrestricted }),
        served: &served.description,
    };
    let body = serde_json::to_vec(&told).expect("plain texts are JSON");
    reply(StatusCode::OK, JSON, body)
}

pub(super) fn answer(path: &str, headers: &HeaderMap) -> Reply {
    page(path).map_or_else(|| empty(StatusCode::NOT_FOUND), |page| send(page, headers))
}

fn send(page: &'static Page, headers: &HeaderMap) -> Reply {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().map(HeaderValue::as_bytes);
    let accepted = AcceptedCodings::of(values);
    let takes = |coding| accepted.include(coding);
    let (encoding, bytes) = match (takes(ContentCoding::Brotli), takes(ContentCoding::Gzip)) {
        (true, _) if page.brotli.is_some() => (Some("br"), page.brotli.unwrap_or_default()),
        (_, true) if page.gzip.is_some() => (Some("gzip"), page.gzip.unwrap_or_default()),
        _ => (None, page.identity),
    };
    let mut response =
        reply(StatusCode::OK, HeaderValue::from_static(page.content_type), Bytes::from_static(bytes));
    let answers = response.headers_mut();
    if let Some(encoding) = encoding {
        answers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    let caching = if page.immutable { "public, max-age=31536000, immutable" } else { "no-cache" };
    answers.insert(header::CACHE_CONTROL, HeaderValue::from_static(caching));
    answers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    answers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
    answers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    answers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
