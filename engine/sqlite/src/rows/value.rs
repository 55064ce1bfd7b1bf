//! Stored values as JSON. SQLite is dynamically typed: each storage class in each kind of column gives
//! something defined here, a value or an error, the same for all resolver models.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use prony_graphql::json;
use prony_source::dialect::{NotFinite, write_float, write_integer};
use serde::de::IgnoredAny;

use crate::file::raw::Stored;
use prony_sql::catalog::ColumnKind;

/// Why a stored value has no place in its GraphQL type; completes "`column` …".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit(pub(crate) String);

/// Appends the value's JSON; nothing is left behind where it does not fit. Nulls are the caller's.
pub(crate) fn write(out: &mut Vec<u8>, kind: &ColumnKind, value: Stored<'_>) -> Result<(), Misfit> {
    match kind {
        ColumnKind::Int => write_int(out, value),
        ColumnKind::BigInt => write_integer_column(out, value),
        ColumnKind::Float => write_float_column(out, value),
        ColumnKind::Numeric => write_numeric(out, value),
        ColumnKind::Boolean => write_boolean(out, value),
        ColumnKind::Bytes => {
            write_base64(out, value);
            Ok(())
        }
        ColumnKind::Json | ColumnKind::Array(_) => write_json(out, value),
        ColumnKind::Decimal
        | ColumnKind::Text
        | ColumnKind::Timestamp
        | ColumnKind::Uuid
        | ColumnKind::Enum(_)
        | ColumnKind::OtherText
        | ColumnKind::OrderedText
        | ColumnKind::UnorderedText => write_text(out, value),
    }
}

fn write_int(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    let number = integer(value).ok_or_else(|| misfit(value, "an Int"))?;
    if i32::try_from(number).is_err() {
        return Err(Misfit(format!(
            "is {number}, outside the 32 bits of Int: configure the column as BigInt"
        )));
    }
    write_integer(out, number);
    Ok(())
}

fn write_integer_column(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    write_integer(out, integer(value).ok_or_else(|| misfit(value, "an integer"))?);
    Ok(())
}

/// Reals without a fraction and text of digits count as integers: columns without affinity keep what they
/// were given.
fn integer(value: Stored<'_>) -> Option<i64> {
    match value {
        Stored::Integer(number) => Some(number),
        Stored::Real(number) => {
            // 2^63 is the first float that an i64 cannot hold.
            let fits = number.fract() == 0.0
                && (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&number);
            fits.then_some(number as i64)
        }
        Stored::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        Stored::Null | Stored::Blob(_) => None,
    }
}

fn write_float_column(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    match value {
        Stored::Integer(number) => {
            write_integer(out, number);
            Ok(())
        }
        Stored::Real(number) => push_float(out, number),
        Stored::Text(text) => {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
            push_float(out, number.ok_or_else(|| misfit(value, "a Float"))?)
        }
        Stored::Null | Stored::Blob(_) => Err(misfit(value, "a Float")),
    }
}

/// As a Float, but digits stored as text stay exact.
fn write_numeric(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    match value {
        Stored::Text(text) if is_json_number(text) => {
            out.extend_from_slice(text);
            Ok(())
        }
        other => write_float_column(out, other),
    }
}

fn write_boolean(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    let truth = match value {
        Stored::Integer(0) | Stored::Real(0.0) => false,
        Stored::Integer(1) | Stored::Real(1.0) => true,
        Stored::Text(text) if is_word(text, boolean_words(true)) => true,
        Stored::Text(text) if is_word(text, boolean_words(false)) => false,
        _ => return Err(misfit(value, "a Boolean (0 or 1)")),
    };
    out.extend_from_slice(if truth { b"true" } else { b"false" });
    Ok(())
}

/// Texts that are served as a truth, in whatever case; filters find them too.
pub(crate) const fn boolean_words(truth: bool) -> &'static [&'static str] {
    if truth { &["true", "t", "1"] } else { &["false", "f", "0"] }
}

fn is_word(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}

/// Bytes that are not UTF-8 are an error: replaced characters would be a silent loss.
fn write_text(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    match value {
        Stored::Text(bytes) | Stored::Blob(bytes) => {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                Misfit(format!("holds bytes that are not UTF-8 (from byte {})", error.valid_up_to()))
            })?;
            json::write_string(out, text);
        }
        Stored::Integer(_) | Stored::Real(_) => {
            out.push(b'"');
            push_number_text(out, value);
            out.push(b'"');
        }
        Stored::Null => out.extend_from_slice(b"null"),
    }
    Ok(())
}

fn write_json(out: &mut Vec<u8>, value: Stored<'_>) -> Result<(), Misfit> {
    match value {
        Stored::Text(text) | Stored::Blob(text) => {
            serde_json::from_slice::<IgnoredAny>(text)
                .map_err(|error| Misfit(format!("holds text that is not JSON ({error})")))?;
            out.extend_from_slice(text);
            Ok(())
        }
        Stored::Integer(number) => {
            write_integer(out, number);
            Ok(())
        }
        Stored::Real(number) => push_float(out, number),
        Stored::Null => Err(misfit(value, "JSON")),
    }
}

/// Whatever is stored, as its bytes: numbers as their text.
fn write_base64(out: &mut Vec<u8>, value: Stored<'_>) {
    let mut number = Vec::new();
    let bytes = match value {
        Stored::Blob(bytes) | Stored::Text(bytes) => bytes,
        Stored::Integer(_) | Stored::Real(_) | Stored::Null => {
            push_number_text(&mut number, value);
            &number
        }
    };
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    let written = STANDARD.encode_slice(bytes, &mut out[start..]).expect("four characters for three bytes");
    out.truncate(start + written);
    out.push(b'"');
}

fn push_number_text(out: &mut Vec<u8>, value: Stored<'_>) {
    match value {
        Stored::Integer(number) => write_integer(out, number),
        Stored::Real(number) if number.is_finite() => {
            let _infallible = push_float(out, number);
        }
        Stored::Real(number) => out.extend_from_slice(if number > 0.0 { b"Infinity" } else { b"-Infinity" }),
        Stored::Null | Stored::Text(_) | Stored::Blob(_) => {}
    }
}

/// As JSON, where it has such a number.
fn push_float(out: &mut Vec<u8>, number: f64) -> Result<(), Misfit> {
    write_float(out, number).map_err(|NotFinite| Misfit("is infinite, which JSON has no number for".into()))
}

/// RFC 8259, section 6.
fn is_json_number(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'-' | b'0'..=b'9'))
        && matches!(text.last(), Some(b'0'..=b'9'))
        && serde_json::from_slice::<IgnoredAny>(text).is_ok()
}

fn misfit(value: Stored<'_>, wanted: &str) -> Misfit {
    let holds = match value {
        Stored::Null => "null",
        Stored::Integer(_) => "an integer",
        Stored::Real(_) => "a number with a fraction",
        Stored::Text(_) => "text",
        Stored::Blob(_) => "a blob",
    };
    Misfit(format!("holds {holds}, which is not {wanted}"))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::*;

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn each_storage_class_in_each_kind_is_defined() {
        let stored = [
            Stored::Integer(1),
            Stored::Integer(-7),
            Stored::Integer(5_000_000_000),
            Stored::Real(2.0),
            Stored::Real(0.1),
            Stored::Real(1e300),
            Stored::Real(f64::INFINITY),
            Stored::Text(b"12"),
            Stored::Text(b"1.50"),
            Stored::Text(b"a\"b\n"),
            Stored::Text(b"true"),
            Stored::Text(b"{\"a\": [1]}"),
            Stored::Text(b"\xff"),
            Stored::Blob(b"\x00\xff"),
            Stored::Blob(b"ok"),
        ];
        let kinds = [
            ColumnKind::Int,
            ColumnKind::BigInt,
            ColumnKind::Float,
            ColumnKind::Numeric,
            ColumnKind::Boolean,
            ColumnKind::Text,
            ColumnKind::Json,
            ColumnKind::Bytes,
        ];
        let mut table = String::new();
        for value in stored {
            for kind in &kinds {
                let mut out = Vec::new();
                let written = match write(&mut out, kind, value) {
                    Ok(()) => String::from_utf8(out).unwrap(),
                    Err(Misfit(text)) => {
                        assert!(out.is_empty());
                        text
                    }
                };
                writeln!(table, "{value:?} as {kind:?}: {written}").unwrap();
            }
        }
        expect![[r#"
            Integer(1) as Int: 1
            Integer(1) as BigInt: 1
            Integer(1) as Float: 1
            Integer(1) as Numeric: 1
            Integer(1) as Boolean: true
            Integer(1) as Text: "1"
            Integer(1) as Json: 1
            Integer(1) as Bytes: "MQ=="
            Integer(-7) as Int: -7
            Integer(-7) as BigInt: -7
            Integer(-7) as Float: -7
            Integer(-7) as Numeric: -7
            Integer(-7) as Boolean: holds an integer, which is not a Boolean (0 or 1)
            Integer(-7) as Text: "-7"
            Integer(-7) as Json: -7
            Integer(-7) as Bytes: "LTc="
            Integer(5000000000) as Int: is 5000000000, outside the 32 bits of Int: configure the column as BigInt
            Integer(5000000000) as BigInt: 5000000000
            Integer(5000000000) as Float: 5000000000
            Integer(5000000000) as Numeric: 5000000000
            Integer(5000000000) as Boolean: holds an integer, which is not a Boolean (0 or 1)
            Integer(5000000000) as Text: "5000000000"
            Integer(5000000000) as Json: 5000000000
            Integer(5000000000) as Bytes: "NTAwMDAwMDAwMA=="
            Real(2.0) as Int: 2
            Real(2.0) as BigInt: 2
            Real(2.0) as Float: 2
            Real(2.0) as Numeric: 2
            Real(2.0) as Boolean: holds a number with a fraction, which is not a Boolean (0 or 1)
            Real(2.0) as Text: "2"
            Real(2.0) as Json: 2
            Real(2.0) as Bytes: "Mg=="
            Real(0.1) as Int: holds a number with a fraction, which is not an Int
            Real(0.1) as BigInt: holds a number with a fraction, which is not an integer
            Real(0.1) as Float: 0.1
            Real(0.1) as Numeric: 0.1
            Real(0.1) as Boolean: holds a number with a fraction, which is not a Boolean (0 or 1)
            Real(0.1) as Text: "0.1"
            Real(0.1) as Json: 0.1
            Real(0.1) as Bytes: "MC4x"
            Real(1e300) as Int: holds a number with a fraction, which is not an Int
            Real(1e300) as BigInt: holds a number with a fraction, which is not an integer
            Real(1e300) as Float: 1e+300
            Real(1e300) as Numeric: 1e+300
            Real(1e300) as Boolean: holds a number with a fraction, which is not a Boolean (0 or 1)
            Real(1e300) as Text: "1e+300"
            Real(1e300) as Json: 1e+300
            Real(1e300) as Bytes: "MWUrMzAw"
            Real(inf) as Int: holds a number with a fraction, which is not an Int
            Real(inf) as BigInt: holds a number with a fraction, which is not an integer
            Real(inf) as Float: is infinite, which JSON has no number for
            Real(inf) as Numeric: is infinite, which JSON has no number for
            Real(inf) as Boolean: holds a number with a fraction, which is not a Boolean (0 or 1)
            Real(inf) as Text: "Infinity"
            Real(inf) as Json: is infinite, which JSON has no number for
            Real(inf) as Bytes: "SW5maW5pdHk="
            Text([49, 50]) as Int: 12
            Text([49, 50]) as BigInt: 12
            Text([49, 50]) as Float: 12
            Text([49, 50]) as Numeric: 12
            Text([49, 50]) as Boolean: holds text, which is not a Boolean (0 or 1)
            Text([49, 50]) as Text: "12"
            Text([49, 50]) as Json: 12
            Text([49, 50]) as Bytes: "MTI="
            Text([49, 46, 53, 48]) as Int: holds text, which is not an Int
            Text([49, 46, 53, 48]) as BigInt: holds text, which is not an integer
            Text([49, 46, 53, 48]) as Float: 1.5
            Text([49, 46, 53, 48]) as Numeric: 1.50
            Text([49, 46, 53, 48]) as Boolean: holds text, which is not a Boolean (0 or 1)
            Text([49, 46, 53, 48]) as Text: "1.50"
            Text([49, 46, 53, 48]) as Json: 1.50
            Text([49, 46, 53, 48]) as Bytes: "MS41MA=="
            Text([97, 34, 98, 10]) as Int: holds text, which is not an Int
            Text([97, 34, 98, 10]) as BigInt: holds text, which is not an integer
            Text([97, 34, 98, 10]) as Float: holds text, which is not a Float
            Text([97, 34, 98, 10]) as Numeric: holds text, which is not a Float
            Text([97, 34, 98, 10]) as Boolean: holds text, which is not a Boolean (0 or 1)
            Text([97, 34, 98, 10]) as Text: "a\"b\n"
            Text([97, 34, 98, 10]) as Json: holds text that is not JSON (expected value at line 1 column 1)
            Text([97, 34, 98, 10]) as Bytes: "YSJiCg=="
            Text([116, 114, 117, 101]) as Int: holds text, which is not an Int
            Text([116, 114, 117, 101]) as BigInt: holds text, which is not an integer
            Text([116, 114, 117, 101]) as Float: holds text, which is not a Float
            Text([116, 114, 117, 101]) as Numeric: holds text, which is not a Float
            Text([116, 114, 117, 101]) as Boolean: true
            Text([116, 114, 117, 101]) as Text: "true"
            Text([116, 114, 117, 101]) as Json: true
            Text([116, 114, 117, 101]) as Bytes: "dHJ1ZQ=="
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Int: holds text, which is not an Int
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as BigInt: holds text, which is not an integer
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Float: holds text, which is not a Float
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Numeric: holds text, which is not a Float
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Boolean: holds text, which is not a Boolean (0 or 1)
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Text: "{\"a\": [1]}"
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Json: {"a": [1]}
            Text([123, 34, 97, 34, 58, 32, 91, 49, 93, 125]) as Bytes: "eyJhIjogWzFdfQ=="
            Text([255]) as Int: holds text, which is not an Int
            Text([255]) as BigInt: holds text, which is not an integer
            Text([255]) as Float: holds text, which is not a Float
            Text([255]) as Numeric: holds text, which is not a Float
            Text([255]) as Boolean: holds text, which is not a Boolean (0 or 1)
            Text([255]) as Text: holds bytes that are not UTF-8 (from byte 0)
            Text([255]) as Json: holds text that is not JSON (expected value at line 1 column 1)
            Text([255]) as Bytes: "/w=="
            Blob([0, 255]) as Int: holds a blob, which is not an Int
            Blob([0, 255]) as BigInt: holds a blob, which is not an integer
            Blob([0, 255]) as Float: holds a blob, which is not a Float
            Blob([0, 255]) as Numeric: holds a blob, which is not a Float
            Blob([0, 255]) as Boolean: holds a blob, which is not a Boolean (0 or 1)
            Blob([0, 255]) as Text: holds bytes that are not UTF-8 (from byte 1)
            Blob([0, 255]) as Json: holds text that is not JSON (expected value at line 1 column 1)
            Blob([0, 255]) as Bytes: "AP8="
            Blob([111, 107]) as Int: holds a blob, which is not an Int
            Blob([111, 107]) as BigInt: holds a blob, which is not an integer
            Blob([111, 107]) as Float: holds a blob, which is not a Float
            Blob([111, 107]) as Numeric: holds a blob, which is not a Float
            Blob([111, 107]) as Boolean: holds a blob, which is not a Boolean (0 or 1)
            Blob([111, 107]) as Text: "ok"
            Blob([111, 107]) as Json: holds text that is not JSON (expected value at line 1 column 1)
            Blob([111, 107]) as Bytes: "b2s="
        "#]].assert_eq(&table);
    }
}
