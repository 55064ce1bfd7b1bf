//! How many requests a text holds and where each ends: a script may write several at once, to be pipelined.

use std::fmt;

/// Requests in one text; more are most likely a mistake in a loop.
pub(super) const REQUESTS_MAX: usize = 10_000;
/// Header lines of one request.
const HEADERS_MAX: usize = 128;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub end: usize,
    pub is_head: bool,
}

/// A text that is no HTTP/1.1 request, or not only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TextFault {
    /// From 1.
    request: usize,
    what: String,
}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {} of the text {}; wrk.format writes proper ones", self.request, self.what)
    }
}

/// The requests of a text, one after the other; line ends between and after them are ignored.
pub(super) fn parts(text: &[u8]) -> Result<Vec<Part>, TextFault> {
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let request = parts.len() + 1;
        let fault = |what: String| TextFault { request, what };
        if request > REQUESTS_MAX {
            return Err(fault(format!("is one too many: at most {REQUESTS_MAX} can be pipelined")));
        }
        let (head, is_head, body) = head(&text[start..]).map_err(fault)?;
        start += head;
        start += body.length(&text[start..]).map_err(fault)?;
        let rest = &text[start..];
        let only_line_ends = rest.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        let end = if only_line_ends { text.len() } else { start };
        parts.push(Part { end, is_head });
        if only_line_ends {
            return Ok(parts);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Body {
    Sized(usize),
    Chunked,
}

/// How long the head is, whether it asks for a head only, and what follows it.
fn head(text: &[u8]) -> Result<(usize, bool, Body), String> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(text) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err("has no empty line after its headers".to_owned()),
        Err(cause) => return Err(format!("is no HTTP/1.1 ({cause})")),
    };
    let mut body = Body::Sized(0);
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = String::from_utf8_lossy(header.value);
            let length = value.trim().parse().map_err(|_| format!("has the Content-Length `{value}`"))?;
            body = Body::Sized(length);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            let is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
            if !is_chunked {
                return Err("has a Transfer-Encoding other than chunked".to_owned());
            }
            return Ok((length, request.method == Some("HEAD"), Body::Chunked));
        }
    }
    Ok((length, request.method == Some("HEAD"), body))
}

impl Body {
    fn length(self, rest: &[u8]) -> Result<usize, String> {
        match self {
            Self::Sized(length) if length <= rest.len() => Ok(length),
            Self::Sized(length) => {
                Err(format!("says Content-Length {length}, but only {} bytes follow", rest.len()))
            }
            Self::Chunked => chunked_length(rest),
        }
    }
}

fn chunked_length(rest: &[u8]) -> Result<usize, String> {
    let mut at = 0;
    loop {
        let (size_line, size) = match httparse::parse_chunk_size(&rest[at..]) {
            Ok(httparse::Status::Complete((line, size))) => (line, size as usize),
            _ => return Err("has a chunk without a proper size".to_owned()),
        };
        // The data and the line end behind it; after the last chunk only the line end, as no trailers are taken.
        let end = at.saturating_add(size_line).saturating_add(size).saturating_add(2);
        if end > rest.len() || &rest[end - 2..end] != b"\r\n" {
            return Err("has a chunk that ends too early".to_owned());
        }
        at = end;
        if size == 0 {
            return Ok(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parts(text.as_bytes()) {
            Ok(parts) => parts
                .iter()
                .map(|part| format!("{}{}", part.end, if part.is_head { "h" } else { "" }))
                .collect::<Vec<_>>()
                .join(" "),
            Err(fault) => fault.to_string(),
        }
    }

    #[test]
    fn requests_are_counted_and_faults_named() {
        const GET: &str = "GET /?a HTTP/1.1\r\nHost: x\r\n\r\n";
        const POST: &str = "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc";
        for (text, expected) in [
            (GET.to_owned(), "29"),
            (GET.repeat(3), "29 58 87"),
            (format!("{POST}{GET}"), "41 70"),
            (format!("{GET}\r\n{GET}\r\n\r\n"), "29 64"),
            ("HEAD / HTTP/1.1\r\n\r\n".to_owned(), "19h"),
            (
                format!("PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n{GET}"),
                "59 88",
            ),
            (
                String::new(),
                "request 1 of the text has no empty line after its headers; wrk.format writes proper ones",
            ),
            (
                "nonsense".to_owned(),
                "request 1 of the text has no empty line after its headers; wrk.format writes proper ones",
            ),
            (
                "GET /\r\n\r\n".to_owned(),
                "request 1 of the text is no HTTP/1.1 (invalid token); wrk.format writes proper ones",
            ),
            (
                format!("{GET}\u{1}"),
                "request 2 of the text is no HTTP/1.1 (invalid token); wrk.format writes proper ones",
            ),
            (
                format!("{GET}{}", &POST[..39]),
                "request 2 of the text says Content-Length 3, but only 1 bytes follow; wrk.format writes proper ones",
            ),
            (
                "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc".to_owned(),
                "request 1 of the text has a chunk that ends too early; wrk.format writes proper ones",
            ),
        ] {
            assert_eq!(shown(&text), expected, "{text:?}");
        }
        assert!(shown(&GET.repeat(REQUESTS_MAX + 1)).contains("one too many"));
    }
}
