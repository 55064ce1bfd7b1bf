//! Calls that change the graph. The store refuses or accepts at once; to an accepted one is responded when it is durable.

use std::{future::poll_fn, sync::Arc};

use futures_util::future::LocalBoxFuture;
use http::{Method, StatusCode};
use prony_graph_store::{
    Keep, Kind, Node, Read, Ref, Refusal, Relationship, Side, Store, Value, Waiting, Write,
};
use prony_source::http_api::{ApiResponse, Progress};

use super::{
    error::{CallError, not_changed, not_created},
    json::{JSON, write_bare_node, write_bare_relationship, write_node, write_relationship},
    path::{Call, NodeName, Owner},
    property::{self, JsonProperties, JsonProperty},
    read::schema,
};
use crate::databases::{
    Database,
    settle::{self, NotWritten},
};

/// What a call comes to at once.
pub(super) enum WriteProgress {
    /// Nothing is to be waited for.
    Over(Progress),
    /// It was accepted, and is not durable yet; the response is that of success.
    Waits(Waiting),
    /// As [`Self::Waits`], and then until what went with it can be used by others.
    WaitsForDetached(Waiting, LocalBoxFuture<'static, ()>),
}

/// Why a change is not begun.
#[derive(Debug)]
pub(super) enum NotBegun {
    Error(CallError),
    /// The store refuses it for what there is: that is told once this is over.
    Refused(CallError, Waiting),
    /// Too much waits for the disk.
    NoRoom,
    /// The role may not ask this.
    NotPermitted,
}

impl From<CallError> for NotBegun {
    fn from(error: CallError) -> Self {
        Self::Error(error)
    }
}

pub(super) type Begun = Result<WriteProgress, NotBegun>;

/// Makes the change that a call asks for, with its whole body. Call it on a core's thread, inside its `LocalSet`.
pub(super) fn begin(
    database: &Arc<Database>,
    method: &Method,
    call: &Call<'_>,
    body: &[u8],
    response: &mut ApiResponse,
) -> Begun {
    match *method {
        Method::POST => post(database, call, body, response),
        Method::PUT => put(database, call, body, response),
        Method::DELETE => delete(database, call, response),
        _ => Err(CallError::UnknownRoute.into()),
    }
}

fn post(database: &Arc<Database>, call: &Call<'_>, body: &[u8], response: &mut ApiResponse) -> Begun {
    match call {
        Call::Node(NodeName::Key(type_name, key)) => create_node(database, type_name, key, body, response),
        Call::Relate(from, to, of) => create_relationship(database, (from, to), of, body, response),
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Nothing, response),
        Call::Type(side, name) => declare(database, response, |write| write.make_type(*side, name).map(drop)),
        Call::Declare(side, of, name, kind) => {
            let kind = schema::kind(kind)?;
            declare(database, response, |write| {
                write.make_type(*side, of)?;
                write.declare(*side, of, name, kind)
            })
        }
        _ => Err(CallError::UnknownRoute.into()),
    }
}

fn put(database: &Arc<Database>, call: &Call<'_>, body: &[u8], response: &mut ApiResponse) -> Begun {
    match call {
        Call::Properties(owner) => set_properties(database, owner, body, Keep::Others, response),
        Call::Property(owner, name) => set_property(database, owner, name, body, response),
        _ => Err(CallError::UnknownRoute.into()),
    }
}

fn delete(database: &Arc<Database>, call: &Call<'_>, response: &mut ApiResponse) -> Begun {
    match call {
        Call::Node(name) => delete_node(database, name, response),
        Call::Relationship(id) => {
            change(database, response, |write| write.delete_relationship(relationship(*id)?))
        }
        Call::Properties(owner) => {
            change(database, response, |write| find_owner(write, owner)?.set(write, &[], Keep::Nothing))
        }
        Call::Property(owner, name) => {
            change(database, response, |write| find_owner(write, owner)?.remove(write, name))
        }
        Call::Type(side, name) => change(database, response, |write| write.drop_type(*side, name)),
        Call::Declared(side, of, name) => {
            change(database, response, |write| write.undeclare(*side, of, name))
        }
        Call::Index(side, of, name) => change(database, response, |write| write.unindex(*side, of, name)),
        Call::Schema => {
            response.set_empty(StatusCode::ACCEPTED);
            Ok(progress(clear(database)?))
        }
        _ => Err(CallError::UnknownRoute.into()),
    }
}

/// To who asks next, all of it is gone: also the ids of its relationships are free.
fn delete_node(database: &Arc<Database>, name: &NodeName<'_>, response: &mut ApiResponse) -> Begun {
    response.set_empty(StatusCode::NO_CONTENT);
    let mut deleted = None;
    let waiting = accepted(database, not_changed, |write| {
        let at = find(write, name)?;
        deleted = Some(at);
        write.delete_node(at)
    })?;
    Ok(deleted.map_or(WriteProgress::Over(Progress::Done), |at| detaching(database, at, waiting)))
}

/// What is to be waited for where a node was deleted.
pub(super) fn detaching(database: &Database, deleted: Ref, waiting: Waiting) -> WriteProgress {
    let detached = database.store.detached(deleted);
    if detached.is_over() {
        return progress(waiting);
    }
    let limit = database.time_limit;
    let detached = Box::pin(async move { settle::within(limit, detached).await });
    WriteProgress::WaitsForDetached(waiting, detached)
}

// ---- creating

fn create_node(
    database: &Arc<Database>,
    type_name: &str,
    key: &str,
    body: &[u8],
    response: &mut ApiResponse,
) -> Begun {
    let members = members(body)?;
    let properties = Properties::of(&members);
    let out = response.begin_body(StatusCode::CREATED, JSON);
    let waiting = accepted(database, not_created, |write| {
        properties.check(&database.store, Side::Nodes, TypeName::Name(type_name))?;
        let at = write.create_node(type_name, key, &properties.values)?;
        if properties.values.is_empty() {
            write_bare_node(out, at.id(), type_name, key);
        } else {
            // The writer's turn is ours, so what is read is what was written.
            with_node(&database.store, at, |node| write_node(out, node));
        }
        Ok(())
    })?;
    Ok(progress(waiting))
}

fn create_relationship(
    database: &Arc<Database>,
    (from, to): (&NodeName<'_>, &NodeName<'_>),
    of: &str,
    body: &[u8],
    response: &mut ApiResponse,
) -> Begun {
    let members = members(body)?;
    let properties = Properties::of(&members);
    let out = response.begin_body(StatusCode::CREATED, JSON);
    let waiting = accepted(database, not_created, |write| {
        properties.check(&database.store, Side::Relationships, TypeName::Name(of))?;
        let (from, to) = (find(write, from)?, find(write, to)?);
        let at = write.create_relationship(of, from, to, &properties.values)?;
        if properties.values.is_empty() {
            write_bare_relationship(out, at.id(), of, from.id(), to.id());
        } else {
            with_relationship(&database.store, at, |made| write_relationship(out, made));
        }
        Ok(())
    })?;
    Ok(progress(waiting))
}

fn with_node(store: &Store, at: Ref, take: impl FnOnce(&Node<'_>)) {
    take(&store.read().node(at).expect("the node was made in this write"));
}

fn with_relationship(store: &Store, at: Ref, take: impl FnOnce(&Relationship<'_>)) {
    take(&store.read().relationship(at).expect("the relationship was made in this write"));
}

/// The members of an object; none where there is no body.
pub(super) fn members(body: &[u8]) -> Result<JsonProperties<'_>, CallError> {
    if body.is_empty() {
        return Ok(JsonProperties::default());
    }
    property::object(body).ok_or_else(invalid_json)
}

pub(super) fn invalid_json() -> CallError {
    CallError::BadRequest("Invalid JSON".into())
}

/// The members of an object, as the store takes them.
#[derive(Default)]
pub(super) struct Properties<'a> {
    pub(super) values: Vec<(&'a str, Value<'a>)>,
    /// No property holds their values, so they may not be declared.
    nested: Vec<&'a str>,
}

/// A type by its name, or by the number that a name of it has.
#[derive(Clone, Copy)]
pub(super) enum TypeName<'a> {
    Name(&'a str),
    Number(u16),
}

impl<'a> Properties<'a> {
    /// A null says nothing.
    pub(super) fn of(members: &'a JsonProperties<'_>) -> Self {
        let mut properties = Self::default();
        for (name, property) in &members.0 {
            match property {
                JsonProperty::Value(value) => properties.values.push((name, value.clone())),
                JsonProperty::Nested => properties.nested.push(name),
                JsonProperty::Null => {}
            }
        }
        properties
    }

    /// Call it in a write, whose types nobody else changes.
    pub(super) fn check(&self, store: &Store, side: Side, of: TypeName<'_>) -> Result<(), Refusal> {
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

fn declared(read: &Read, side: Side, of: TypeName<'_>, property: &str) -> Option<Kind> {
    let types = read.schema().side(side);
    let number = match of {
        TypeName::Name(name) => types.number(name)?,
        TypeName::Number(number) => number,
    };
    Some(types.get(number)?.properties.get(property)?.kind)
}

// ---- changing

fn set_properties(
    database: &Arc<Database>,
    owner: &Owner<'_>,
    body: &[u8],
    keep: Keep,
    response: &mut ApiResponse,
) -> Begun {
    let members = property::object(body).ok_or_else(invalid_json)?;
    let properties = Properties::of(&members);
    change(database, response, |write| {
        let at = find_owner(write, owner)?;
        properties.check(&database.store, at.side(), TypeName::Number(at.number()))?;
        at.set(write, &properties.values, keep)
    })
}

/// One that is not declared is refused; in an object it would be ignored.
fn set_property(
    database: &Arc<Database>,
    owner: &Owner<'_>,
    name: &str,
    body: &[u8],
    response: &mut ApiResponse,
) -> Begun {
    let value = match property::value(body) {
        Some(JsonProperty::Value(value)) => value,
        // It is of another type than any property.
        Some(JsonProperty::Nested) => return Err(CallError::NotModified.into()),
        Some(JsonProperty::Null) | None => return Err(invalid_json().into()),
    };
    change(database, response, |write| {
        let at = find_owner(write, owner)?;
        declared(&database.store.read(), at.side(), TypeName::Number(at.number()), name)
            .ok_or(Refusal::NoProperty)?;
        at.set(write, &[(name, value)], Keep::Others)
    })
}

/// What has properties, by its name in the store.
#[derive(Clone, Copy)]
pub(super) enum OwnerRef {
    Node(Ref),
    Relationship(Ref),
}

pub(super) fn find_owner(write: &Write<'_>, owner: &Owner<'_>) -> Result<OwnerRef, Refusal> {
    match owner {
        Owner::Node(name) => find(write, name).map(OwnerRef::Node),
        Owner::Relationship(id) => relationship(*id).map(OwnerRef::Relationship),
    }
}

impl OwnerRef {
    pub(super) const fn at(self) -> Ref {
        match self {
            Self::Node(at) | Self::Relationship(at) => at,
        }
    }

    pub(super) const fn side(self) -> Side {
        match self {
            Self::Node(_) => Side::Nodes,
            Self::Relationship(_) => Side::Relationships,
        }
    }

    const fn number(self) -> u16 {
        self.at().type_number()
    }

    pub(super) fn set(
        self,
        write: &mut Write<'_>,
        values: &[(&str, Value<'_>)],
        keep: Keep,
    ) -> Result<(), Refusal> {
        match self {
            Self::Node(at) => write.set_node(at, values, keep),
            Self::Relationship(at) => write.set_relationship(at, values, keep),
        }
    }

    pub(super) fn remove(self, write: &mut Write<'_>, property: &str) -> Result<(), Refusal> {
        match self {
            Self::Node(at) => write.remove_node_property(at, property),
            Self::Relationship(at) => write.remove_relationship_property(at, property),
        }
    }
}

pub(super) fn find(write: &Write<'_>, name: &NodeName<'_>) -> Result<Ref, Refusal> {
    match name {
        NodeName::Key(type_name, key) => write.find(type_name, key),
        // Whether it is there the operation finds out.
        NodeName::Id(id) => Ref::from_id(*id),
    }
    .ok_or(Refusal::NoNode)
}

pub(super) fn relationship(id: u64) -> Result<Ref, Refusal> {
    Ref::from_id(id).ok_or(Refusal::NoRelationship)
}

fn change(
    database: &Arc<Database>,
    response: &mut ApiResponse,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Begun {
    response.set_empty(StatusCode::NO_CONTENT);
    Ok(progress(accepted(database, not_changed, operate)?))
}

fn declare(
    database: &Arc<Database>,
    response: &mut ApiResponse,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Begun {
    response.set_empty(StatusCode::CREATED);
    Ok(progress(accepted(database, not_changed, operate)?))
}

/// Empties the graph, and returns when that is durable.
pub(super) async fn clear_and_wait(database: &Arc<Database>) -> Result<(), CallError> {
    let mut waiting = loop {
        match clear(database) {
            Ok(waiting) => break waiting,
            Err(NotBegun::Error(error) | NotBegun::Refused(error, _)) => return Err(error),
            Err(NotBegun::NoRoom) => database.store.room().await,
            Err(NotBegun::NotPermitted) => unreachable!("it is not asked who asks"),
        }
    };
    poll_fn(|context| waiting.poll(context)).await.map_err(CallError::NotDurable)
}

fn clear(database: &Arc<Database>) -> Result<Waiting, NotBegun> {
    accepted(database, not_changed, |write| {
        write.clear();
        Ok(())
    })
}

/// Makes the changes; returns what is to be waited for.
fn accepted(
    database: &Arc<Database>,
    refused: fn(&Refusal) -> CallError,
    operate: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
) -> Result<Waiting, NotBegun> {
    match settle::write(database, operate) {
        Ok(((), waiting)) => Ok(waiting),
        Err(NotWritten::Refused(refusal, read)) => Err(NotBegun::Refused(refused(&refusal), read)),
        Err(NotWritten::NoRoom) => Err(NotBegun::NoRoom),
    }
}

pub(super) fn progress(waiting: Waiting) -> WriteProgress {
    if waiting.is_over() { WriteProgress::Over(Progress::Done) } else { WriteProgress::Waits(waiting) }
}
