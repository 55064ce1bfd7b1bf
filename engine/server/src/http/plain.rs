//! Plain HTTP/1.1 as bytes: a whole request that asks nothing of the connection, and an answer of known length. What is
//! not plain is hyper's; whether a plain request is answered here is its path's business.

use std::{
    cell::RefCell,
    mem::MaybeUninit,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use httparse::{Header, Status};
use rustix::time::{ClockId, clock_gettime};

use crate::config::Settings;

/// A plain request has no more headers; others have theirs counted by hyper.
const HEADERS_MAX: usize = 64;

/// Room for the headers of one request.
pub(crate) struct HeaderRoom<'b>([MaybeUninit<Header<'b>>; HEADERS_MAX]);

impl HeaderRoom<'_> {
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; HEADERS_MAX])
    }
}

/// A request whose bytes are all there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plain<'b> {
    pub(crate) method: Method,
    /// Path and query.
    target: &'b str,
    pub(crate) path: &'b str,
    pub(crate) query: Option<&'b str>,
    pub(crate) body: &'b [u8],
    pub(crate) content_type: Option<&'b [u8]>,
    pub(crate) accept: Option<&'b [u8]>,
    /// It asks how long its answer took.
    pub(crate) is_timed: bool,
    headers: &'b [Header<'b>],
    /// Head and body.
    pub(crate) whole: &'b [u8],
}

impl Plain<'_> {
    /// As hyper gives it to its service; none where a part of it is nothing that hyper would take.
    pub(crate) fn to_request(&self) -> Option<Request<Bytes>> {
        let shared = Bytes::copy_from_slice(self.whole);
        let begin = self.whole.as_ptr().addr();
        let share = |part: &[u8]| {
            let from = part.as_ptr().addr() - begin;
            shared.slice(from..from + part.len())
        };
        let mut headers = HeaderMap::with_capacity(self.headers.len());
        for Header { name, value } in self.headers {
            let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
            headers.append(name, HeaderValue::from_maybe_shared(share(value)).ok()?);
        }
        let uri = Uri::from_maybe_shared(share(self.target.as_bytes())).ok()?;
        let mut request = Request::new(if self.body.is_empty() { Bytes::new() } else { share(self.body) });
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Some(request)
    }
}

/// What bytes begin with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Begin<'b> {
    Plain(Plain<'b>),
    /// Another request, of so many bytes, which have not all come.
    Other(usize),
    /// Where it ends is not known: its head is not whole, it says so in another way, or it is none.
    Unknown,
}

/// What headers say of the connection and of the body.
#[derive(Debug, Default)]
struct Said<'b> {
    length: Option<usize>,
    content_type: Option<&'b [u8]>,
    accept: Option<&'b [u8]>,
    is_timed: bool,
    /// It asks for more than an answer.
    asks: bool,
    /// The body's end is not where a length says.
    is_unbounded: bool,
}

/// Reads the first request of `bytes`.
pub(crate) fn read<'b>(bytes: &'b [u8], room: &'b mut HeaderRoom<'b>, settings: &Settings) -> Begin<'b> {
    let mut request = httparse::Request::new(&mut []);
    let Ok(Status::Complete(head_bytes)) = request.parse_with_uninit_headers(bytes, &mut room.0) else {
        return Begin::Unknown;
    };
    let Some(said) = said(request.headers) else { return Begin::Unknown };
    let body_bytes = said.length.unwrap_or(0);
    let Some(whole) = head_bytes.checked_add(body_bytes).filter(|_| !said.is_unbounded) else {
        return Begin::Unknown;
    };
    let method = request.method.and_then(method);
    let target =
        request.path.filter(|target| is_plain_target(target) && target.len() <= settings.max_uri_bytes);
    let is_plain = request.version == Some(1)
        && !said.asks
        && request.headers.len() <= settings.max_headers
        && head_bytes <= settings.max_header_bytes
        && body_bytes <= settings.max_body_bytes
        && whole <= bytes.len();
    match (method, target) {
        (Some(method), Some(target)) if is_plain => {
            let (path, query) = match memchr::memchr(b'?', target.as_bytes()) {
                Some(end) => (&target[..end], Some(&target[end + 1..])),
                None => (target, None),
            };
            let Said { content_type, accept, is_timed, .. } = said;
            let (body, headers) = (&bytes[head_bytes..whole], &*request.headers);
            let whole = &bytes[..whole];
            Begin::Plain(Plain {
                method,
                target,
                path,
                query,
                body,
                content_type,
                accept,
                is_timed,
                headers,
                whole,
            })
        }
        _ => Begin::Other(whole),
    }
}

/// None where they contradict each other.
fn said<'b>(headers: &[Header<'b>]) -> Option<Said<'b>> {
    let mut said = Said::default();
    for Header { name, value } in headers {
        // Of the usual spelling, or any other.
        let is = |usual: &str| *name == usual || name.eq_ignore_ascii_case(usual);
        match name.len() {
            6 if is("Expect") => said.asks = true,
            // Several count as one list.
            6 if is("Accept") => said.asks |= said.accept.replace(value).is_some(),
            7 if is("Upgrade") => said.is_unbounded = true,
            10 if is("Connection") => said.asks |= !value.eq_ignore_ascii_case(b"keep-alive"),
            12 if is("Content-Type") => said.asks |= said.content_type.replace(value).is_some(),
            14 if is("Content-Length") => {
                let digits = std::str::from_utf8(value)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
                if said.length.replace(digits.parse().ok()?).is_some() {
                    return None;
                }
            }
            14 if is("X-Prony-Timing") => said.is_timed = true,
            17 if is("Transfer-Encoding") => said.is_unbounded = true,
            _ => {}
        }
    }
    Some(said)
}

fn method(name: &str) -> Option<Method> {
    Some(match name {
        "GET" => Method::GET,
        "POST" => Method::POST,
        "PUT" => Method::PUT,
        "DELETE" => Method::DELETE,
        _ => return None,
    })
}

/// Whether a target is a path of the characters that RFC 3986 has for paths and queries; of others hyper has an opinion.
fn is_plain_target(target: &str) -> bool {
    const PLAIN: [bool; 256] = {
        let mut plain = [false; 256];
        let all = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";
        let mut place = 0;
        while place < all.len() {
            plain[all[place] as usize] = true;
            place += 1;
        }
        plain
    };
    target.starts_with('/') && target.bytes().all(|byte| PLAIN[usize::from(byte)])
}

/// Writes an answer with its whole body, in the form that hyper gives its own.
pub(crate) fn write_answer(out: &mut Vec<u8>, status: StatusCode, content_type: Option<&str>, body: &[u8]) {
    begin_answer(out, status, content_type, body.len());
    out.extend_from_slice(body);
}

/// Writes the head of such an answer, and makes room for its body.
pub(crate) fn begin_answer(
    out: &mut Vec<u8>,
    status: StatusCode,
    content_type: Option<&str>,
    body_bytes: usize,
) {
    /// Longer than any head that is written here.
    const HEAD_BYTES: usize = 192;
    out.reserve(HEAD_BYTES + body_bytes);
    begin_head(out, status);
    if let Some(content_type) = content_type {
        out.extend_from_slice(b"\r\ncontent-type: ");
        out.extend_from_slice(content_type.as_bytes());
    }
    end_head(out, status, body_bytes);
}

/// Whether [`write_response`] writes a response as hyper does: nothing in it speaks of the connection, or of its own length
/// or date.
pub(crate) fn is_plain_response(response: &Response<Bytes>) -> bool {
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
        && (!is_without_length(status) || response.body().is_empty())
        && response.version() == Version::HTTP_11
        && response.extensions().is_empty()
        && !response.headers().keys().any(speaks)
}

/// Writes a [plain](is_plain_response) response with its headers in their order.
pub(crate) fn write_response(out: &mut Vec<u8>, response: &Response<Bytes>) {
    begin_head(out, response.status());
    for (name, value) in response.headers() {
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
    }
    end_head(out, response.status(), response.body().len());
    out.extend_from_slice(response.body());
}

fn begin_head(out: &mut Vec<u8>, status: StatusCode) {
    out.extend_from_slice(b"HTTP/1.1 ");
    if status == StatusCode::OK {
        out.extend_from_slice(b"200 OK");
    } else {
        out.extend_from_slice(status.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    }
}

/// Their length would be that of another answer (RFC 9110, section 8.6).
fn is_without_length(status: StatusCode) -> bool {
    matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

fn end_head(out: &mut Vec<u8>, status: StatusCode, body_bytes: usize) {
    if !is_without_length(status) {
        out.extend_from_slice(b"\r\ncontent-length: ");
        out.extend_from_slice(itoa::Buffer::new().format(body_bytes).as_bytes());
    }
    out.extend_from_slice(b"\r\ndate: ");
    DATE.with_borrow_mut(|date| out.extend_from_slice(date.now().as_bytes()));
    out.extend_from_slice(b"\r\n\r\n");
}

thread_local! {
    static DATE: RefCell<Date> = const { RefCell::new(Date { text: String::new(), second: -1 }) };
}

/// The date of answers (RFC 9110, section 6.6.1), whose text is made once a second.
struct Date {
    text: String,
    /// Unix time.
    second: i64,
}

impl Date {
    fn now(&mut self) -> &str {
        // A few ms late, at most, and several times cheaper than the exact time.
        let second = clock_gettime(ClockId::RealtimeCoarse).tv_sec;
        if second != self.second {
            let since = Duration::from_secs(second.try_into().unwrap_or_default());
            self.text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since);
            self.second = second;
        }
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The method, path, query, body and rest of a plain request; `other` and its bytes; or `unknown`.
    fn check(bytes: &str, expected: &str) {
        let settings =
            Settings { max_headers: 4, max_uri_bytes: 20, max_body_bytes: 8, ..Settings::default() };
        let actual = match read(bytes.as_bytes(), &mut HeaderRoom::new(), &settings) {
            Begin::Plain(Plain { method, path, query, body, whole, .. }) => {
                let body = String::from_utf8_lossy(body);
                format!("{method} {path} {query:?} {body:?} {:?}", &bytes[whole.len()..])
            }
            Begin::Other(whole) => format!("other {whole}"),
            Begin::Unknown => "unknown".to_owned(),
        };
        assert_eq!(actual, expected, "{bytes}");
    }

    #[test]
    fn whole_requests_that_ask_nothing_else_are_plain() {
        check("GET /db/a HTTP/1.1\r\nHost: a\r\n\r\n", r#"GET /db/a None "" """#);
        check("GET /db/a?b=1?&c HTTP/1.1\r\n\r\nGET /", r#"GET /db/a Some("b=1?&c") "" "GET /""#);
        check("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}DEL", r#"POST / None "{}" "DEL""#);
        check(
            "PUT /%2f HTTP/1.1\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
            r#"PUT /%2f None "" """#,
        );
    }

    #[test]
    fn requests_that_are_not_plain_end_where_they_end() {
        check("GET / HTTP/1.0\r\n\r\n", "other 18");
        check("HEAD / HTTP/1.1\r\n\r\n", "other 19");
        check("OPTIONS * HTTP/1.1\r\n\r\n", "other 22");
        check("GET http://a/ HTTP/1.1\r\n\r\n", "other 26");
        check("GET /\"a HTTP/1.1\r\n\r\n", "other 20");
        check("GET /aaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n\r\n", "other 38");
        check("GET / HTTP/1.1\r\nconnection: close\r\n\r\n", "other 37");
        check("POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\na", "other 61");
        check("POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\naaaaaaaaa", "other 47");
        check("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\na", "other 40");
        check("GET / HTTP/1.1\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\n\r\n", "other 48");
    }

    #[test]
    fn what_has_no_known_end_is_unknown() {
        for bytes in [
            "",
            "G",
            "GET / HTTP/1.1\r\nhost: a\r\n",
            "\u{1}",
            "GET /\r\n\r\n",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na",
            "POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\na",
            "POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\na",
            "POST / HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\na",
            "GET / HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        ] {
            check(bytes, "unknown");
        }
    }

    #[test]
    fn answers_are_whole() {
        let written = |status, content_type, body: &[u8]| {
            let mut out = Vec::new();
            write_answer(&mut out, status, content_type, body);
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
