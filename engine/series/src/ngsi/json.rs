//! JSON as it was sent, borrowed from the body: what a notification says is looked at once and written to the store.

use std::{borrow::Cow, fmt};

use prony_graphql::json::write_string;
use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};

/// Where the lists, the objects and the texts with escapes of a body are, until it is written.
pub(crate) type Arena = bumpalo::Bump;

/// A JSON value. Members keep their order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Json<'a> {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
    Text(&'a str),
    List(&'a [Json<'a>]),
    Object(&'a [(&'a str, Json<'a>)]),
}

impl<'a> Json<'a> {
    /// Reads a whole body.
    pub(crate) fn read(bytes: &'a [u8], arena: &'a Arena) -> Result<Self, serde_json::Error> {
        let mut reader = JsonReader { arena, values: Vec::new(), members: Vec::new() };
        // The whole at once is known to be UTF-8 sooner than each text.
        match std::str::from_utf8(bytes) {
            Ok(text) => reader.read(serde_json::Deserializer::from_str(text)),
            Err(_) => reader.read(serde_json::Deserializer::from_slice(bytes)),
        }
    }

    /// The last member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&'a Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> Option<&'a str> {
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

    pub(crate) fn to_text(self) -> String {
        let mut out = Vec::new();
        self.write(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    /// As Python's `str` writes it.
    pub(crate) fn python(&self) -> Cow<'a, str> {
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

/// Makes a value: what is not in the body goes to the arena, and parts of lists and objects that are not at their end wait in lists for all.
struct JsonReader<'a> {
    arena: &'a Arena,
    values: Vec<Json<'a>>,
    members: Vec<(&'a str, Json<'a>)>,
}

impl<'a> JsonReader<'a> {
    fn read<R: serde_json::de::Read<'a>>(
        &mut self,
        mut deserializer: serde_json::Deserializer<R>,
    ) -> Result<Json<'a>, serde_json::Error> {
        let json = Next(self).deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(json)
    }
}

/// A value that comes next.
struct Next<'r, 'a>(&'r mut JsonReader<'a>);

impl<'a> DeserializeSeed<'a> for Next<'_, 'a> {
    type Value = Json<'a>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Json<'a>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for Next<'_, 'a> {
    type Value = Json<'a>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json<'a>, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json<'a>, E> {
        Ok(Json::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json<'a>, E> {
        Ok(Json::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json<'a>, E> {
        Ok(i64::try_from(value).map_or(Json::Double(value as f64), Json::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json<'a>, E> {
        Ok(Json::Double(value))
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<Json<'a>, E> {
        Ok(Json::Text(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json<'a>, E> {
        Ok(Json::Text(self.0.arena.alloc_str(value)))
    }

    fn visit_seq<A: SeqAccess<'a>>(self, mut values: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.values.len();
        while let Some(value) = values.next_element_seed(Next(self.0))? {
            self.0.values.push(value);
        }
        let list = self.0.arena.alloc_slice_copy(&self.0.values[begin..]);
        self.0.values.truncate(begin);
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<Json<'a>, A::Error> {
        let begin = self.0.members.len();
        while let Some(key) = members.next_key_seed(Key(self.0.arena))? {
            let value = members.next_value_seed(Next(self.0))?;
            self.0.members.push((key, value));
        }
        let object = self.0.arena.alloc_slice_copy(&self.0.members[begin..]);
        self.0.members.truncate(begin);
        Ok(Json::Object(object))
    }
}

/// The key of a member.
struct Key<'a>(&'a Arena);

impl<'a> DeserializeSeed<'a> for Key<'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<&'a str, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'a> Visitor<'a> for Key<'a> {
    type Value = &'a str;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, value: &'a str) -> Result<&'a str, E> {
        Ok(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<&'a str, E> {
        Ok(self.0.alloc_str(value))
    }
}
