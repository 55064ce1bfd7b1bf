//! Calls that change the graph. The store refuses or accepts at once; an accepted one is answered when it is durable.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode, request};
use hyper::body::{Body, Incoming};
use prony_graph_store::{Keep, Kind, Node, Read, Ref, Refusal, Relationship, Side, Store, Value, Write};

use super::{
    answer::{Answer, not_changed, not_created, not_durable},
    databases::Database,
    given::{self, Given, GivenProperties},
    json::{write_bare_node, write_bare_relationship, write_node, write_relationship},
    list::{self, Sought},
    path::{Call, NodeName, Owner},
    schema, settle,
};
use crate::{config::Settings, http::body};

/// Answers what is no GET.
pub(super) async fn answer(
    settings: &Settings,
    database: &Arc<Database>,
    call: &Call<'_>,
    head: &request::Parts,
    body: Incoming,
) -> Answer {
    let body = match received(settings, head, body).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let done = match head.method {
        Method::POST => post(database, call, &body, head.uri.query()).await,
        Method::PUT => put(database, call, &body).await,
        Method::DELETE => delete(database, call).await,
        _ => Ok(Answer::unknown_route()),
    };
    done.unwrap_or_else(|response| response)
}

/// The whole body; most have none.
async fn received(settings: &Settings, head: &request::Parts, body: Incoming) -> Result<Bytes, Answer> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    body::read(&head.headers, body, settings.max_body_bytes, settings.body_timeout)
        .await
        .map_err(|fault| Answer::said(fault.status, &fault.message).and_close())
}

type Answered = Result<Answer, Answer>;

async fn post(database: &Arc<Database>, call: &Call<'_>, body: &[u8], query: Option<&str>) -> Answered {
    match call {
        Call::Find(side, of, property, operation) => {
            let sought = Sought { side: *side, of, property, operation };
            list::find(&database.store.read(), sought, body, query)
        }
        Call::Node(NodeName::Key(type_name, key)) => create_node(database, type_name, key, body).await,
        Call::Relate(from, to, of) => create_relationship(database, from, to, of, body).await,
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Nothing).await,
        Call::Type(side, name) => declare(database, |write| write.make_type(*side, name).map(drop)).await,
        Call::Declare(side, of, name, kind) => {
            let kind = schema::kind(kind)?;
            declare(database, |write| {
                write.make_type(*side, of)?;
                write.declare(*side, of, name, kind)
            })
            .await
        }
        Call::Index(side, of, name) => declare(database, |write| write.index(*side, of, name)).await,
        _ => Ok(Answer::unknown_route()),
    }
}

async fn put(database: &Arc<Database>, call: &Call<'_>, body: &[u8]) -> Answered {
    match call {
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Others).await,
        Call::Property(owner, name) => set_property(database, owner, name, body).await,
        _ => Ok(Answer::unknown_route()),
    }
}

async fn delete(database: &Arc<Database>, call: &Call<'_>) -> Answered {
    match call {
        Call::Node(name) => {
            change(database, |write| {
                let at = find(write, name)?;
                write.delete_node(at)
            })
            .await
        }
        Call::Relationship(id) => {
            change(database, |write| write.delete_relationship(relationship(*id)?)).await
        }
        Call::Properties(owner) => {
            change(database, |write| find_owner(write, owner)?.set(write, &[], Keep::Nothing)).await
        }
        Call::Property(owner, name) => {
            change(database, |write| find_owner(write, owner)?.remove(write, name)).await
        }
        Call::Type(side, name) => change(database, |write| write.drop_type(*side, name)).await,
        Call::Declared(side, of, name) => change(database, |write| write.undeclare(*side, of, name)).await,
        Call::Index(side, of, name) => change(database, |write| write.unindex(*side, of, name)).await,
        Call::Schema => {
            cleared(database).await?;
            Ok(Answer::bare(StatusCode::ACCEPTED))
        }
        _ => Ok(Answer::unknown_route()),
    }
}

// ---- creating

async fn create_node(database: &Arc<Database>, type_name: &str, key: &str, body: &[u8]) -> Answered {
    let members = members(body)?;
    let given = Properties::of(&members);
    let mut answer = Vec::new();
    durable(database, not_created, |write| {
        given.check(&database.store, Side::Nodes, Of::Name(type_name))?;
        let at = write.create_node(type_name, key, &given.values)?;
        if given.values.is_empty() {
            write_bare_node(&mut answer, at.id(), type_name, key);
        } else {
            // The writer's turn is ours, so what is read is what was written.
            with_node(&database.store, at, |node| write_node(&mut answer, node));
        }
        Ok(())
    })
    .await?;
    Ok(Answer::created(answer))
}

async fn create_relationship(
    database: &Arc<Database>,
    from: &NodeName<'_>,
    to: &NodeName<'_>,
    of: &str,
    body: &[u8],
) -> Answered {
    let members = members(body)?;
    let given = Properties::of(&members);
    let mut answer = Vec::new();
    durable(database, not_created, |write| {
        given.check(&database.store, Side::Relationships, Of::Name(of))?;
        let (from, to) = (find(write, from)?, find(write, to)?);
        let at = write.create_relationship(of, from, to, &given.values)?;
        if given.values.is_empty() {
            write_bare_relationship(&mut answer, at.id(), of, from.id(), to.id());
        } else {
            with_relationship(&database.store, at, |made| write_relationship(&mut answer, made));
        }
        Ok(())
    })
    .await?;
    Ok(Answer::created(answer))
}

fn with_node(store: &Store, at: Ref, take: impl FnOnce(&Node<'_>)) {
    take(&store.read().node(at).expect("the node was made in this write"));
}

fn with_relationship(store: &Store, at: Ref, take: impl FnOnce(&Relationship<'_>)) {
    take(&store.read().relationship(at).expect("the relationship was made in this write"));
}

/// What an object gives; nothing where there is no body.
fn members(body: &[u8]) -> Result<GivenProperties<'_>, Answer> {
    if body.is_empty() {
        return Ok(GivenProperties::default());
    }
    given::object(body).ok_or_else(|| Answer::bad("Invalid JSON"))
}

/// What an object gives, as the store takes it.
#[derive(Default)]
pub(super) struct Properties<'a> {
    pub(super) values: Vec<(&'a str, Value<'a>)>,
    /// No property holds their values, so they may not be declared.
    nested: Vec<&'a str>,
}

/// A type by its name, or by the number that a name of it has.
#[derive(Clone, Copy)]
pub(super) enum Of<'a> {
    Name(&'a str),
    Number(u16),
}

impl<'a> Properties<'a> {
    /// A null says nothing.
    pub(super) fn of(members: &'a GivenProperties<'_>) -> Self {
        let mut properties = Self::default();
        for (name, given) in &members.0 {
            match given {
                Given::Value(value) => properties.values.push((name, value.clone())),
                Given::Nested => properties.nested.push(name),
                Given::Null => {}
            }
        }
        properties
    }

    /// Call it in a write, whose types nobody else changes.
    pub(super) fn check(&self, store: &Store, side: Side, of: Of<'_>) -> Result<(), Refusal> {
        if self.nested.is_empty() {
            return Ok(());
        }
        let read = store.read();
        for name in &self.nested {
            if let Some(declared) = declared(&read, side, of, name) {
                return Err(Refusal::NotOfKind { property: (*name).to_owned(), declared: declared.name() });
            }
        }
        Ok(())
    }
}

fn declared(read: &Read, side: Side, of: Of<'_>, property: &str) -> Option<Kind> {
    let types = read.schema().side(side);
    let number = match of {
        Of::Name(name) => types.number(name)?,
        Of::Number(number) => number,
    };
    Some(types.get(number)?.properties.get(property)?.kind)
}

// ---- changing

async fn set_properties(database: &Arc<Database>, owner: &Owner<'_>, body: &[u8], keep: Keep) -> Answered {
    let members = given::object(body).ok_or_else(|| Answer::bad("Invalid JSON"))?;
    let given = Properties::of(&members);
    change(database, |write| {
        let at = find_owner(write, owner)?;
        given.check(&database.store, at.side(), Of::Number(at.number()))?;
        at.set(write, &given.values, keep)
    })
    .await
}

/// One that is not declared is refused; in an object it would be ignored.
async fn set_property(database: &Arc<Database>, owner: &Owner<'_>, name: &str, body: &[u8]) -> Answered {
    let Some(Given::Value(value)) = given::value(body) else { return Err(Answer::bad("Invalid JSON")) };
    change(database, |write| {
        let at = find_owner(write, owner)?;
        declared(&database.store.read(), at.side(), Of::Number(at.number()), name)
            .ok_or(Refusal::NoProperty)?;
        at.set(write, &[(name, value)], Keep::Others)
    })
    .await
}

/// What has properties, by its name in the store.
#[derive(Clone, Copy)]
enum At {
    Node(Ref),
    Relationship(Ref),
}

fn find_owner(write: &Write<'_>, owner: &Owner<'_>) -> Result<At, Refusal> {
    match owner {
        Owner::Node(name) => find(write, name).map(At::Node),
        Owner::Relationship(id) => relationship(*id).map(At::Relationship),
    }
}

impl At {
    const fn side(self) -> Side {
        match self {
            Self::Node(_) => Side::Nodes,
            Self::Relationship(_) => Side::Relationships,
        }
    }

    const fn number(self) -> u16 {
        match self {
            Self::Node(at) | Self::Relationship(at) => at.type_number(),
        }
    }

    fn set(self, write: &mut Write<'_>, given: &[(&str, Value<'_>)], keep: Keep) -> Result<(), Refusal> {
        match self {
            Self::Node(at) => write.set_node(at, given, keep),
            Self::Relationship(at) => write.set_relationship(at, given, keep),
        }
    }

    fn remove(self, write: &mut Write<'_>, property: &str) -> Result<(), Refusal> {
        match self {
            Self::Node(at) => write.remove_node_property(at, property),
            Self::Relationship(at) => write.remove_relationship_property(at, property),
        }
    }
}

fn find(write: &Write<'_>, name: &NodeName<'_>) -> Result<Ref, Refusal> {
    match name {
        NodeName::Key(type_name, key) => write.find(type_name, key),
        // Whether it is there the operation finds out.
        NodeName::Id(id) => Ref::from_id(*id),
    }
    .ok_or(Refusal::NoNode)
}

fn relationship(id: u64) -> Result<Ref, Refusal> {
    Ref::from_id(id).ok_or(Refusal::NoRelationship)
}

async fn change(
    database: &Arc<Database>,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Answered {
    durable(database, not_changed, operate).await?;
    Ok(Answer::bare(StatusCode::NO_CONTENT))
}

async fn declare(
    database: &Arc<Database>,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Answered {
    durable(database, not_changed, operate).await?;
    Ok(Answer::bare(StatusCode::CREATED))
}

/// Empties the graph.
pub(super) async fn cleared(database: &Arc<Database>) -> Result<(), Answer> {
    durable(database, not_changed, |write| {
        write.clear();
        Ok(())
    })
    .await
}

/// Makes the changes, and waits until they are as durable as the store keeps them.
async fn durable(
    database: &Arc<Database>,
    refused: fn(&Refusal) -> Answer,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Result<(), Answer> {
    let ((), waiting) = settle::write(database, operate).map_err(|refusal| refused(&refusal))?;
    waiting.settled().await.map_err(|error| not_durable(&error))
}
