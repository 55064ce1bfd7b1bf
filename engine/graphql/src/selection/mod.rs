//! The fields of one operation for one shape of its variables: fragments merged, `@skip` and `@include`
//! decided, arguments typed. It is what sources plan from; it holds no value of a scalar variable.

pub(crate) mod collect;
pub(crate) mod print;

use std::fmt;

use apollo_compiler::{Name, ast::Type};
use serde_json::Value as Json;

use crate::{error::Position, variables::Variables};

/// Which root type the operation selects from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OperationKind {
    Query,
    Mutation,
    Subscription,
}

impl fmt::Display for OperationKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Query => "query",
            Self::Mutation => "mutation",
            Self::Subscription => "subscription",
        })
    }
}

/// All fields of one operation, in response order (GraphQL specification, section 6.3.2).
#[derive(Debug, Clone)]
pub struct Selection {
    pub kind: OperationKind,
    pub fields: Vec<Field>,
}

/// A response field after merging (GraphQL specification, section 5.3.2).
#[derive(Debug, Clone)]
pub struct Field {
    /// The alias, or the name. Chosen by the client: escape before it becomes part of any text.
    pub response_key: Name,
    /// `__typename` comes as a field too; its `parent_type` is the answer.
    pub name: Name,
    /// The object type that the field belongs to. Below a field of an interface or union type, where only the
    /// source knows the object, it is the type of the fragment, and fields of one response key may repeat.
    pub parent_type: Name,
    pub output: Type,
    /// In the schema's order; only those that were given or have a default.
    pub arguments: Vec<(Name, Value)>,
    /// The schema's own directives on it, in the client's order; `@skip` and `@include` are decided already.
    pub directives: Vec<AppliedDirective>,
    /// Empty for leaves.
    pub selections: Vec<Field>,
    pub position: Position,
}

/// A directive with its arguments, which are given or have a default.
#[derive(Debug, Clone, PartialEq)]
pub struct AppliedDirective {
    pub name: Name,
    pub arguments: Vec<(Name, Value)>,
}

impl Field {
    /// Whether the engine answers it from the schema: `__schema`, `__type` and, at the root, `__typename`.
    pub fn is_introspection(&self) -> bool {
        self.name.starts_with("__")
    }

    /// The value of an argument that was given or has a default.
    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

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

    /// The value with all slots filled.
    pub fn resolve(&self, variables: &Variables) -> Json {
        match self {
            Self::Null => Json::Null,
            Self::Boolean(value) => Json::Bool(*value),
            Self::Enum(name) => Json::String(name.to_string()),
            Self::Scalar(value) => value.clone(),
            Self::Slot(slot) => variables.get(slot).cloned().unwrap_or(Json::Null),
            Self::List(items) => Json::Array(items.iter().map(|item| item.resolve(variables)).collect()),
            Self::Object(entries) => Json::Object(
                entries.iter().map(|(key, value)| (key.to_string(), value.resolve(variables))).collect(),
            ),
        }
    }
}
