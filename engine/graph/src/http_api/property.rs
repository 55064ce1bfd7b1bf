//! JSON of a request's body as values of properties: an object of them, or one alone. Which of them are declared, and as what,
//! the store decides.

use std::{borrow::Cow, fmt};

use prony_graph_store::Value;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A JSON value as far as it can be a property.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum JsonProperty<'a> {
    Value(Value<'a>),
    Null,
    /// An object, or a list of what no list of properties holds.
    Nested,
}

/// The members of an object, in their order.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JsonProperties<'a>(pub(super) Vec<(Cow<'a, str>, JsonProperty<'a>)>);

/// None where it is not JSON, no object, or nested deeper than 127 levels.
pub(super) fn object(body: &[u8]) -> Option<JsonProperties<'_>> {
    serde_json::from_slice(body).ok()
}

/// As [`object`], for any one value.
pub(super) fn value(body: &[u8]) -> Option<JsonProperty<'_>> {
    serde_json::from_slice(body).ok()
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonProperties<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = JsonProperties<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some(Text(name)) = map.next_key()? {
            members.push((name, map.next_value()?));
        }
        Ok(JsonProperties(members))
    }
}

/// A string that is borrowed where it has no escapes.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

impl<'de> Deserialize<'de> for JsonProperty<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PropertyVisitor)
    }
}

struct PropertyVisitor;

impl<'de> Visitor<'de> for PropertyVisitor {
    type Value = JsonProperty<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(Value::Boolean(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(Value::Integer(value)))
    }

    /// Beyond the largest integer of a property it can only be a double.
    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(i64::try_from(value).map_or(Value::Double(value as f64), Value::Integer)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(Value::Double(value)))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(Value::String(Cow::Borrowed(text))))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(JsonProperty::Value(Value::String(Cow::Owned(text.to_owned()))))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(JsonProperty::Null)
    }

    /// Read to its end, so that what is not JSON is found, and depth has its bound.
    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        while map.next_entry::<Text<'_>, JsonProperty<'_>>()?.is_some() {}
        Ok(JsonProperty::Nested)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<Self::Value, S::Error> {
        // An empty list fits all kinds of lists.
        let mut list = Some(Value::BooleanList(Vec::new()));
        while let Some(item) = items.next_element()? {
            list = list.and_then(|list| push(list, item));
        }
        Ok(list.map_or(JsonProperty::Nested, JsonProperty::Value))
    }
}

/// None where the item is of another kind than those before it; integers and doubles together are doubles.
fn push<'a>(list: Value<'a>, item: JsonProperty<'a>) -> Option<Value<'a>> {
    let JsonProperty::Value(item) = item else { return None };
    Some(match (list, item) {
        (Value::BooleanList(mut values), Value::Boolean(value)) => {
            values.push(value);
            Value::BooleanList(values)
        }
        (Value::IntegerList(mut values), Value::Integer(value)) => {
            values.push(value);
            Value::IntegerList(values)
        }
        (Value::IntegerList(values), Value::Double(value)) => {
            Value::DoubleList(values.into_iter().map(|value| value as f64).chain([value]).collect())
        }
        (Value::DoubleList(mut values), Value::Integer(value)) => {
            values.push(value as f64);
            Value::DoubleList(values)
        }
        (Value::DoubleList(mut values), Value::Double(value)) => {
            values.push(value);
            Value::DoubleList(values)
        }
        (Value::StringList(mut values), Value::String(value)) => {
            values.push(value);
            Value::StringList(values)
        }
        (Value::BooleanList(empty), item) if empty.is_empty() => match item {
            Value::Integer(value) => Value::IntegerList(vec![value]),
            Value::Double(value) => Value::DoubleList(vec![value]),
            Value::String(value) => Value::StringList(vec![value]),
            _ => return None,
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
    fn check(json: &str, expected: Option<JsonProperty<'_>>) {
        assert_eq!(value(json.as_bytes()), expected, "{json}");
    }

    #[test]
    fn values_are_what_json_says() {
        let some = |value| Some(JsonProperty::Value(value));
        check("true", some(Value::Boolean(true)));
        check("9223372036854775807", some(Value::Integer(i64::MAX)));
        check("-9223372036854775808", some(Value::Integer(i64::MIN)));
        check("9223372036854775808", some(Value::Double(9_223_372_036_854_775_808.0)));
        check("99999999999999999999999", some(Value::Double(1e23)));
        check("1.0", some(Value::Double(1.0)));
        check(r#""a\nb""#, some(Value::String("a\nb".into())));
        check("[]", some(Value::BooleanList(vec![])));
        check("[1, 2]", some(Value::IntegerList(vec![1, 2])));
        check("[1, 2.5, 3]", some(Value::DoubleList(vec![1.0, 2.5, 3.0])));
        check(r#"["a"]"#, some(Value::StringList(vec!["a".into()])));
        check("null", Some(JsonProperty::Null));
        check(r#"[1, "a"]"#, Some(JsonProperty::Nested));
        check("[[1]]", Some(JsonProperty::Nested));
        check("[true, null]", Some(JsonProperty::Nested));
        check(r#"{"a": {"b": [{}]}}"#, Some(JsonProperty::Nested));
    }

    /// The last digit of one of eight numbers with as many digits as a double can need was another one.
    #[test]
    fn doubles_keep_their_last_digit() {
        for text in [
            "31.245270191439438",
            "121.48791951161945",
            "-99.08701741838819",
            "2.2250738585072014e-308",
            "1.7976931348623157e308",
        ] {
            check(text, Some(JsonProperty::Value(Value::Double(text.parse().expect("it is a number")))));
        }
    }

    #[test]
    fn what_is_no_json_is_nothing() {
        let deep = "[".repeat(200_000);
        let deep_object = r#"{"a":"#.repeat(100_000);
        for json in ["", " ", "{", "tru", "1e999", "[1,]", "\"\u{1}\"", "1 2", &deep, &deep_object, "nul"] {
            check(json, None);
        }
        let levels = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
        check(&levels(127), Some(JsonProperty::Nested));
        check(&levels(128), None);
        assert_eq!(object(b"[1]"), None);
        assert_eq!(object(b"\"{}\""), None);
        assert_eq!(object(b" { } "), Some(JsonProperties::default()));
    }
}
