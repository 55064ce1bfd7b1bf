//! Nodes and relationships by the names that paths have for them.

use prony_graph_store::{Node, Ref, Relationship};

use crate::http_api::{access::CallView, path::NodeName};

pub(super) fn find<'r>(view: &CallView<'r>, name: &NodeName<'_>) -> Option<Node<'r>> {
    match name {
        NodeName::Key(type_name, key) => view.read.find(type_name, key).filter(|node| view.shows_node(node)),
        NodeName::Id(id) => view.node(Ref::from_id(*id)?),
    }
}

pub(super) fn relationship<'r>(view: &CallView<'r>, id: u64) -> Option<Relationship<'r>> {
    view.relationship(Ref::from_id(id)?)
}
