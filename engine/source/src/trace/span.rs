//! One span, as it is sent.

use std::{borrow::Cow, time::Instant};

use super::context::SpanId;

/// Bytes of a text among the attributes; the rest of a longer one is left out.
pub const TEXT_BYTES_MAX: usize = 8 << 10;

/// Why a span ended without an end: whoever worked at it was stopped.
pub(super) const CANCELLED: &str = "cancelled";

/// On which side of a call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of the server's own.
    Internal,
    /// A request that is responded to.
    Server,
    /// Another server is asked.
    Client,
}

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeValue {
    Text(Cow<'static, str>),
    Integer(i64),
}

/// Name and value.
pub type Attribute = (&'static str, AttributeValue);

/// A span that has ended.
#[derive(Debug, Clone)]
pub struct Span {
    pub id: SpanId,
    /// None of one that begins a trace.
    pub parent: Option<SpanId>,
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub began: Instant,
    pub ended: Instant,
    pub attributes: Vec<Attribute>,
    /// Whether it counts as failed.
    pub has_failed: bool,
}

impl From<&'static str> for AttributeValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for AttributeValue {
    fn from(mut text: String) -> Self {
        text.truncate(bounded(&text).len());
        Self::Text(Cow::Owned(text))
    }
}

impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// A span that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) id: SpanId,
    parent: Option<SpanId>,
    pub(super) name: Cow<'static, str>,
    kind: SpanKind,
    pub(super) began: Instant,
    attributes: Vec<Attribute>,
    pub(super) has_failed: bool,
}

impl Draft {
    pub(super) fn new(id: SpanId, parent: Option<SpanId>, name: Cow<'static, str>, kind: SpanKind) -> Self {
        Self { id, parent, name, kind, began: Instant::now(), attributes: Vec::new(), has_failed: false }
    }

    /// A later value of a name replaces the earlier one.
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        let value = value.into();
        match self.attributes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.attributes.push((name, value)),
        }
    }

    pub(super) fn fail(&mut self, kind: impl Into<AttributeValue>) {
        self.set("error.type", kind);
        self.has_failed = true;
    }

    pub(super) fn ended(self, ended: Instant) -> Span {
        let Self { id, parent, name, kind, began, attributes, has_failed } = self;
        Span { id, parent, name, kind, began, ended, attributes, has_failed }
    }
}

/// As much of a text as an attribute may have.
pub fn bounded(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_end_between_characters() {
        let text = "é".repeat(TEXT_BYTES_MAX);
        let AttributeValue::Text(kept) = AttributeValue::from(format!("a{text}")) else {
            panic!("it is a text")
        };
        assert_eq!(kept.len(), TEXT_BYTES_MAX - 1);
        assert_eq!(AttributeValue::from(u64::MAX), AttributeValue::Integer(i64::MAX));
    }
}
