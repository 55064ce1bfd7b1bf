//! Calls that change the graph. The store refuses or accepts at once; an accepted one is answered when it is durable.

use prony_graph::databases::Database;
use prony_graph::databases::settle::{self, NotWritten, Waiting};
use std::{future::poll_fn, sync::Arc};

use bytes::Bytes;
use http::{Method, StatusCode, request};
use hyper::body::{Body, Incoming};
use prony_graph_store::{Keep, Kind, Node, Read, Ref, Refusal, Relationship, Side, Store, Value, Write};

use super::{
    answer::{Accepted, Answer, not_changed, not_created, not_durable},
    given::{self, Given, GivenProperties},
    json::{write_bare_node, write_bare_relationship, write_node, write_relationship},
    list::{self, Sought},
    path::{Call, NodeName, Owner},
    schema,
};
use crate::{config::Settings, http::body};

/// What a change comes to at once.
#[derive(Debug)]
pub(crate) enum Begun {
    Answered(Answer),
    /// It was accepted, and is not durable yet.
    Waits(Accepted),
    /// Nothing was done: too much waits for the disk.
    NoRoom,
}

/// Why a change is not begun.
#[derive(Debug)]
enum Stop {
    Answered(Answer),
    NoRoom,
}

impl From<Answer> for Stop {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

impl From<Answer> for Begun {
    fn from(answer: Answer) -> Self {
        Self::Answered(answer)
    }
}

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
    loop {
        match begin(database, &head.method, call, head.uri.query(), &body) {
            Begun::Answered(answer) => return answer,
            Begun::Waits(mut accepted) => return poll_fn(|context| accepted.poll(context)).await,
            Begun::NoRoom => database.store.room().await,
        }
    }
}

/// Makes the change that a call asks for, with its whole body. Call it on a core's thread, inside its `LocalSet`.
pub(super) fn begin(
    database: &Arc<Database>,
    method: &Method,
    call: &Call<'_>,
    query: Option<&str>,
    body: &[u8],
) -> Begun {
    let done = match *method {
        Method::POST => post(database, call, body, query),
        Method::PUT => put(database, call, body),
        Method::DELETE => delete(database, call),
        _ => Ok(Answer::unknown_route().into()),
    };
    done.unwrap_or_else(|stop| match stop {
        Stop::Answered(answer) => Begun::Answered(answer),
        Stop::NoRoom => Begun::NoRoom,
    })
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

type Answered = Result<Begun, Stop>;

fn post(database: &Arc<Database>, call: &Call<'_>, body: &[u8], query: Option<&str>) -> Answered {
    match call {
        Call::Find(side, of, property, operation) => {
            let sought = Sought { side: *side, of, property, operation };
            Ok(list::find(database, sought, body, query)?.into())
        }
        Call::Node(NodeName::Key(type_name, key)) => create_node(database, type_name, key, body),
        Call::Relate(from, to, of) => create_relationship(database, from, to, of, body),
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Nothing),
        Call::Type(side, name) => declare(database, |write| write.make_type(*side, name).map(drop)),
        Call::Declare(side, of, name, kind) => {
            let kind = schema::kind(kind)?;
            declare(database, |write| {
                write.make_type(*side, of)?;
                write.declare(*side, of, name, kind)
            })
        }
        Call::Index(side, of, name) => declare(database, |write| write.index(*side, of, name)),
        _ => Ok(Answer::unknown_route().into()),
    }
}

fn put(database: &Arc<Database>, call: &Call<'_>, body: &[u8]) -> Answered {
    match call {
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Others),
        Call::Property(owner, name) => set_property(database, owner, name, body),
        _ => Ok(Answer::unknown_route().into()),
    }
}

fn delete(database: &Arc<Database>, call: &Call<'_>) -> Answered {
    match call {
        Call::Node(name) => change(database, |write| {
            let at = find(write, name)?;
            write.delete_node(at)
        }),
        Call::Relationship(id) => change(database, |write| write.delete_relationship(relationship(*id)?)),
        Call::Properties(owner) => {
            change(database, |write| find_owner(write, owner)?.set(write, &[], Keep::Nothing))
        }
        Call::Property(owner, name) => {
            change(database, |write| find_owner(write, owner)?.remove(write, name))
        }
        Call::Type(side, name) => change(database, |write| write.drop_type(*side, name)),
        Call::Declared(side, of, name) => change(database, |write| write.undeclare(*side, of, name)),
        Call::Index(side, of, name) => change(database, |write| write.unindex(*side, of, name)),
        Call::Schema => {
            let waiting = clear(database)?;
            Ok(begun(waiting, Answer::bare(StatusCode::ACCEPTED)))
        }
        _ => Ok(Answer::unknown_route().into()),
    }
}

// ---- creating

fn create_node(database: &Arc<Database>, type_name: &str, key: &str, body: &[u8]) -> Answered {
    let members = members(body)?;
    let given = Properties::of(&members);
    let mut answer = Vec::new();
    let waiting = accepted(database, not_created, |write| {
        given.check(&database.store, Side::Nodes, Of::Name(type_name))?;
        let at = write.create_node(type_name, key, &given.values)?;
        if given.values.is_empty() {
            write_bare_node(&mut answer, at.id(), type_name, key);
        } else {
            // The writer's turn is ours, so what is read is what was written.
            with_node(&database.store, at, |node| write_node(&mut answer, node));
        }
        Ok(())
    })?;
    Ok(begun(waiting, Answer::created(answer)))
}

fn create_relationship(
    database: &Arc<Database>,
    from: &NodeName<'_>,
    to: &NodeName<'_>,
    of: &str,
    body: &[u8],
) -> Answered {
    let members = members(body)?;
    let given = Properties::of(&members);
    let mut answer = Vec::new();
    let waiting = accepted(database, not_created, |write| {
        given.check(&database.store, Side::Relationships, Of::Name(of))?;
        let (from, to) = (find(write, from)?, find(write, to)?);
        let at = write.create_relationship(of, from, to, &given.values)?;
        if given.values.is_empty() {
            write_bare_relationship(&mut answer, at.id(), of, from.id(), to.id());
        } else {
            with_relationship(&database.store, at, |made| write_relationship(&mut answer, made));
        }
        Ok(())
    })?;
    Ok(begun(waiting, Answer::created(answer)))
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

fn set_properties(database: &Arc<Database>, owner: &Owner<'_>, body: &[u8], keep: Keep) -> Answered {
    let members = given::object(body).ok_or_else(|| Answer::bad("Invalid JSON"))?;
    let given = Properties::of(&members);
    change(database, |write| {
        let at = find_owner(write, owner)?;
        given.check(&database.store, at.side(), Of::Number(at.number()))?;
        at.set(write, &given.values, keep)
    })
}

/// One that is not declared is refused; in an object it would be ignored.
fn set_property(database: &Arc<Database>, owner: &Owner<'_>, name: &str, body: &[u8]) -> Answered {
    let Some(Given::Value(value)) = given::value(body) else {
        return Err(Answer::bad("Invalid JSON").into());
    };
    change(database, |write| {
        let at = find_owner(write, owner)?;
        declared(&database.store.read(), at.side(), Of::Number(at.number()), name)
            .ok_or(Refusal::NoProperty)?;
        at.set(write, &[(name, value)], Keep::Others)
    })
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

fn change(database: &Arc<Database>, operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>) -> Answered {
    let waiting = accepted(database, not_changed, operate)?;
    Ok(begun(waiting, Answer::bare(StatusCode::NO_CONTENT)))
}

fn declare(
    database: &Arc<Database>,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Answered {
    let waiting = accepted(database, not_changed, operate)?;
    Ok(begun(waiting, Answer::bare(StatusCode::CREATED)))
}

/// Empties the graph, and returns when that is durable.
pub(super) async fn cleared(database: &Arc<Database>) -> Result<(), Answer> {
    let mut waiting = loop {
        match clear(database) {
            Ok(waiting) => break waiting,
            Err(Stop::Answered(answer)) => return Err(answer),
            Err(Stop::NoRoom) => database.store.room().await,
        }
    };
    poll_fn(|context| waiting.poll(context)).await.map_err(|error| not_durable(&error))
}

fn clear(database: &Arc<Database>) -> Result<Waiting, Stop> {
    accepted(database, not_changed, |write| {
        write.clear();
        Ok(())
    })
}

/// Makes the changes; gives what is to be waited for.
fn accepted(
    database: &Arc<Database>,
    refused: fn(&Refusal) -> Answer,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Result<Waiting, Stop> {
    match settle::write(database, operate) {
        Ok(((), waiting)) => Ok(waiting),
        Err(NotWritten::Refused(refusal)) => Err(refused(&refusal).into()),
        Err(NotWritten::NoRoom) => Err(Stop::NoRoom),
    }
}

fn begun(waiting: Waiting, answer: Answer) -> Begun {
    if waiting.is_over() { Begun::Answered(answer) } else { Begun::Waits(Accepted::new(waiting, answer)) }
}
