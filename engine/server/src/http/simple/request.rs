//! Reads simple requests: HTTP/1.1 with a whole head, a body of a stated length, and no wish about the connection.

use std::mem::MaybeUninit;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use httparse::{Header, Status};
use prony_source::http_api::RequestHeaders;

use super::Handover;
use crate::config::Settings;

/// A simple request has no more headers; hyper counts those of others.
const HEADERS_MAX: usize = 64;

/// A request that has not come whole is waited for up to this size, head and body; what is larger is read by hyper, piece by
/// piece.
const REQUEST_BYTES_MAX: usize = 64 << 10;

/// Room for the headers of one request.
pub(crate) struct HeaderRoom<'b>([MaybeUninit<Header<'b>>; HEADERS_MAX]);

impl HeaderRoom<'_> {
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; HEADERS_MAX])
    }
}

/// A request whose bytes are all there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SimpleRequest<'b> {
    pub(crate) method: Method,
    /// Path and query.
    target: &'b str,
    pub(crate) path: &'b str,
    pub(crate) query: Option<&'b str>,
    pub(crate) body: &'b [u8],
    pub(crate) content_type: Option<&'b [u8]>,
    pub(crate) accept: Option<&'b [u8]>,
    /// The first, of several.
    pub(crate) accept_encoding: Option<&'b [u8]>,
    pub(crate) host: Option<&'b [u8]>,
    pub(crate) origin: Option<&'b [u8]>,
    /// The client asks how long the response took, or what it cost.
    pub(crate) is_timed: bool,
    headers: &'b [Header<'b>],
    /// Head and body.
    pub(crate) whole: &'b [u8],
}

impl RequestHeaders for SimpleRequest<'_> {
    fn value(&self, name: &HeaderName) -> Option<&[u8]> {
        self.headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name.as_str()))
            .map(|header| header.value)
    }
}

impl<'b> SimpleRequest<'b> {
    /// All header fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> {
        self.headers.iter().map(|header| (header.name, header.value))
    }
}

impl SimpleRequest<'_> {
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
pub(crate) enum Parsed<'b> {
    Whole(SimpleRequest<'b>),
    /// A request whose head has not come to its end.
    PartOfHead,
    /// A simple request, of so many bytes with its body, which have not all come.
    PartOfBody(usize),
    NotSimple(Handover),
}

/// What the headers say of the connection and of the body.
#[derive(Debug, Default)]
struct Framing<'b> {
    content_length: Option<usize>,
    content_type: Option<&'b [u8]>,
    accept: Option<&'b [u8]>,
    accept_encoding: Option<&'b [u8]>,
    host: Option<&'b [u8]>,
    origin: Option<&'b [u8]>,
    is_timed: bool,
}

/// Reads the first request of `bytes`.
pub(crate) fn parse<'b>(bytes: &'b [u8], room: &'b mut HeaderRoom<'b>, settings: &Settings) -> Parsed<'b> {
    let mut request = httparse::Request::new(&mut []);
    let head_bytes = match request.parse_with_uninit_headers(bytes, &mut room.0) {
        Ok(Status::Complete(head_bytes)) => head_bytes,
        Ok(Status::Partial) if bytes.len() <= settings.max_header_bytes => return Parsed::PartOfHead,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Parsed::NotSimple(Handover::Size);
        }
        Err(_) => return Parsed::NotSimple(Handover::Malformed),
    };
    if request.version != Some(1) {
        return Parsed::NotSimple(Handover::Version);
    }
    let framing = match framing(request.headers) {
        Ok(framing) => framing,
        Err(reason) => return Parsed::NotSimple(reason),
    };
    let Some(method) = request.method.and_then(method) else { return Parsed::NotSimple(Handover::Method) };
    let Some(target) = request.path.filter(|target| is_simple_target(target)) else {
        return Parsed::NotSimple(Handover::Target);
    };
    let body_bytes = framing.content_length.unwrap_or(0);
    let is_within_limits = target.len() <= settings.max_uri_bytes
        && request.headers.len() <= settings.max_headers
        && head_bytes <= settings.max_header_bytes
        && body_bytes <= settings.max_body_bytes;
    let whole = head_bytes.saturating_add(body_bytes);
    if !is_within_limits || whole > bytes.len().max(REQUEST_BYTES_MAX) {
        return Parsed::NotSimple(Handover::Size);
    }
    if whole > bytes.len() {
        return Parsed::PartOfBody(whole);
    }
    let (path, query) = match memchr::memchr(b'?', target.as_bytes()) {
        Some(end) => (&target[..end], Some(&target[end + 1..])),
        None => (target, None),
    };
    let Framing { content_type, accept, accept_encoding, host, origin, is_timed, .. } = framing;
    let (body, headers) = (&bytes[head_bytes..whole], &*request.headers);
    let whole = &bytes[..whole];
    Parsed::Whole(SimpleRequest {
        method,
        target,
        path,
        query,
        body,
        content_type,
        accept,
        accept_encoding,
        host,
        origin,
        is_timed,
        headers,
        whole,
    })
}

/// Whether `bytes` hold the end of a head; `searched` of them are known not to.
pub(crate) fn has_end_of_head(bytes: &[u8], searched: usize) -> bool {
    // As httparse has it: an empty line, of which the carriage return may be missing.
    let from = searched.saturating_sub(2);
    memchr::memchr_iter(b'\n', &bytes[from..]).any(|place| {
        let rest = &bytes[from + place + 1..];
        rest.starts_with(b"\n") || rest.starts_with(b"\r\n")
    })
}

/// Where headers ask for what only hyper does, or contradict each other, the reason.
fn framing<'b>(headers: &[Header<'b>]) -> Result<Framing<'b>, Handover> {
    let mut framing = Framing::default();
    for Header { name, value } in headers {
        // Of the usual spelling, or any other.
        let is = |usual: &str| *name == usual || name.eq_ignore_ascii_case(usual);
        match name.len() {
            // Of several, hyper's part looks at each.
            4 if is("Host") && framing.host.replace(value).is_some() => return Err(Handover::Repeated),
            6 if is("Origin") && framing.origin.replace(value).is_some() => return Err(Handover::Repeated),
            6 if is("Expect") => return Err(Handover::Expect),
            // Several count as one list.
            6 if is("Accept") && framing.accept.replace(value).is_some() => return Err(Handover::Repeated),
            7 if is("Upgrade") => return Err(Handover::Upgrade),
            10 if is("Connection") && !value.eq_ignore_ascii_case(b"keep-alive") => {
                return Err(Handover::Connection);
            }
            12 if is("Content-Type") && framing.content_type.replace(value).is_some() => {
                return Err(Handover::Repeated);
            }
            14 if is("Content-Length") => {
                let length = content_length(value).ok_or(Handover::Malformed)?;
                if framing.content_length.replace(length).is_some() {
                    return Err(Handover::Repeated);
                }
            }
            12 if is("X-Prony-Cost") => framing.is_timed = true,
            14 if is("X-Prony-Timing") => framing.is_timed = true,
            15 if is("Accept-Encoding") => {
                framing.accept_encoding.get_or_insert(value);
            }
            16 if is("Content-Encoding") => return Err(Handover::ContentEncoding),
            17 if is("Transfer-Encoding") => return Err(Handover::TransferEncoding),
            _ => {}
        }
    }
    Ok(framing)
}

fn content_length(value: &[u8]) -> Option<usize> {
    let digits =
        std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok()
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
fn is_simple_target(target: &str) -> bool {
    const SIMPLE: [bool; 256] = {
        let mut simple = [false; 256];
        let all = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:@/?%";
        let mut place = 0;
        while place < all.len() {
            simple[all[place] as usize] = true;
            place += 1;
        }
        simple
    };
    target.starts_with('/') && target.bytes().all(|byte| SIMPLE[usize::from(byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The method, path, query, body and rest of a whole request; which part has come; or why it is not simple.
    fn check(bytes: &str, expected: &str) {
        let settings =
            Settings { max_headers: 4, max_uri_bytes: 20, max_body_bytes: 8, ..Settings::default() };
        let actual = match parse(bytes.as_bytes(), &mut HeaderRoom::new(), &settings) {
            Parsed::Whole(SimpleRequest { method, path, query, body, whole, .. }) => {
                let body = String::from_utf8_lossy(body);
                format!("{method} {path} {query:?} {body:?} {:?}", &bytes[whole.len()..])
            }
            Parsed::PartOfHead => "part of a head".to_owned(),
            Parsed::PartOfBody(whole) => format!("part of {whole}"),
            Parsed::NotSimple(reason) => reason.label().to_owned(),
        };
        assert_eq!(actual, expected, "{bytes}");
    }

    #[test]
    fn whole_requests_that_ask_nothing_else_are_simple() {
        check("GET /db/a HTTP/1.1\r\nHost: a\r\n\r\n", r#"GET /db/a None "" """#);
        check("GET /db/a?b=1?&c HTTP/1.1\r\n\r\nGET /", r#"GET /db/a Some("b=1?&c") "" "GET /""#);
        check("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}DEL", r#"POST / None "{}" "DEL""#);
        check(
            "PUT /%2f HTTP/1.1\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n",
            r#"PUT /%2f None "" """#,
        );
    }

    #[test]
    fn what_has_not_come_whole_is_waited_for() {
        for bytes in ["", "G", "GET / HTTP/1.1\r\nhost: a\r\n"] {
            check(bytes, "part of a head");
        }
        check("POST / HTTP/1.1\r\ncontent-length: 2\r\n\r\na", "part of 40");
        let large = format!("GET / HTTP/1.1\r\na: {}", "b".repeat(Settings::default().max_header_bytes));
        check(&large, "size");
    }

    #[test]
    fn other_requests_are_not_simple() {
        for (reason, bytes) in [
            ("version", "GET / HTTP/1.0\r\n\r\n"),
            ("method", "HEAD / HTTP/1.1\r\n\r\n"),
            ("method", "OPTIONS * HTTP/1.1\r\n\r\n"),
            ("target", "GET http://a/ HTTP/1.1\r\n\r\n"),
            ("target", "GET /\"a HTTP/1.1\r\n\r\n"),
            ("size", "GET /aaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n\r\n"),
            ("connection", "GET / HTTP/1.1\r\nconnection: close\r\n\r\n"),
            ("expect", "POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 1\r\n\r\na"),
            ("size", "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\naaaaaaaaa"),
            ("size", "GET / HTTP/1.1\r\na: 1\r\nb: 1\r\nc: 1\r\nd: 1\r\ne: 1\r\n\r\n"),
            ("malformed", "\u{1}"),
            ("malformed", "GET /\r\n\r\n"),
            ("transfer_encoding", "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"),
            ("repeated_header", "POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na"),
            ("repeated_header", "GET / HTTP/1.1\r\naccept: a/b\r\naccept: a/b\r\n\r\n"),
            ("malformed", "POST / HTTP/1.1\r\ncontent-length: +1\r\n\r\na"),
            ("malformed", "POST / HTTP/1.1\r\ncontent-length: 99999999999999999999\r\n\r\na"),
            ("size", "POST / HTTP/1.1\r\ncontent-length: 18446744073709551615\r\n\r\na"),
            ("upgrade", "GET / HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
        ] {
            check(bytes, reason);
        }
    }

    #[test]
    fn the_end_of_a_head_is_found_wherever_the_pieces_are_cut() {
        for bytes in ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\n\n", "GET / HTTP/1.1\nhost: a\n\r\n"] {
            for cut in 0..bytes.len() {
                assert!(!has_end_of_head(&bytes.as_bytes()[..cut], 0), "{bytes:?} {cut}");
                assert!(has_end_of_head(bytes.as_bytes(), cut), "{bytes:?} {cut}");
            }
        }
    }
}
