//! What plans are made of: variables of forwarded requests, and names of types that responses have in other words.

use std::borrow::Cow;

use prony_graphql::{Name, selection::Slot};
use serde_json::Value as Json;

/// Which names of types are told in other words, by response keys.
#[derive(Debug, Default)]
pub(crate) struct Typenames {
    /// Response keys of `__typename`.
    pub(crate) keys: Vec<Name>,
    pub(crate) below: Vec<(Name, Typenames)>,
    /// From the upstream's names to those that are served.
    pub(crate) served: Vec<(Name, Name)>,
}

impl Typenames {
    /// Objects of several types may have a response key in common.
    pub(super) fn add_below(&mut self, response_key: Name, below: Self) {
        let Some((_, known)) = self.below.iter_mut().find(|(known, _)| *known == response_key) else {
            return self.below.push((response_key, below));
        };
        known.keys.extend(below.keys);
        known.served.extend(below.served);
        for (response_key, below) in below.below {
            known.add_below(response_key, below);
        }
    }
}

/// A variable of a forwarded request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UpstreamVariable {
    pub(super) name: String,
    pub(super) ty: VariableType,
    pub(super) value: VariableValue,
}

/// As what a variable is declared.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VariableType {
    pub(super) text: String,
    /// It stands within a scalar of the upstream's own, where a variable of any type may stand.
    pub(super) is_free: bool,
    /// It stands in an input object, which may be one that takes no variable that can be null (`@oneOf`).
    pub(super) is_member: bool,
}

impl VariableType {
    /// The one that goes to the places of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        let text = match (self.is_free, other.is_free) {
            (true, false) => other.text.clone(),
            (false, true) => self.text.clone(),
            _ => narrower(&self.text, &other.text),
        };
        Self { text, is_free: self.is_free && other.is_free, is_member: self.is_member || other.is_member }
    }

    /// For this value: a type without null goes wherever the one with null goes.
    pub(super) fn declared(&self, value: &Json) -> Cow<'_, str> {
        let text = self.text.as_str();
        if self.is_member && !value.is_null() && !text.ends_with('!') {
            Cow::Owned(format!("{text}!"))
        } else {
            Cow::Borrowed(text)
        }
    }
}

/// The type that goes where each of two types of the same values goes: what either demands of null, at each level of its lists.
fn narrower(one: &str, other: &str) -> String {
    let nullable = |ty: &'_ str| ty.len() - usize::from(ty.ends_with('!'));
    let (one_nullable, other_nullable) = (&one[..nullable(one)], &other[..nullable(other)]);
    let item = |ty: &str| Some(ty.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    let merged = match (item(one_nullable), item(other_nullable)) {
        (Some(one), Some(other)) => format!("[{}]", narrower(&one, &other)),
        _ => one_nullable.to_owned(),
    };
    if one.ends_with('!') || other.ends_with('!') { merged + "!" } else { merged }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum VariableValue {
    Slot(Slot),
    /// A value of the document that cannot be written in one.
    Constant(Json),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_type_goes_within_a_scalar() {
        let ty = |text: &str, is_free, is_member| VariableType { text: text.to_owned(), is_free, is_member };
        let (free, known) = (ty("JSON", true, false), ty("Int", false, true));
        assert_eq!(free.with(&known), ty("Int", false, true));
        assert_eq!(known.with(&free), ty("Int", false, true));
        assert_eq!(free.with(&free), free);
        assert_eq!(
            (known.declared(&Json::Null), known.declared(&Json::from(1))),
            ("Int".into(), "Int!".into())
        );
        assert_eq!(free.declared(&Json::from(1)), "JSON");
    }

    #[test]
    fn a_variable_goes_wherever_it_is_used() {
        for (one, other, expected) in [
            ("Int", "Int", "Int"),
            ("Int", "Int!", "Int!"),
            ("[Int!]", "[Int]!", "[Int!]!"),
            ("[[A!]]", "[[A]!]", "[[A!]!]"),
            ("[A]!", "[A!]!", "[A!]!"),
        ] {
            assert_eq!(narrower(one, other), expected);
            assert_eq!(narrower(other, one), expected);
        }
    }
}
