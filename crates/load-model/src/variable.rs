//! Where the values in requests come from: ranges of whole numbers, lists and tables, drawn at random or in order.

use crate::template::Encoding;
use rand::{Rng, RngExt};
use serde_json::Value;
use std::io::Write as _;

/// The order in which rows are taken. Sequential starts again after the last row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Random,
    Sequential,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// Whole numbers from `min` to `max`, both included, at random.
    Range { min: i64, max: i64 },
    /// Rows with one cell a column; a plain list has one column without a name to ask for.
    Rows { columns: Vec<String>, rows: Vec<Vec<Cell>>, order: Order },
}

/// A value in each form in which a request may want it, so that rendering only copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    pub plain: Box<str>,
    pub json: Box<str>,
}

impl Cell {
    /// A text, number, boolean or null; nothing for arrays and objects.
    pub fn new(value: &Value) -> Option<Self> {
        let plain = match value {
            Value::Array(_) | Value::Object(_) => return None,
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        Some(Self { plain: plain.into(), json: value.to_string().into() })
    }

    pub fn text(text: &str) -> Self {
        Self { plain: text.into(), json: Value::from(text).to_string().into() }
    }

    /// The text as it stands within a JSON string.
    pub(crate) fn escaped(text: &str) -> String {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub values: Values,
}

/// What one request got for a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawn<'a> {
    Integer(i64),
    Row(&'a [Cell]),
}

impl Variable {
    /// Whole numbers from `min` to `max`, both included.
    pub fn range(name: &str, min: i64, max: i64) -> Self {
        Self { name: name.to_owned(), values: Values::Range { min, max } }
    }

    /// One of these values each time. Arrays and objects are not values of a variable and are left out.
    pub fn list(name: &str, values: &[Value], order: Order) -> Self {
        let rows = values.iter().filter_map(Cell::new).map(|cell| vec![cell]).collect();
        Self { name: name.to_owned(), values: Values::Rows { columns: Vec::new(), rows, order } }
    }

    pub fn columns(&self) -> &[String] {
        match &self.values {
            Values::Range { .. } => &[],
            Values::Rows { columns, .. } => columns,
        }
    }

    /// True where the value depends on how many were taken before.
    pub fn is_sequential(&self) -> bool {
        matches!(self.values, Values::Rows { order: Order::Sequential, .. })
    }

    /// Draws a value. `position` counts the draws of a sequential variable over the whole run.
    pub fn draw(&self, random: &mut impl Rng, position: u64) -> Drawn<'_> {
        match &self.values {
            Values::Range { min, max } => Drawn::Integer(random.random_range(*min..=*max)),
            Values::Rows { rows, order, .. } => {
                let index = match order {
                    Order::Random => random.random_range(0..rows.len()),
                    Order::Sequential => (position % rows.len() as u64) as usize,
                };
                Drawn::Row(&rows[index])
            }
        }
    }

    /// What is wrong with the values themselves, if anything.
    pub(crate) fn fault(&self) -> Option<String> {
        match &self.values {
            Values::Range { min, max } if min > max => Some(format!(
                "range of `{}` is empty: {min} is above {max}; write the smaller one first",
                self.name
            )),
            Values::Rows { rows, .. } if rows.is_empty() => {
                Some(format!("`{}` has no values; give it at least one", self.name))
            }
            _ => None,
        }
    }

    /// True where a value of this column would break the head of an HTTP request.
    pub(crate) fn has_control_characters(&self, column: usize) -> bool {
        let Values::Rows { rows, .. } = &self.values else { return false };
        rows.iter().any(|row| row[column].plain.bytes().any(|byte| byte < b' ' || byte == 0x7f))
    }
}

impl Drawn<'_> {
    pub(crate) fn write(&self, column: usize, encoding: Encoding, out: &mut Vec<u8>) {
        match self {
            Self::Integer(number) => {
                write!(out, "{number}").expect("writing into memory does not fail");
            }
            Self::Row(cells) => cells[column].write(encoding, out),
        }
    }
}

impl Cell {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        match encoding {
            Encoding::Json => out.extend_from_slice(self.json.as_bytes()),
            Encoding::JsonText if self.json.starts_with('"') => {
                out.extend_from_slice(&self.json.as_bytes()[1..self.json.len() - 1]);
            }
            Encoding::Plain | Encoding::JsonText => out.extend_from_slice(self.plain.as_bytes()),
            Encoding::Target => write_target(&self.plain, out),
        }
    }
}

/// RFC 3986: a URI holds visible ASCII without a few delimiters; every other byte is percent-encoded.
fn write_target(text: &str, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !br#""<>\^`{|}#"#.contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}
