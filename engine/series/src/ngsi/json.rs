//! JSON as it was sent, borrowed from the body: what a notification says is looked at once and written to the store.

use std::{borrow::Cow, fmt};

use prony_graphql::json::write_string;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};

/// A JSON value. Members keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(Cow<'a, str>),
    List(Vec<Json<'a>>),
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Reads a whole body.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The last member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// As JSON text without spaces.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Boolean(value) => out.extend_from_slice(if *value { b"true" } else { b"false" }),
            Self::Integer(value) => out.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes()),
            Self::Double(value) => write_double(out, *value),
            Self::Text(text) => write_string(out, text),
            Self::List(values) => {
                for (place, value) in values.iter().enumerate() {
                    out.push(if place == 0 { b'[' } else { b',' });
                    value.write(out);
                }
                out.extend_from_slice(if values.is_empty() { b"[]" } else { b"]" });
            }
            Self::Object(members) => {
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push(if place == 0 { b'{' } else { b',' });
                    write_string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.extend_from_slice(if members.is_empty() { b"{}" } else { b"}" });
            }
        }
    }

    pub(crate) fn to_text(&self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    /// As Python's `str` writes it.
    pub(crate) fn python(&self) -> Cow<'_, str> {
        if let Self::Text(text) = self {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        self.python_repr(&mut out);
        Cow::Owned(out)
    }

    fn python_repr(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("None"),
            Self::Boolean(value) => out.push_str(if *value { "True" } else { "False" }),
            Self::Integer(value) => out.push_str(itoa::Buffer::new().format(*value)),
            Self::Double(value) => {
                let mut text = Vec::new();
                write_double(&mut text, *value);
                out.push_str(&String::from_utf8_lossy(&text));
            }
            Self::Text(text) => python_text(text, out),
            Self::List(values) => {
                out.push('[');
                for (place, value) in values.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    value.python_repr(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (place, (key, value)) in members.iter().enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    python_text(key, out);
                    out.push_str(": ");
                    value.python_repr(out);
                }
                out.push('}');
            }
        }
    }
}

fn python_text(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for char in text.chars() {
        match char {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if char == quote => out.extend(['\\', char]),
            _ => out.push(char),
        }
    }
    out.push(quote);
}

/// The shortest text that reads back as the same number, with `.0` where it is whole. There is no JSON for those that are not finite.
pub(crate) fn write_double(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format(value).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(i64::try_from(value).map_or(Json::Double(value as f64), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Double(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'de>, E> {
        Ok(Json::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json<'de>, A::Error> {
        let mut object = Vec::with_capacity(4);
        while let Some(Key(key)) = members.next_key()? {
            object.push((key, members.next_value()?));
        }
        Ok(Json::Object(object))
    }
}

/// The key of a member, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(value)))
            }

            fn visit_str<E>(self, value: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(value.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}
