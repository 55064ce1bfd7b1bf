//! Requests of a recording as those of a plan, without what belongs to the browser, its cache and its connection.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use url::form_urlencoded::Serializer;

use super::{
    log::{Entry, PostData},
    select::Kept,
};
use crate::draft::{Body, Request, escaped, set_header};

/// They come by themselves, speak of the connection, or make the answer another one than a user's first.
const DROPPED: [&str; 14] = [
    "host",
    "connection",
    "content-length",
    "accept-encoding",
    "user-agent",
    "cache-control",
    "pragma",
    "if-none-match",
    "if-modified-since",
    "upgrade-insecure-requests",
    "keep-alive",
    "te",
    "transfer-encoding",
    "priority",
];

/// None where the body is no text.
pub(super) fn request(kept: &Kept<'_>, target: usize) -> Option<Request> {
    let recorded = &kept.entry.request;
    let path = match kept.url.query() {
        Some(query) => format!("{}?{query}", kept.url.path()),
        None => kept.url.path().to_owned(),
    };
    let mut headers: Vec<(String, String)> = Vec::new();
    for pair in &recorded.headers {
        let name = pair.name.to_ascii_lowercase();
        let is_browsers =
            name.starts_with(':') || name.starts_with("sec-") || name.starts_with("x-devtools-");
        if is_browsers || DROPPED.contains(&name.as_str()) {
            continue;
        }
        // Over HTTP/2 each cookie may have a line of its own (RFC 9113, 8.2.3).
        let is_same = |known: &str| name == "cookie" && known.eq_ignore_ascii_case(&name);
        if let Some((_, cookies)) = headers.iter_mut().find(|(known, _)| is_same(known)) {
            cookies.push_str("; ");
            cookies.push_str(&escaped(&pair.value));
            continue;
        }
        set_header(&mut headers, &pair.name, &escaped(&pair.value));
    }
    let body = match &recorded.post_data {
        Some(data) => body(data, &path)?,
        None => Body::None,
    };
    if matches!(body, Body::Json(_) | Body::Graphql { .. }) {
        headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
    }
    Some(Request {
        target,
        method: recorded.method.clone(),
        path: escaped(&path),
        headers,
        body,
        expect_status: expected(kept.entry),
        ..Request::default()
    })
}

/// Without the browser's cache, what was not modified would have been sent.
fn expected(entry: &Entry) -> Vec<u16> {
    match u16::try_from(entry.response.status) {
        Ok(200..=299 | 304) | Err(_) => Vec::new(),
        Ok(status) => vec![status],
    }
}

fn body(data: &PostData, path: &str) -> Option<Body> {
    let text = match (&data.text, data.encoding.as_deref()) {
        (Some(text), Some("base64")) => String::from_utf8(STANDARD.decode(text).ok()?).ok()?,
        (Some(text), _) if !text.is_empty() || data.params.is_empty() => text.clone(),
        // Files are not recorded, nor are the parts as they were sent.
        _ if data.mime_type.starts_with("multipart/") => return None,
        _ => {
            let pairs = data.params.iter().map(|param| (&param.name, &param.value));
            Serializer::new(String::new()).extend_pairs(pairs).finish()
        }
    };
    // Browsers have put bytes that are no text into characters.
    if text.contains('\u{fffd}') {
        return None;
    }
    if text.is_empty() {
        return Some(Body::None);
    }
    let is_json = data.mime_type.split(';').next().is_some_and(|kind| kind.trim() == "application/json");
    let json = if is_json { Body::of_json(&text, path) } else { None };
    Some(json.unwrap_or_else(|| Body::Text(escaped(&text))))
}
