//! Rows in QuestDB's line protocol (`TABLE COLUMN=VALUE,… TIME`, times in milliseconds). Names of tables and columns are such that nothing in
//! them needs an escape.

use prony_series_database::Column;
use prony_series_store::{Kind, TimeMs, Value};
use std::io::Write as _;

/// Rows of one request.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    has_fields: bool,
}

impl Lines {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn begin(&mut self, table: &str) {
        self.bytes.extend_from_slice(table.as_bytes());
        self.has_fields = false;
    }

    pub(crate) fn end(&mut self, time_ms: TimeMs) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.bytes, " {time_ms}");
    }

    fn name(&mut self, name: &str) {
        self.bytes.push(if self.has_fields { b',' } else { b' ' });
        self.has_fields = true;
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(b'=');
    }

    pub(crate) fn text(&mut self, name: &str, text: &str) {
        self.name(name);
        self.bytes.push(b'"');
        for byte in text.bytes() {
            if matches!(byte, b'"' | b'\\' | b'\n') {
                self.bytes.push(b'\\');
            }
            self.bytes.push(byte);
        }
        self.bytes.push(b'"');
    }

    pub(crate) fn integer(&mut self, name: &str, value: i64) {
        self.name(name);
        let _ = write!(self.bytes, "{value}i");
    }

    /// The value of an attribute, where it is one that the column can have.
    pub(crate) fn value(&mut self, column: &Column, value: Value<'_>) {
        let name = column.name.trim_matches('"');
        match (column.kind, value) {
            (Kind::Time, Value::Integer(time_ms)) => {
                self.name(name);
                let _ = write!(self.bytes, "{}t", time_ms.saturating_mul(1000));
            }
            // The least of all is QuestDB's null.
            (_, Value::Integer(value)) if value > i64::MIN => self.integer(name, value),
            (_, Value::Double(value)) if value.is_finite() => {
                self.name(name);
                let _ = write!(self.bytes, "{value:?}");
            }
            (_, Value::Boolean(value)) => self.text(name, if value { "true" } else { "false" }),
            (_, Value::Text(text)) => self.text(name, text),
            (_, Value::Null | Value::Double(_) | Value::Integer(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines() {
        let column = |name: &str, kind| Column { name: format!("\"{name}\""), kind };
        let mut lines = Lines::default();
        lines.begin("prony_room_1");
        lines.text("entity", "a \"b\\\nc,=ä");
        lines.integer("seq", -7);
        lines.value(&column("x", Kind::Double), Value::Double(1e300));
        lines.value(&column("y", Kind::Double), Value::Double(f64::NAN));
        lines.value(&column("n", Kind::Integer), Value::Integer(i64::MIN));
        lines.value(&column("b", Kind::Boolean), Value::Boolean(true));
        lines.value(&column("t", Kind::Time), Value::Integer(-5));
        lines.end(12);
        let text = String::from_utf8(lines.bytes).unwrap();
        assert_eq!(
            text,
            "prony_room_1 entity=\"a \\\"b\\\\\\\nc,=ä\",seq=-7i,x=1e300,b=\"true\",t=-5000t 12\n"
        );
    }
}
