//! JSON pointers (RFC 6901) looked up in the text of a document, without building a tree of it.

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// Where in a JSON document a value stands: `""` is the whole, `/a/0` the first item of `a`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    tokens: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerError {
    #[error("`{0}` is no JSON pointer: it must be empty or start with `/`, as in `/data/items/0/id`")]
    Start(String),
    #[error("`{0}` is no JSON pointer: after `~` stands `0` (for `~`) or `1` (for `/`)")]
    Escape(String),
}

/// Why a document gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotJson;

impl Pointer {
    pub fn parse(text: &str) -> Result<Self, PointerError> {
        let Some(rest) = text.strip_prefix('/') else {
            return match text {
                "" => Ok(Self { text: String::new(), tokens: Vec::new() }),
                _ => Err(PointerError::Start(text.to_owned())),
            };
        };
        let tokens = rest.split('/').map(unescape).collect::<Option<_>>();
        let tokens = tokens.ok_or_else(|| PointerError::Escape(text.to_owned()))?;
        Ok(Self { text: text.to_owned(), tokens })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text of the value that it points to, or nothing where there is none.
    pub fn find<'a>(&self, document: &'a [u8]) -> Result<Option<&'a str>, NotJson> {
        let mut reader = serde_json::Deserializer::from_slice(document);
        let found = Seek { tokens: &self.tokens }.deserialize(&mut reader).map_err(|_| NotJson)?;
        reader.end().map_err(|_| NotJson)?;
        Ok(found.map(RawValue::get))
    }
}

fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push(match part.bytes().next()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        plain.push_str(&part[1..]);
    }
    Some(plain)
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Follows the rest of a pointer through one value; all beside its way is read over.
struct Seek<'p> {
    tokens: &'p [String],
}

impl<'de> DeserializeSeed<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.tokens.is_empty() {
            return serde::Deserialize::deserialize(reader).map(Some);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seek<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    /// Of a key that stands twice the last counts, as in JavaScript.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_wanted) = map.next_key_seed(IsKey(&self.tokens[0]))? {
            if is_wanted {
                found = map.next_value_seed(Seek { tokens: &self.tokens[1..] })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let wanted = index(&self.tokens[0]);
        let (mut found, mut at) = (None, 0_usize);
        loop {
            if Some(at) == wanted {
                match items.next_element_seed(Seek { tokens: &self.tokens[1..] })? {
                    None => return Ok(None),
                    Some(value) => found = value,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Compares a key without keeping it.
struct IsKey<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// RFC 6901: digits without leading zeros; `-` is past the end and so nothing that an answer holds.
fn index(token: &str) -> Option<usize> {
    let is_canonical = token == "0" || !token.starts_with('0');
    let is_number = is_canonical && token.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| token.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    #[test]
    fn pointers_of_the_standard_find_what_it_says() {
        let document = json!({
            "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, "k\"l": 6, " ": 7, "m~n": 8
        });
        let text = document.to_string();
        for (pointer, expected) in [
            ("", document.clone()),
            ("/foo", json!(["bar", "baz"])),
            ("/foo/0", json!("bar")),
            ("/", json!(0)),
            ("/a~1b", json!(1)),
            ("/c%d", json!(2)),
            ("/e^f", json!(3)),
            ("/g|h", json!(4)),
            ("/i\\j", json!(5)),
            ("/k\"l", json!(6)),
            ("/ ", json!(7)),
            ("/m~0n", json!(8)),
        ] {
            let found = Pointer::parse(pointer).unwrap().find(text.as_bytes()).unwrap().unwrap();
            assert_eq!(serde_json::from_str::<Value>(found).unwrap(), expected, "{pointer}");
        }
        for nothing in ["/foo/2", "/foo/-", "/foo/00", "/foo/bar", "/nope", "/m~0n/x", "/foo/0/x"] {
            assert_eq!(Pointer::parse(nothing).unwrap().find(text.as_bytes()), Ok(None), "{nothing}");
        }
    }

    #[test]
    fn a_text_that_is_no_pointer_and_a_body_that_is_no_json_are_said() {
        assert_eq!(Pointer::parse("a"), Err(PointerError::Start("a".to_owned())));
        for broken in ["/~", "/~2", "/a~"] {
            assert_eq!(Pointer::parse(broken), Err(PointerError::Escape(broken.to_owned())));
        }
        let pointer = Pointer::parse("/a").unwrap();
        for body in ["", "<html>", "{\"a\":1", "{\"a\":1} x", "{\"a\":1}}"] {
            assert_eq!(pointer.find(body.as_bytes()), Err(NotJson), "{body}");
        }
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert_eq!(pointer.find(&deep).unwrap_or(None), None);
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            any::<String>().prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a/~0]{0,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_found_is_what_the_tree_holds(document in documents(), pointer in "(/([a/~0]|~0|~1){0,2}){0,4}") {
            if let Ok(parsed) = Pointer::parse(&pointer) {
                let text = document.to_string();
                let found = parsed.find(text.as_bytes()).unwrap();
                let found = found.map(|text| serde_json::from_str::<Value>(text).unwrap());
                prop_assert_eq!(found.as_ref(), document.pointer(&pointer));
            }
        }
    }
}
