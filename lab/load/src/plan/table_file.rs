//! Reads the tables that feed a plan: CSV with a header, and JSON lines. Rows go straight into one compact [`Rows`].

use prony_model::data::rows::{Cell, CellKind, Rows};
use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

const READ_BUFFER_BYTES: usize = 256 * 1024;
/// A line of JSON longer than this is no row but a slip.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
const FIELD_BESIDE_UTF8: &str = "is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`";

/// How a CSV file's fields are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Types {
    /// What JSON would write the same way is taken as that: `7` is a number, `08` a text.
    Auto,
    Text,
}

fn open(path: &Path) -> Result<BufReader<File>, String> {
    let file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(BufReader::with_capacity(READ_BUFFER_BYTES, file))
}

/// The first line names the columns.
pub(super) fn read_csv(path: &Path, types: Types) -> Result<Rows, String> {
    let mut reader = csv::ReaderBuilder::new().from_reader(open(path)?);
    let columns = csv_columns(&mut reader)?;
    let mut rows = Rows::new(columns);
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|error| error.to_string())? {
        let line = record.position().map_or(0, csv::Position::line);
        for (column, field) in record.iter().enumerate() {
            let Ok(text) = std::str::from_utf8(field) else {
                let name = &rows.columns()[column];
                return Err(format!("line {line}: `{name}` {FIELD_BESIDE_UTF8}"));
            };
            rows.push(csv_cell(text, types)).map_err(|error| error.to_string())?;
        }
    }
    if rows.is_empty() {
        return Err("it has a header but no rows; add at least one".to_owned());
    }
    rows.shrink();
    Ok(rows)
}

fn csv_columns(reader: &mut csv::Reader<BufReader<File>>) -> Result<Vec<String>, String> {
    let headers = reader.byte_headers().map_err(|error| error.to_string())?;
    let mut columns = Vec::new();
    for name in headers {
        let name = std::str::from_utf8(name).map_err(|_| format!("its first line {FIELD_BESIDE_UTF8}"))?;
        columns.push(name.trim().to_owned());
    }
    if columns.is_empty() {
        return Err("it is empty; its first line must name every column".to_owned());
    }
    if columns.iter().any(String::is_empty) {
        return Err("its first line must name every column".to_owned());
    }
    if let Some(twice) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
        return Err(format!("two of its columns are named `{}`", twice.1));
    }
    Ok(columns)
}

fn csv_cell(field: &str, types: Types) -> Cell<'_> {
    let kind = if types == Types::Auto && is_json_scalar(field) { CellKind::Json } else { CellKind::Text };
    Cell { kind, text: field.as_bytes() }
}

fn is_json_scalar(field: &str) -> bool {
    match field.as_bytes() {
        b"true" | b"false" => true,
        [b'-' | b'0'..=b'9', ..] => {
            let number = serde_json::from_str::<serde_json::Number>(field);
            number.is_ok_and(|number| number.to_string() == field)
        }
        _ => false,
    }
}

/// Every line is an object, whose keys in the first line are the columns, or every line is a single value.
pub(super) fn read_json_lines(path: &Path) -> Result<Rows, String> {
    let mut reader = open(path)?;
    let mut table: Option<Rows> = None;
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = std::io::Read::take(&mut reader, LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            break;
        }
        let fault = |reason: String| format!("line {number}: {reason}");
        if line.len() > LINE_BYTES_MAX {
            return Err(fault(format!("it is longer than the limit of {LINE_BYTES_MAX} bytes")));
        }
        let text =
            std::str::from_utf8(&line).map_err(|_| fault(FIELD_BESIDE_UTF8.replacen("is", "it is", 1)))?;
        // As of CSV files, a byte order mark is none of the first line.
        let text = text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(text);
        if !text.trim().is_empty() {
            push_line(text, &mut table).map_err(fault)?;
        }
    }
    let mut rows = table.ok_or("it has no rows; add at least one line such as `{\"id\": 1}`")?;
    rows.shrink();
    Ok(rows)
}

fn push_line(text: &str, table: &mut Option<Rows>) -> Result<(), String> {
    let is_object = text.trim_start().starts_with('{');
    if !is_object {
        let value: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let rows = table.get_or_insert_with(|| Rows::new(Vec::new()));
        if !rows.columns().is_empty() {
            return Err("it is no object, unlike the first line".to_owned());
        }
        return push_value(value.get(), rows);
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let fields = reader.deserialize_map(Fields).and_then(|fields| reader.end().map(|()| fields));
    let fields = fields.map_err(|error| error.to_string())?;
    let rows =
        table.get_or_insert_with(|| Rows::new(fields.iter().map(|(name, _)| name.to_string()).collect()));
    if let Some((name, _)) = fields.iter().find(|(name, _)| !rows.columns().iter().any(|known| known == name))
    {
        return Err(format!("it has the key `{name}`, which the first line has not"));
    }
    if fields.is_empty() {
        return Err("the object has no keys".to_owned());
    }
    for column in 0..rows.columns().len() {
        // Keys mostly stand in the same order in every line.
        let name = &rows.columns()[column];
        let at_place = fields.get(column).filter(|(key, _)| key == name);
        let found = at_place.or_else(|| fields.iter().find(|(key, _)| key == name));
        push_value(found.map_or("null", |(_, value)| value.get()), rows)?;
    }
    Ok(())
}

fn push_value(json: &str, rows: &mut Rows) -> Result<(), String> {
    let decoded: Cow<'_, str>;
    let cell = match json.as_bytes() {
        b"null" => Cell { kind: CellKind::Null, text: b"" },
        [b'"', ..] => {
            decoded = decode(json)?;
            Cell { kind: CellKind::Text, text: decoded.as_bytes() }
        }
        text => Cell { kind: CellKind::Json, text },
    };
    rows.push(cell).map_err(|error| error.to_string())
}

/// A JSON text without its quotes; most need no copy.
fn decode(json: &str) -> Result<Cow<'_, str>, String> {
    if json.contains('\\') {
        return serde_json::from_str(json).map(Cow::Owned).map_err(|error| error.to_string());
    }
    Ok(Cow::Borrowed(&json[1..json.len() - 1]))
}

/// Takes an object apart without reading its values.
struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields: Self::Value = Vec::new();
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            let value = map.next_value()?;
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(serde::de::Error::custom(format!("the key `{name}` stands twice")));
            }
            fields.push((name, value));
        }
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn shown(read: Result<Rows, String>) -> String {
        let rows = match read {
            Ok(rows) => rows,
            Err(error) => return error,
        };
        let mut text = format!("{} ({} bytes)", rows.columns().join(" | "), rows.bytes());
        for row in 0..rows.len() {
            text.push('\n');
            for column in 0..rows.columns().len().max(1) {
                let cell = rows.cell(row, column);
                let _ = write!(text, "{:?} {}; ", cell.kind, String::from_utf8_lossy(cell.text));
            }
        }
        text
    }

    fn check(file: &[u8], expected: &Expect, read: impl Fn(&Path) -> Result<Rows, String>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, file).unwrap();
        expected.assert_eq(&shown(read(&path)));
    }

    #[test]
    fn csv_fields_are_typed_as_json_would_write_them() {
        let auto = |path: &Path| read_csv(path, Types::Auto);
        check(
            b"\xef\xbb\xbfid, name\n7,true\n-1.5,\"a \"\"b\"\"\"\n08,1e3\n,null\n",
            &expect![[r#"
                id | name (55 bytes)
                Json 7; Json true; 
                Json -1.5; Text a "b"; 
                Text 08; Text 1e3; 
                Text ; Text null; "#]],
            auto,
        );
        check(
            b"id\n7\n",
            &expect![[r#"
            id (5 bytes)
            Text 7; "#]],
            |path| read_csv(path, Types::Text),
        );
    }

    #[test]
    fn csv_files_that_cannot_be_used_say_why() {
        let auto = |path: &Path| read_csv(path, Types::Auto);
        check(b"", &expect!["it is empty; its first line must name every column"], auto);
        check(b"a,b\n", &expect!["it has a header but no rows; add at least one"], auto);
        check(b"a,\n1,2\n", &expect!["its first line must name every column"], auto);
        check(b"a,a\n1,2\n", &expect!["two of its columns are named `a`"], auto);
        check(
            b"a,b\n1\n",
            &expect![
                "CSV error: record 1 (line: 2, byte: 4): found record with 1 fields, but the previous record has 2 fields"
            ],
            auto,
        );
        check(
            b"a,b\n1,2\n3,caf\xe9\n",
            &expect![
                "line 3: `b` is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`"
            ],
            auto,
        );
        check(
            b"a\xff,b\n1,2\n",
            &expect![
                "its first line is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`"
            ],
            auto,
        );
    }

    #[test]
    fn json_lines_keep_their_types() {
        check(
            b"{\"id\": 1.50, \"who\": \"\\u00e9 x\", \"tags\": [1, {\"a\":2}]}\n\n{\"who\":null,\"id\":true}\n",
            &expect![[r#"
                id | who | tags (48 bytes)
                Json 1.50; Text é x; Json [1, {"a":2}]; 
                Json true; Null ; Null ; "#]],
            read_json_lines,
        );
        check(
            b"\xef\xbb\xbf{\"id\":1}\n",
            &expect![[r#"
                id (5 bytes)
                Json 1; "#]],
            read_json_lines,
        );
        check(
            b"1\n\"x\"",
            &expect![[r#"
             (10 bytes)
            Json 1; 
            Text x; "#]],
            read_json_lines,
        );
    }

    #[test]
    fn json_lines_that_cannot_be_used_say_why() {
        check(
            b"\n",
            &expect![[r#"it has no rows; add at least one line such as `{"id": 1}`"#]],
            read_json_lines,
        );
        check(
            b"{\"a\":1}\n{\"b\":1}\n",
            &expect!["line 2: it has the key `b`, which the first line has not"],
            read_json_lines,
        );
        check(b"{\"a\":1}\n7\n", &expect!["line 2: it is no object, unlike the first line"], read_json_lines);
        check(
            b"{\"a\":1\n",
            &expect!["line 1: EOF while parsing an object at line 2 column 0"],
            read_json_lines,
        );
        check(
            b"{\"a\":1,\"a\":2}\n",
            &expect!["line 1: the key `a` stands twice at line 1 column 13"],
            read_json_lines,
        );
        check(
            b"{\"a\":\"\xff\"}\n",
            &expect![
                "line 1: it is not UTF-8; convert the file, for example with `iconv -f latin1 -t utf-8`"
            ],
            read_json_lines,
        );
        check(b"{}\n", &expect!["line 1: the object has no keys"], read_json_lines);
    }
}
