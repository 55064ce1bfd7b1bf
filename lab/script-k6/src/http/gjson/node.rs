//! JSON as a tree that keeps what GJSON looks at: the order of members, and names that stand twice.

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Text that is no UTF-8 is read as k6 does: what is none is replaced.
pub(crate) fn parse(json: &[u8]) -> Result<Node, serde_json::Error> {
    serde_json::from_slice(json).or_else(|error| match String::from_utf8_lossy(json) {
        std::borrow::Cow::Owned(text) => serde_json::from_str(&text),
        std::borrow::Cow::Borrowed(_) => Err(error),
    })
}

impl Node {
    pub(crate) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        match self {
            Self::Null => json.push_str("null"),
            Self::Bool(value) => json.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => json.push_str(&number.to_string()),
            Self::String(text) => write_text(text, json),
            Self::Array(items) => {
                json.push('[');
                for (index, item) in items.iter().enumerate() {
                    json.push_str(if index == 0 { "" } else { "," });
                    item.write(json);
                }
                json.push(']');
            }
            Self::Object(members) => {
                json.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    json.push_str(if index == 0 { "" } else { "," });
                    write_text(key, json);
                    json.push(':');
                    value.write(json);
                }
                json.push('}');
            }
        }
    }
}

fn write_text(text: &str, json: &mut String) {
    json.push_str(&serde_json::to_string(text).expect("a text is always JSON"));
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value as f64))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::String(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Node, E> {
        Ok(Node::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Node::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Node::Object(object))
    }
}
