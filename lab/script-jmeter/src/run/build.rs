//! A request made of what the plan says of a sampler, as JMeter's `HttpClient` 4 makes it: URL, headers, bodies of all kinds.

use crate::encodings;
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
            append_query(&mut url_text, &given, encoding);
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
                    if argument.is_encoded {
                        body.extend_from_slice(form_encoded_in(&argument.value, encoding).as_bytes());
                    } else {
                        encodings::encode(&argument.value, encoding, &mut body);
                    }
                }
                self.body = Some(body);
            }
            return Ok(());
        }
        // A DELETE sends its arguments twice, as in JMeter.
        if may_have_body && (self.method != "DELETE" || !given.is_empty()) {
            self.content_type = Some(format!("{FORM}{encoding}"));
            self.body = Some(form(given, encoding)?.into_bytes());
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
            encodings::encode(&argument.value, encoding, &mut body);
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

/// The URL without the arguments. Spaces in a path are written as a URL has them; those of arguments are not, as in JMeter.
fn url_text(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<String, RequestFault> {
    let path = sampler.path.text(context);
    let path = path.trim().replace(' ', "%20");
    let begins = |begin: &str| path.get(..begin.len()).is_some_and(|found| found.eq_ignore_ascii_case(begin));
    if begins("http://") || begins("https://") {
        return Ok(path);
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
    if !path.starts_with('/') {
        url.push('/');
    }
    url.push_str(&path);
    Ok(url)
}

/// As `java.net.URI` reads it: what stands for itself in no URL is named with its place.
fn read_url(text: &str) -> Result<Url, RequestFault> {
    if let Some(message) = misplaced(text) {
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

/// What Java says of the first letter that stands for itself in no URL, or of a percent sign that begins no escape.
fn misplaced(text: &str) -> Option<String> {
    let authority = text.find("://").map_or(0, |at| at + 3);
    let path = text[authority..].find(['/', '?', '#']).map_or(text.len(), |at| authority + at);
    let mut part = "authority";
    for (at, letter) in text.char_indices() {
        match letter {
            '/' if at == path => part = "path",
            '?' if part != "fragment" => part = "query",
            '#' => part = "fragment",
            _ => {}
        }
        let is_illegal = letter.is_control()
            || letter.is_whitespace()
            || "\"<>\\^`{|}".contains(letter)
            || part == "path" && matches!(letter, '[' | ']');
        let is_escape =
            || text.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        let reason = if is_illegal {
            format!("Illegal character in {part}")
        } else if letter == '%' && !is_escape() {
            "Malformed escape pair".to_owned()
        } else {
            continue;
        };
        // Of a host Java names the beginning.
        let index = if part == "authority" { authority } else { at };
        return Some(format!("{reason} at index {}: {text}", text[..index].chars().count()));
    }
    None
}

/// Arguments without a name are no part of a query.
fn append_query(url: &mut String, given: &[GivenArgument<'_>], encoding: &str) {
    let mut query = String::new();
    for argument in given.iter().filter(|argument| !argument.name.is_empty()) {
        if !query.is_empty() {
            query.push('&');
        }
        let encoded =
            |text: &str| if argument.is_encoded { form_encoded_in(text, encoding) } else { text.to_owned() };
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
fn form(given: &[GivenArgument<'_>], encoding: &str) -> Result<String, RequestFault> {
    let mut form = String::new();
    for argument in given.iter().filter(|argument| !argument.name.is_empty()) {
        let decoded =
            |text: &str| if argument.is_encoded { Ok(text.to_owned()) } else { decode(text, encoding) };
        if !form.is_empty() {
            form.push('&');
        }
        form.push_str(&form_encoded_in(&decoded(&argument.name)?, encoding));
        form.push('=');
        form.push_str(&form_encoded_in(&decoded(&argument.value)?, encoding));
    }
    Ok(form)
}

fn form_encoded_in(text: &str, encoding: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    encodings::encode(text, encoding, &mut bytes);
    form_encoded(&bytes)
}

fn decode(text: &str, encoding: &str) -> Result<String, RequestFault> {
    let (mut out, mut escaped, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
    while let Some(letter) = rest.chars().next() {
        let after = &rest[letter.len_utf8()..];
        if letter == '%' {
            let Some(byte) = after.get(..2).and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
                let message = if after.len() < 2 {
                    "URLDecoder: Incomplete trailing escape (%) pattern".to_owned()
                } else {
                    format!("URLDecoder: Illegal hex characters in escape (%) pattern - {text}")
                };
                return Err(RequestFault::new("java.lang.IllegalArgumentException", message));
            };
            escaped.push(byte);
            rest = &after[2..];
            continue;
        }
        out.push_str(&encodings::decode(&escaped, encoding));
        escaped.clear();
        out.push(if letter == '+' { ' ' } else { letter });
        rest = after;
    }
    out.push_str(&encodings::decode(&escaped, encoding));
    Ok(out)
}

fn headers(sampler: &HttpSampler, context: &mut Context<'_>) -> Result<HeaderFields, RequestFault> {
    let mut headers = HeaderFields::default();
    for (name, value) in &sampler.headers {
        let (name, value) = (name.text(context), value.text(context));
        let (name, value) = (name.trim(), value.trim());
        // JMeter's client computes the length. `Connection: close` of a manager stands behind its own line, and servers obey it.
        if name.is_empty() || name.eq_ignore_ascii_case("content-length") {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_no_url_is_named_with_its_place() {
        let said = |text: &str| misplaced(text).unwrap_or_default();
        assert_eq!(said("http://h/a b"), "Illegal character in path at index 10: http://h/a b");
        assert_eq!(said("http://h/?a=b c"), "Illegal character in query at index 13: http://h/?a=b c");
        assert_eq!(said("http://h/?é=\u{a0}"), "Illegal character in query at index 12: http://h/?é=\u{a0}");
        assert_eq!(said("http://h/?a=%z1"), "Malformed escape pair at index 12: http://h/?a=%z1");
        assert_eq!(said("http://h/%2"), "Malformed escape pair at index 9: http://h/%2");
        assert_eq!(said("http://h/a[0]"), "Illegal character in path at index 10: http://h/a[0]");
        assert_eq!(said("http://h st/"), "Illegal character in authority at index 7: http://h st/");
        assert_eq!(["http://[::1]:80/?a[0]=%20", "http://h?é", "http://h/#[?]"].map(said), ["", "", ""]);
    }

    #[test]
    fn arguments_are_written_in_the_encoding_of_the_request() {
        let argument = |is_encoded: bool| GivenArgument {
            name: "é".into(),
            value: if is_encoded { "ü€".into() } else { "%FC+%80".into() },
            is_encoded,
            has_equals: true,
        };
        let given = [argument(true), argument(false)];
        assert_eq!(form(&given, "windows-1252"), Ok("%E9=%FC%80&%E9=%FC+%80".to_owned()));
        let mut url = "http://h/".to_owned();
        append_query(&mut url, &given[..1], "UTF-8");
        assert_eq!(url, "http://h/?%C3%A9=%C3%BC%E2%82%AC");
    }
}
