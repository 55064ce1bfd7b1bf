//! Whole stores as lines of JSON, and back: the file that `prony series export` writes and `prony series import` reads.
//!
//! The first line says what the file is. A line with a tenant, a type and its attributes stands before the rows of this type. The last line
//! says how many rows there are: a file without it was cut off.

mod export;
mod import;

use std::io;

use prony_series_store::{Kind, LogError, ReadError, Refusal, SealError};

pub use self::{export::export, import::import};

/// Counts up when a reader of older files would misread newer ones.
const VERSION: i64 = 1;

/// How much went over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transferred {
    pub types: u64,
    pub rows: u64,
}

/// Why it did not all go over.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    #[error("cannot read or write the file")]
    Io(#[from] io::Error),
    #[error("the series cannot be read")]
    Read(#[from] ReadError),
    /// Lines count from 1.
    #[error("line {line}: {what}")]
    Line { line: u64, what: String },
    #[error("line {line}")]
    Refused { line: u64, source: Refusal },
    #[error("the file was cut off after {rows} rows: its last line does not say how many there are")]
    NoEnd { rows: u64 },
    #[error("the series cannot be written")]
    Log(#[from] LogError),
    #[error("the series cannot be written")]
    Seal(#[from] SealError),
}

const KINDS: [(&str, Kind); 7] = [
    ("double", Kind::Double),
    ("integer", Kind::Integer),
    ("boolean", Kind::Boolean),
    ("time", Kind::Time),
    ("text", Kind::Text),
    ("structured", Kind::Structured),
    ("geometry", Kind::Geometry),
];

fn name_of(kind: Kind) -> &'static str {
    KINDS.iter().find(|(_, of)| *of == kind).map_or("text", |(name, _)| name)
}

fn kind_of(name: &str) -> Option<Kind> {
    KINDS.iter().find(|(of, _)| *of == name).map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use prony_series_store::{Durability, Options, Store};

    use super::*;
    use crate::tests::harness::Harness;

    fn exported(store: &Store) -> String {
        let mut file = Vec::new();
        export(store, &mut file).unwrap();
        String::from_utf8(file).unwrap()
    }

    fn filled() -> Harness {
        let harness = Harness::new();
        harness.notify(
            r#"[{"id":"urn:Zähler:1","type":"Größe","TimeInstant":{"type":"DateTime","value":"2024-01-01T00:00:00.123Z"},
                "a.b":{"type":"Number","value":-1.5e300},"@type":{"type":"Text","value":"say \"x\"\n"},"n":{"type":"Integer","value":-9007199254740993},
                "list":{"type":"StructuredValue","value":["a",1,1.0,{"b":null}]},"flag":{"type":"Custom","value":false},
                "location":{"type":"geo:point","value":"40.4, -3.7"}}]"#,
            &["Fiware-ServicePath: /a/b"],
        );
        harness.notify(
            r#"[{"id":"urn:Zähler:1","type":"Größe","TimeInstant":{"type":"DateTime","value":"1969-12-31T00:00:00Z"},"a.b":{"type":"Text","value":"null then"}}]"#,
            &[],
        );
        harness.notify(r#"[{"id":"urn:Zähler:1","type":"Größe","timestamp":{"type":"DateTime","value":"9999-12-31T23:59:59Z"},"a.b":{"value":"another tenant"}}]"#, &["Fiware-Service: other"]);
        harness
    }

    fn imported(text: &str) -> Result<(Transferred, String), String> {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path(), Options::new(Durability::Off)).unwrap();
        let transferred = import(&store, text.as_bytes());
        let with_causes = |error: TransferError| crate::series::with_causes(&error);
        transferred.map(|transferred| (transferred, exported(&store))).map_err(with_causes)
    }

    #[test]
    fn what_is_exported_is_imported_the_same() {
        let text = exported(filled().store());
        expect![[r#"
            {"prony":"series","version":1}
            {"tenant":"","type":"Größe","attributes":[{"name":"TimeInstant","type":"DateTime","kind":"time"},{"name":"a.b","type":"Number","kind":"double"},{"name":"@type","type":"Text","kind":"text"},{"name":"n","type":"Integer","kind":"integer"},{"name":"list","type":"StructuredValue","kind":"structured"},{"name":"flag","type":"Custom","kind":"boolean"},{"name":"location","type":"geo:point","kind":"geometry"},{"name":"location_centroid","type":"geo:point","kind":"text"}]}
            {"id":"urn:Zähler:1","path":"/a/b","time_ms":1704067200123,"values":{"TimeInstant":1704067200123,"a.b":-1.5e+300,"@type":"say \"x\"\n","n":-9007199254740993,"list":["a",1,1.0,{"b":null}],"flag":false,"location":{"type":"Point","coordinates":[-3.7,40.4]},"location_centroid":"40.4, -3.7"}}
            {"id":"urn:Zähler:1","path":"/","time_ms":-86400000,"values":{"TimeInstant":-86400000}}
            {"tenant":"other","type":"Größe","attributes":[{"name":"timestamp","type":"DateTime","kind":"time"},{"name":"a.b","type":"Text","kind":"text"}]}
            {"id":"urn:Zähler:1","path":"/","time_ms":253402300799000,"values":{"timestamp":253402300799000,"a.b":"another tenant"}}
            {"end":{"rows":3}}
        "#]].assert_eq(&text);
        let (transferred, again) = imported(&text).unwrap();
        assert_eq!(again, text);
        assert_eq!(transferred, Transferred { types: 2, rows: 3 });
    }

    #[test]
    fn a_file_that_was_cut_off_is_told_from_a_whole_one() {
        let text = exported(filled().store());
        let lines: Vec<&str> = text.lines().collect();
        for count in 0..lines.len() {
            let error = imported(&lines[..count].join("\n")).unwrap_err();
            let is_cut = error.contains("was cut off") || (count == 0 && error.contains("line 1"));
            assert!(is_cut, "{count}: {error}");
        }
        assert!(imported(&text[..text.len() - 4]).is_err());
    }

    #[test]
    fn a_faulty_line_is_named() {
        let head = "{\"prony\":\"series\",\"version\":1}\n{\"tenant\":\"\",\"type\":\"T\",\"attributes\":[{\"name\":\"n\",\"type\":\"Integer\",\"kind\":\"integer\"}]}\n";
        let of = |rest: &str| imported(&format!("{head}{rest}")).unwrap_err();
        let all = [
            imported("[]").unwrap_err(),
            imported("{\"prony\":\"series\",\"version\":2}\n").unwrap_err(),
            imported("{\"prony\":\"series\",\"version\":1}\n{\"id\":\"x\",\"path\":\"/\",\"time_ms\":1,\"values\":{}}\n").unwrap_err(),
            of("{\"id\":\"x\""),
            of("{\"id\":\"x\",\"path\":\"/\",\"time_ms\":1,\"values\":{\"n\":1.5}}"),
            of("{\"id\":\"x\",\"path\":\"/\",\"time_ms\":1,\"values\":{\"m\":1}}"),
            of("{\"id\":\"x\",\"path\":\"/\",\"time_ms\":\"now\",\"values\":{}}"),
            of("{\"id\":\"x\",\"path\":\"/\",\"time_ms\":1,\"values\":{\"n\":1,\"N\":2}}"),
            of("{\"end\":{\"rows\":7}}"),
            of("{\"end\":{\"rows\":0}}\n{\"end\":{\"rows\":0}}"),
        ];
        expect![[r#"
            line 1: the first line is {"prony":"series","version":1}
            line 1: the first line is {"prony":"series","version":1}
            line 2: a row stands before its type
            the file was cut off after 0 rows: its last line does not say how many there are
            line 3: the value of `n` is none of an attribute of this kind
            line 3: its type has no attribute `m`
            line 3: a row has no whole number `time_ms`
            line 3: its type has no attribute `N`
            line 3: there are 0 rows before it
            line 4: the file goes on behind its end"#]]
        .assert_eq(&all.join("\n"));
    }

    #[test]
    fn more_rows_than_are_written_at_a_time_are_all_there() {
        let head = "{\"prony\":\"series\",\"version\":1}\n{\"tenant\":\"\",\"type\":\"T\",\"attributes\":[{\"name\":\"n\",\"type\":\"Integer\",\"kind\":\"integer\"}]}\n";
        let row =
            |row| format!("{{\"id\":\"x\",\"path\":\"/\",\"time_ms\":{row},\"values\":{{\"n\":{row}}}}}\n");
        let rows: Vec<String> = (0..2_500).map(row).collect();
        let text = format!("{head}{}{{\"end\":{{\"rows\":2500}}}}\n", rows.concat());
        assert_eq!(imported(&text).unwrap().1, text);
    }
}
