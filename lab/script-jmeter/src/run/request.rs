//! One HTTP request as JMeter's `HttpClient` 4 writes it: URL, headers in its order, bodies of all kinds.

use crate::plan::{Argument, HttpSampler};
use crate::run::context::Context;
use crate::text::functions::form_encoded;
use prony_http_session::set_cookie::is_token;
use prony_http_session::url::Url;
use rand::RngExt as _;
use std::fmt::Write as _;

/// What JMeter 5.6 says of itself where no header manager does.
const USER_AGENT: &str = "Apache-HttpClient/4.5.14 (Java/17)";
const FORM: &str = "application/x-www-form-urlencoded; charset=";

/// A request that can be sent, and sent again elsewhere where it is redirected.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: Url,
    /// As samples show it.
    pub(crate) url_text: String,
    /// Those of managers, in their order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) content_type: Option<String>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) keeps_alive: bool,
}

/// Why no request can be made, as JMeter names it: the class of its exception and the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) class: &'static str,
    pub(crate) message: String,
    pub(crate) url_text: Option<String>,
}

impl RequestFault {
    /// Of a request whose URL is known.
    pub(crate) fn of(self, request: &Request) -> Self {
        Self { url_text: Some(request.url_text.clone()), ..self }
    }

    pub(crate) fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), url_text: None }
    }
}

/// An argument whose texts are known.
struct GivenArgument {
    name: String,
    value: String,
    is_encoded: bool,
    has_equals: bool,
}

impl Request {
    pub(crate) fn build(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<Self, RequestFault> {
        let method = sampler.method.value(context).trim().to_uppercase();
        let method = if method.is_empty() { "GET".to_owned() } else { method };
        let given: Vec<GivenArgument> =
            sampler.arguments.iter().map(|argument| GivenArgument::of(argument, context)).collect();
        let encoding = sampler.encoding.value(context);
        let encoding = if encoding.trim().is_empty() { "UTF-8" } else { encoding.trim() };
        let is_raw = sampler.has_raw_body
            || !given.is_empty() && given.iter().all(|argument| argument.name.is_empty());
        let mut url_text = url_text(sampler, context)?;
        if matches!(method.as_str(), "GET" | "DELETE" | "OPTIONS") {
            append_query(&mut url_text, &given);
        }
        let url_text = url_text.replace(' ', "%20");
        let url = read_url(&url_text)?;
        if !is_token(&method) {
            return Err(RequestFault::new(
                "java.lang.IllegalArgumentException",
                format!("Unexpected method: '{method}'"),
            ));
        }
        let mut request = Self {
            method,
            url,
            url_text,
            headers: headers(sampler, context)?,
            content_type: None,
            body: None,
            keeps_alive: sampler.keeps_alive,
        };
        if let Err(fault) = request.take_body(sampler, &given, is_raw, encoding, context) {
            return Err(RequestFault { url_text: Some(request.url_text), ..fault });
        }
        Ok(request)
    }

    fn take_body(
        &mut self,
        sampler: &HttpSampler,
        given: &[GivenArgument],
        is_raw: bool,
        encoding: &str,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFault> {
        let may_have_body = !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE");
        if may_have_body && (sampler.is_multipart || has_named_file(sampler, context)) {
            return self.take_multipart(sampler, given, encoding, context);
        }
        if may_have_body && let [file] = sampler.files.as_slice() {
            let mime_type = file.mime_type.value(context);
            self.content_type = Some(mime_type).filter(|text| !text.is_empty());
            self.body = Some(file_bytes(&file.path.value(context), context)?);
            return Ok(());
        }
        if is_raw {
            let text: String = given.iter().map(|argument| argument.value.as_str()).collect();
            if !text.is_empty() || may_have_body {
                self.content_type = Some(format!("text/plain; charset={encoding}"));
                self.body = Some(encode(&text, encoding));
            }
            return Ok(());
        }
        // A DELETE sends its arguments twice, as in JMeter.
        if may_have_body && (self.method != "DELETE" || !given.is_empty()) {
            self.content_type = Some(format!("{FORM}{encoding}"));
            self.body = Some(form(given)?.into_bytes());
        }
        Ok(())
    }

    fn take_multipart(
        &mut self,
        sampler: &HttpSampler,
        given: &[GivenArgument],
        encoding: &str,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFault> {
        let letters = b"-_1234567890abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let random = &mut context.thread.random;
        let boundary: String =
            (0..30).map(|_| char::from(letters[random.random_range(2..letters.len())])).collect();
        let mut body = Vec::new();
        for argument in given.iter().filter(|argument| !argument.name.is_empty()) {
            let kind = if sampler.is_browser_multipart {
                String::new()
            } else {
                format!("Content-Type: text/plain; charset={encoding}\r\nContent-Transfer-Encoding: 8bit\r\n")
            };
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"\r\n{kind}\r\n",
                argument.name
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&encode(&argument.value, encoding));
            body.extend_from_slice(b"\r\n");
        }
        for file in &sampler.files {
            let path = file.path.value(context);
            let name = path.rsplit('/').next().unwrap_or_default();
            let mime_type = Some(file.mime_type.value(context)).filter(|text| !text.is_empty());
            let mime_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            let coding =
                if sampler.is_browser_multipart { "" } else { "Content-Transfer-Encoding: binary\r\n" };
            let head = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{name}\"\r\nContent-Type: {mime_type}\r\n{coding}\r\n",
                file.parameter.value(context)
            );
            body.extend_from_slice(head.as_bytes());
            body.extend_from_slice(&file_bytes(&path, context)?);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        let charset =
            if sampler.is_browser_multipart { String::new() } else { format!("; charset={encoding}") };
        self.content_type = Some(format!("multipart/form-data; boundary={boundary}{charset}"));
        self.body = Some(body);
        Ok(())
    }

    /// The same without a body, for where it is redirected.
    pub(crate) fn redirected(&self, url: Url) -> Self {
        let method = if self.method == "HEAD" { "HEAD" } else { "GET" };
        let leaves = |name: &str| {
            ["content-type", "content-length", "host"].iter().any(|known| name.eq_ignore_ascii_case(known))
        };
        Self {
            method: method.to_owned(),
            url_text: url.to_string(),
            url,
            headers: self.headers.iter().filter(|(name, _)| !leaves(name)).cloned().collect(),
            content_type: None,
            body: None,
            keeps_alive: self.keeps_alive,
        }
    }

    /// What JMeter shows as the data of a sample; `headers` are those that were sent.
    pub(crate) fn shown(&self, headers: &str) -> Vec<u8> {
        let mut shown = format!("{} {}\n", self.method, self.url_text).into_bytes();
        if !matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "TRACE") {
            shown.extend_from_slice(format!("\n{} data:\n", self.method).as_bytes());
            shown.extend_from_slice(self.body.as_deref().unwrap_or_default());
            shown.push(b'\n');
        }
        let cookies = headers.lines().find_map(|line| line.strip_prefix("Cookie: "));
        let cookies = cookies.map_or("\n[no cookies]".to_owned(), |text| format!("\nCookie Data:\n{text}"));
        shown.extend_from_slice(cookies.as_bytes());
        shown.push(b'\n');
        shown
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Appends the text of the request; the headers as a sample shows them.
    pub(crate) fn write(&self, cookies: &str, authorization: Option<&str>, text: &mut Vec<u8>) -> String {
        let mut headers = String::new();
        let mut add = |name: &str, value: &str| {
            let _ = write!(headers, "{name}: {value}\r\n");
        };
        add("Connection", if self.keeps_alive { "keep-alive" } else { "close" });
        for (name, value) in &self.headers {
            if name.eq_ignore_ascii_case("host") {
                // The port is the URL's.
                let port = self.url.host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']'));
                let port = port
                    .filter(|_| !value.contains(':'))
                    .map_or(String::new(), |(_, port)| format!(":{port}"));
                add(name, &format!("{value}{port}"));
            } else {
                add(name, value);
            }
        }
        if !cookies.is_empty() && self.header("Cookie").is_none() {
            add("Cookie", cookies);
        }
        if let Some(authorization) = authorization.filter(|_| self.header("Authorization").is_none()) {
            add("Authorization", authorization);
        }
        if let Some(body) = &self.body {
            add("Content-Length", &body.len().to_string());
        }
        if let Some(content_type) =
            self.content_type.as_deref().filter(|_| self.header("Content-Type").is_none())
        {
            add("Content-Type", content_type);
        }
        if self.header("Host").is_none() {
            add("Host", &self.url.host);
        }
        if self.header("User-Agent").is_none() {
            add("User-Agent", USER_AGENT);
        }
        text.extend_from_slice(
            format!("{} {} HTTP/1.1\r\n", self.method, self.url.request_target()).as_bytes(),
        );
        text.extend_from_slice(headers.as_bytes());
        text.extend_from_slice(b"\r\n");
        text.extend_from_slice(self.body.as_deref().unwrap_or_default());
        headers.replace("\r\n", "\n")
    }
}

impl GivenArgument {
    fn of(argument: &Argument, context: &mut Context<'_>) -> Self {
        Self {
            name: argument.name.value(context),
            value: argument.value.value(context),
            is_encoded: argument.is_encoded,
            has_equals: argument.has_equals,
        }
    }
}

fn has_named_file(sampler: &HttpSampler, context: &mut Context<'_>) -> bool {
    match sampler.files.as_slice() {
        [] => false,
        [file] => !file.parameter.value(context).trim().is_empty(),
        _ => true,
    }
}

fn file_bytes(name: &str, context: &Context<'_>) -> Result<Vec<u8>, RequestFault> {
    let read = context.shared.files.bytes(name);
    read.map(|bytes| bytes.to_vec()).map_err(|message| {
        let path = context.shared.files.path(name);
        let path = std::path::absolute(&path).unwrap_or(path);
        let message =
            if path.exists() { message } else { format!("{} (No such file or directory)", path.display()) };
        RequestFault::new("java.io.FileNotFoundException", message)
    })
}

/// Texts leave as UTF-8 unless the request says another encoding that every server knows.
fn encode(text: &str, encoding: &str) -> Vec<u8> {
    if ["iso-8859-1", "us-ascii", "latin1"].contains(&encoding.to_ascii_lowercase().as_str()) {
        return text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')).collect();
    }
    text.as_bytes().to_vec()
}

/// The URL without the arguments.
fn url_text(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<String, RequestFault> {
    let path = sampler.path.value(context);
    let path = path.trim();
    let lower = path.get(..8).unwrap_or(path).to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Ok(path.to_owned());
    }
    let protocol = sampler.protocol.value(context);
    let protocol = if protocol.trim().is_empty() { "http" } else { protocol.trim() };
    let domain = sampler.domain.value(context);
    let domain = domain.trim();
    if domain.is_empty() {
        let message =
            format!("{protocol}:/{path}: no Host in request URL; give the HTTP Request a server name");
        return Err(RequestFault::new("java.net.MalformedURLException", message));
    }
    let port = sampler.port.value(context);
    let port = port.trim();
    let is_default = port.is_empty()
        || port == "0"
        || protocol.eq_ignore_ascii_case("http") && port == "80"
        || protocol.eq_ignore_ascii_case("https") && port == "443";
    let mut url = format!("{}://{domain}", protocol.to_ascii_lowercase());
    if !is_default {
        let _ = write!(url, ":{port}");
    }
    if !path.starts_with('/') && !path.is_empty() {
        url.push('/');
    }
    url.push_str(path);
    Ok(url)
}

/// As `java.net.URI` reads it: what stands for itself in no URL is named with its place.
fn read_url(text: &str) -> Result<Url, RequestFault> {
    let illegal =
        text.char_indices().find(|(_, letter)| letter.is_control() || "\"<>\\^`{|}".contains(*letter));
    if let Some((at, _)) = illegal {
        let part = if text[..at].contains('?') { "query" } else { "path" };
        let index = text[..at].chars().count();
        let message = format!("Illegal character in {part} at index {index}: {text}");
        let fault = RequestFault::new("java.net.URISyntaxException", message);
        return Err(RequestFault { url_text: Some(text.to_owned()), ..fault });
    }
    let fault = |class, message: String| RequestFault { class, message, url_text: Some(text.to_owned()) };
    let url = Url::parse(text).map_err(|error| fault("java.net.URISyntaxException", error.to_string()))?;
    if !matches!(url.scheme.as_str(), "http" | "https") {
        let message = format!("unknown protocol: {}", url.scheme);
        return Err(fault("java.net.MalformedURLException", message));
    }
    if url.host_name().is_empty() || url.port().is_none() {
        return Err(fault(
            "java.net.MalformedURLException",
            format!("no host and port can be read in {text}"),
        ));
    }
    Ok(url)
}

/// Arguments without a name are no part of a query.
fn append_query(url: &mut String, given: &[GivenArgument]) {
    let mut query = String::new();
    for argument in given.iter().filter(|argument| !argument.name.is_empty()) {
        if !query.is_empty() {
            query.push('&');
        }
        let encoded = |text: &str| if argument.is_encoded { form_encoded(text) } else { text.to_owned() };
        query.push_str(&encoded(&argument.name));
        if argument.has_equals || !argument.value.is_empty() {
            query.push('=');
        }
        query.push_str(&encoded(&argument.value));
    }
    if !query.is_empty() {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.push_str(&query);
    }
}

/// Values that are not to be encoded are taken as encoded already, and written anew.
fn form(given: &[GivenArgument]) -> Result<String, RequestFault> {
    let mut form = String::new();
    for argument in given.iter().filter(|argument| !argument.name.is_empty()) {
        let decoded = |text: &str| if argument.is_encoded { Ok(text.to_owned()) } else { decode(text) };
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(&form_encoded(&decoded(&argument.name)?));
        form.push('=');
        form.push_str(&form_encoded(&decoded(&argument.value)?));
    }
    Ok(form)
}

fn decode(text: &str) -> Result<String, RequestFault> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => out.push(b' '),
            b'%' => {
                let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
                let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
                    let message = if after.len() < 2 {
                        "URLDecoder: Incomplete trailing escape (%) pattern".to_owned()
                    } else {
                        format!("URLDecoder: Illegal hex characters in escape (%) pattern - {text}")
                    };
                    return Err(RequestFault::new("java.lang.IllegalArgumentException", message));
                };
                out.push(byte);
                rest = &after[2..];
            }
            other => out.push(*other),
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn headers(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<Vec<(String, String)>, RequestFault> {
    let mut headers = Vec::with_capacity(sampler.headers.len());
    for (name, value) in &sampler.headers {
        let (name, value) = (name.value(context), value.value(context));
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        // JMeter's client computes it.
        if name.is_empty()
            || name.eq_ignore_ascii_case("content-length")
            || name.eq_ignore_ascii_case("connection")
        {
            continue;
        }
        if !is_token(&name) || value.chars().any(|letter| letter.is_control() && letter != '\t') {
            let message = format!(
                "the header `{name}` cannot be sent: its name or value has characters that no header carries"
            );
            return Err(RequestFault::new("java.lang.IllegalArgumentException", message));
        }
        headers.push((name, value));
    }
    Ok(headers)
}
