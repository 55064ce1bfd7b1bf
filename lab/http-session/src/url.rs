//! URLs as k6 reads and prints them: taken as written, never normalised, with Go's messages where they are none.
//!
//! A WHATWG parser would rewrite what scripts wrote (`http://h` gets a slash, `/a/../b` is resolved) and metrics would
//! carry other names than in k6. RFC 3986 is followed as far as Go's `net/url` does.

use crate::escape::{Escape, escape, has_bad_escape, is_valid_encoded, unescape};
use std::fmt::Write as _;

/// A URL, or a reference to be resolved against one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Url {
    /// Lower case; empty in a reference.
    pub scheme: String,
    pub user: Option<User>,
    /// With the port where one was written; as written.
    pub host: String,
    /// Percent-encoded, as it is sent.
    pub path: String,
    /// What follows `scheme:` where that is neither `/` nor `//`, such as of `mailto:a@b`.
    pub opaque: String,
    /// Without the `?`; as written.
    pub query: Option<String>,
    /// Without the `#`; percent-encoded.
    pub fragment: String,
}

/// The credentials before the host, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub password: Option<String>,
}

/// Why a text is no URL; the message is that of k6's `error`, after `invalid URL: `.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {fault}", quoted(.text))]
pub struct UrlError {
    pub text: String,
    pub fault: UrlFault,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    #[error("net/url: invalid control character in URL")]
    Control,
    #[error("missing protocol scheme")]
    NoScheme,
    #[error("first path segment in URL cannot contain colon")]
    ColonInPath,
    #[error("net/url: invalid userinfo")]
    User,
    #[error("invalid character {} in host name", quoted(.0))]
    Host(String),
    #[error("missing ']' in host")]
    Bracket,
    #[error("invalid port {} after host", quoted(.0))]
    Port(String),
    #[error("invalid URL escape {}", quoted(.0))]
    Escape(String),
}

impl Url {
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        Self::read(text).map_err(|fault| UrlError { text: text.to_owned(), fault })
    }

    fn read(text: &str) -> Result<Self, UrlFault> {
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(UrlFault::Control);
        }
        let mut url = Self::default();
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        url.fragment = encoded(fragment, Escape::Fragment)?;
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let (rest, query) =
            rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query.to_owned())));
        url.query = query;
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(UrlFault::ColonInPath);
            }
        }
        let has_authority = rest.starts_with("//") && (!url.scheme.is_empty() || !rest.starts_with("///"));
        let path = if has_authority { url.read_authority(&rest[2..])? } else { rest };
        url.path = encoded(path, Escape::Path)?;
        Ok(url)
    }

    /// Reads credentials and host, and returns the path behind them.
    fn read_authority<'a>(&mut self, text: &'a str) -> Result<&'a str, UrlFault> {
        let (authority, path) = text.split_at(text.find('/').unwrap_or(text.len()));
        let host = match authority.rsplit_once('@') {
            None => authority,
            Some((user, host)) => {
                self.user = Some(User::read(user)?);
                host
            }
        };
        check_host(host)?;
        self.host = if host.contains('%') && !host.starts_with('[') {
            unescape(host).ok_or_else(|| UrlFault::Escape(host.to_owned()))?
        } else {
            host.to_owned()
        };
        Ok(path)
    }

    pub fn is_absolute(&self) -> bool {
        !self.scheme.is_empty()
    }

    pub fn is_tls(&self) -> bool {
        self.scheme == "https"
    }

    /// The host without its port and brackets.
    pub fn host_name(&self) -> &str {
        let host = split_port(&self.host).0;
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// The port written, or the scheme's. `None` where the number is none.
    pub fn port(&self) -> Option<u16> {
        match split_port(&self.host).1 {
            "" => Some(if self.is_tls() { 443 } else { 80 }),
            port => port.parse().ok(),
        }
    }

    /// What stands in the first line of a request.
    pub fn request_target(&self) -> String {
        let mut target = String::with_capacity(self.path.len() + 1);
        self.write_path(&mut target);
        if target.is_empty() {
            target.push('/');
        }
        self.write_query(&mut target);
        target
    }

    /// The path with its escapes resolved, as cookies are matched against it.
    pub fn decoded_path(&self) -> String {
        unescape(&self.path).unwrap_or_else(|| self.path.clone())
    }

    fn write_path(&self, text: &mut String) {
        if !self.host.is_empty() && !self.path.is_empty() && !self.path.starts_with('/') {
            text.push('/');
        }
        text.push_str(if self.opaque.is_empty() { &self.path } else { &self.opaque });
    }

    fn write_query(&self, text: &mut String) {
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(query);
        }
    }

    fn write(&self, user: Option<&str>) -> String {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            let _ = write!(text, "{}:", self.scheme);
        }
        if self.opaque.is_empty() {
            if !self.host.is_empty() || self.user.is_some() {
                text.push_str("//");
                if let Some(user) = user {
                    let _ = write!(text, "{user}@");
                }
                text.push_str(&self.host);
            } else if self.path.starts_with("//") {
                text.push_str("//");
            }
        }
        self.write_path(&mut text);
        self.write_query(&mut text);
        if !self.fragment.is_empty() {
            text.push('#');
            text.push_str(&self.fragment);
        }
        text
    }

    /// With the credentials masked, as tags carry it.
    pub fn masked(&self) -> String {
        self.write(self.user.as_ref().map(User::masked))
    }

    /// With the password masked, as messages carry it.
    pub fn without_password(&self) -> String {
        let masked = self.user.as_ref().map(|user| match user.password {
            Some(_) => format!("{}:***", escape(&user.name, Escape::User)),
            None => escape(&user.name, Escape::User),
        });
        self.write(masked.as_deref())
    }

    /// Without credentials, as `Referer` carries it.
    pub fn without_user(&self) -> String {
        Self { user: None, ..self.clone() }.write(None)
    }

    /// What `reference` means seen from this URL (RFC 3986, 5.2).
    #[must_use]
    pub fn resolve(&self, reference: &Self) -> Self {
        let mut url = reference.clone();
        if reference.is_absolute() || !reference.host.is_empty() || reference.user.is_some() {
            if url.scheme.is_empty() {
                url.scheme.clone_from(&self.scheme);
            }
            url.path = resolve_path(&reference.path, "");
            return url;
        }
        url.scheme.clone_from(&self.scheme);
        if reference.path.is_empty() && reference.query.is_none() {
            url.query.clone_from(&self.query);
            if reference.fragment.is_empty() {
                url.fragment.clone_from(&self.fragment);
            }
        }
        url.host.clone_from(&self.host);
        url.user.clone_from(&self.user);
        url.path = resolve_path(&self.path, &reference.path);
        url
    }
}

/// The whole URL with its credentials, as `response.url` shows it.
impl std::fmt::Display for Url {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.write(self.user.as_ref().map(User::encoded).as_deref()))
    }
}

impl User {
    fn read(text: &str) -> Result<Self, UrlFault> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
        if !text.bytes().all(is_allowed) {
            return Err(UrlFault::User);
        }
        let (name, password) =
            text.split_once(':').map_or((text, None), |(name, password)| (name, Some(password)));
        let decode = |text: &str| unescape(text).ok_or_else(|| UrlFault::Escape(bad_escape(text)));
        Ok(Self { name: decode(name)?, password: password.map(decode).transpose()? })
    }

    fn encoded(&self) -> String {
        let name = escape(&self.name, Escape::User);
        match &self.password {
            Some(password) => format!("{name}:{}", escape(password, Escape::User)),
            None => name,
        }
    }

    const fn masked(&self) -> &'static str {
        if self.password.is_some() { "****:****" } else { "****" }
    }
}

/// As Go prints a text in a message: in quotes, with escapes.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if u32::from(letter) < 0x20 || u32::from(letter) == 0x7f => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// Kept as written where that can be sent, else encoded anew.
fn encoded(text: &str, kind: Escape) -> Result<String, UrlFault> {
    if has_bad_escape(text) {
        return Err(UrlFault::Escape(bad_escape(text)));
    }
    if is_valid_encoded(text, kind) {
        return Ok(text.to_owned());
    }
    let plain = unescape(text).ok_or_else(|| UrlFault::Escape(bad_escape(text)))?;
    Ok(escape(&plain, kind))
}

/// The first escape that is none, at most three characters.
fn bad_escape(text: &str) -> String {
    let starts = text.match_indices('%').map(|(at, _)| at);
    let bad =
        starts.map(|at| text[at..].chars().take(3).collect::<String>()).find(|part| has_bad_escape(part));
    bad.unwrap_or_default()
}

fn split_scheme(text: &str) -> Result<(&str, &str), UrlFault> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlFault::NoScheme),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

/// Host and port; an empty port where none was written.
fn split_port(host: &str) -> (&str, &str) {
    match host.rfind(':') {
        Some(colon) if !host[colon..].contains(']') => (&host[..colon], &host[colon + 1..]),
        _ => (host, ""),
    }
}

fn check_host(host: &str) -> Result<(), UrlFault> {
    let name = if host.starts_with('[') {
        let end = host.rfind(']').ok_or(UrlFault::Bracket)?;
        check_port(&host[end + 1..])?;
        &host[..end]
    } else {
        let colon = host.rfind(':').unwrap_or(host.len());
        check_port(&host[colon..])?;
        &host[..colon]
    };
    let bad = name
        .chars()
        .find(|&letter| letter.is_ascii() && !letter.is_ascii_alphanumeric() && !is_host_mark(letter));
    match bad {
        Some(letter) => Err(UrlFault::Host(letter.to_string())),
        None if has_bad_escape(name) => Err(UrlFault::Escape(bad_escape(name))),
        None => Ok(()),
    }
}

/// RFC 3986, 3.2.2, and what Go lets pass beyond it.
fn is_host_mark(letter: char) -> bool {
    "-_.~!$&'()*+,;=:[]<>\"%".contains(letter)
}

fn check_port(port: &str) -> Result<(), UrlFault> {
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port =
        port.is_empty() || port.starts_with(':') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_port { Ok(()) } else { Err(UrlFault::Port(port.to_owned())) }
}

/// RFC 3986, 5.2.3 and 5.2.4: the paths joined, without dot segments.
fn resolve_path(base: &str, reference: &str) -> String {
    let full = if reference.is_empty() {
        base.to_owned()
    } else if reference.starts_with('/') {
        reference.to_owned()
    } else {
        format!("{}{reference}", &base[..base.rfind('/').map_or(0, |at| at + 1)])
    };
    if full.is_empty() {
        return full;
    }
    let mut segments: Vec<&str> = Vec::new();
    let mut last = "";
    for (index, segment) in full.split('/').enumerate() {
        last = segment;
        match segment {
            "." => {}
            ".." => drop(segments.pop()),
            "" if index == 0 => {}
            segment => segments.push(segment),
        }
    }
    let mut path = format!("/{}", segments.join("/"));
    if matches!(last, "." | "..") && !path.ends_with('/') {
        path.push('/');
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(texts: &[&str], expected: &Expect) {
        let lines: Vec<String> = texts
            .iter()
            .map(|text| match Url::parse(text) {
                Ok(url) => format!(
                    "{url} | {} | {} {:?} | {}",
                    url.request_target(),
                    url.host_name(),
                    url.port(),
                    url.masked()
                ),
                Err(error) => error.to_string(),
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn urls_are_taken_as_written() {
        check(
            &[
                "http://h",
                "http://h/",
                "HTTPS://Example.COM:8443/a/../b?x=y z&é#frag",
                "http://h/sp ace/é?q",
                "http://h/a%20b/%2F!*()",
                "http://h/a%20b\"c",
                "http://u:p%40s@h/x",
                "http://u@h/x",
                "http://[::1]:8080/x",
                "http://h?x=1",
                "http://h/?",
                "/path?x",
                "",
                "ftp://x/",
                "localhost:80/x",
                "//host/path",
            ],
            &expect![[r#"
                http://h | / | h Some(80) | http://h
                http://h/ | / | h Some(80) | http://h/
                https://Example.COM:8443/a/../b?x=y z&é#frag | /a/../b?x=y z&é | Example.COM Some(8443) | https://Example.COM:8443/a/../b?x=y z&é#frag
                http://h/sp%20ace/%C3%A9?q | /sp%20ace/%C3%A9?q | h Some(80) | http://h/sp%20ace/%C3%A9?q
                http://h/a%20b/%2F!*() | /a%20b/%2F!*() | h Some(80) | http://h/a%20b/%2F!*()
                http://h/a%20b%22c | /a%20b%22c | h Some(80) | http://h/a%20b%22c
                http://u:p%40s@h/x | /x | h Some(80) | http://****:****@h/x
                http://u@h/x | /x | h Some(80) | http://****@h/x
                http://[::1]:8080/x | /x | ::1 Some(8080) | http://[::1]:8080/x
                http://h?x=1 | /?x=1 | h Some(80) | http://h?x=1
                http://h/? | /? | h Some(80) | http://h/?
                /path?x | /path?x |  Some(80) | /path?x
                 | / |  Some(80) | 
                ftp://x/ | / | x Some(80) | ftp://x/
                localhost:80/x | 80/x |  Some(80) | localhost:80/x
                //host/path | /path | host Some(80) | //host/path"#]],
        );
    }

    #[test]
    fn texts_that_are_no_urls_are_refused_with_gos_messages() {
        check(
            &[
                "http://a b/",
                "http://h:abc/",
                "http://h/%zz",
                "http://h/\n",
                ":foo",
                "127.0.0.1:80/x",
                "http://[::1/",
                "http://u s@h/",
                "http://h%zz/",
            ],
            &expect![[r#"
                parse "http://a b/": invalid character " " in host name
                parse "http://h:abc/": invalid port ":abc" after host
                parse "http://h/%zz": invalid URL escape "%zz"
                parse "http://h/\n": net/url: invalid control character in URL
                parse ":foo": missing protocol scheme
                parse "127.0.0.1:80/x": first path segment in URL cannot contain colon
                parse "http://[::1/": missing ']' in host
                parse "http://u s@h/": net/url: invalid userinfo
                parse "http://h%zz/": invalid URL escape "%zz""#]],
        );
    }

    #[test]
    fn references_are_resolved() {
        let base = Url::parse("http://u:p@a/b/c/d;p?q#f").unwrap();
        let references = [
            "g",
            "./g",
            "g/",
            "/g",
            "//g",
            "?y",
            "g?y",
            "#s",
            "",
            ".",
            "./",
            "..",
            "../g",
            "../..",
            "../../../g",
            "/./g",
            "g;x=1/../y",
            "https://x",
            "http://x/a/../b",
        ];
        let lines: Vec<String> = references
            .iter()
            .map(|text| format!("{text} -> {}", base.resolve(&Url::parse(text).unwrap())))
            .collect();
        expect![[r#"
            g -> http://u:p@a/b/c/g
            ./g -> http://u:p@a/b/c/g
            g/ -> http://u:p@a/b/c/g/
            /g -> http://u:p@a/g
            //g -> http://g
            ?y -> http://u:p@a/b/c/d;p?y
            g?y -> http://u:p@a/b/c/g?y
            #s -> http://u:p@a/b/c/d;p?q#s
             -> http://u:p@a/b/c/d;p?q#f
            . -> http://u:p@a/b/c/
            ./ -> http://u:p@a/b/c/
            .. -> http://u:p@a/b/
            ../g -> http://u:p@a/b/g
            ../.. -> http://u:p@a/
            ../../../g -> http://u:p@a/g
            /./g -> http://u:p@a/g
            g;x=1/../y -> http://u:p@a/b/c/y
            https://x -> https://x
            http://x/a/../b -> http://x/b"#]]
        .assert_eq(&lines.join("\n"));
    }
}
