//! Conversions: which kind of values an attribute has, by its type and its first value, and what a value becomes in that kind.

use std::borrow::Cow;

use prony_series_store::{Kind, Value};

use super::{geometry, json::Json, time};

/// A value that may hold the text that was made of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Converted<'a> {
    Null,
    Double(f64),
    Integer(i64),
    Boolean(bool),
    Text(Cow<'a, str>),
}

impl Converted<'_> {
    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Double(value) => Value::Double(*value),
            Self::Integer(value) => Value::Integer(*value),
            Self::Boolean(value) => Value::Boolean(*value),
            Self::Text(text) => Value::Text(text),
        }
    }
}

/// The type whose numbers are cut towards zero.
pub(crate) const INTEGER: &str = "Integer";
/// Up to here doubles have all integers.
const EXACT_MAX: u64 = 1 << 53;

/// The kind of an attribute with this type, whose first value is this one.
pub(crate) fn kind_of(declared: &str, value: &Json<'_>) -> Kind {
    match declared {
        "Number" | "Float" | "Double" => Kind::Double,
        INTEGER => Kind::Integer,
        "Boolean" => Kind::Boolean,
        "DateTime" | "ISO8601" => Kind::Time,
        "Text" | "Relationship" => Kind::Text,
        "StructuredValue" | "Array" => Kind::Structured,
        "geo:json" | "geo:point" | "geo:line" | "geo:polygon" | "geo:box" | "GeoProperty" => Kind::Geometry,
        // It says nothing of its numbers: a whole one may be followed by one with a fraction.
        "Property" if matches!(value, Json::Integer(number) if number.unsigned_abs() <= EXACT_MAX) => {
            Kind::Double
        }
        _ => match value {
            Json::Boolean(_) => Kind::Boolean,
            Json::Integer(_) => Kind::Integer,
            Json::LongInteger(_) | Json::Double(_) => Kind::Double,
            Json::List(_) | Json::Object(_) => Kind::Structured,
            Json::Null | Json::Text(_) => Kind::Text,
        },
    }
}

/// The type of an attribute that was given none (NGSI-v2, section "Partial representations").
pub(crate) fn default_type(value: &Json<'_>) -> &'static str {
    match value {
        Json::Boolean(_) => "Boolean",
        Json::Integer(_) | Json::LongInteger(_) | Json::Double(_) => "Number",
        Json::List(_) | Json::Object(_) => "StructuredValue",
        Json::Null | Json::Text(_) => "Text",
    }
}

/// What a value becomes; null where it does not fit.
pub(crate) fn convert<'a>(kind: Kind, declared: &str, value: &Json<'a>) -> Converted<'a> {
    let converted = match kind {
        Kind::Double => number(value).map(Converted::Double),
        Kind::Integer => integer(value).map(Converted::Integer),
        Kind::Boolean => boolean(value).map(Converted::Boolean),
        Kind::Time => value.text().and_then(time::parse).map(Converted::Integer),
        Kind::Text if *value == Json::Null => None,
        Kind::Text => Some(Converted::Text(value.python())),
        Kind::Structured => match value {
            Json::List(_) | Json::Object(_) => Some(Converted::Text(value.to_text().into())),
            _ => None,
        },
        Kind::Geometry => geometry::normalize(declared, value).map(|text| Converted::Text(text.into())),
    };
    converted.unwrap_or(Converted::Null)
}

/// Whether a value loses a fraction as an integer. An attribute of the type [`INTEGER`] asks for that; of another, whose first value was
/// whole, it does not fit.
pub(crate) fn has_fraction(value: &Json<'_>) -> bool {
    number(value).is_some_and(|number| number.fract() != 0.0)
}

fn number(value: &Json<'_>) -> Option<f64> {
    match value {
        Json::Text(text) => text.trim().parse().ok().filter(|number: &f64| number.is_finite()),
        other => other.number().filter(|number| number.is_finite()),
    }
}

fn integer(value: &Json<'_>) -> Option<i64> {
    const BOUND: f64 = 9_223_372_036_854_775_808.0;
    match value {
        Json::Integer(value) => Some(*value),
        Json::Text(text) if text.trim().parse::<i64>().is_ok() => text.trim().parse().ok(),
        _ => number(value).filter(|number| (-BOUND..BOUND).contains(number)).map(|number| number as i64),
    }
}

fn boolean(value: &Json<'_>) -> Option<bool> {
    match value {
        Json::Boolean(value) => Some(*value),
        Json::Integer(1) => Some(true),
        Json::Integer(0) => Some(false),
        Json::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Json::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect;

    use super::*;
    use crate::ngsi::json::Arena;

    #[test]
    fn values_become_what_their_types_say() {
        let values = [
            "1",
            "2.7",
            "\"1.0\"",
            "\"x\"",
            "true",
            "null",
            "[\"a\",\"b\"]",
            "{\"a\":[1,null,\"it's\"]}",
            "\"2024-05-06T07:08:09Z\"",
        ];
        let types = ["Number", "Integer", "Boolean", "DateTime", "Text", "StructuredValue", "Custom"];
        let mut table = String::new();
        for text in values {
            let arena = Arena::new();
            let value = Json::read(text.as_bytes(), &arena).unwrap();
            for declared in types {
                let kind = kind_of(declared, &value);
                let shown = match convert(kind, declared, &value) {
                    Converted::Null => "null".to_owned(),
                    Converted::Double(value) => format!("{value:?}"),
                    Converted::Integer(value) if kind == Kind::Time => time::text(value),
                    Converted::Integer(value) => value.to_string(),
                    Converted::Boolean(value) => value.to_string(),
                    Converted::Text(text) => format!("{text:?}"),
                };
                writeln!(table, "{text} as {declared}: {shown}").unwrap();
            }
        }
        expect![[r#"
            1 as Number: 1.0
            1 as Integer: 1
            1 as Boolean: true
            1 as DateTime: null
            1 as Text: "1"
            1 as StructuredValue: null
            1 as Custom: 1
            2.7 as Number: 2.7
            2.7 as Integer: 2
            2.7 as Boolean: null
            2.7 as DateTime: null
            2.7 as Text: "2.7"
            2.7 as StructuredValue: null
            2.7 as Custom: 2.7
            "1.0" as Number: 1.0
            "1.0" as Integer: 1
            "1.0" as Boolean: null
            "1.0" as DateTime: null
            "1.0" as Text: "1.0"
            "1.0" as StructuredValue: null
            "1.0" as Custom: "1.0"
            "x" as Number: null
            "x" as Integer: null
            "x" as Boolean: null
            "x" as DateTime: null
            "x" as Text: "x"
            "x" as StructuredValue: null
            "x" as Custom: "x"
            true as Number: null
            true as Integer: null
            true as Boolean: true
            true as DateTime: null
            true as Text: "True"
            true as StructuredValue: null
            true as Custom: true
            null as Number: null
            null as Integer: null
            null as Boolean: null
            null as DateTime: null
            null as Text: null
            null as StructuredValue: null
            null as Custom: null
            ["a","b"] as Number: null
            ["a","b"] as Integer: null
            ["a","b"] as Boolean: null
            ["a","b"] as DateTime: null
            ["a","b"] as Text: "['a', 'b']"
            ["a","b"] as StructuredValue: "[\"a\",\"b\"]"
            ["a","b"] as Custom: "[\"a\",\"b\"]"
            {"a":[1,null,"it's"]} as Number: null
            {"a":[1,null,"it's"]} as Integer: null
            {"a":[1,null,"it's"]} as Boolean: null
            {"a":[1,null,"it's"]} as DateTime: null
            {"a":[1,null,"it's"]} as Text: "{'a': [1, None, \"it's\"]}"
            {"a":[1,null,"it's"]} as StructuredValue: "{\"a\":[1,null,\"it's\"]}"
            {"a":[1,null,"it's"]} as Custom: "{\"a\":[1,null,\"it's\"]}"
            "2024-05-06T07:08:09Z" as Number: null
            "2024-05-06T07:08:09Z" as Integer: null
            "2024-05-06T07:08:09Z" as Boolean: null
            "2024-05-06T07:08:09Z" as DateTime: 2024-05-06T07:08:09.000+00:00
            "2024-05-06T07:08:09Z" as Text: "2024-05-06T07:08:09Z"
            "2024-05-06T07:08:09Z" as StructuredValue: null
            "2024-05-06T07:08:09Z" as Custom: "2024-05-06T07:08:09Z"
        "#]]
        .assert_eq(&table);
    }
}
