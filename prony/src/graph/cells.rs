//! Cells of CSV files and values of properties: how each is written as the other.
//!
//! The types are those of Neo4j's headers, beside the names that the graph's own API has for them. A list is written with
//! `;` between its elements, or as a JSON array where that would be ambiguous; a cell that begins with `[` is one.

use prony_graph_store::{Kind, Value};
use std::borrow::Cow;
use std::fmt::Write as _;

/// A type in a header: `long`, `string[]`, `double_list`.
pub(crate) fn kind(name: &str) -> Option<Kind> {
    let element = |name: &str| {
        Some(match name {
            "boolean" => Kind::Boolean,
            "byte" | "short" | "int" | "long" | "integer" => Kind::Integer,
            "float" | "double" => Kind::Double,
            "char" | "string" => Kind::String,
            _ => return None,
        })
    };
    match name.strip_suffix("[]") {
        Some(of) => Some(match element(of)? {
            Kind::Boolean => Kind::BooleanList,
            Kind::Integer => Kind::IntegerList,
            Kind::Double => Kind::DoubleList,
            _ => Kind::StringList,
        }),
        None => element(name).or_else(|| Kind::parse(name)),
    }
}

/// As an exported header has it, and Neo4j reads it.
pub(crate) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "boolean",
        Kind::Integer => "long",
        Kind::Double => "double",
        Kind::String => "string",
        Kind::BooleanList => "boolean[]",
        Kind::IntegerList => "long[]",
        Kind::DoubleList => "double[]",
        Kind::StringList => "string[]",
    }
}

/// The value of a cell that is not empty, or what is wrong with it.
pub(crate) fn read(text: &str, kind: Kind) -> Result<Value<'_>, String> {
    Ok(match kind {
        Kind::Boolean => Value::Boolean(boolean(text)?),
        Kind::Integer => Value::Integer(integer(text)?),
        Kind::Double => Value::Double(double(text)?),
        Kind::String => Value::String(Cow::Borrowed(text)),
        Kind::BooleanList => Value::BooleanList(list(text, boolean)?),
        Kind::IntegerList => Value::IntegerList(list(text, integer)?),
        Kind::DoubleList => Value::DoubleList(list(text, double)?),
        Kind::StringList if text.starts_with('[') => {
            let elements = json(text)?.into_iter().map(|element| match element {
                serde_json::Value::String(text) => Ok(Cow::Owned(text)),
                other => Err(format!("{other} in {} is no string", shown(text))),
            });
            Value::StringList(elements.collect::<Result<_, _>>()?)
        }
        Kind::StringList => Value::StringList(text.split(SEPARATOR).map(Cow::Borrowed).collect()),
    })
}

const SEPARATOR: char = ';';

fn boolean(text: &str) -> Result<bool, String> {
    match text.trim() {
        text if text.eq_ignore_ascii_case("true") => Ok(true),
        text if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(format!("{} is no boolean; write true or false", shown(text))),
    }
}

fn integer(text: &str) -> Result<i64, String> {
    let no_integer = |_| format!("{} is no integer from {} to {}", shown(text), i64::MIN, i64::MAX);
    text.trim().parse().map_err(no_integer)
}

fn double(text: &str) -> Result<f64, String> {
    let value: f64 = text.trim().parse().map_err(|_| format!("{} is no number", shown(text)))?;
    // A number that is too large is read as infinite, which has a word of its own.
    if value.is_infinite() && text.bytes().any(|byte| byte.is_ascii_digit()) {
        return Err(format!("{} is beyond what a double can be", shown(text)));
    }
    Ok(value)
}

fn list<T>(text: &str, element: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    if text.starts_with('[') {
        return json(text)?.iter().map(|value| element(&value.to_string())).collect();
    }
    text.split(SEPARATOR).map(element).collect()
}

fn json(text: &str) -> Result<Vec<serde_json::Value>, String> {
    let what = |error| format!("{} begins with `[` and so must be a JSON array: {error}", shown(text));
    serde_json::from_str(text).map_err(what)
}

/// Longest text of a file that a message repeats, in characters.
const SHOWN_CHARACTERS: usize = 60;

/// A text of a file as messages repeat it.
pub(crate) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN_CHARACTERS).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN_CHARACTERS).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// Writes a value as a cell.
pub(crate) fn write(value: &Value<'_>, to: &mut Vec<u8>) {
    match value {
        Value::Boolean(value) => to.extend_from_slice(value.to_string().as_bytes()),
        Value::Integer(value) => to.extend_from_slice(value.to_string().as_bytes()),
        Value::Double(value) => to.extend_from_slice(format!("{value:?}").as_bytes()),
        Value::String(text) => write_text(text, to),
        Value::BooleanList(values) => write_list(values, to),
        Value::IntegerList(values) => write_list(values, to),
        Value::DoubleList(values) => {
            write_list(&values.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>(), to);
        }
        Value::StringList(values) => write_texts(values, to),
    }
}

fn write_list<T: std::fmt::Display>(values: &[T], to: &mut Vec<u8>) {
    let mut text = String::new();
    for value in values {
        let separator = if text.is_empty() { "" } else { ";" };
        let _ = write!(text, "{separator}{value}");
    }
    to.extend_from_slice(if text.is_empty() { b"[]" } else { text.as_bytes() });
}

fn write_texts(values: &[Cow<'_, str>], to: &mut Vec<u8>) {
    let is_plain = |value: &Cow<'_, str>| !value.is_empty() && !value.contains([SEPARATOR, '[']);
    if !values.is_empty() && values.iter().all(is_plain) {
        return write_text(&values.join(";"), to);
    }
    let json = serde_json::to_string(values).expect("texts are always JSON");
    write_text(&json, to);
}

/// With quotes where it needs them. An empty text has them too: an empty cell without is no value at all.
pub(crate) fn write_text(text: &str, to: &mut Vec<u8>) {
    if !text.is_empty() && !text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        return to.extend_from_slice(text.as_bytes());
    }
    to.push(b'"');
    for piece in text.split_inclusive('"') {
        to.extend_from_slice(piece.as_bytes());
        if piece.ends_with('"') {
            to.push(b'"');
        }
    }
    to.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(name: &str, text: &str, expected: &Expect) {
        let kind = kind(name).expect("it is a type");
        let shown = match read(text, kind) {
            Ok(value) => {
                let mut again = Vec::new();
                write(&value, &mut again);
                format!("{value:?} written as {}", String::from_utf8_lossy(&again))
            }
            Err(error) => error,
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn cells_are_values_of_their_columns_type() {
        check("int", "42", &expect!["Integer(42) written as 42"]);
        check(
            "long",
            "9223372036854775807",
            &expect!["Integer(9223372036854775807) written as 9223372036854775807"],
        );
        check(
            "integer",
            "9223372036854775808",
            &expect!["`9223372036854775808` is no integer from -9223372036854775808 to 9223372036854775807"],
        );
        check("double", "1e300", &expect!["Double(1e300) written as 1e300"]);
        check("float", "-0", &expect!["Double(-0.0) written as -0.0"]);
        check("double", "1,5", &expect!["`1,5` is no number"]);
        check("double", "-1e309", &expect!["`-1e309` is beyond what a double can be"]);
        check("double", "-inf", &expect!["Double(-inf) written as -inf"]);
        check("boolean", "TRUE", &expect!["Boolean(true) written as true"]);
        check("boolean", "yes", &expect!["`yes` is no boolean; write true or false"]);
        check("string", "a \"b\", c", &expect![[r#"String("a \"b\", c") written as "a ""b"", c""#]]);
    }

    #[test]
    fn lists_are_elements_or_json() {
        check("string[]", "a;b", &expect![[r#"StringList(["a", "b"]) written as a;b"#]]);
        check(
            "string[]",
            "a;;b",
            &expect![[r#"StringList(["a", "", "b"]) written as "[""a"","""",""b""]""#]],
        );
        check(
            "string[]",
            r#"["a;b",""]"#,
            &expect![[r#"StringList(["a;b", ""]) written as "[""a;b"",""""]""#]],
        );
        check(
            "string[]",
            "[a];b",
            &expect![
                "`[a];b` begins with `[` and so must be a JSON array: expected value at line 1 column 2"
            ],
        );
        check("long[]", "1;-2; 3", &expect!["IntegerList([1, -2, 3]) written as 1;-2;3"]);
        check(
            "long[]",
            "1;x",
            &expect!["`x` is no integer from -9223372036854775808 to 9223372036854775807"],
        );
        check("integer_list", "[]", &expect!["IntegerList([]) written as []"]);
        check("double[]", "[1, 2.5]", &expect!["DoubleList([1.0, 2.5]) written as 1.0;2.5"]);
        check("boolean[]", "true;false", &expect!["BooleanList([true, false]) written as true;false"]);
    }
}
