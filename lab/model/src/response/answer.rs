//! What captures and checks see of an answer: its status, its headers, its body, and values within a JSON body.

use crate::data::rows::CellKind;
use crate::program::Answer;
use crate::response::pointer::{NotJson, Pointer};
use std::borrow::Cow;
use std::fmt;

/// A body longer than this is not searched for JSON values: it would cost more than the request it belongs to.
pub const JSON_BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// A value within an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken<'a> {
    pub kind: CellKind,
    /// Of a JSON text what it means, not how it is escaped.
    pub text: Cow<'a, [u8]>,
}

/// Where in an answer to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPart {
    Body,
    /// Its name in lower case.
    Header(String),
    Json(Pointer),
}

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    #[error("no such header")]
    Header,
    #[error("no value at that place")]
    Pointer,
    #[error("the body is no JSON")]
    NotJson,
    #[error("the body is longer than the limit of {JSON_BODY_BYTES_MAX} bytes for JSON")]
    TooLong,
    #[error("the pattern matches nothing")]
    Pattern,
    #[error("the value is null")]
    Null,
}

impl AnswerPart {
    pub fn header(name: &str) -> Self {
        Self::Header(name.to_ascii_lowercase())
    }

    /// The value in this answer. Of a header that stands several times the first.
    pub fn find<'a>(&self, answer: &Answer<'a>) -> Result<Taken<'a>, Missing> {
        match self {
            Self::Body => Ok(Taken { kind: CellKind::Text, text: Cow::Borrowed(answer.body) }),
            Self::Header(name) => {
                let value = header(answer.head, name).ok_or(Missing::Header)?;
                Ok(Taken { kind: CellKind::Text, text: Cow::Borrowed(value) })
            }
            Self::Json(pointer) => json_value(answer.body, pointer),
        }
    }
}

impl fmt::Display for AnswerPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body => f.write_str("body"),
            Self::Header(name) => write!(f, "header {name}"),
            Self::Json(pointer) if pointer.as_str().is_empty() => f.write_str("json"),
            Self::Json(pointer) => write!(f, "json {pointer}"),
        }
    }
}

/// The value of the first header with this name, which is in lower case.
pub fn header<'a>(head: &'a [u8], name: &str) -> Option<&'a [u8]> {
    headers(head, name).next()
}

/// The values of all headers with this name, which is in lower case, in their order.
pub fn headers<'a>(head: &'a [u8], name: &str) -> impl Iterator<Item = &'a [u8]> {
    let lines = head.split(|byte| *byte == b'\n').skip(1);
    lines
        .filter_map(split_header)
        .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, value)| value)
}

fn split_header(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

fn json_value<'a>(body: &'a [u8], pointer: &Pointer) -> Result<Taken<'a>, Missing> {
    if body.len() > JSON_BODY_BYTES_MAX {
        return Err(Missing::TooLong);
    }
    let json = pointer.find(body).map_err(|NotJson| Missing::NotJson)?.ok_or(Missing::Pointer)?;
    Ok(match json.as_bytes() {
        b"null" => Taken { kind: CellKind::Null, text: Cow::Borrowed(b"") },
        text @ [b'"', ..] if text.contains(&b'\\') => {
            let decoded: String = serde_json::from_str(json).map_err(|_| Missing::NotJson)?;
            Taken { kind: CellKind::Text, text: Cow::Owned(decoded.into_bytes()) }
        }
        [b'"', inner @ .., b'"'] => Taken { kind: CellKind::Text, text: Cow::Borrowed(inner) },
        other => Taken { kind: CellKind::Json, text: Cow::Borrowed(other) },
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const HEAD: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Id:  7 \r\nx-id: 8\r\n\r\n";

    pub(crate) fn answer(body: &[u8]) -> Answer<'_> {
        Answer { status: 200, head: HEAD, body, has_graphql_errors: false }
    }

    #[test]
    fn values_are_found_where_they_stand() {
        let body = br#"{"a":{"b":[1,"x\ny",null]}}"#;
        let find = |subject: &AnswerPart| {
            let taken = subject.find(&answer(body)).map(|taken| (taken.kind, taken.text.into_owned()));
            taken.map(|(kind, text)| format!("{kind:?} {}", String::from_utf8_lossy(&text)))
        };
        let json = |pointer| find(&AnswerPart::Json(Pointer::parse(pointer).unwrap()));
        assert_eq!(json("/a/b/0"), Ok("Json 1".to_owned()));
        assert_eq!(json("/a/b/1"), Ok("Text x\ny".to_owned()));
        assert_eq!(json("/a/b/2"), Ok("Null ".to_owned()));
        assert_eq!(json("/a/c"), Err(Missing::Pointer));
        assert_eq!(find(&AnswerPart::header("X-ID")), Ok("Text 7".to_owned()));
        assert_eq!(find(&AnswerPart::header("None")), Err(Missing::Header));
        let page = answer(b"<html>");
        assert_eq!(AnswerPart::Json(Pointer::parse("").unwrap()).find(&page), Err(Missing::NotJson));
    }
}
