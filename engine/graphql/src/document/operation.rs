//! One operation of a document: what its parsing leaves for coercion, collection and execution.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use apollo_compiler::{
    ExecutableDocument, Name, Node,
    ast::{Definition, OperationType, Type},
    executable,
    parser::Parser,
    validation::Valid,
};
use serde_json::Value as Json;

use crate::{
    document::{position::LineIndex, syntax},
    error::Position,
};

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

impl From<OperationType> for OperationKind {
    fn from(operation_type: OperationType) -> Self {
        match operation_type {
            OperationType::Query => Self::Query,
            OperationType::Mutation => Self::Mutation,
            OperationType::Subscription => Self::Subscription,
        }
    }
}

impl From<OperationKind> for OperationType {
    fn from(kind: OperationKind) -> Self {
        match kind {
            OperationKind::Query => Self::Query,
            OperationKind::Mutation => Self::Mutation,
            OperationKind::Subscription => Self::Subscription,
        }
    }
}

/// Names an [`Operation`] as long as the process lives; part of the key of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationId(u64);

/// One operation of a document, valid for the schema that it was parsed with, and for no other.
#[derive(Debug)]
pub struct Operation {
    pub(super) id: OperationId,
    pub(super) kind: OperationKind,
    pub(crate) document: Valid<ExecutableDocument>,
    pub(crate) definition: Node<executable::Operation>,
    pub(crate) variables: Vec<VariableDefinition>,
    pub(crate) lines: LineIndex,
    pub(crate) max_shape_bytes: usize,
    pub(super) weight_bytes: usize,
}

/// A variable as the operation declares it.
#[derive(Debug)]
pub(crate) struct VariableDefinition {
    pub(crate) name: Name,
    pub(crate) ty: Type,
    /// Coerced.
    pub(crate) default: Option<Json>,
    pub(crate) position: Position,
}

impl Operation {
    pub fn id(&self) -> OperationId {
        self.id
    }

    pub fn kind(&self) -> OperationKind {
        self.kind
    }

    /// The operation's own name.
    pub fn name(&self) -> Option<&Name> {
        self.definition.name.as_ref()
    }

    /// The document that it stands in.
    pub fn document(&self) -> &ExecutableDocument {
        &self.document
    }

    /// Names of its variables, in the order of their definitions.
    pub fn variable_names(&self) -> impl Iterator<Item = &Name> {
        self.variables.iter().map(|variable| &variable.name)
    }

    /// Whether its document has no other operation.
    pub fn is_alone(&self) -> bool {
        self.document.operations.len() == 1
    }

    /// Bytes that the operation occupies, estimated from its text.
    pub fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }
}

pub(super) fn next_id() -> OperationId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    OperationId(NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The names of a document's operations, as far as they have some; none where it cannot be read.
pub fn operation_names(text: &str) -> Vec<String> {
    let readable = syntax::readable(text);
    let Ok(ast) = Parser::new().parse_ast(&*readable, "document") else { return Vec::new() };
    let operations = ast.definitions.iter().filter_map(Definition::as_operation_definition);
    operations.filter_map(|operation| operation.name.as_ref()).map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::operation_names;

    #[test]
    fn operations_of_a_document_are_named() {
        for (text, names) in [
            ("query A { a } mutation B { b } fragment F on Query { a }", vec!["A", "B"]),
            ("\"All.\" query A { a..., on Query { b } } \"Other.\" query B { b }", vec!["A", "B"]),
            ("{ a }", vec![]),
            ("query A { a", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(operation_names(text), names, "{text}");
        }
    }
}
