//! Writes held to what a role may do: which nodes and relationships it may change, what must hold of them afterwards, and which
//! nodes it may join. Mutations and calls over HTTP write by it. What is hidden from the role is as what is not there.

use std::{cell::OnceCell, sync::Arc};

use prony_graph_store::{Kind, Ref, Refusal, Side, Store, Value, Write};
use prony_graphql::{error::GraphqlError, selection, variables::Variables};

use crate::{
    execute::{
        json_value,
        searched::{SearchBound, Searched},
        thing::Thing,
        view::{View, Visible},
    },
    planning::{
        assignments::Assignments,
        filter::Filter,
        restrict::{Restrictions, TypeRestrictions},
    },
    schema::model::{Model, TypeId},
};

/// Why a write is refused whose values the session does not have.
pub(crate) const LACKS_VALUE: &str = "what your role writes into such a row is not known of your session";

/// What may be written, with the values of one request. Its methods are called within a write of the store, and see what
/// that has done so far.
#[derive(Debug)]
pub(crate) struct WriteAccess<'a> {
    store: &'a Store,
    model: &'a Model,
    /// Everything may be written where there are none.
    restrictions: Option<&'a Restrictions>,
    variables: &'a Variables,
    visible: OnceCell<Visible<'a>>,
}

/// Why nothing was done.
#[derive(Debug)]
pub(crate) enum WriteFault {
    Refused(Refusal),
    /// An end of a relationship, by its argument, that is not there or hidden.
    NoEnd(&'static str),
    /// What was written does not pass what it must pass, or a hidden node has its key.
    RowRefused,
    Invalid(GraphqlError),
}

impl From<Refusal> for WriteFault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl<'a> WriteAccess<'a> {
    pub(crate) const fn new(
        store: &'a Store,
        model: &'a Model,
        restrictions: Option<&'a Restrictions>,
        variables: &'a Variables,
    ) -> Self {
        Self { store, model, restrictions, variables, visible: OnceCell::new() }
    }

    /// Creates a node that passes the role's check.
    pub(crate) fn create_node(
        &self,
        write: &mut Write<'_>,
        of: TypeId,
        key: &str,
        given: &[(&str, Value<'_>)],
    ) -> Result<Ref, WriteFault> {
        let type_name = &self.model.nodes.get(of).name;
        let at = match write.create_node(type_name, key, given) {
            Ok(at) => at,
            Err(refusal @ Refusal::KeyExists { .. }) => {
                let is_seen = match write.find(type_name, key) {
                    Some(known) => self.shows(Side::Nodes, known)?,
                    None => true,
                };
                return Err(if is_seen { WriteFault::Refused(refusal) } else { WriteFault::RowRefused });
            }
            Err(refusal) => return Err(refusal.into()),
        };
        self.check((Side::Nodes, of), at, |restrictions| &restrictions.insert_check)?;
        Ok(at)
    }

    /// Creates a relationship that passes the role's check, between nodes that [it sees](Self::check_end).
    pub(crate) fn create_relationship(
        &self,
        write: &mut Write<'_>,
        of: TypeId,
        (from, to): (Ref, Ref),
        given: &[(&str, Value<'_>)],
    ) -> Result<Ref, WriteFault> {
        let type_name = &self.model.relationships.get(of).name;
        let created = write.create_relationship(type_name, from, to, given);
        let at = created.map_err(|refusal| match refusal {
            Refusal::NoNode => WriteFault::NoEnd("from` or `to"),
            other => WriteFault::Refused(other),
        })?;
        self.check((Side::Relationships, of), at, |restrictions| &restrictions.insert_check)?;
        Ok(at)
    }

    /// Whether a node may be an end of a relationship that the role creates: it sees it.
    pub(crate) fn check_end(&self, at: Ref, argument: &'static str) -> Result<(), WriteFault> {
        if self.restrictions.is_none() || self.shows(Side::Nodes, at)? {
            Ok(())
        } else {
            Err(WriteFault::NoEnd(argument))
        }
    }

    /// Changes what the role may update by `change`; the outcome must pass its check. False where nothing is there that it may
    /// update.
    pub(crate) fn update(
        &self,
        write: &mut Write<'_>,
        of: (Side, TypeId),
        at: Ref,
        change: impl FnOnce(&mut Write<'_>) -> Result<(), Refusal>,
    ) -> Result<bool, WriteFault> {
        if !self.passes(of, at, |restrictions| &restrictions.update)? || !was_there(change(write))? {
            return Ok(false);
        }
        self.check(of, at, |restrictions| &restrictions.update_check)?;
        Ok(true)
    }

    /// Deletes what the role may delete, a node with its relationships. False where nothing is there that it may delete.
    pub(crate) fn delete(
        &self,
        write: &mut Write<'_>,
        of: (Side, TypeId),
        at: Ref,
    ) -> Result<bool, WriteFault> {
        if !self.passes(of, at, |restrictions| &restrictions.delete)? {
            return Ok(false);
        }
        was_there(match of.0 {
            Side::Nodes => write.delete_node(at),
            Side::Relationships => write.delete_relationship(at),
        })
    }

    /// Whether a node or relationship is there and the role sees it.
    pub(crate) fn shows(&self, side: Side, at: Ref) -> Result<bool, WriteFault> {
        let read = self.store.read();
        let thing = match side {
            Side::Nodes => read.node(at).map(Thing::Node),
            Side::Relationships => read.relationship(at).map(Thing::Relationship),
        };
        let Some(thing) = thing else { return Ok(false) };
        let visible = self.restrictions.map(|restrictions| self.visible(restrictions)).transpose()?;
        let searched = Searched::within(SearchBound::Unbounded);
        Ok(View::new(&read, self.model, visible, &searched).type_of(&thing).is_some())
    }

    fn visible(&self, restrictions: &'a Restrictions) -> Result<&Visible<'a>, WriteFault> {
        if let Some(known) = self.visible.get() {
            return Ok(known);
        }
        let made = Visible::new(restrictions, self.variables).map_err(WriteFault::Invalid)?;
        Ok(self.visible.get_or_init(|| made))
    }

    fn check(
        &self,
        of: (Side, TypeId),
        at: Ref,
        filter: fn(&TypeRestrictions) -> &Filter,
    ) -> Result<(), WriteFault> {
        if self.passes(of, at, filter)? { Ok(()) } else { Err(WriteFault::RowRefused) }
    }

    /// Whether a node or relationship of a type passes what the type's restrictions say; all passes where there are none.
    fn passes(
        &self,
        (side, of): (Side, TypeId),
        at: Ref,
        filter: fn(&TypeRestrictions) -> &Filter,
    ) -> Result<bool, WriteFault> {
        let Some(restrictions) = self.restrictions else { return Ok(true) };
        let Some(restrictions) = restrictions.of(side, of) else { return Ok(false) };
        let read = self.store.read();
        let thing = match side {
            Side::Nodes => read.node(at).map(Thing::Node),
            Side::Relationships => read.relationship(at).map(Thing::Relationship),
        };
        let Some(thing) = thing else { return Ok(false) };
        let searched = Searched::within(SearchBound::Unbounded);
        let view = View::new(&read, self.model, None, &searched);
        if view.model_type(&thing) != Some(of) {
            return Ok(false);
        }
        view.passes(filter(restrictions), self.variables, &thing).map_err(WriteFault::Invalid)
    }
}

/// What is not there was not changed.
fn was_there(outcome: Result<(), Refusal>) -> Result<bool, WriteFault> {
    match outcome {
        Ok(()) => Ok(true),
        Err(Refusal::NoNode | Refusal::NoRelationship) => Ok(false),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Whether the session lacks a value that would be written, or has one that does not fit.
pub(crate) fn lacks_value(properties: &Assignments, variables: &Variables) -> bool {
    properties.iter().any(|(_, kind, value)| {
        value.lacks_session(variables)
            || (value.is_of_session() && json_value::read(*kind, value, variables).is_none())
    })
}

/// The values of properties, without those that are null.
pub(crate) fn values<'v>(properties: &'v Assignments, variables: &'v Variables) -> Vec<(&'v str, Value<'v>)> {
    let read = |(name, kind, value): &'v (Arc<str>, Kind, selection::Value)| {
        Some((&**name, json_value::read(*kind, value, variables)?))
    };
    properties.iter().filter_map(read).collect()
}
