//! Tables of values in one buffer: a row costs its text and four bytes a cell, however many rows there are.

use crate::data::encoding::Encoding;
use serde_json::Value;

/// Text of all cells of one table. Cells are found by 30-bit places, and a larger table is a case for a database.
pub const TABLE_BYTES_MAX: usize = 1 << 30;
/// Rows of one table; places of rows are handed about as `u32`.
pub const TABLE_ROWS_MAX: usize = 100_000_000;

const KIND_BITS: u32 = 2;

/// How a cell is written as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Quoted and escaped.
    Text,
    /// Its text is JSON already: a number, a boolean, an array or an object.
    Json,
    /// `null` in JSON, nothing elsewhere.
    Null,
}

/// One value, in a table or taken from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    pub kind: CellKind,
    pub text: &'a [u8],
}

/// Rows with one cell for each column; a plain list has one column without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    columns: Vec<String>,
    text: Vec<u8>,
    /// For each cell where its text ends, shifted left by [`KIND_BITS`], and its kind.
    cells: Vec<u32>,
    /// Columns with a value that no HTTP header can carry.
    with_control_characters: Vec<bool>,
}

/// A table that is larger than this program keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TableFull {
    #[error("its values are longer than the limit of {TABLE_BYTES_MAX} bytes")]
    Bytes,
    #[error("it has more than the limit of {TABLE_ROWS_MAX} rows")]
    Rows,
}

impl Rows {
    /// No rows yet. Without columns: one that has no name.
    pub fn new(columns: Vec<String>) -> Self {
        let width = columns.len().max(1);
        Self { columns, text: Vec::new(), cells: Vec::new(), with_control_characters: vec![false; width] }
    }

    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    pub fn len(&self) -> usize {
        self.cells.len() / self.width()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// What the table takes in memory.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.cells.len() * size_of::<u32>()
    }

    /// Appends a cell; a row is there once all its cells are.
    pub fn push(&mut self, cell: Cell<'_>) -> Result<(), TableFull> {
        if self.text.len() + cell.text.len() >= TABLE_BYTES_MAX {
            return Err(TableFull::Bytes);
        }
        let column = self.cells.len() % self.width();
        if column == 0 && self.len() == TABLE_ROWS_MAX {
            return Err(TableFull::Rows);
        }
        self.with_control_characters[column] |= cell.text.iter().any(|byte| *byte < b' ' || *byte == 0x7f);
        self.text.extend_from_slice(cell.text);
        self.cells.push((self.text.len() as u32) << KIND_BITS | cell.kind as u32);
        Ok(())
    }

    /// The cell in this row and column, both from 0.
    pub fn cell(&self, row: usize, column: usize) -> Cell<'_> {
        let at = row * self.width() + column;
        let end = |at: usize| (self.cells[at] >> KIND_BITS) as usize;
        let start = at.checked_sub(1).map_or(0, end);
        let kind = match self.cells[at] & ((1 << KIND_BITS) - 1) {
            0 => CellKind::Text,
            1 => CellKind::Json,
            _ => CellKind::Null,
        };
        Cell { kind, text: &self.text[start..end(at)] }
    }

    /// True where a value of this column would break the head of an HTTP request.
    pub(crate) fn has_control_characters(&self, column: usize) -> bool {
        self.with_control_characters[column]
    }

    /// Gives back what was set aside for rows that did not come.
    pub fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.cells.shrink_to_fit();
    }

    fn width(&self) -> usize {
        self.columns.len().max(1)
    }
}

/// Any JSON value as a cell: its kind and its text.
pub fn cell_of(value: &Value) -> (CellKind, String) {
    match value {
        Value::Null => (CellKind::Null, String::new()),
        Value::String(text) => (CellKind::Text, text.clone()),
        other => (CellKind::Json, other.to_string()),
    }
}

impl Cell<'_> {
    pub(crate) fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        match (encoding, self.kind) {
            (Encoding::Json, CellKind::Null) => out.extend_from_slice(b"null"),
            (Encoding::Plain, _) | (Encoding::Json, CellKind::Json) => out.extend_from_slice(self.text),
            (Encoding::Json, CellKind::Text) => write_json_text(self.text, out),
            (Encoding::JsonText, _) => {
                let start = out.len();
                write_json_text(self.text, out);
                out.pop();
                out.remove(start);
            }
            (Encoding::Target, _) => write_target(self.text, out),
            (Encoding::Header, _) => write_header(self.text, out),
        }
    }
}

/// Quoted and escaped; what is not UTF-8 becomes U+FFFD.
fn write_json_text(text: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(text);
    serde_json::to_writer(out, text.as_ref()).expect("writing a text into memory does not fail");
}

/// RFC 3986: a URI holds visible ASCII without a few delimiters, and `%` before two hexadecimal digits; every other byte is
/// percent-encoded.
fn write_target(text: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for (at, &byte) in text.iter().enumerate() {
        let is_lone_percent = byte == b'%' && !is_hex_pair(&text[at + 1..]);
        if byte.is_ascii_graphic() && !br#""<>\^`{|}#"#.contains(&byte) && !is_lone_percent {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
}

/// True where the text begins with two hexadecimal digits.
fn is_hex_pair(text: &[u8]) -> bool {
    text.get(..2).is_some_and(|pair| pair.iter().all(u8::is_ascii_hexdigit))
}

/// RFC 9110 allows no control character but a tab in a header; each becomes a space, so that no answer can end a header.
fn write_header(text: &[u8], out: &mut Vec<u8>) {
    let safe = |byte: &u8| if byte.is_ascii_control() && *byte != b'\t' { b' ' } else { *byte };
    out.extend(text.iter().map(safe));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cells_come_back_as_they_went_in() {
        let mut rows = Rows::new(vec!["a".to_owned(), "b".to_owned()]);
        let cells = [
            (CellKind::Text, "x"),
            (CellKind::Json, "7"),
            (CellKind::Null, ""),
            (CellKind::Text, "a longer one"),
        ];
        for (kind, text) in cells {
            rows.push(Cell { kind, text: text.as_bytes() }).unwrap();
        }
        assert_eq!(rows.len(), 2);
        for (index, (kind, text)) in cells.into_iter().enumerate() {
            assert_eq!(rows.cell(index / 2, index % 2), Cell { kind, text: text.as_bytes() });
        }
        assert_eq!(rows.bytes(), 14 + 4 * 4);
    }

    #[test]
    fn a_column_remembers_that_it_cannot_stand_in_a_header() {
        let mut rows = Rows::new(vec!["a".to_owned(), "b".to_owned()]);
        for text in ["x", "y\r\nz"] {
            rows.push(Cell { kind: CellKind::Text, text: text.as_bytes() }).unwrap();
        }
        assert!(!rows.has_control_characters(0));
        assert!(rows.has_control_characters(1));
    }

    #[test]
    fn a_percent_sign_in_a_target_begins_an_encoded_byte() {
        for (text, written) in [
            ("50% off", "50%25%20off"),
            ("%C3%a9", "%C3%a9"),
            ("100%", "100%25"),
            ("%2", "%252"),
            ("%%41", "%25%41"),
        ] {
            let mut target = Vec::new();
            Cell { kind: CellKind::Text, text: text.as_bytes() }.write(Encoding::Target, &mut target);
            assert_eq!(String::from_utf8(target).unwrap(), written, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_text_is_the_same_json_whole_and_within_a_text(text: String) {
            let cell = Cell { kind: CellKind::Text, text: text.as_bytes() };
            let (mut whole, mut within) = (Vec::new(), b"\"".to_vec());
            cell.write(Encoding::Json, &mut whole);
            cell.write(Encoding::JsonText, &mut within);
            within.push(b'"');
            prop_assert_eq!(&whole, &within);
            prop_assert_eq!(serde_json::from_slice::<String>(&whole).unwrap(), text);
        }

        #[test]
        fn a_header_cannot_be_ended_and_a_target_is_visible_ascii(text: Vec<u8>) {
            let cell = Cell { kind: CellKind::Text, text: &text };
            let mut header = Vec::new();
            cell.write(Encoding::Header, &mut header);
            prop_assert!(!header.contains(&b'\r') && !header.contains(&b'\n'));
            let mut target = Vec::new();
            cell.write(Encoding::Target, &mut target);
            prop_assert!(target.iter().all(u8::is_ascii_graphic));
        }
    }
}
