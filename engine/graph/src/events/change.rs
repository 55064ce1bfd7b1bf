//! One change of a node or relationship, kept for those who read it later.

use std::sync::Arc;

use prony_graph_store::{KeptNode, KeptRelationship, Node, Ref, Relationship, Side, Type};

use crate::{events::operation::Operation, execute::thing::Thing};

/// A node or relationship as it was after the change; one that was deleted, as it was before.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) operation: Operation,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Node(KeptNode),
    Relationship(KeptRelationship),
}

/// What an event tells of, before it is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'e> {
    pub(super) operation: Operation,
    pub(super) thing: Thing<'e>,
}

impl<'e> Seen<'e> {
    pub(super) fn node(before: Option<Node<'e>>, after: Option<Node<'e>>) -> Option<Self> {
        let thing = after.or(before).map(Thing::Node)?;
        Some(Self { operation: operation(before.is_some(), after.is_some()), thing })
    }

    pub(super) fn relationship(
        before: Option<Relationship<'e>>,
        after: Option<Relationship<'e>>,
    ) -> Option<Self> {
        let thing = after.or(before).map(Thing::Relationship)?;
        Some(Self { operation: operation(before.is_some(), after.is_some()), thing })
    }

    pub(super) fn side(&self) -> Side {
        match self.thing {
            Thing::Node(_) => Side::Nodes,
            Thing::Relationship(_) => Side::Relationships,
        }
    }

    pub(super) fn at(&self) -> Ref {
        self.thing.at()
    }

    pub(super) fn keep_type(&self) -> Arc<Type> {
        Arc::new(match self.thing {
            Thing::Node(node) => node.of.clone(),
            Thing::Relationship(relationship) => relationship.of.clone(),
        })
    }

    /// `of` is the type of what was seen.
    pub(super) fn keep(&self, of: Arc<Type>) -> Change {
        let kept = match self.thing {
            Thing::Node(node) => Kept::Node(node.keep(of)),
            Thing::Relationship(relationship) => Kept::Relationship(relationship.keep(of)),
        };
        Change { operation: self.operation, kept }
    }
}

const fn operation(was_there: bool, is_there: bool) -> Operation {
    match (was_there, is_there) {
        (false, _) => Operation::Insert,
        (true, true) => Operation::Update,
        (true, false) => Operation::Delete,
    }
}

impl Change {
    pub(crate) fn thing(&self) -> Thing<'_> {
        match &self.kept {
            Kept::Node(node) => Thing::Node(node.get()),
            Kept::Relationship(relationship) => Thing::Relationship(relationship.get()),
        }
    }

    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { operation: self.operation, thing: self.thing() }
    }

    pub(super) fn len_bytes(&self) -> usize {
        match &self.kept {
            Kept::Node(node) => node.len_bytes(),
            Kept::Relationship(relationship) => relationship.len_bytes(),
        }
    }
}
