//! Leaves: result coercion of scalars and enums (GraphQL specification, sections 3.5 and 3.9).

use prony_graphql::json;

use crate::execute::plan::Leaf;

/// A leaf as serde gives it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Given<'g> {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Single(f32),
    Text(&'g str),
}

impl Given<'_> {
    /// Writes it as the leaf that is expected; false where it does not fit.
    pub(super) fn write(self, leaf: &Leaf, out: &mut Vec<u8>) -> bool {
        match (leaf, self) {
            (Leaf::String | Leaf::Id, Self::Text(text)) => json::write_string(out, text),
            (Leaf::Enum(_, values), Self::Text(text)) if values.iter().any(|value| value == text) => {
                out.push(b'"');
                out.extend_from_slice(text.as_bytes());
                out.push(b'"');
            }
            (Leaf::Int, Self::Integer(integer)) if i32::try_from(integer).is_ok() => {
                write_integer(out, integer);
            }
            (Leaf::Float, Self::Integer(integer)) => write_integer(out, integer),
            (Leaf::Float, Self::Float(float)) if float.is_finite() => {
                return serde_json::to_writer(out, &float).is_ok();
            }
            // As a double it would have digits that nobody gave it.
            (Leaf::Float, Self::Single(float)) if float.is_finite() => {
                return serde_json::to_writer(out, &float).is_ok();
            }
            (Leaf::Boolean, Self::Boolean(value)) => {
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            (Leaf::Id, Self::Integer(integer)) => {
                out.push(b'"');
                write_integer(out, integer);
                out.push(b'"');
            }
            _ => return false,
        }
        true
    }

    /// For the log: long texts are cut.
    pub(super) fn describe(self) -> String {
        /// Characters of a text that are shown.
        const SHOWN: usize = 60;
        match self {
            Self::Boolean(value) => value.to_string(),
            Self::Integer(integer) => integer.to_string(),
            Self::Float(float) => float.to_string(),
            Self::Single(float) => float.to_string(),
            Self::Text(text) => format!("the text {:?}", text.chars().take(SHOWN).collect::<String>()),
        }
    }
}

fn write_integer(out: &mut Vec<u8>, integer: i128) {
    let mut buffer = itoa::Buffer::new();
    // The common case is several times faster in 64 bits.
    let text = match i64::try_from(integer) {
        Ok(integer) => buffer.format(integer),
        Err(_) => buffer.format(integer),
    };
    out.extend_from_slice(text.as_bytes());
}
