//! The fields of one operation for one shape of its variables: fragments merged, `@skip` and `@include`
//! decided, arguments typed. It is what sources plan from; it holds no value of a scalar variable.

pub(crate) mod collect;
pub(crate) mod print;

use apollo_compiler::{Name, ast::Type};

use crate::error::Position;
pub use crate::{
    document::operation::OperationKind,
    variables::value::{Slot, SlotRoot, Step, Value},
};

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
