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

/// Where a value lies in the coerced variables.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    /// Index among the operation's variable definitions.
    pub variable: usize,
    /// From the variable's value downwards; empty for the value itself.
    pub path: Vec<Step>,
}

/// One step into a variable's value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Step {
    Key(Name),
    Index(usize),
}

impl Slot {
    /// The number of no variable: an operation has fewer.
    const GIVEN: usize = usize::MAX;

    /// A value that the source gives at execution ([`Variables::with_given`]).
    pub fn given(index: usize) -> Self {
        Self { variable: Self::GIVEN, path: vec![Step::Index(index)] }
    }

    pub(crate) fn given_index(&self) -> Option<usize> {
        match self.path.as_slice() {
            [Step::Index(index)] if self.variable == Self::GIVEN => Some(*index),
            _ => None,
        }
    }

    /// The whole value of a variable.
    pub(crate) fn of(variable: usize) -> Self {
        Self { variable, path: Vec::new() }
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
}
