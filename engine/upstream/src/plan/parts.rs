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

/// A variable of a forwarded request.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct UpstreamVariable {
    pub(super) name: String,
    /// As it is declared.
    pub(super) ty: String,
    pub(super) value: VariableValue,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum VariableValue {
    Slot(Slot),
    /// A value of the document that cannot be written in one.
    Constant(Json),
}
