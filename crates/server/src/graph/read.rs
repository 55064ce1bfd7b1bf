//! Calls that only look: nodes, relationships and what is around them.

use prony_graph_store::{Around as Wanted, Node, Read, Ref, Relationship};

use prony_graphql::json::write_string;

use super::{
    answer::Answer,
    databases::Database,
    json::{write_integer, write_list, write_member, write_node, write_properties, write_relationship},
    list,
    path::{Around, Aspect, Call, NodeName, Owner},
    schema,
};

/// An answer's usual size; most are one node or a few relationships.
const BODY_BYTES: usize = 128;

/// Answers a GET.
pub(super) fn answer(database: &Database, call: &Call<'_>, query: Option<&str>) -> Answer {
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
        Call::Around(name, aspect, around) => around_node(&read, name, *aspect, around),
        Call::Connected(from, to, around) => connected(&read, from, to, around),
        Call::Properties(owner) => properties(&read, owner),
        Call::Property(owner, name) => property(&read, owner, name),
        Call::List(side, of) => list::all(&read, *side, of.as_deref(), query),
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

/// What the store is asked, of names that live elsewhere.
fn wanted<'a>(around: &Around<'_>, types: &'a [&'a str]) -> Wanted<'a> {
    Wanted { direction: around.direction, types: around.types.is_some().then_some(types) }
}

fn names<'a>(around: &'a Around<'_>) -> Vec<&'a str> {
    around.types.iter().flatten().map(|name| &**name).collect()
}

fn around_node(read: &Read, name: &NodeName<'_>, aspect: Aspect, around: &Around<'_>) -> Answer {
    let node = find(read, name).map(|node| node.at);
    let types = names(around);
    let wanted = wanted(around, &types);
    if aspect == Aspect::Degree {
        let mut body = b"{\"degree\": ".to_vec();
        write_integer(&mut body, node.map_or(0, |node| read.degree(node, wanted)));
        body.push(b'}');
        return Answer::ok(body);
    }
    let found = node.map(|node| read.around(node, wanted)).unwrap_or_default();
    let mut body = Vec::with_capacity(2 + found.len() * BODY_BYTES);
    if aspect == Aspect::Relationships {
        write_list(&mut body, &found, |out, (_, relationship)| write_relationship(out, relationship));
    } else {
        // A neighbour that has gone since its relationship was read is none any more.
        let neighbours =
            found.iter().filter_map(|(direction, relationship)| read.node(relationship.other(*direction)));
        write_list(&mut body, neighbours, |out, node| write_node(out, &node));
    }
    Answer::ok(body)
}

fn connected(read: &Read, from: &NodeName<'_>, to: &NodeName<'_>, around: &Around<'_>) -> Answer {
    let types = names(around);
    let mut body = Vec::with_capacity(BODY_BYTES);
    let ends = find(read, from).zip(find(read, to));
    let found = ends.map(|(from, to)| read.between(from.at, to.at, wanted(around, &types)));
    write_list(&mut body, &found.unwrap_or_default(), |out, (_, of)| write_relationship(out, of));
    Answer::ok(body)
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
