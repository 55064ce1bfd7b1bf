//! Nodes and relationships that outlive the look at the graph, or the telling of a change, that they come from. What they
//! hold is copied as the store keeps it, unread.

use crate::read::{Node, Relationship};
use crate::types::id::Ref;
use crate::types::schema::Type;
use std::sync::Arc;

/// A node as it was when it was kept.
#[derive(Debug, Clone)]
pub struct KeptNode {
    at: Ref,
    of: Arc<Type>,
    key: Box<str>,
    properties: Box<[u8]>,
}

/// A relationship as it was when it was kept.
#[derive(Debug, Clone)]
pub struct KeptRelationship {
    at: Ref,
    of: Arc<Type>,
    from: Ref,
    to: Ref,
    properties: Box<[u8]>,
}

impl Node<'_> {
    /// `of` is its own type, as it is now or was later: kept once for all nodes of the type.
    pub fn keep(&self, of: Arc<Type>) -> KeptNode {
        KeptNode { at: self.at, of, key: self.key.into(), properties: self.properties.into() }
    }
}

impl KeptNode {
    pub fn get(&self) -> Node<'_> {
        Node { at: self.at, of: &self.of, key: &self.key, properties: &self.properties }
    }

    /// Without its type, which is shared.
    pub fn len_bytes(&self) -> usize {
        size_of::<Self>() + self.key.len() + self.properties.len()
    }
}

impl Relationship<'_> {
    /// `of` is its own type, as it is now or was later: kept once for all relationships of the type.
    pub fn keep(&self, of: Arc<Type>) -> KeptRelationship {
        KeptRelationship { at: self.at, of, from: self.from, to: self.to, properties: self.properties.into() }
    }
}

impl KeptRelationship {
    pub fn get(&self) -> Relationship<'_> {
        Relationship { at: self.at, of: &self.of, from: self.from, to: self.to, properties: &self.properties }
    }

    /// Without its type, which is shared.
    pub fn len_bytes(&self) -> usize {
        size_of::<Self>() + self.properties.len()
    }
}
