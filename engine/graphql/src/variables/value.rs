//! Values of arguments: known from the document, or places in the variables.

use apollo_compiler::Name;
use serde_json::Value as Json;

/// An argument's value with variables still open where only their value, not their shape, is unknown.
///
/// Whatever may change the text of a statement is already decided: presence and nullness of variables, keys
/// of input objects, lengths of lists of input objects, enum values and booleans.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Enum(Name),
    /// A scalar written in the document: number, string, or JSON for custom scalars.
    Scalar(Json),
    /// A value found in the variables at execution: a non-null scalar or a list of scalars.
    Slot(Slot),
    List(Vec<Value>),
    /// In the order in which the client wrote the keys.
    Object(Vec<(Name, Value)>),
}

/// Where a value lies in the [`Variables`](crate::variables::Variables) of a request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    pub root: SlotRoot,
    /// From the root's value downwards; empty for the value itself.
    pub path: Vec<Step>,
}

/// The value that a slot's path begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotRoot {
    /// A variable, by its index among the operation's definitions.
    Variable(usize),
    /// A variable of the session: what is known of who asks.
    Session(usize),
    /// A value that the source gives at execution.
    Given(usize),
}

/// One step into a variable's value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    Key(Name),
    Index(usize),
}

impl From<SlotRoot> for Slot {
    /// The whole value.
    fn from(root: SlotRoot) -> Self {
        Self { root, path: Vec::new() }
    }
}

impl Value {
    /// The entry of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Object(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Whether it is of the session, in whole or in part.
    pub fn is_of_session(&self) -> bool {
        match self {
            Self::Slot(slot) => matches!(slot.root, SlotRoot::Session(_)),
            Self::List(items) => items.iter().any(Self::is_of_session),
            _ => false,
        }
    }
}
