//! One request as it goes over the wire: checked as Go's client checks it, written as Go's client writes it.

use crate::headers::Headers;
use crate::set_cookie::is_token;
use crate::url::{Url, UrlError, quoted};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::rc::Rc;

#[derive(Debug, Clone)]
pub struct Request {
    pub method: Rc<str>,
    pub url: Rc<Url>,
    pub headers: Headers,
    /// Where the script set a header `Host`.
    pub host: Option<String>,
    pub body: Option<Rc<[u8]>>,
}

/// Why a request cannot be sent, in the words of Go's client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("unsupported protocol scheme {}", quoted(.0))]
    Scheme(String),
    #[error("http: no Host in request URL")]
    NoHost,
    #[error("dial tcp: address {0}: invalid port")]
    Port(String),
    #[error("net/http: invalid method {}", quoted(.0))]
    Method(String),
    #[error("net/http: invalid header field name {}", quoted(.0))]
    HeaderName(String),
    /// The header of this name has a control character.
    #[error("net/http: invalid header field value for {}", quoted(.0))]
    HeaderValue(String),
    /// A redirect leads to what is no URL.
    #[error("failed to parse Location header {}: {cause}", quoted(.location))]
    Location { location: String, cause: UrlError },
}

impl Request {
    /// Why it cannot be sent, where it cannot.
    pub fn check(&self) -> Result<(), RequestError> {
        if !matches!(self.url.scheme.as_str(), "http" | "https") {
            return Err(RequestError::Scheme(self.url.scheme.clone()));
        }
        if self.url.host_name().is_empty() {
            return Err(RequestError::NoHost);
        }
        if self.url.port().is_none() {
            let port = self.url.host.rsplit(':').next().unwrap_or_default();
            return Err(RequestError::Port(port.to_owned()));
        }
        if !is_token(&self.method) {
            return Err(RequestError::Method(self.method.to_string()));
        }
        for (name, value) in self.headers.iter() {
            if !is_token(name) {
                return Err(RequestError::HeaderName(name.to_owned()));
            }
            if value.bytes().any(|byte| byte < 0x20 && byte != b'\t' || byte == 0x7f) {
                return Err(RequestError::HeaderValue(name.to_owned()));
            }
        }
        Ok(())
    }

    /// Appends the text of the request.
    pub fn write(&self, text: &mut Vec<u8>, closes_connection: bool) {
        write_parts(
            text,
            &[self.method.as_bytes(), b" ", self.url.request_target().as_bytes(), b" HTTP/1.1\r\n"],
        );
        let host = self.host.as_deref().filter(|host| !host.is_empty()).unwrap_or(&self.url.host);
        write_header(text, "Host", host);
        if let Some(agent) = self.headers.get("User-Agent").filter(|agent| !agent.is_empty()) {
            write_header(text, "User-Agent", agent);
        }
        if closes_connection {
            write_header(text, "Connection", "close");
        }
        let length = self.body.as_ref().map_or(0, |body| body.len());
        if length > 0 || matches!(&*self.method, "POST" | "PUT" | "PATCH") {
            write_header(text, "Content-Length", itoa::Buffer::new().format(length));
        }
        self.write_others(text);
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(self.body.as_deref().unwrap_or_default());
    }

    /// The other headers, sorted by name.
    fn write_others(&self, text: &mut Vec<u8>) {
        let credentials = match &self.url.user {
            Some(user) if self.headers.get("Authorization").is_none() => {
                let pair = format!("{}:{}", user.name, user.password.as_deref().unwrap_or_default());
                Some(format!("Basic {}", BASE64.encode(pair)))
            }
            _ => None,
        };
        let special = ["Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer"];
        let mut others: Vec<(&str, &str)> =
            self.headers.iter().filter(|(name, _)| !special.contains(name)).collect();
        others.extend(credentials.as_deref().map(|value| ("Authorization", value)));
        others.sort_unstable();
        for (name, value) in others {
            write_header(text, name, value.trim());
        }
    }

    pub fn is_head(&self) -> bool {
        &*self.method == "HEAD"
    }
}

fn write_header(text: &mut Vec<u8>, name: &str, value: &str) {
    write_parts(text, &[name.as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
}

fn write_parts(text: &mut Vec<u8>, parts: &[&[u8]]) {
    for part in parts {
        text.extend_from_slice(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn request(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Request {
        let mut list = Headers::default();
        for (name, value) in headers {
            list.set(name, value);
        }
        Request {
            method: method.into(),
            url: Rc::new(Url::parse(url).unwrap()),
            host: list.get("Host").map(str::to_owned),
            headers: list,
            body: body.map(|body| body.as_bytes().into()),
        }
    }

    fn check(request: &Request, expected: &Expect) {
        if let Err(error) = request.check() {
            return expected.assert_eq(&error.to_string());
        }
        let mut text = Vec::new();
        request.write(&mut text, false);
        expected.assert_eq(&String::from_utf8(text).unwrap().replace('\r', ""));
    }

    #[test]
    fn headers_stand_in_gos_order() {
        let headers = [("x-b", " 1 "), ("User-Agent", "prony"), ("accept", "*/*"), ("content-length", "99")];
        check(
            &request("POST", "http://h:81/a?b", &headers, Some("body")),
            &expect![[r#"
            POST /a?b HTTP/1.1
            Host: h:81
            User-Agent: prony
            Content-Length: 4
            Accept: */*
            X-B: 1

            body"#]],
        );
        check(
            &request("GET", "http://h", &[("User-Agent", "")], None),
            &expect![[r#"
            GET / HTTP/1.1
            Host: h

        "#]],
        );
        check(
            &request("PUT", "http://u:p@h/", &[("host", "other:1")], None),
            &expect![[r#"
            PUT / HTTP/1.1
            Host: other:1
            Content-Length: 0
            Authorization: Basic dTpw

        "#]],
        );
        check(
            &request("GET", "http://h:81/", &[("Host", "")], None),
            &expect![[r#"
            GET / HTTP/1.1
            Host: h:81

        "#]],
        );
        check(
            &request("GET", "http://u:p@h/", &[("authorization", "mine")], None),
            &expect![[r#"
            GET / HTTP/1.1
            Host: h
            Authorization: mine

        "#]],
        );
    }

    #[test]
    fn what_cannot_be_sent_says_why() {
        check(&request("GET", "ftp://h/", &[], None), &expect![[r#"unsupported protocol scheme "ftp""#]]);
        check(&request("GET", "/path", &[], None), &expect![[r#"unsupported protocol scheme """#]]);
        check(&request("GET", "http:///path", &[], None), &expect!["http: no Host in request URL"]);
        check(
            &request("GET", "http://h:99999/", &[], None),
            &expect!["dial tcp: address 99999: invalid port"],
        );
        check(&request("G T", "http://h/", &[], None), &expect![[r#"net/http: invalid method "G T""#]]);
        check(
            &request("GET", "http://h/", &[("a b", "c")], None),
            &expect![[r#"net/http: invalid header field name "a b""#]],
        );
        check(
            &request("GET", "http://h/", &[("a", "b\nc")], None),
            &expect![[r#"net/http: invalid header field value for "A""#]],
        );
    }
}
