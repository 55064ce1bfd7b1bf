//! HTTP/1.1 text of one request as HTTP/2 has it: pseudo-headers, lower case, nothing that belongs to a connection.

use bytes::Bytes;
use http::header::{CONNECTION, HOST, HeaderName, TE, TRANSFER_ENCODING, UPGRADE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri, Version};
use std::rc::Rc;

/// A request with more header lines was not meant for a server.
const HEADERS_MAX: usize = 256;
/// Those of a connection (RFC 9113, 8.2.2) besides `Connection`, `Transfer-Encoding` and `Upgrade`.
const OF_A_CONNECTION: [HeaderName; 3] = [
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    HeaderName::from_static("http2-settings"),
];

/// A request that can be sent on any stream, and again where a connection did not take it.
#[derive(Debug)]
pub(crate) struct Translated {
    parts: Request<()>,
    body: Bytes,
}

/// Why a text has no form in HTTP/2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranslateError {
    #[error("the request is not HTTP/1.1: {0}")]
    Text(String),
    #[error("the request has no `Host`, which HTTP/2 sends as `:authority`")]
    NoHost,
    #[error(
        "the request's body has a transfer coding, which HTTP/2 does not have; send it with `Content-Length`"
    )]
    TransferCoding,
    #[error("the method CONNECT cannot be measured over HTTP/2")]
    Connect,
}

/// Remembers the last text: users of one plan mostly send the same one.
#[derive(Debug)]
pub(crate) struct Translator {
    scheme: Scheme,
    last_text: Vec<u8>,
    last: Option<Rc<Translated>>,
}

impl Translator {
    pub(crate) fn new(is_tls: bool) -> Self {
        let scheme = if is_tls { Scheme::HTTPS } else { Scheme::HTTP };
        Self { scheme, last_text: Vec::new(), last: None }
    }

    pub(crate) fn translate(&mut self, text: &[u8]) -> Result<Rc<Translated>, TranslateError> {
        if let Some(last) = &self.last
            && self.last_text == text
        {
            return Ok(Rc::clone(last));
        }
        let translated = Rc::new(translate(&self.scheme, text)?);
        self.last_text.clear();
        self.last_text.extend_from_slice(text);
        self.last = Some(Rc::clone(&translated));
        Ok(translated)
    }
}

impl Translated {
    pub(crate) fn request(&self) -> Request<()> {
        self.parts.clone()
    }

    pub(crate) fn body(&self) -> Bytes {
        self.body.clone()
    }
}

fn translate(scheme: &Scheme, text: &[u8]) -> Result<Translated, TranslateError> {
    let fault = |message: &dyn ToString| TranslateError::Text(message.to_string());
    let mut lines = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Request::new(&mut lines);
    let httparse::Status::Complete(head_bytes) = head.parse(text).map_err(|error| fault(&error))? else {
        return Err(fault(&"its head has no end"));
    };
    let (Some(method), Some(path)) = (head.method, head.path) else {
        return Err(fault(&"its first line is not whole"));
    };
    let method = Method::from_bytes(method.as_bytes()).map_err(|error| fault(&error))?;
    if method == Method::CONNECT {
        return Err(TranslateError::Connect);
    }
    let mut headers = headers(head.headers).map_err(|message| fault(&message))?;
    let uri = uri(scheme, path, &mut headers)?;
    drop_connection_headers(&mut headers)?;
    let mut parts = Request::new(());
    (*parts.method_mut(), *parts.uri_mut(), *parts.headers_mut()) = (method, uri, headers);
    *parts.version_mut() = Version::HTTP_2;
    Ok(Translated { parts, body: Bytes::copy_from_slice(&text[head_bytes..]) })
}

fn headers(lines: &[httparse::Header<'_>]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::with_capacity(lines.len());
    for line in lines {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|error| error.to_string())?;
        headers.append(name, HeaderValue::from_bytes(line.value).map_err(|error| error.to_string())?);
    }
    Ok(headers)
}

/// `Host` becomes the authority, unless the target is written in full already.
fn uri(scheme: &Scheme, path: &str, headers: &mut HeaderMap) -> Result<Uri, TranslateError> {
    let host = headers.remove(HOST);
    let fault = |error: &dyn ToString| TranslateError::Text(error.to_string());
    if !path.starts_with('/') && path != "*" {
        return path.parse().map_err(|error: http::uri::InvalidUri| fault(&error));
    }
    let host = host.filter(|host| !host.is_empty()).ok_or(TranslateError::NoHost)?;
    let authority = Authority::try_from(host.as_bytes()).map_err(|error| fault(&error))?;
    let path = PathAndQuery::try_from(path).map_err(|error| fault(&error))?;
    let uri = Uri::builder().scheme(scheme.clone()).authority(authority).path_and_query(path);
    uri.build().map_err(|error| fault(&error))
}

fn drop_connection_headers(headers: &mut HeaderMap) -> Result<(), TranslateError> {
    let codings = headers.get_all(TRANSFER_ENCODING);
    if codings.iter().any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(TranslateError::TransferCoding);
    }
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let general = OF_A_CONNECTION.into_iter().chain([CONNECTION, TRANSFER_ENCODING, UPGRADE]);
    for name in named.into_iter().chain(general) {
        headers.remove(name);
    }
    if headers.get(TE).is_some_and(|value| !value.as_bytes().eq_ignore_ascii_case(b"trailers")) {
        headers.remove(TE);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: &Expect) {
        let shown = match Translator::new(true).translate(text.as_bytes()) {
            Err(error) => error.to_string(),
            Ok(translated) => {
                let request = translated.request();
                let mut shown = format!("{} {}", request.method(), request.uri());
                for (name, value) in request.headers() {
                    shown.extend([" | ", name.as_str(), ": ", value.to_str().unwrap()]);
                }
                format!("{shown} | {:?}", translated.body())
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn texts_lose_what_belongs_to_a_connection() {
        check(
            "GET /a?b=c HTTP/1.1\r\nHost: h:81\r\nX-One: 1\r\nConnection: close, X-Two\r\nX-Two: 2\r\nTE: gzip\r\n\r\n",
            &expect![[r#"GET https://h:81/a?b=c | x-one: 1 | b"""#]],
        );
        check(
            "POST /q HTTP/1.1\r\nContent-Length: 2\r\nhost: h\r\nCookie: a\r\nCookie: b\r\nTE: trailers\r\n\r\n{}",
            &expect![[
                r#"POST https://h/q | content-length: 2 | te: trailers | cookie: a | cookie: b | b"{}""#
            ]],
        );
        check("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", &expect![[r#"OPTIONS https://h* | b"""#]]);
        check("GET http://o/p HTTP/1.1\r\nHost: h\r\n\r\n", &expect![[r#"GET http://o/p | b"""#]]);
    }

    #[test]
    fn texts_without_a_form_in_http2_are_said() {
        check(
            "GET / HTTP/1.1\r\n\r\n",
            &expect!["the request has no `Host`, which HTTP/2 sends as `:authority`"],
        );
        check("GET / HTTP/1.1\r\nHost: h\r\n", &expect!["the request is not HTTP/1.1: its head has no end"]);
        check(
            "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
            &expect!["the method CONNECT cannot be measured over HTTP/2"],
        );
        check(
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &expect![
                "the request's body has a transfer coding, which HTTP/2 does not have; send it with `Content-Length`"
            ],
        );
        check("nonsense", &expect!["the request is not HTTP/1.1: its head has no end"]);
    }

    #[test]
    fn the_same_text_is_translated_once() {
        let mut translator = Translator::new(false);
        let mut translate = |text: &str| translator.translate(text.as_bytes()).unwrap();
        let (one, two) = ("GET /1 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n");
        let first = translate(one);
        assert!(Rc::ptr_eq(&first, &translate(one)));
        assert_eq!(translate(two).request().uri().path(), "/2");
    }
}
