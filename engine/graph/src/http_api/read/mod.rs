//! Calls that change nothing. Lists, and what is around a node, have modules of their own.

pub(super) mod list;
mod lookup;
mod neighborhood;
pub(super) mod schema;
mod stream;

use std::sync::Arc;

use prony_graph_store::Read;
use prony_graphql::json::write_string;
use prony_source::http_api::{ApiResponse, Progress};

pub(super) use self::lookup::{find, relationship};
use super::{
    error::CallError,
    json::{
        begin_ok, write_integer, write_list, write_member, write_node, write_properties, write_relationship,
    },
    path::{Call, Owner},
};
use crate::databases::Database;

/// Responds to a GET.
pub(super) fn respond(
    database: &Arc<Database>,
    call: &Call<'_>,
    query: Option<&str>,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    let read = database.store.read();
    match call {
        Call::Node(name) => {
            let node = find(&read, name).ok_or(CallError::NotFound)?;
            write_node(begin_ok(response), &node);
        }
        Call::Relationship(id) => {
            let found = relationship(&read, *id).ok_or(CallError::NotFound)?;
            write_relationship(begin_ok(response), &found);
        }
        Call::Neighborhood(name, aspect, filter) => {
            return Ok(neighborhood::respond(database, &read, name, *aspect, filter, response));
        }
        Call::Connected(from, to, filter) => {
            return Ok(neighborhood::connected(database, &read, (from, to), filter, response));
        }
        Call::Properties(owner) => properties(&read, owner, begin_ok(response)),
        Call::Property(owner, name) => property(&read, owner, name, begin_ok(response)),
        Call::List(side, of) => return list::all(database, *side, of.as_deref(), query, response),
        Call::Types(_) | Call::Type(..) | Call::Declared(..) | Call::Indexes(..) => {
            schema::write(&read, call, begin_ok(response))?;
        }
        Call::HealthCheck => health_check(begin_ok(response)),
        Call::Find(..) | Call::Relate(..) | Call::Schema | Call::Declare(..) | Call::Index(..) => {
            return Err(CallError::UnknownRoute);
        }
    }
    Ok(Progress::Done)
}

/// Of nothing, none: as RageDB says it.
fn properties(read: &Read, owner: &Owner<'_>, body: &mut Vec<u8>) {
    match owner {
        Owner::Node(name) => match find(read, name) {
            Some(node) => write_properties(body, node.properties()),
            None => body.extend_from_slice(b"{}"),
        },
        Owner::Relationship(id) => match relationship(read, *id) {
            Some(found) => write_properties(body, found.properties()),
            None => body.extend_from_slice(b"{}"),
        },
    }
}

fn property(read: &Read, owner: &Owner<'_>, name: &str, body: &mut Vec<u8>) {
    let value = match owner {
        Owner::Node(node) => find(read, node).and_then(|node| node.property(name)),
        Owner::Relationship(id) => relationship(read, *id).and_then(|found| found.property(name)),
    };
    body.push(b'{');
    if let Some(value) = value {
        write_member(body, name, &value);
    } else {
        write_string(body, name);
        body.extend_from_slice(b": null");
    }
    body.push(b'}');
}

/// One text a virtual shard.
fn health_check(body: &mut Vec<u8>) {
    write_list(body, 0..prony_graph_store::SHARDS, |out, shard| {
        out.extend_from_slice(b"\"Shard ");
        write_integer(out, shard);
        out.extend_from_slice(b" is OK\"");
    });
}
