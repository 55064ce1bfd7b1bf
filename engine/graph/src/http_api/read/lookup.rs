//! Nodes and relationships by the names that paths have for them.

use prony_graph_store::{Node, Read, Ref, Relationship};

use crate::http_api::path::NodeName;

pub(in crate::http_api) fn find<'r>(read: &'r Read, name: &NodeName<'_>) -> Option<Node<'r>> {
    match name {
        NodeName::Key(type_name, key) => read.find(type_name, key),
        NodeName::Id(id) => read.node(Ref::from_id(*id)?),
    }
}

pub(in crate::http_api) fn relationship(read: &Read, id: u64) -> Option<Relationship<'_>> {
    read.relationship(Ref::from_id(id)?)
}
