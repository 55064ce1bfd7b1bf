//! What plans are made of: variables of forwarded requests, and names of types that responses have in other words.

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
    /// As it is declared.
    pub(super) ty: String,
    pub(super) value: VariableValue,
}

/// The type that goes where each of two types of the same values goes: what either demands of null, at each level of its lists.
pub(super) fn narrower(one: &str, other: &str) -> String {
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
