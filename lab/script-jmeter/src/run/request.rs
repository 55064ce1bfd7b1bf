//! One HTTP request as JMeter's `HttpClient` 4 writes it: headers in its order, and the body.

use crate::run::address::Address;
use crate::run::header_fields::HeaderFields;
use prony_http_session::url::Url;
use std::borrow::Cow;
use std::sync::Arc;

/// What JMeter 5.6 says of itself where no header manager does.
const USER_AGENT: &str = "Apache-HttpClient/4.5.14 (Java/17)";

/// A request that can be sent, and sent again elsewhere where it is redirected.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: Cow<'static, str>,
    pub(crate) address: Arc<Address>,
    /// Those of managers, in their order.
    pub(crate) headers: HeaderFields,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) keeps_alive: bool,
}

/// A request as it was sent.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) request: Arc<Request>,
    /// What asks for a response only if it has changed.
    pub(crate) conditions: HeaderFields,
    pub(crate) cookies: String,
    pub(crate) authorization: Option<String>,
}

impl Request {
    pub(crate) fn url(&self) -> &Url {
        &self.address.url
    }

    /// As samples show it.
    pub(crate) fn url_text(&self) -> &Arc<str> {
        &self.address.text
    }

    /// The same without a body, for where it is redirected. Headers of managers are sent there too.
    pub(crate) fn redirected(&self, url: Url) -> Self {
        Self {
            method: Cow::Borrowed(if self.method == "HEAD" { "HEAD" } else { "GET" }),
            address: Arc::new(Address::new(&url.to_string(), url)),
            headers: self.headers.filtered(|name| !name.eq_ignore_ascii_case("host")),
            content_type: None,
            body: None,
            keeps_alive: self.keeps_alive,
        }
    }

    /// The same with its method and its body, for where it has moved to.
    pub(crate) fn moved(&self, url: Url) -> Self {
        Self {
            method: self.method.clone(),
            content_type: self.content_type.clone(),
            body: self.body.clone(),
            ..self.redirected(url)
        }
    }

    /// True where its connection serves nothing else: a manager's `Connection: close` asks for that too.
    pub(crate) fn closes_connection(&self) -> bool {
        let says_close = |(name, value): (&str, &str)| {
            name.eq_ignore_ascii_case("connection")
                && value.split(',').any(|token| token.trim().eq_ignore_ascii_case("close"))
        };
        !self.keeps_alive || self.headers.iter().any(says_close)
    }
}

impl Sent {
    /// What JMeter shows as the data of a sample.
    pub(crate) fn shown(&self) -> Vec<u8> {
        let request = &self.request;
        let mut shown = format!("{} {}\n", request.method, request.url_text()).into_bytes();
        if !matches!(&*request.method, "HEAD" | "OPTIONS" | "TRACE") {
            shown.extend_from_slice(format!("\n{} data:\n", request.method).as_bytes());
            shown.extend_from_slice(request.body.as_deref().unwrap_or_default());
            shown.push(b'\n');
        }
        let headers = self.headers();
        let cookies = headers.lines().find_map(|line| line.strip_prefix("Cookie: "));
        let cookies = cookies.map_or("\n[no cookies]".to_owned(), |text| format!("\nCookie Data:\n{text}"));
        shown.extend_from_slice(cookies.as_bytes());
        shown.push(b'\n');
        shown
    }

    /// The headers as JMeter shows them.
    pub(crate) fn headers(&self) -> String {
        let mut text = Vec::new();
        self.write_headers(&mut text);
        String::from_utf8_lossy(&text).replace("\r\n", "\n")
    }

    /// Appends the text of the request.
    pub(crate) fn write(&self, text: &mut Vec<u8>) {
        let request = &*self.request;
        for part in [&*request.method, " ", &request.address.request_target, " HTTP/1.1\r\n"] {
            text.extend_from_slice(part.as_bytes());
        }
        self.write_headers(text);
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(request.body.as_deref().unwrap_or_default());
    }

    fn write_headers(&self, text: &mut Vec<u8>) {
        let request = &*self.request;
        let host = &*request.url().host;
        let mut add = |name: &str, value: &str, end: &str| {
            for part in [name, ": ", value, end, "\r\n"] {
                text.extend_from_slice(part.as_bytes());
            }
        };
        add("Connection", if request.keeps_alive { "keep-alive" } else { "close" }, "");
        // What a cookie manager has for the URL stands in the place of a header's.
        let mut cookies = Some(&*self.cookies).filter(|cookies| !cookies.is_empty());
        for (name, value) in request.headers.iter().chain(self.conditions.iter()) {
            let own = if name.eq_ignore_ascii_case("cookie") { cookies.take() } else { None };
            let value = own.unwrap_or(value);
            // The port is the URL's.
            let port = if name.eq_ignore_ascii_case("host") && !value.contains(':') {
                host.rfind(':').map_or("", |colon| &host[colon..])
            } else {
                ""
            };
            add(name, value, if port.ends_with(']') { "" } else { port });
        }
        let has = |name: &str| request.headers.has(name) || self.conditions.has(name);
        if let Some(cookies) = cookies {
            add("Cookie", cookies, "");
        }
        if let Some(authorization) = self.authorization.as_deref().filter(|_| !has("Authorization")) {
            add("Authorization", authorization, "");
        }
        if let Some(body) = &request.body {
            add("Content-Length", itoa::Buffer::new().format(body.len()), "");
        }
        if let Some(content_type) = request.content_type.as_deref().filter(|_| !has("Content-Type")) {
            add("Content-Type", content_type, "");
        }
        if !has("Host") {
            add("Host", host, "");
        }
        if !has("User-Agent") {
            add("User-Agent", USER_AGENT, "");
        }
    }
}
