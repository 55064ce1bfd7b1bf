//! A request made of what the plan says of a sampler, as JMeter's `HttpClient` 4 makes it: URL, headers, bodies of all kinds.

use crate::plan::{Argument, HttpSampler};
use crate::run::address::Addresses;
use crate::run::context::Context;
use crate::run::header_fields::HeaderFields;
use crate::run::request::Request;
use crate::run::request_fault::RequestFault;
use crate::text::functions::form_encoded;
use prony_http_session::set_cookie::is_token;
use prony_http_session::url::Url;
use rand::RngExt as _;
use std::borrow::Cow;

const FORM: &str = "application/x-www-form-urlencoded; charset=";
/// Methods that are written here without a copy.
const USUAL_METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

/// An argument whose texts are known.
struct GivenArgument<'a> {
    name: Cow<'a, str>,
    value: Cow<'a, str>,
    is_encoded: bool,
    has_equals: bool,
}

impl Request {
    pub(crate) fn build(
        sampler: &HttpSampler,
        addresses: &mut Addresses,
        context: &mut Context<'_>,
    ) -> Result<Self, RequestFault> {
        let method = method(&sampler.method.text(context));
        let given: Vec<GivenArgument<'_>> =
            sampler.arguments.iter().map(|argument| GivenArgument::of(argument, context)).collect();
        let encoding = sampler.encoding.text(context);
        let encoding = if encoding.trim().is_empty() { "UTF-8" } else { encoding.trim() };
        let is_raw = sampler.has_raw_body
            || !given.is_empty() && given.iter().all(|argument| argument.name.is_empty());
        let mut url_text = url_text(sampler, context)?;
        if matches!(&*method, "GET" | "DELETE" | "OPTIONS") {
            append_query(&mut url_text, &given);
        }
        if url_text.contains(' ') {
            url_text = url_text.replace(' ', "%20");
        }
        let address = addresses.of(&url_text, read_url)?;
        if !is_token(&method) {
            return Err(RequestFault::new(
                "java.lang.IllegalArgumentException",
                format!("Unexpected method: '{method}'"),
            ));
        }
        let mut request = Self {
            method,
            address,
            headers: headers(sampler, context)?,
            content_type: None,
            body: None,
            keeps_alive: sampler.keeps_alive,
        };
        match request.take_body(sampler, &given, is_raw, encoding, context) {
            Ok(()) => Ok(request),
            Err(fault) => Err(fault.of(request.url_text())),
        }
    }

    fn take_body(
        &mut self,
        sampler: &HttpSampler,
        given: &[GivenArgument<'_>],
        is_raw: bool,
        encoding: &str,
        context: &mut Context<'_>,
    ) -> Result<(), RequestFault> {
        let may_have_body = !matches!(&*self.method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
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
            let bytes = given.iter().map(|argument| argument.value.len()).sum();
            if bytes > 0 || may_have_body {
                if !self.headers.has("Content-Type") {
                    self.content_type = Some(format!("text/plain; charset={encoding}"));
                }
                let mut body = Vec::with_capacity(bytes);
                for argument in given {
                    encode(&argument.value, encoding, &mut body);
                }
                self.body = Some(body);
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
        given: &[GivenArgument<'_>],
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
            encode(&argument.value, encoding, &mut body);
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
}

fn method(given: &str) -> Cow<'static, str> {
    let given = given.trim();
    if given.is_empty() {
        return Cow::Borrowed("GET");
    }
    let usual = USUAL_METHODS.into_iter().find(|usual| usual.eq_ignore_ascii_case(given));
    usual.map_or_else(|| Cow::Owned(given.to_uppercase()), Cow::Borrowed)
}

impl<'a> GivenArgument<'a> {
    fn of(argument: &'a Argument, context: &mut Context<'_>) -> Self {
        Self {
            name: argument.name.text(context),
            value: argument.value.text(context),
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
fn encode(text: &str, encoding: &str, bytes: &mut Vec<u8>) {
    if ["iso-8859-1", "us-ascii", "latin1"].iter().any(|known| encoding.eq_ignore_ascii_case(known)) {
        bytes.extend(text.chars().map(|letter| u8::try_from(u32::from(letter)).unwrap_or(b'?')));
    } else {
        bytes.extend_from_slice(text.as_bytes());
    }
}

/// The URL without the arguments.
fn url_text(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<String, RequestFault> {
    let path = sampler.path.text(context);
    let path = path.trim();
    let begins = |begin: &str| path.get(..begin.len()).is_some_and(|found| found.eq_ignore_ascii_case(begin));
    if begins("http://") || begins("https://") {
        return Ok(path.to_owned());
    }
    let protocol = sampler.protocol.text(context);
    let protocol = if protocol.trim().is_empty() { "http" } else { protocol.trim() };
    let domain = sampler.domain.text(context);
    let domain = domain.trim();
    if domain.is_empty() {
        let message =
            format!("{protocol}:/{path}: no Host in request URL; give the HTTP Request a server name");
        return Err(RequestFault::new("java.net.MalformedURLException", message));
    }
    let port = sampler.port.text(context);
    let port = port.trim();
    let is_default = port.is_empty()
        || port == "0"
        || protocol.eq_ignore_ascii_case("http") && port == "80"
        || protocol.eq_ignore_ascii_case("https") && port == "443";
    let mut url = String::with_capacity(protocol.len() + domain.len() + port.len() + path.len() + 5);
    url.push_str(protocol);
    url.make_ascii_lowercase();
    url.push_str("://");
    url.push_str(domain);
    if !is_default {
        url.push(':');
        url.push_str(port);
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
        return Err(RequestFault { url_text: Some(text.into()), ..fault });
    }
    let fault = |class, message: String| RequestFault { class, message, url_text: Some(text.into()) };
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
fn append_query(url: &mut String, given: &[GivenArgument<'_>]) {
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
fn form(given: &[GivenArgument<'_>]) -> Result<String, RequestFault> {
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

fn headers(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<HeaderFields, RequestFault> {
    let mut headers = HeaderFields::default();
    for (name, value) in &sampler.headers {
        let (name, value) = (name.text(context), value.text(context));
        let (name, value) = (name.trim(), value.trim());
        // JMeter's client computes it.
        if name.is_empty()
            || name.eq_ignore_ascii_case("content-length")
            || name.eq_ignore_ascii_case("connection")
        {
            continue;
        }
        if !is_token(name) || value.chars().any(|letter| letter.is_control() && letter != '\t') {
            let message = format!(
                "the header `{name}` cannot be sent: its name or value has characters that no header carries"
            );
            return Err(RequestFault::new("java.lang.IllegalArgumentException", message));
        }
        headers.push(name, value);
    }
    Ok(headers)
}
