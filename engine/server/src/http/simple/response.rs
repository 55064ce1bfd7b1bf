//! Responses to simple requests as bytes: a head in the form that hyper gives its own, and a body of known length.

use std::borrow::Cow;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderName, Response, StatusCode, Version, header};
use http_body_util::BodyExt as _;
use prony_source::http_api::ApiResponse;

use crate::http::{Reply, apis::may_have_body, date, reply::ReplyBody};

/// Longer than most heads that are written here.
const HEAD_BYTES: usize = 192;

/// Writes the head of a response, and makes room for its body.
pub(crate) fn begin(out: &mut Vec<u8>, status: StatusCode, content_type: &str, body_bytes: usize) {
    out.reserve(HEAD_BYTES + body_bytes);
    begin_apart(out, status, content_type, body_bytes);
}

/// As [`begin`], for a body that is kept apart.
pub(crate) fn begin_apart(out: &mut Vec<u8>, status: StatusCode, content_type: &str, body_bytes: usize) {
    out.reserve(HEAD_BYTES);
    begin_head(out, status);
    write_content_type(out, content_type);
    end_head(out, status, body_bytes);
}

/// As [`begin`], with more header fields.
pub(crate) fn begin_with(
    out: &mut Vec<u8>,
    status: StatusCode,
    content_type: &str,
    fields: &[(HeaderName, Cow<'_, str>)],
    body_bytes: usize,
) {
    let fields_bytes: usize = fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    out.reserve(HEAD_BYTES + fields_bytes + body_bytes);
    begin_head(out, status);
    write_content_type(out, content_type);
    for (name, value) in fields {
        write_field(out, name, value.as_bytes());
    }
    end_head(out, status, body_bytes);
}

/// Writes the whole response of an API; one whose status allows no body has none.
pub(crate) fn write_api_response(out: &mut Vec<u8>, response: &ApiResponse) {
    out.reserve(HEAD_BYTES + response.body.len());
    begin_head(out, response.status);
    if let Some(content_type) = response.content_type {
        write_content_type(out, content_type);
    }
    for (name, value) in &response.headers {
        write_field(out, name, value.as_bytes());
    }
    end_head(out, response.status, response.body.len());
    out.extend_from_slice(&response.body);
}

fn write_content_type(out: &mut Vec<u8>, content_type: &str) {
    out.extend_from_slice(b"\r\ncontent-type: ");
    out.extend_from_slice(content_type.as_bytes());
}

fn write_field(out: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(name.as_str().as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
}

/// Whether [`write_response`] writes a response as hyper does: nothing in it speaks of the connection, or of its own length
/// or date.
pub(crate) fn is_simple(response: &Response<Bytes>) -> bool {
    let speaks = |name: &HeaderName| {
        matches!(
            *name,
            header::CONNECTION
                | header::CONTENT_LENGTH
                | header::DATE
                | header::TRAILER
                | header::TRANSFER_ENCODING
        )
    };
    let status = response.status();
    !status.is_informational()
        && status.canonical_reason().is_some()
        && (may_have_body(status) || response.body().is_empty())
        && response.version() == Version::HTTP_11
        && response.extensions().is_empty()
        && !response.headers().keys().any(speaks)
}

/// Writes a [simple](is_simple) response with its headers in their order.
pub(crate) fn write_response(out: &mut Vec<u8>, response: &Response<Bytes>) {
    begin_head(out, response.status());
    for (name, value) in response.headers() {
        write_field(out, name, value.as_bytes());
    }
    end_head(out, response.status(), response.body().len());
    out.extend_from_slice(response.body());
}

/// A response whose body is whole, as all are that are written here.
pub(super) fn whole(reply: Reply) -> Response<Bytes> {
    reply.map(|body| match body {
        ReplyBody::Whole(mut body) => {
            let frame = body.frame().now_or_never().flatten();
            frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).unwrap_or_default()
        }
        ReplyBody::Stream(_) => unreachable!("what streams is hyper's"),
    })
}

/// Puts header lines, each with its end, into the head of the response that begins at `begin`, before its length.
pub(crate) fn insert_headers(out: &mut Vec<u8>, begin: usize, lines: &[u8]) {
    let ends = [&b"\r\ncontent-length: "[..], b"\r\ndate: "];
    let place = ends.iter().find_map(|end| memchr::memmem::find(&out[begin..], end));
    let at = begin + place.expect("a head has a date") + b"\r\n".len();
    out.splice(at..at, lines.iter().copied());
}

/// The status of a response that was written here.
pub(crate) fn status(response: &[u8]) -> u16 {
    let digits = response.get("HTTP/1.1 ".len().."HTTP/1.1 200".len()).unwrap_or_default();
    digits.iter().fold(0, |status, digit| status * 10 + u16::from(digit - b'0'))
}

/// The length of the body of a response that was written here.
pub(crate) fn body_bytes(response: &[u8]) -> u64 {
    let end = memchr::memmem::find(response, b"\r\n\r\n").map_or(response.len(), |end| end + 4);
    (response.len() - end) as u64
}

fn begin_head(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(b"HTTP/1.1 ");
    if status == StatusCode::OK {
        out.extend_from_slice(b"200 OK");
    } else {
        out.extend_from_slice(status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(status.canonical_reason().unwrap_or("<none>").as_bytes());
    }
}

fn end_head(out: &mut Vec<u8>, status: StatusCode, body_bytes: usize) {
    // Otherwise their length would be that of another response (RFC 9110, section 8.6).
    if may_have_body(status) {
        out.extend_from_slice(b"\r\ncontent-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body_bytes).as_bytes());
    }
    out.extend_from_slice(b"\r\ndate: ");
    date::write(out);
    out.extend_from_slice(b"\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_whole() {
        let written = |status, content_type, body: &[u8]| {
            let mut out = Vec::new();
            let body = body.to_vec();
            let headers = Vec::new();
            write_api_response(&mut out, &ApiResponse { status, content_type, headers, body });
            let text = String::from_utf8(out).expect("heads are text");
            let (head, body) = text.split_once("\r\n\r\n").expect("a head has an end");
            let without_date: Vec<&str> = head.lines().filter(|line| !line.starts_with("date: ")).collect();
            assert_eq!(head.lines().count(), without_date.len() + 1, "it has a date");
            format!("{}|{body}", without_date.join("|"))
        };
        let ok = "HTTP/1.1 200 OK|content-type: application/json|content-length: 2|{}";
        assert_eq!(written(StatusCode::OK, Some("application/json"), b"{}"), ok);
        assert_eq!(written(StatusCode::NOT_FOUND, None, b""), "HTTP/1.1 404 Not Found|content-length: 0|");
        assert_eq!(written(StatusCode::NO_CONTENT, None, b""), "HTTP/1.1 204 No Content|");
    }
}
