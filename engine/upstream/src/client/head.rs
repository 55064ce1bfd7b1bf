//! Heads of HTTP/1.1 responses, read strictly: where it is not certain where a body ends, the response is refused (RFC 9112,
//! section 6.3), because what is behind it could be taken for another's.

use httparse::{EMPTY_HEADER, Header, Status};
use prony_source::ContentCoding;

/// Header fields that a response may have.
const HEADERS_MAX: usize = 100;
/// Bytes that a head may have.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;

pub(super) const UNKNOWN_CODING: &str = "it has a Content-Encoding that was not asked for";

/// How far the body goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Length(usize),
    Chunked,
    Close,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ResponseHead {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) coding: ContentCoding,
    pub(super) body: BodyEnd,
    /// Whether another request may follow.
    pub(super) keeps_alive: bool,
    /// Of the head.
    pub(super) bytes: usize,
}

/// Reads the head that `bytes` begin with; none where it has not all come.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<ResponseHead>, String> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if bytes.len() <= HEAD_BYTES_MAX => return Ok(None),
        Ok(Status::Partial) => return Err(format!("its head has more than {HEAD_BYTES_MAX} bytes")),
        Err(error) => return Err(error.to_string()),
    };
    if length > HEAD_BYTES_MAX {
        return Err(format!("its head has more than {HEAD_BYTES_MAX} bytes"));
    }
    let is_1_1 = response.version == Some(1);
    let status = response.code.unwrap_or_default();
    let fields = Fields::of(response.headers)?;
    let body = match (fields.content_length, fields.is_chunked) {
        _ if (100..200).contains(&status) || matches!(status, 204 | 304) => BodyEnd::Length(0),
        (Some(_), true) => return Err("it has both Content-Length and Transfer-Encoding".to_owned()),
        (None, true) if !is_1_1 => return Err("HTTP/1.0 knows no Transfer-Encoding".to_owned()),
        (None, true) => BodyEnd::Chunked,
        (Some(length), false) => BodyEnd::Length(length),
        (None, false) => BodyEnd::Close,
    };
    let keeps_alive = match fields.connection {
        Some(wish) => wish == ConnectionWish::KeepAlive,
        None => is_1_1,
    };
    Ok(Some(ResponseHead {
        status,
        is_json: fields.is_json,
        coding: fields.coding.unwrap_or_default(),
        body,
        keeps_alive: keeps_alive && body != BodyEnd::Close,
        bytes: length,
    }))
}

#[derive(Default)]
struct Fields {
    content_length: Option<usize>,
    is_chunked: bool,
    is_json: bool,
    coding: Option<ContentCoding>,
    connection: Option<ConnectionWish>,
}

/// What `Connection` says; to close it wins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConnectionWish {
    Close,
    KeepAlive,
}

impl Fields {
    fn of(headers: &[Header<'_>]) -> Result<Self, String> {
        let mut fields = Self::default();
        let mut has_type = false;
        for Header { name, value } in headers {
            match name.len() {
                10 if name.eq_ignore_ascii_case("connection") => fields.connection(value),
                12 if name.eq_ignore_ascii_case("content-type") => {
                    if std::mem::replace(&mut has_type, true) {
                        return Err("it has several Content-Type".to_owned());
                    }
                    fields.is_json = is_json(value);
                }
                14 if name.eq_ignore_ascii_case("content-length") => {
                    let length = content_length(value).ok_or_else(|| {
                        format!("its Content-Length is `{}`", String::from_utf8_lossy(value))
                    })?;
                    if fields.content_length.replace(length).is_some() {
                        return Err("it has several Content-Length".to_owned());
                    }
                }
                16 if name.eq_ignore_ascii_case("content-encoding") => {
                    let coding = ContentCoding::parse(value).filter(|_| fields.coding.is_none());
                    fields.coding = Some(coding.ok_or(UNKNOWN_CODING)?);
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    if fields.is_chunked || !value.eq_ignore_ascii_case(b"chunked") {
                        return Err("it has another Transfer-Encoding than chunked".to_owned());
                    }
                    fields.is_chunked = true;
                }
                _ => {}
            }
        }
        Ok(fields)
    }

    fn connection(&mut self, value: &[u8]) {
        for word in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
            if word.eq_ignore_ascii_case(b"close") {
                self.connection = Some(ConnectionWish::Close);
            } else if word.eq_ignore_ascii_case(b"keep-alive") && self.connection.is_none() {
                self.connection = Some(ConnectionWish::KeepAlive);
            }
        }
    }
}

fn content_length(value: &[u8]) -> Option<usize> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}

/// Whether a type is JSON (`application/json`, or any `+json`).
pub(super) fn is_json(value: &[u8]) -> bool {
    let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let essence = essence.to_ascii_lowercase();
    essence == b"application/json" || essence.ends_with(b"+json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: &str) {
        let actual = match parse(head.replace('\n', "\r\n").as_bytes()) {
            Err(message) => message,
            Ok(None) => "part".to_owned(),
            Ok(Some(head)) => {
                format!("{} {:?} json {} kept {}", head.status, head.body, head.is_json, head.keeps_alive)
            }
        };
        assert_eq!(actual, expected, "{head}");
    }

    #[test]
    fn bodies_end_where_the_head_says() {
        check(
            "HTTP/1.1 200 OK\nContent-Type: application/json; charset=utf-8\nContent-Length: 2\n\n{}",
            "200 Length(2) json true kept true",
        );
        check(
            "HTTP/1.1 200 OK\ncontent-type: application/graphql-response+json\ntransfer-encoding: Chunked\n\n",
            "200 Chunked json true kept true",
        );
        check(
            "HTTP/1.1 200 OK\ncontent-length: 2\nconnection: close\n\n",
            "200 Length(2) json false kept false",
        );
        check("HTTP/1.0 200 OK\ncontent-length: 2\n\n", "200 Length(2) json false kept false");
        check("HTTP/1.1 200 OK\n\n", "200 Close json false kept false");
        check("HTTP/1.1 200 OK\ncontent-le", "part");
    }

    #[test]
    fn heads_that_could_be_read_in_two_ways_are_refused() {
        let two = "it has both Content-Length and Transfer-Encoding";
        check("HTTP/1.1 200 OK\ncontent-length: 2\ntransfer-encoding: chunked\n\n", two);
        check("HTTP/1.1 200 OK\ncontent-length: 2\ncontent-length: 3\n\n", "it has several Content-Length");
        check("HTTP/1.1 200 OK\ncontent-length: 2\ncontent-length: 2\n\n", "it has several Content-Length");
        check("HTTP/1.1 200 OK\ncontent-length: +2\n\n", "its Content-Length is `+2`");
        check("HTTP/1.1 200 OK\ncontent-length: 2, 2\n\n", "its Content-Length is `2, 2`");
        check(
            "HTTP/1.1 200 OK\ntransfer-encoding: gzip, chunked\n\n",
            "it has another Transfer-Encoding than chunked",
        );
        check(
            "HTTP/1.1 200 OK\ntransfer-encoding: chunked\ntransfer-encoding: chunked\n\n",
            "it has another Transfer-Encoding than chunked",
        );
        check("HTTP/1.0 200 OK\ntransfer-encoding: chunked\n\n", "HTTP/1.0 knows no Transfer-Encoding");
        check("HTTP/1.1 200 OK\ncontent-length : 2\n\n", "invalid header name");
        check("HTTP/1.1 200 OK\na: b\n c\n\n", "invalid header name");
        check("HELLO\n\n", "invalid HTTP version");
        check(
            "HTTP/1.1 200 OK\ncontent-encoding: deflate\n\n",
            "it has a Content-Encoding that was not asked for",
        );
        check(
            "HTTP/1.1 200 OK\ncontent-encoding: gzip\ncontent-encoding: gzip\n\n",
            "it has a Content-Encoding that was not asked for",
        );
    }
}
