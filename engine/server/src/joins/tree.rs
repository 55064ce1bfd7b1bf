//! A value of a response, taken apart as far as something is joined to it. All else stays the text that its source has written, with
//! every digit of its numbers.

use std::{borrow::Cow, fmt, rc::Rc};

use prony_graphql::{Name, json};
use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{
    keys::KeyText,
    plan::{JoinNode, JoinStep},
};

#[derive(Debug)]
pub(super) enum Tree<'b> {
    /// As it came.
    Text(&'b RawValue),
    /// What was joined.
    Joined(Rc<[u8]>),
    List(Vec<Tree<'b>>),
    Object(Vec<(Cow<'b, str>, Tree<'b>)>),
}

impl<'b> Tree<'b> {
    /// Takes a value apart where a node, or one below it, has something joined.
    pub(super) fn of(text: &'b RawValue, node: &JoinNode) -> serde_json::Result<Self> {
        Self::within(text, node, 0)
    }

    /// `lists` is how many lists it stands within.
    fn within(text: &'b RawValue, node: &JoinNode, lists: usize) -> serde_json::Result<Self> {
        Ok(match text.get().as_bytes().first() {
            Some(b'[') if lists == json::NESTED_LISTS_MAX => {
                return Err(serde_json::Error::custom(json::NESTED_TOO_DEEP));
            }
            Some(b'[') => {
                let items: Vec<&'b RawValue> = serde_json::from_str(text.get())?;
                let items = items.into_iter().map(|item| Self::within(item, node, lists + 1));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let Members(members) = serde_json::from_str(text.get())?;
                let member = |(key, value): (Cow<'b, str>, &'b RawValue)| {
                    let below = node.below.iter().find(|(name, _)| **name == *key);
                    let value = below.map_or(Ok(Self::Text(value)), |(_, below)| Self::of(value, below))?;
                    Ok((key, value))
                };
                Self::Object(members.into_iter().map(member).collect::<serde_json::Result<_>>()?)
            }
            _ => Self::Text(text),
        })
    }

    /// A member of an object; none of anything else.
    pub(super) fn member(&self, key: &Name) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(known, _)| *known == **key).map(|(_, value)| value)
    }

    /// None of null, and of what is no scalar.
    pub(super) fn key(&self) -> Option<KeyText> {
        let Self::Text(text) = self else { return None };
        match text.get().as_bytes().first()? {
            b'"' => Some(KeyText { text: serde_json::from_str(text.get()).ok()?, is_string: true }),
            b'n' | b'[' | b'{' => None,
            _ => Some(KeyText { text: text.get().to_owned(), is_string: false }),
        }
    }

    /// Of a parent, the key that a step looks for, as keys are compared.
    pub(super) fn key_for(&self, step: &JoinStep) -> Option<String> {
        Some(step.comparison.normal(self.member(&step.key)?.key()?))
    }

    /// Of what has come for a step, the key by which it belongs to parents.
    pub(super) fn matched_key(&self, step: &JoinStep) -> Option<String> {
        Some(step.comparison.normal(self.member(&step.matched)?.key()?))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => out.extend_from_slice(text.get().as_bytes()),
            Self::Joined(text) => out.extend_from_slice(text),
            Self::List(items) => {
                let mut separator = b'[';
                for item in items {
                    out.push(separator);
                    separator = b',';
                    item.write(out);
                }
                out.extend_from_slice(if items.is_empty() { b"[]" } else { b"]" });
            }
            Self::Object(members) => {
                let mut separator = b'{';
                for (key, value) in members {
                    out.push(separator);
                    separator = b',';
                    json::write_string(out, key);
                    out.push(b':');
                    value.write(out);
                }
                out.extend_from_slice(if members.is_empty() { b"{}" } else { b"}" });
            }
        }
    }

    /// As many bytes as it is written in, and a few more; escapes in names are not counted.
    pub(super) fn written_bytes(&self) -> usize {
        /// Around a list or an object.
        const BRACKETS: usize = 2;
        /// Quotes, colon and comma of a member.
        const MEMBER: usize = 4;
        match self {
            Self::Text(text) => text.get().len(),
            Self::Joined(text) => text.len(),
            Self::List(items) => BRACKETS + items.iter().map(|item| item.written_bytes() + 1).sum::<usize>(),
            Self::Object(members) => {
                let member = |(key, value): &(Cow<'_, str>, Self)| MEMBER + key.len() + value.written_bytes();
                BRACKETS + members.iter().map(member).sum::<usize>()
            }
        }
    }
}

/// The members of an object, in their order.
struct Members<'b>(Vec<(Cow<'b, str>, &'b RawValue)>);

/// Borrowed where it has no escapes.
#[derive(Deserialize)]
struct MemberKey<'b>(#[serde(borrow)] Cow<'b, str>);

impl<'de: 'b, 'b> Deserialize<'de> for Members<'b> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(Members)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(MemberKey(key)) = map.next_key()? {
            members.push((key, map.next_value()?));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::new(text).expect("it is a name")
    }

    #[test]
    fn what_nothing_is_joined_to_stays_as_it_came() {
        let below = JoinNode { order: vec![name("x")], ..JoinNode::default() };
        let node = JoinNode { below: vec![(name("a"), below)], ..JoinNode::default() };
        for text in [
            "null",
            "1e400",
            r#"{"a":[{"x":12345678901234567890123,"x":1.10},null,[]],"b":{ "c" : -0.0 },"\u0061b":"\ud83d\ude00"}"#,
            "[]",
            "{}",
            r#"[{"a":7},{"a":{}}]"#,
        ] {
            let raw: &RawValue = serde_json::from_str(text).expect("it is JSON");
            let tree = Tree::of(raw, &node).expect("it can be taken apart");
            let mut written = Vec::new();
            tree.write(&mut written);
            assert!(written.len() <= tree.written_bytes(), "{text}");
            let written = String::from_utf8(written).expect("it is text");
            // Escapes in keys may be written otherwise.
            assert_eq!(written, text.replace(r"\u0061b", "ab"));
        }
    }

    /// One with more ended the process, whose stack it wanted for itself.
    #[test]
    fn lists_within_lists_have_a_bound() {
        let node = JoinNode { order: vec![name("x")], ..JoinNode::default() };
        for (lists, is_taken) in [(1, true), (json::NESTED_LISTS_MAX, true), (100_000, false)] {
            let text = "[".repeat(lists) + &"]".repeat(lists);
            let raw: &RawValue = serde_json::from_str(&text).expect("it is JSON");
            assert_eq!(Tree::of(raw, &node).is_ok(), is_taken, "{lists}");
        }
    }

    #[test]
    fn keys_are_scalars() {
        let key = |text: &str| {
            let raw: &RawValue = serde_json::from_str(text).expect("it is JSON");
            Tree::Text(raw).key()
        };
        let found = |text: &str, is_string| Some(KeyText { text: text.to_owned(), is_string });
        assert_eq!(key("12345678901234567890123"), found("12345678901234567890123", false));
        assert_eq!(key(r#""\u0061""#), found("a", true));
        assert_eq!(key("true"), found("true", false));
        assert_eq!((key("null"), key("[1]"), key("{}")), (None, None, None));
    }
}
