//! Keys of rows as they travel to the database and back: integers as such, all else as text.

use tokio_postgres::Row;

use crate::{
    error::Failure,
    statement::{
        bound::Bound,
        dialect::{Wire, cast_name},
    },
};
use prony_sql::{
    catalog::ColumnKind,
    levels::{Key, KeyPart},
    model::Column,
};

/// How one part of the keys travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyWire {
    Integer,
    Text,
}

impl KeyWire {
    pub(crate) fn of(column: &Column) -> Self {
        match column.kind {
            ColumnKind::Int | ColumnKind::BigInt => Self::Integer,
            _ => Self::Text,
        }
    }

    pub(crate) fn scalar_type(self) -> tokio_postgres::types::Type {
        match self {
            Self::Integer => Wire::Int8.scalar_type(),
            Self::Text => Wire::Text.scalar_type(),
        }
    }

    /// The operand as [`read_key`] reads it.
    pub(crate) fn read(self, operand: &str) -> String {
        match self {
            Self::Integer => format!("{operand}::int8"),
            Self::Text => format!("{operand}::text"),
        }
    }

    /// What the column is compared with where the parameter holds [`Self::bind`]'s value.
    pub(crate) fn placeholder(self, number: usize, column: &Column) -> String {
        match self {
            Self::Integer => format!("${number}"),
            Self::Text => format!("${number}::{}", cast_name(column)),
        }
    }

    /// A part of a key as a parameter. Null finds no row.
    pub(crate) fn bind(self, part: &KeyPart) -> Bound {
        match self {
            Self::Integer => integer(part).map_or(Bound::Null, Bound::Int8),
            Self::Text => text(part).map_or(Bound::Null, Bound::Text),
        }
    }

    pub(crate) fn array_type(self) -> tokio_postgres::types::Type {
        match self {
            Self::Integer => Wire::Int8.array_type(),
            Self::Text => Wire::Text.array_type(),
        }
    }
}

/// Whether `unnest` of an array of the column's values gives more than these: the items of arrays, the columns of composite types.
pub(crate) fn comes_apart(column: &Column) -> bool {
    matches!(
        column.kind,
        ColumnKind::Array(_) | ColumnKind::OtherText | ColumnKind::OrderedText | ColumnKind::UnorderedText
    )
}

/// The keys of one fetch as parameters, part by part.
pub(crate) fn bind_keys(wires: &[KeyWire], keys: &[Key]) -> Vec<Bound> {
    let parts = wires.iter().enumerate();
    parts
        .map(|(part, wire)| match wire {
            KeyWire::Integer => Bound::Int8s(keys.iter().map(|key| integer(&key[part])).collect()),
            KeyWire::Text => Bound::Texts(keys.iter().map(|key| text(&key[part])).collect()),
        })
        .collect()
}

/// A text that is no integer equals none: null finds no row. A number of a `numeric` key may have a scale (`3.00`).
fn integer(part: &KeyPart) -> Option<i64> {
    match part {
        KeyPart::Integer(value) => Some(*value),
        KeyPart::Text(text) => {
            let text = std::str::from_utf8(text).ok()?;
            let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
            if fraction.bytes().all(|digit| digit == b'0') { whole.parse().ok() } else { None }
        }
        KeyPart::Real(_) | KeyPart::Bytes(_) => None,
    }
}

fn text(part: &KeyPart) -> Option<Box<str>> {
    match part {
        KeyPart::Integer(value) => Some(value.to_string().into()),
        KeyPart::Text(text) => std::str::from_utf8(text).ok().map(Into::into),
        KeyPart::Real(_) | KeyPart::Bytes(_) => None,
    }
}

/// `None` where a part is null.
pub(crate) fn read_key(row: &Row, parts: &[(usize, KeyWire)]) -> Result<Option<Key>, Failure> {
    let mut key = Vec::with_capacity(parts.len());
    for &(column, wire) in parts {
        let part = match wire {
            KeyWire::Integer => row.try_get::<_, Option<i64>>(column)?.map(KeyPart::Integer),
            KeyWire::Text => {
                row.try_get::<_, Option<&str>>(column)?.map(|text| KeyPart::Text(text.as_bytes().into()))
            }
        };
        let Some(part) = part else { return Ok(None) };
        key.push(part);
    }
    Ok(Some(key.into()))
}
