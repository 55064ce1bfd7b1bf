//! A node or relationship as it is looked at.

use std::borrow::Cow;

use prony_graph_store::{Node, Ref, Relationship, Value};

use crate::planning::filter::Subject;

/// Read from the store, and not copied.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Thing<'r> {
    Node(Node<'r>),
    Relationship(Relationship<'r>),
}

impl<'r> Thing<'r> {
    pub(crate) fn at(&self) -> Ref {
        match self {
            Self::Node(node) => node.at,
            Self::Relationship(relationship) => relationship.at,
        }
    }

    pub(crate) fn property(&self, name: &str) -> Option<Value<'r>> {
        match self {
            Self::Node(node) => node.property(name),
            Self::Relationship(relationship) => relationship.property(name),
        }
    }

    /// None for a property that is missing, or of another kind than when the request was planned.
    pub(crate) fn value(&self, subject: &Subject) -> Option<Value<'r>> {
        match (subject, self) {
            (Subject::Id, _) => Some(Value::Integer(self.at().id().cast_signed())),
            (Subject::Key, Self::Node(node)) => Some(Value::String(Cow::Borrowed(node.key))),
            (Subject::Key, Self::Relationship(_)) => None,
            (Subject::Type, Self::Node(node)) => Some(Value::String(Cow::Borrowed(&node.of.name))),
            (Subject::Type, Self::Relationship(of)) => Some(Value::String(Cow::Borrowed(&of.of.name))),
            (Subject::Property(name, kind), _) => self.property(name)?.fit(*kind),
        }
    }
}
