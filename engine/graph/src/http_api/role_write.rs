//! Calls by which a role changes the default database: what its mutations may do, in the form of calls. The type and the names of
//! properties decide whether the role may make a call, before anything is looked for. What is hidden from it is as what is not there.

use std::sync::Arc;

use http::{Method, StatusCode};
use prony_graph_store::{Keep, Ref, Refusal, Side, Store, Value, Waiting, Write};
use prony_source::{dialect::row_refused, http_api::ApiResponse};

use super::{
    access::{PropertyAccess, RoleAccess, with_view},
    error::{CallError, not_changed, not_created},
    json::{JSON, write_bare_node, write_bare_relationship},
    path::{Call, NodeName, Owner},
    property::{self, JsonProperties, JsonProperty},
    write::{
        Begun, NotBegun, OwnerRef, detaching, find, find_owner, invalid_json, members, progress, relationship,
    },
};
use crate::{
    databases::{
        Database,
        settle::{self, NotWritten},
    },
    execute::write_access::{LACKS_VALUE, WriteAccess, WriteFault},
    planning::rights::{Grant, PropertyUse},
    schema::model::TypeId,
};

/// A call that the role may make, as far as its type decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoleWrite<'c> {
    database: &'c Arc<Database>,
    role: &'c RoleAccess,
    method: &'c Method,
    call: &'c Call<'c>,
    /// Of what it changes.
    of: (Side, TypeId),
}

/// Why a role may not give properties.
pub(super) enum NotGiven {
    /// It can read the property of this name, and may not write it.
    NotPermitted(String),
    NotOfKind(Refusal),
    /// The session has no value for what the role writes whatever is asked.
    LacksPreset,
}

/// The properties of an object that the role may give, with what it writes whatever is asked. Those that are hidden from it are as
/// those that are not declared.
pub(super) fn given<'b>(
    role: &'b RoleAccess,
    of: (Side, TypeId),
    used: PropertyUse,
    members: &'b JsonProperties<'_>,
) -> Result<Vec<(&'b str, Value<'b>)>, NotGiven> {
    let mut allowed = Vec::with_capacity(members.0.len());
    for (name, member) in members.0.iter().filter(|(_, member)| *member != JsonProperty::Null) {
        match role.property_access(of, used, name) {
            PropertyAccess::Allowed => allowed.push((&**name, member)),
            PropertyAccess::Absent => {}
            PropertyAccess::Refused => return Err(NotGiven::NotPermitted(name.to_string())),
        }
    }
    let fitting = |(name, member)| Ok((name, fitting(role, of, name, member)?));
    let mut given = allowed.into_iter().map(fitting).collect::<Result<Vec<_>, _>>()?;
    let is_new = used == PropertyUse::Insert;
    // An update that gives nothing only asks whether something is there.
    if is_new || !given.is_empty() {
        given.extend(role.presets(of, is_new).ok_or(NotGiven::LacksPreset)?);
    }
    Ok(given)
}

fn fitting<'b>(
    role: &RoleAccess,
    of: (Side, TypeId),
    name: &str,
    member: &'b JsonProperty<'_>,
) -> Result<Value<'b>, NotGiven> {
    let kind = role.kind(of, name).expect("a property that may be used is known");
    let value = match member {
        JsonProperty::Value(value) => value.clone().fit(kind),
        JsonProperty::Nested | JsonProperty::Null => None,
    };
    let refusal = || Refusal::NotOfKind { property: name.to_owned(), declared: kind.name() };
    value.ok_or_else(|| NotGiven::NotOfKind(refusal()))
}

impl<'c> RoleWrite<'c> {
    /// None where the role may not make the call, whatever is there.
    pub(super) fn of(
        database: &'c Arc<Database>,
        role: &'c RoleAccess,
        method: &'c Method,
        call: &'c Call<'c>,
    ) -> Option<Self> {
        let of_id = |side, id: u64| {
            let number = Ref::from_id(id)?.type_number();
            Some((side, role.type_numbered(&database.store.read(), side, number)?))
        };
        let of_name = |side, name: &str| Some((side, role.type_named(side, name)?));
        let of_node = |node: &NodeName<'_>| match node {
            NodeName::Key(type_name, _) => of_name(Side::Nodes, type_name),
            NodeName::Id(id) => of_id(Side::Nodes, *id),
        };
        let of_owner = |owner: &Owner<'_>| match owner {
            Owner::Node(node) => of_node(node),
            Owner::Relationship(id) => of_id(Side::Relationships, *id),
        };
        let (grant, of) = match (method, call) {
            (&Method::POST, Call::Node(node @ NodeName::Key(..))) => (Grant::Insert, of_node(node)?),
            (&Method::POST, Call::Relate(_, _, name)) => (Grant::Insert, of_name(Side::Relationships, name)?),
            (&Method::DELETE, Call::Node(node)) => (Grant::Delete, of_node(node)?),
            (&Method::DELETE, Call::Relationship(id)) => (Grant::Delete, of_id(Side::Relationships, *id)?),
            (&Method::POST | &Method::DELETE, Call::Properties(owner)) => (Grant::Replace, of_owner(owner)?),
            (&Method::PUT, Call::Properties(owner))
            | (&Method::PUT | &Method::DELETE, Call::Property(owner, _)) => (Grant::Update, of_owner(owner)?),
            _ => return None,
        };
        role.can(of.0, of.1, grant).then_some(Self { database, role, method, call, of })
    }

    pub(super) fn needs_body(&self) -> bool {
        *self.method != Method::DELETE
    }

    /// Makes the change, with the whole body. Call it on a core's thread, inside its `LocalSet`.
    pub(super) fn begin(&self, body: &[u8], response: &mut ApiResponse) -> Begun {
        match (self.method, self.call) {
            (&Method::POST, Call::Node(NodeName::Key(_, key))) => self.create_node(key, body, response),
            (_, Call::Relate(from, to, _)) => self.create_relationship((from, to), body, response),
            (&Method::POST, Call::Properties(owner)) => self.set(owner, body, Keep::Nothing, response),
            (&Method::PUT, Call::Properties(owner)) => self.set(owner, body, Keep::Others, response),
            (_, Call::Properties(owner)) => self.replace(owner, &[], response),
            (&Method::PUT, Call::Property(owner, name)) => self.set_one(owner, name, body, response),
            (_, Call::Property(owner, name)) => self.remove(owner, name, response),
            (_, Call::Node(node)) => self.delete_node(node, response),
            (_, Call::Relationship(id)) => Ok(progress(self.delete(|_| relationship(*id), response)?)),
            _ => Err(NotBegun::NotPermitted),
        }
    }

    fn create_node(&self, key: &str, body: &[u8], response: &mut ApiResponse) -> Begun {
        let members = members(body)?;
        let given = self.given(PropertyUse::Insert, &members, not_created)?;
        let out = response.begin_body(StatusCode::CREATED, JSON);
        let waiting = self.accepted(not_created, |access, write| {
            let at = access.create_node(write, self.of.1, key, &given)?;
            with_view(&self.store().read(), Some(self.role), |view| match view.node(at) {
                Some(node) => view.write_node(out, &node),
                None => write_bare_node(out, at.id(), self.type_name(), key),
            });
            Ok(())
        })?;
        Ok(progress(waiting))
    }

    fn create_relationship(
        &self,
        (from, to): (&NodeName<'_>, &NodeName<'_>),
        body: &[u8],
        response: &mut ApiResponse,
    ) -> Begun {
        let members = members(body)?;
        let given = self.given(PropertyUse::Insert, &members, not_created)?;
        let out = response.begin_body(StatusCode::CREATED, JSON);
        let waiting = self.accepted(not_created, |access, write| {
            let (from, to) = (find(write, from)?, find(write, to)?);
            access.check_end(from, "from")?;
            access.check_end(to, "to")?;
            let at = access.create_relationship(write, self.of.1, (from, to), &given)?;
            with_view(&self.store().read(), Some(self.role), |view| match view.relationship(at) {
                Some(made) => view.write_relationship(out, &made),
                None => write_bare_relationship(out, at.id(), self.type_name(), from.id(), to.id()),
            });
            Ok(())
        })?;
        Ok(progress(waiting))
    }

    fn set(&self, owner: &Owner<'_>, body: &[u8], keep: Keep, response: &mut ApiResponse) -> Begun {
        let members = property::object(body).ok_or_else(invalid_json)?;
        let given = self.given(PropertyUse::Update, &members, not_changed)?;
        match keep {
            Keep::Nothing => self.replace(owner, &given, response),
            Keep::Others => self.update(owner, response, |write, owner| owner.set(write, &given, keep)),
        }
    }

    fn replace(&self, owner: &Owner<'_>, given: &[(&str, Value<'_>)], response: &mut ApiResponse) -> Begun {
        self.update(owner, response, |write, owner| owner.set(write, given, Keep::Nothing))
    }

    fn set_one(&self, owner: &Owner<'_>, name: &str, body: &[u8], response: &mut ApiResponse) -> Begun {
        let Some(value @ (JsonProperty::Value(_) | JsonProperty::Nested)) = property::value(body) else {
            return Err(invalid_json().into());
        };
        self.check_property(name)?;
        let members = JsonProperties(vec![(name.into(), value)]);
        let given = self.given(PropertyUse::Update, &members, not_changed)?;
        self.update(owner, response, |write, owner| owner.set(write, &given, Keep::Others))
    }

    /// Whoever cannot read a property does not learn whether there was a value.
    fn remove(&self, owner: &Owner<'_>, name: &str, response: &mut ApiResponse) -> Begun {
        self.check_property(name)?;
        let presets = self.role.presets(self.of, false).ok_or_else(lacks_preset)?;
        let reads = self.role.reads(self.of.0, self.of.1, name);
        self.change(response, |access, write| {
            let owner = find_owner(write, owner)?;
            let is_told = reads && access.shows(owner.side(), owner.at())?;
            access.update(write, self.of, owner.at(), |write| {
                match owner.remove(write, name) {
                    Err(Refusal::NoProperty) if !is_told => {}
                    removed => removed?,
                }
                if presets.is_empty() { Ok(()) } else { owner.set(write, &presets, Keep::Others) }
            })
        })
    }

    /// Changes what the role may update.
    fn update(
        &self,
        owner: &Owner<'_>,
        response: &mut ApiResponse,
        change: impl FnOnce(&mut Write<'_>, OwnerRef) -> Result<(), Refusal>,
    ) -> Begun {
        self.change(response, |access, write| {
            let owner = find_owner(write, owner)?;
            access.update(write, self.of, owner.at(), |write| change(write, owner))
        })
    }

    /// As who may do everything: what goes with it is waited for however soon its deletion is durable.
    fn delete_node(&self, node: &NodeName<'_>, response: &mut ApiResponse) -> Begun {
        let mut deleted = None;
        let waiting = self.delete(|write| find(write, node).inspect(|at| deleted = Some(*at)), response)?;
        Ok(match deleted {
            Some(at) => detaching(self.database, at, waiting),
            None => progress(waiting),
        })
    }

    fn delete(
        &self,
        find: impl FnOnce(&Write<'_>) -> Result<Ref, Refusal>,
        response: &mut ApiResponse,
    ) -> Result<Waiting, NotBegun> {
        self.changed(response, |access, write| {
            let at = find(write)?;
            access.delete(write, self.of, at)
        })
    }

    fn change(
        &self,
        response: &mut ApiResponse,
        operate: impl FnOnce(&WriteAccess<'_>, &mut Write<'_>) -> Result<bool, WriteFault>,
    ) -> Begun {
        Ok(progress(self.changed(response, operate)?))
    }

    /// Makes a change that says whether there was something to change; returns what is to be waited for.
    fn changed(
        &self,
        response: &mut ApiResponse,
        operate: impl FnOnce(&WriteAccess<'_>, &mut Write<'_>) -> Result<bool, WriteFault>,
    ) -> Result<Waiting, NotBegun> {
        response.set_empty(StatusCode::NO_CONTENT);
        self.accepted(not_changed, |access, write| {
            let is_there = operate(access, write)?;
            is_there.then_some(()).ok_or(WriteFault::Refused(Refusal::NoNode))
        })
    }

    /// Makes the changes; returns what is to be waited for.
    fn accepted(
        &self,
        refused: fn(&Refusal) -> CallError,
        operate: impl FnOnce(&WriteAccess<'_>, &mut Write<'_>) -> Result<(), WriteFault>,
    ) -> Result<Waiting, NotBegun> {
        let access = self.role.write_access(self.store());
        let mut fault = None;
        let written = settle::write(self.database, |write| {
            operate(&access, write).map_err(|why| {
                fault = Some(why);
                // Takes back what was done before.
                Refusal::NoNode
            })
        });
        match written {
            Ok(((), waiting)) => Ok(waiting),
            Err(NotWritten::NoRoom) => Err(NotBegun::NoRoom),
            Err(NotWritten::Refused(refusal, read)) => {
                let fault = fault.unwrap_or(WriteFault::Refused(refusal));
                Err(NotBegun::Refused(not_written(fault, refused), read))
            }
        }
    }

    fn given<'b>(
        &self,
        used: PropertyUse,
        members: &'b JsonProperties<'_>,
        refused: fn(&Refusal) -> CallError,
    ) -> Result<Vec<(&'b str, Value<'b>)>, NotBegun>
    where
        'c: 'b,
    {
        given(self.role, self.of, used, members).map_err(|why| match why {
            NotGiven::NotPermitted(_) => NotBegun::NotPermitted,
            NotGiven::NotOfKind(refusal) => refused(&refusal).into(),
            NotGiven::LacksPreset => lacks_preset(),
        })
    }

    /// One that is hidden is refused as one that is not declared.
    fn check_property(&self, name: &str) -> Result<(), NotBegun> {
        match self.role.property_access(self.of, PropertyUse::Update, name) {
            PropertyAccess::Allowed => Ok(()),
            PropertyAccess::Absent => Err(not_changed(&Refusal::NoProperty).into()),
            PropertyAccess::Refused => Err(NotBegun::NotPermitted),
        }
    }

    fn store(&self) -> &'c Store {
        &self.database.store
    }

    fn type_name(&self) -> &'c str {
        self.role.type_name(self.of.0, self.of.1)
    }
}

fn not_written(fault: WriteFault, refused: fn(&Refusal) -> CallError) -> CallError {
    match fault {
        WriteFault::Refused(refusal) => refused(&refusal),
        WriteFault::NoEnd(_) => refused(&Refusal::NoNode),
        WriteFault::RowRefused => CallError::Forbidden(row_refused().message.into()),
        WriteFault::Invalid(error) => CallError::Forbidden(error.message.into()),
    }
}

fn lacks_preset() -> NotBegun {
    CallError::Forbidden(LACKS_VALUE.into()).into()
}
