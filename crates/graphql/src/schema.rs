//! The served schema: what each source contributes, merged into one and validated.

use apollo_compiler::{Name, Node, ast, schema::ExtendedType};

/// Which source answers a root field; an index into the server's list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u16);

/// The types and root fields of one source. Nodes may be shared between types to save memory.
#[derive(Debug, Default)]
pub struct Contribution {
    pub types: Vec<(Name, ExtendedType)>,
    pub query: Vec<Node<ast::FieldDefinition>>,
    pub mutation: Vec<Node<ast::FieldDefinition>>,
    pub subscription: Vec<Node<ast::FieldDefinition>>,
}
