//! JSON objects in which each name stands once: two readers of a token must not see two tokens (RFC 8725, section 2.4, and RFC
//! 7515, section 4).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value as Json};

/// A value all objects of which have each name once.
struct Strict(Json);

/// The object that some bytes are.
///
/// # Errors
/// What is wrong, with its place in the bytes and nothing of what they hold but names.
pub(crate) fn object(bytes: &[u8]) -> Result<Map<String, Json>, String> {
    match serde_json::from_slice(bytes) {
        Ok(Strict(Json::Object(object))) => Ok(object),
        Ok(_) => Err("it is another value".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Json;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value).map(Json::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Map::new();
        while let Some((name, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a name stands twice"));
            }
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_once_at_every_depth() {
        for (text, is_accepted) in [
            (r#"{"a":1,"b":[{"c":null}]}"#, true),
            (r#"{"a":1,"a":1}"#, false),
            (r#"{"a":1,"\u0061":1}"#, false),
            (r#"{"b":[{"c":1,"c":2}]}"#, false),
            (r#"{"a":1e999}"#, false),
            (r#"{"a":NaN}"#, false),
            (r#"{"a":1} "#, true),
            (r#"{"a":1}{}"#, false),
            ("[]", false),
            ("", false),
            ("\u{feff}{}", false),
        ] {
            assert_eq!(object(text.as_bytes()).is_ok(), is_accepted, "{text}");
        }
        assert!(object(b"{\"a\":\"\xff\"}").is_err());
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(4000), "]".repeat(4000));
        assert!(object(deep.as_bytes()).is_err());
    }
}
