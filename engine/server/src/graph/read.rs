//! Calls that only look. Lists, and what is around a node, have modules of their own.

use std::sync::Arc;

use prony_graph_store::{Node, Read, Ref, Relationship};

use prony_graph::databases::Database;
use prony_graphql::json::write_string;

use super::{
    answer::Answer,
    around,
    json::{write_integer, write_list, write_member, write_node, write_properties, write_relationship},
    list,
    path::{Call, NodeName, Owner},
    schema,
};

/// An answer's usual size; most are one node or a few relationships.
const BODY_BYTES: usize = 128;

/// Answers a GET.
pub(super) fn answer(database: &Arc<Database>, call: &Call<'_>, query: Option<&str>) -> Answer {
    let read = database.store.read();
    match call {
        Call::Node(name) => Answer::found(find(&read, name).map(|node| {
            let mut body = Vec::with_capacity(BODY_BYTES);
            write_node(&mut body, &node);
            body
        })),
        Call::Relationship(id) => Answer::found(relationship(&read, *id).map(|found| {
            let mut body = Vec::with_capacity(BODY_BYTES);
            write_relationship(&mut body, &found);
            body
        })),
        Call::Around(name, aspect, around) => around::answer(database, &read, name, *aspect, around),
        Call::Connected(from, to, around) => around::connected(database, &read, from, to, around),
        Call::Properties(owner) => properties(&read, owner),
        Call::Property(owner, name) => property(&read, owner, name),
        Call::List(side, of) => list::all(database, *side, of.as_deref(), query),
        Call::Types(_) | Call::Type(..) | Call::Declared(..) | Call::Indexes(..) => {
            schema::answer(&read, call)
        }
        Call::HealthCheck => health_check(),
        Call::Find(..) | Call::Relate(..) | Call::Schema | Call::Declare(..) | Call::Index(..) => {
            Answer::unknown_route()
        }
    }
}

pub(super) fn find<'r>(read: &'r Read, name: &NodeName<'_>) -> Option<Node<'r>> {
    match name {
        NodeName::Key(type_name, key) => read.find(type_name, key),
        NodeName::Id(id) => read.node(Ref::from_id(*id)?),
    }
}

pub(super) fn relationship(read: &Read, id: u64) -> Option<Relationship<'_>> {
    read.relationship(Ref::from_id(id)?)
}

/// Of nothing, none: as RageDB says it.
fn properties(read: &Read, owner: &Owner<'_>) -> Answer {
    let mut body = Vec::with_capacity(BODY_BYTES);
    match owner {
        Owner::Node(name) => match find(read, name) {
            Some(node) => write_properties(&mut body, node.properties()),
            None => body.extend_from_slice(b"{}"),
        },
        Owner::Relationship(id) => match relationship(read, *id) {
            Some(found) => write_properties(&mut body, found.properties()),
            None => body.extend_from_slice(b"{}"),
        },
    }
    Answer::ok(body)
}

fn property(read: &Read, owner: &Owner<'_>, name: &str) -> Answer {
    let value = match owner {
        Owner::Node(node) => find(read, node).and_then(|node| node.property(name)),
        Owner::Relationship(id) => relationship(read, *id).and_then(|found| found.property(name)),
    };
    let mut body = b"{".to_vec();
    if let Some(value) = value {
        write_member(&mut body, name, &value);
    } else {
        write_string(&mut body, name);
        body.extend_from_slice(b": null");
    }
    body.push(b'}');
    Answer::ok(body)
}

/// One text a virtual shard.
fn health_check() -> Answer {
    let mut body = Vec::new();
    write_list(&mut body, 0..prony_graph_store::SHARDS, |out, shard| {
        out.extend_from_slice(b"\"Shard ");
        write_integer(out, shard);
        out.extend_from_slice(b" is OK\"");
    });
    Answer::ok(body)
}
