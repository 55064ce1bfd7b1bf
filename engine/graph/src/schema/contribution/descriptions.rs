//! What GraphQL's documentation says of nodes and relationships. Texts that types have in common are shared by them.

use prony_graph_store::Side;

use crate::schema::model::{PropertyModel, TypeModel};

/// What is said of nodes, or the same of relationships.
#[derive(Debug)]
pub(super) struct SideTexts {
    /// Of the interface.
    pub(super) any: &'static str,
    pub(super) id: &'static str,
    /// The field of one, whatever its type, and the field of all.
    pub(super) any_by_id: &'static str,
    pub(super) of_all_types: &'static str,
    pub(super) given_id: &'static str,
    pub(super) key_columns: &'static str,
    /// Of the argument of an update or a deletion that has these.
    pub(super) written: &'static str,
    pub(super) create: &'static str,
    pub(super) update: &'static str,
    pub(super) replace: &'static str,
    pub(super) delete: &'static str,
    /// Of the type of events, and of its member.
    pub(super) change: &'static str,
    pub(super) changed: &'static str,
    pub(super) changes_of_id: &'static str,
}

const NODES: SideTexts = SideTexts {
    any: "A node, whatever its type.",
    id: "Its id, which no other node has.",
    any_by_id: "The node with this id, whatever its type.",
    of_all_types: "Nodes of all types.",
    given_id: "The id of the node.",
    key_columns: "A node of the type: its `_key` or its `_id`.",
    written: "Which node.",
    create: "Makes a node and answers it.",
    update: "Sets the given properties of the node; a null takes one away.",
    replace: "Sets the given properties of the node and takes all others away.",
    delete: "Deletes the node and its relationships.",
    change: "What has become of a node.",
    changed: "The node as it was after the change; where it was deleted, as it was before.",
    changes_of_id: "Only changes of the node with this id.",
};

const RELATIONSHIPS: SideTexts = SideTexts {
    any: "A relationship, whatever its type.",
    id: "Its id, which no other relationship has.",
    any_by_id: "The relationship with this id, whatever its type.",
    of_all_types: "Relationships of all types.",
    given_id: "The id of the relationship.",
    key_columns: "A relationship of the type: its `_id`.",
    written: "Which relationship.",
    create: "Makes a relationship and answers it.",
    update: "Sets the given properties of the relationship; a null takes one away.",
    replace: "Sets the given properties of the relationship and takes all others away.",
    delete: "Deletes the relationship.",
    change: "What has become of a relationship.",
    changed: "The relationship as it was after the change; where it was deleted, as it was before.",
    changes_of_id: "Only changes of the relationship with this id.",
};

pub(super) const TYPE: &str = "The name of its type in the graph.";
pub(super) const KEY: &str = "Its key, which no other node of its type has.";
pub(super) const GIVEN_KEY: &str = "The key of the node.";
pub(super) const NEW_KEY: &str = "The key of the node, which no other node of the type has.";
pub(super) const ONE: &str = "The node with this key, or with this id.";
pub(super) const NEIGHBORS: &str =
    "The nodes at the other ends of its relationships, one for each relationship.";
pub(super) const RELATIONSHIPS_OF_NODE: &str = "The relationships that begin or end at the node.";
pub(super) const DEGREE: &str = "How many relationships it has.";
pub(super) const FROM: &str = "The node at which it begins.";
pub(super) const TO: &str = "The node at which it ends.";
pub(super) const OTHER_END: &str = "The end that is not the node above; `to` where there is none.";
pub(super) const DIRECTION: &str =
    "Which way the relationships lead, seen from the node; `all` where none is given.";
pub(super) const TYPES: &str = "The types of the relationships; all where none are given.";
pub(super) const BY_RELATIONSHIP: &str = "What must hold for the relationship that leads there.";
pub(super) const BY_NODE: &str = "What must hold for the node to which the relationship leads.";
pub(super) const VALUES: &str = "One value for each property.";
pub(super) const KEYS: &str = "Of the keys.";
pub(super) const CHANGES_OF_KEY: &str = "Only changes of the node with this key.";
pub(super) const NODE_KEY: &str = "A node: its `_id`, or its `_type` and `_key`.";
pub(super) const DIRECTIONS: &str = "Seen from the node; `all` where none is given.";
pub(super) const RELATIONSHIP_TYPES: &str = "The types of relationships.";
pub(super) const LISTS: &str = "A list begins with, contains or ends with the values one behind the other.";

pub(super) const fn of_side(side: Side) -> &'static SideTexts {
    match side {
        Side::Nodes => &NODES,
        Side::Relationships => &RELATIONSHIPS,
    }
}

/// Of the object type.
pub(super) fn of_one(side: Side, of: &TypeModel) -> String {
    let what = match side {
        Side::Nodes => "A node",
        Side::Relationships => "A relationship",
    };
    format!("{what} of type `{}`.", of.name)
}

/// Of the field that lists all of the type.
pub(super) fn of_list(side: Side, of: &TypeModel) -> String {
    let what = match side {
        Side::Nodes => "Nodes",
        Side::Relationships => "Relationships",
    };
    format!("{what} of type `{}`.", of.name)
}

/// Of the list of a node's neighbours of the type.
pub(super) fn of_neighbours(of: &TypeModel) -> String {
    format!("The neighbours of type `{}`, one for each relationship.", of.name)
}

/// Of the subscription to the type's changes.
pub(super) fn of_changes(side: Side, of: &TypeModel) -> String {
    let what = match side {
        Side::Nodes => "nodes",
        Side::Relationships => "relationships",
    };
    format!("Each change of {what} of type `{}`, in the order of the commits.", of.name)
}

/// By its name in the graph, which GraphQL cannot always take. It is not told apart by type, so that types share it.
pub(super) fn of_property(property: &PropertyModel) -> String {
    format!("The property `{}`; null where there is none.", property.name)
}

/// Of the argument that sets it.
pub(super) fn of_given_property(property: &PropertyModel) -> String {
    format!("The property `{}`.", property.name)
}
