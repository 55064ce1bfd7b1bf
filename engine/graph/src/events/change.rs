//! One change of a node or relationship, kept for those who read it later.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use prony_graph_store::{KeptNode, KeptRelationship, Node, Read, Ref, Relationship, Side, Type};

use crate::{events::operation::Operation, execute::thing::Thing};

/// A node or relationship as it was after the change; one that was deleted, as it was before.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) operation: Operation,
    kept: Kept,
    /// What an update has changed.
    before: Option<Kept>,
    /// Of a relationship.
    ends: Vec<End>,
}

/// Where a relationship starts or ends.
#[derive(Debug)]
pub(super) struct End {
    pub(super) at: Ref,
    /// A hash of its node's key, which tells it from a node that has its id later; none where it went before this was told.
    pub(super) key_hash: Option<u64>,
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
    /// As it was before an update.
    before: Option<Thing<'e>>,
}

impl<'e> Seen<'e> {
    pub(super) fn node(before: Option<Node<'e>>, after: Option<Node<'e>>) -> Option<Self> {
        let thing = after.or(before).map(Thing::Node)?;
        let replaced = after.and(before).map(Thing::Node);
        Some(Self { operation: operation(before.is_some(), after.is_some()), thing, before: replaced })
    }

    pub(super) fn relationship(
        before: Option<Relationship<'e>>,
        after: Option<Relationship<'e>>,
    ) -> Option<Self> {
        let thing = after.or(before).map(Thing::Relationship)?;
        let replaced = after.and(before).map(Thing::Relationship);
        Some(Self { operation: operation(before.is_some(), after.is_some()), thing, before: replaced })
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
    pub(super) fn keep(&self, of: Arc<Type>, ends: Vec<End>) -> Change {
        let before = self.before.map(|before| Kept::of(before, Arc::clone(&of)));
        Change { operation: self.operation, kept: Kept::of(self.thing, of), before, ends }
    }
}

impl End {
    fn is_there(&self, read: &Read) -> bool {
        read.node(self.at).is_some_and(|now| self.key_hash == Some(key_hash(now.key)))
    }
}

/// The same as long as the process lives.
pub(super) fn key_hash(key: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

const fn operation(was_there: bool, is_there: bool) -> Operation {
    match (was_there, is_there) {
        (false, _) => Operation::Insert,
        (true, true) => Operation::Update,
        (true, false) => Operation::Delete,
    }
}

impl Kept {
    fn of(thing: Thing<'_>, of: Arc<Type>) -> Self {
        match thing {
            Thing::Node(node) => Self::Node(node.keep(of)),
            Thing::Relationship(relationship) => Self::Relationship(relationship.keep(of)),
        }
    }

    fn get(&self) -> Thing<'_> {
        match self {
            Self::Node(node) => Thing::Node(node.get()),
            Self::Relationship(relationship) => Thing::Relationship(relationship.get()),
        }
    }

    fn len_bytes(&self) -> usize {
        match self {
            Self::Node(node) => node.len_bytes(),
            Self::Relationship(relationship) => relationship.len_bytes(),
        }
    }
}

impl Change {
    pub(crate) fn thing(&self) -> Thing<'_> {
        self.kept.get()
    }

    /// As it was before an update.
    pub(crate) fn before(&self) -> Option<Thing<'_>> {
        self.before.as_ref().map(Kept::get)
    }

    /// Ends of a relationship that are no more; others may have their ids by now.
    pub(crate) fn gone(&self, read: &Read) -> Vec<Ref> {
        self.ends.iter().filter(|end| !end.is_there(read)).map(|end| end.at).collect()
    }

    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { operation: self.operation, thing: self.thing(), before: self.before() }
    }

    pub(super) fn len_bytes(&self) -> usize {
        self.kept.len_bytes() + self.before.as_ref().map_or(0, Kept::len_bytes)
    }
}
