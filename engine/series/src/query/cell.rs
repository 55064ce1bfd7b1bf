//! One field of a table: what a row has for an attribute, and how it is written in CSV (RFC 4180).

use prony_series_store::{Kind, Value};

use super::value::write_value;
use crate::ngsi::time;

/// The columns of a table that are no attributes. An attribute of such a name has a `_` behind it.
pub(super) const COLUMNS: [&str; 3] = ["id", "type", "time"];

/// What a row has for an attribute.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) value: Value<'a>,
}

/// A field of CSV. An empty text is in quotes, so that it is not taken for no value.
pub(super) fn write_field(out: &mut Vec<u8>, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\r', '\n']) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    out.push(b'"');
}

impl Cell<'_> {
    pub(super) fn is_null(&self) -> bool {
        self.value == Value::Null
    }

    /// Its text, where it has one; else what is written in CSV.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut out = Vec::new();
        match self.value {
            Value::Text(text) => out.extend_from_slice(text.as_bytes()),
            _ => self.write_field(&mut out),
        }
        out
    }

    /// As a field of CSV.
    pub(super) fn write_field(&self, out: &mut Vec<u8>) {
        match (self.kind, self.value) {
            (_, Value::Null) => {}
            (_, Value::Text(text)) => write_field(out, text),
            (Kind::Time, Value::Integer(time)) => time::write(out, time),
            _ => write_value(out, self.kind, self.value),
        }
    }
}
