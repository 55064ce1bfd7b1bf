//! Calls that change nothing, of one look at the graph each. Lists, and what is around a node, have modules of their own.

pub(super) mod list;
mod lookup;
mod neighborhood;
pub(super) mod schema;
mod stream;

use std::sync::Arc;

use prony_graph_store::Read;
use prony_graphql::json::write_string;
use prony_source::http_api::{ApiResponse, Progress};

use self::lookup::{find, relationship};
use super::{
    access::{CallView, RoleAccess, with_view},
    error::CallError,
    json::{begin_ok, write_integer, write_list, write_member, write_properties},
    path::{Call, Owner},
};
use crate::databases::Database;

/// Responds to a GET by a role, or by who may see everything.
pub(super) fn respond(
    (database, read): (&Arc<Database>, &Read),
    role: Option<&RoleAccess>,
    call: &Call<'_>,
    query: Option<&str>,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    with_view(read, role, |view| respond_by_view(database, view, call, query, response))
}

fn respond_by_view(
    database: &Arc<Database>,
    view: &CallView<'_>,
    call: &Call<'_>,
    query: Option<&str>,
    response: &mut ApiResponse,
) -> Result<Progress, CallError> {
    match call {
        Call::Node(name) => {
            let node = find(view, name).ok_or(CallError::NotFound)?;
            view.write_node(begin_ok(response), &node);
        }
        Call::Relationship(id) => {
            let found = relationship(view, *id).ok_or(CallError::NotFound)?;
            view.write_relationship(begin_ok(response), &found);
        }
        Call::Neighborhood(name, aspect, filter) => {
            return Ok(neighborhood::respond(database, view, name, *aspect, filter, response));
        }
        Call::Connected(from, to, filter) => {
            return Ok(neighborhood::connected(database, view, (from, to), filter, response));
        }
        Call::Properties(owner) => properties(view, owner, begin_ok(response)),
        Call::Property(owner, name) => property(view, owner, name, begin_ok(response)),
        Call::List(side, of) => return list::all(database, view, *side, of.as_deref(), query, response),
        Call::Types(_) | Call::Type(..) | Call::Declared(..) | Call::Indexes(..) => {
            schema::write(view, call, begin_ok(response))?;
        }
        Call::HealthCheck => health_check(begin_ok(response)),
        Call::Find(..)
        | Call::Relate(..)
        | Call::Schema
        | Call::Declare(..)
        | Call::Index(..)
        | Call::Lua => {
            return Err(CallError::UnknownRoute);
        }
    }
    Ok(Progress::Done)
}

/// Of nothing, none: as RageDB says it.
fn properties(view: &CallView<'_>, owner: &Owner<'_>, body: &mut Vec<u8>) {
    match owner {
        Owner::Node(name) => match find(view, name) {
            Some(node) => write_properties(body, view.properties_of_node(&node)),
            None => body.extend_from_slice(b"{}"),
        },
        Owner::Relationship(id) => match relationship(view, *id) {
            Some(found) => write_properties(body, view.properties_of_relationship(&found)),
            None => body.extend_from_slice(b"{}"),
        },
    }
}

fn property(view: &CallView<'_>, owner: &Owner<'_>, name: &str, body: &mut Vec<u8>) {
    let value = match owner {
        Owner::Node(node) => find(view, node)
            .filter(|node| view.reads_of_node(node, name))
            .and_then(|node| node.property(name)),
        Owner::Relationship(id) => relationship(view, *id)
            .filter(|found| view.reads_of_relationship(found, name))
            .and_then(|found| found.property(name)),
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
