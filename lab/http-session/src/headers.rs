//! Header lists: of requests, one value a name, and of answers as received.

use crate::set_cookie::{SetCookie, is_token};
use std::borrow::Cow;

/// The headers of a request; names in canonical form, each once, in the order in which they were set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    pub fn set(&mut self, name: &str, value: &str) {
        let name = canonical_name(name);
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => value.clone_into(known),
            None => self.0.push((name, value.to_owned())),
        }
    }

    /// The name has to be in canonical form.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The name has to be in canonical form.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    pub fn retain(&mut self, mut keeps: impl FnMut(&str) -> bool) {
        self.0.retain(|(name, _)| keeps(name));
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// `content-type` as `Content-Type`; what is no token stays as it is.
pub fn canonical_name(name: &str) -> String {
    if !is_token(name) {
        return name.to_owned();
    }
    let mut is_start = true;
    let letters = name.chars().map(|letter| {
        let letter = if is_start { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
        is_start = letter == '-';
        letter
    });
    letters.collect()
}

/// The head of an answer: status line and header lines.
#[derive(Debug, Clone, Copy)]
pub struct ResponseHead<'a> {
    bytes: &'a [u8],
}

impl<'a> ResponseHead<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// What follows the version in the first line, such as `200 OK`.
    pub fn status_text(self) -> String {
        String::from_utf8_lossy(self.status()).into_owned()
    }

    /// What follows the status in the first line, such as `OK`.
    pub fn reason(self) -> &'a [u8] {
        let status = self.status();
        memchr::memchr(b' ', status).map_or(&[], |space| &status[space + 1..])
    }

    fn status(self) -> &'a [u8] {
        let line = split_lines(self.bytes).next().unwrap_or_default();
        memchr::memchr(b' ', line).map_or(&[], |space| line[space + 1..].trim_ascii())
    }

    /// Names as received, values without the spaces around them.
    pub fn lines(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        split_lines(self.bytes).skip(1).filter_map(|line| {
            let colon = memchr::memchr(b':', line)?;
            Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
        })
    }

    /// The first value of a header, whatever the case of its name.
    pub fn first(self, name: &str) -> Option<&'a [u8]> {
        self.lines().find(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
    }

    /// As scripts see it: canonical names, each once, values joined; without what describes the connection's framing.
    pub fn joined(self) -> Vec<(String, String)> {
        let mut joined: Vec<(String, String)> = Vec::new();
        for (name, value) in self.lines() {
            if name.eq_ignore_ascii_case(b"transfer-encoding") {
                continue;
            }
            let (name, value) = (canonical_name(&String::from_utf8_lossy(name)), unfolded(value));
            match joined.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => {
                    known.push_str(", ");
                    known.push_str(&value);
                }
                None => joined.push((name, value.into_owned())),
            }
        }
        joined
    }

    pub fn cookies(self) -> impl Iterator<Item = SetCookie> {
        self.lines()
            .filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"))
            .filter_map(|(_, value)| SetCookie::parse(&unfolded(value)))
    }
}

/// A value as text, with a space where it goes on in the next line.
fn unfolded(value: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(value);
    if !text.contains('\n') {
        return text;
    }
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ").into()
}

/// What stands before, between and behind line feeds, but those behind which a value goes on (RFC 9112, 5.2).
fn split_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        let is_end = |at: &usize| !matches!(bytes.get(at + 1), Some(b' ' | b'\t'));
        let Some(end) = memchr::memchr_iter(b'\n', bytes).find(is_end) else { return Some(bytes) };
        rest = Some(&bytes[end + 1..]);
        Some(&bytes[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_canonical() {
        let names = ["content-TYPE", "x-a", "ETAG", "a b", "X--y", "", "x_y-z"].map(canonical_name);
        assert_eq!(names, ["Content-Type", "X-A", "Etag", "a b", "X--Y", "", "X_y-Z"]);
    }

    #[test]
    fn the_last_value_of_a_request_header_holds() {
        let mut headers = Headers::default();
        headers.set("x-a", "1");
        headers.set("b", "2");
        headers.set("X-A", "3");
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("X-A", "3"), ("B", "2")]);
        headers.remove("X-A");
        assert_eq!((headers.get("X-A"), headers.get("B")), (None, Some("2")));
    }

    #[test]
    fn headers_of_answers_are_joined() {
        let bytes = b"HTTP/1.1 404 Not Found\r\nx-a: 1\r\nX-A:  2 \r\nSet-Cookie: a=b\r\ntransfer-encoding: chunked\r\n\
            set-cookie: c=d; Path=/\r\nset-cookie: no\r\n\r\n";
        let head = ResponseHead::new(bytes);
        assert_eq!(head.status_text(), "404 Not Found");
        let joined = head.joined();
        let joined: Vec<_> = joined.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(joined, ["X-A: 1, 2", "Set-Cookie: a=b, c=d; Path=/, no"]);
        let cookies: Vec<_> = head.cookies().map(|cookie| cookie.name).collect();
        assert_eq!((cookies.len(), head.first("SET-COOKIE")), (2, Some(&b"a=b"[..])));
        assert_eq!(ResponseHead::new(b"").status_text(), "");
        let folded = ResponseHead::new(b"HTTP/1.1 200 OK\r\nX-A: a;\r\n\t b: c \r\nX-B: d\r\n\r\n").joined();
        let folded: Vec<_> = folded.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(folded, ["X-A: a; b: c", "X-B: d"]);
    }
}
