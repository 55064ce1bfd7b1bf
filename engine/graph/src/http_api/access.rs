//! What a call may look at: everything, or of the default database what a role may see. A call asks its [`CallView`] whether
//! something is there, and has it written by it.

use std::sync::Arc;

use prony_graph_store::{Kind, Node, Read, Ref, Relationship, Side, Store, Value};
use prony_graphql::variables::Variables;

use super::{
    json::{write_node, write_node_of, write_relationship, write_relationship_of},
    path::Name,
};
use crate::{
    execute::{
        searched::{SearchBound, Searched},
        thing::Thing,
        view::{View, Visible},
        write_access::{WriteAccess, lacks_value, values},
    },
    planning::{
        restrict::Restrictions,
        rights::{Grant, PropertyUse},
    },
    schema::model::{Model, PropertyModel, TypeId},
};

/// What the role of a request may do with the default database. It outlives the request, whose response may be long.
#[derive(Debug, Clone)]
pub(crate) struct RoleAccess {
    model: Arc<Model>,
    restrictions: Arc<Restrictions>,
    variables: Arc<Variables>,
}

/// What becomes of a call that uses a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PropertyAccess {
    Allowed,
    /// As if no such property were declared.
    Absent,
    /// The role can read the property, and may not use it so.
    Refused,
}

impl RoleAccess {
    /// None where a value of the session does not fit a condition of the role.
    pub(crate) fn new(
        model: &Arc<Model>,
        restrictions: &Arc<Restrictions>,
        variables: Variables,
    ) -> Option<Self> {
        Visible::new(restrictions, &variables).ok()?;
        let (model, restrictions) = (Arc::clone(model), Arc::clone(restrictions));
        Some(Self { model, restrictions, variables: Arc::new(variables) })
    }

    /// The type of this name in the store, where something of it can be seen.
    pub(super) fn seen_type(&self, side: Side, name: &str) -> Option<TypeId> {
        let of = self.model.side(side).by_name(name)?;
        self.restrictions.can(side, of, Grant::Select).then_some(of)
    }

    /// The most items of a list of one type, or of all.
    pub(super) fn limit(&self, side: Side, of: Option<TypeId>) -> Option<u32> {
        self.restrictions.limit(side, of)
    }

    /// Whether the number of relationships of these types may be known, or of all.
    pub(super) fn can_count(&self, types: Option<&[Name<'_>]>) -> bool {
        let side = Side::Relationships;
        let is_meant = |name: &str| types.is_none_or(|types| types.iter().any(|of| **of == *name));
        let mut meant = self.model.side(side).all().filter(|(_, of)| is_meant(&of.name));
        meant.all(|(id, _)| {
            let can = |grant| self.restrictions.can(side, id, grant);
            !can(Grant::Select) || can(Grant::Aggregate)
        })
    }

    pub(super) fn comparison(&self, side: Side, of: &str, property: &str) -> PropertyAccess {
        let of = self.seen_type(side, of);
        of.map_or(PropertyAccess::Absent, |of| {
            self.property_access((side, of), PropertyUse::Filter, property)
        })
    }

    /// Whether a property can be used so. One that was declared after the role's schema was made is absent.
    pub(super) fn property_access(
        &self,
        (side, of): (Side, TypeId),
        used: PropertyUse,
        property: &str,
    ) -> PropertyAccess {
        let Some(property) = self.property(side, of, property) else { return PropertyAccess::Absent };
        if self.allows(side, of, used, property) {
            PropertyAccess::Allowed
        } else if self.allows(side, of, PropertyUse::Read, property) {
            PropertyAccess::Refused
        } else {
            PropertyAccess::Absent
        }
    }

    /// The kind of a property that is not [absent](PropertyAccess::Absent).
    pub(super) fn kind(&self, (side, of): (Side, TypeId), property: &str) -> Option<Kind> {
        self.property(side, of, property).map(|property| property.kind)
    }

    /// The type of this name in the store, whether anything of it can be seen or not.
    pub(super) fn type_named(&self, side: Side, name: &str) -> Option<TypeId> {
        self.model.side(side).by_name(name)
    }

    /// The type that ids of this type number are of.
    pub(super) fn type_numbered(&self, read: &Read, side: Side, number: u16) -> Option<TypeId> {
        let of = read.schema().side(side).get(number)?;
        self.model.side(side).find(number, &of.name)
    }

    pub(super) fn type_name(&self, side: Side, of: TypeId) -> &str {
        &self.model.side(side).get(of).name
    }

    pub(super) fn can(&self, side: Side, of: TypeId, grant: Grant) -> bool {
        self.restrictions.can(side, of, grant)
    }

    /// Whether the role may create something of a side.
    pub(super) fn can_create(&self, side: Side) -> bool {
        self.model.side(side).all().any(|(of, _)| self.can(side, of, Grant::Insert))
    }

    /// What the role writes into what it creates, or changes, of a type, whatever is asked; none where the session lacks a value
    /// of it.
    pub(super) fn presets(&self, (side, of): (Side, TypeId), is_new: bool) -> Option<Vec<(&str, Value<'_>)>> {
        let Some(restrictions) = self.restrictions.of(side, of) else { return Some(Vec::new()) };
        let rights = &restrictions.rights;
        let presets = if is_new { &rights.insert_set } else { &rights.update_set };
        let is_known = !lacks_value(presets, &self.variables);
        is_known.then(|| values(presets, &self.variables))
    }

    pub(super) fn write_access<'a>(&'a self, store: &'a Store) -> WriteAccess<'a> {
        WriteAccess::new(store, &self.model, Some(&self.restrictions), &self.variables)
    }

    /// Whether a property can be read. One that was declared after the role's schema was made cannot.
    pub(super) fn reads(&self, side: Side, of: TypeId, name: &str) -> bool {
        self.property(side, of, name)
            .is_some_and(|property| self.allows(side, of, PropertyUse::Read, property))
    }

    fn property(&self, side: Side, of: TypeId, name: &str) -> Option<&PropertyModel> {
        self.model.side(side).get(of).properties.iter().find(|known| *known.name == *name)
    }

    fn allows(&self, side: Side, of: TypeId, used: PropertyUse, property: &PropertyModel) -> bool {
        self.restrictions.of(side, of).is_some_and(|of| of.rights.allows(used, property))
    }
}

/// The graph at one moment, as far as a call may look at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallView<'r> {
    pub(super) read: &'r Read,
    /// Everything can be seen where there is none.
    role: Option<RoleView<'r>>,
}

#[derive(Debug, Clone, Copy)]
struct RoleView<'r> {
    access: &'r RoleAccess,
    view: View<'r>,
}

impl RoleView<'_> {
    /// Whether a property of something that can be seen can be read.
    fn reads(&self, thing: &Thing<'_>, name: &str) -> bool {
        let of = self.view.model_type(thing);
        of.is_some_and(|of| self.access.reads(side_of(thing), of, name))
    }
}

/// Looks at the graph for a role, or for who may see everything.
pub(super) fn with_view<T>(
    read: &Read,
    role: Option<&RoleAccess>,
    look: impl FnOnce(&CallView<'_>) -> T,
) -> T {
    let Some(access) = role else { return look(&CallView { read, role: None }) };
    let visible = Visible::new(&access.restrictions, &access.variables);
    let visible = visible.expect("the values fitted when the access was made");
    let searched = Searched::within(SearchBound::Unbounded);
    let view = View::new(read, &access.model, Some(&visible), &searched);
    look(&CallView { read, role: Some(RoleView { access, view }) })
}

impl<'r> CallView<'r> {
    pub(super) fn role(&self) -> Option<&'r RoleAccess> {
        self.role.map(|role| role.access)
    }

    /// The number of a type of which something can be seen.
    pub(super) fn type_number(&self, side: Side, name: &str) -> Option<u16> {
        let is_seen = self.role().is_none_or(|role| role.seen_type(side, name).is_some());
        is_seen.then(|| self.read.schema().side(side).number(name)).flatten()
    }

    /// The most items of a list of one type, or of all.
    pub(super) fn limit(&self, side: Side, of: Option<&str>) -> Option<u32> {
        let role = self.role()?;
        role.limit(side, of.and_then(|name| role.seen_type(side, name)))
    }

    pub(super) fn shows_node(&self, node: &Node<'_>) -> bool {
        self.shows(|| Thing::Node(*node))
    }

    pub(super) fn shows_relationship(&self, link: &Relationship<'_>) -> bool {
        self.shows(|| Thing::Relationship(*link))
    }

    fn shows<'t>(&self, thing: impl FnOnce() -> Thing<'t>) -> bool {
        self.role.is_none_or(|role| role.view.type_of(&thing()).is_some())
    }

    /// None where it is gone, or hidden.
    pub(super) fn node(&self, at: Ref) -> Option<Node<'r>> {
        self.read.node(at).filter(|node| self.shows_node(node))
    }

    /// None where it is gone, or hidden.
    pub(super) fn relationship(&self, at: Ref) -> Option<Relationship<'r>> {
        self.read.relationship(at).filter(|link| self.shows_relationship(link))
    }

    /// Whether a property of a type can be read of what can be seen.
    pub(super) fn reads_of_type(&self, side: Side, of: &str, name: &str) -> bool {
        let reads = |role: &RoleAccess| role.seen_type(side, of).is_some_and(|of| role.reads(side, of, name));
        self.role().is_none_or(reads)
    }

    pub(super) fn reads_of_node(&self, node: &Node<'_>, name: &str) -> bool {
        self.role.is_none_or(|role| role.reads(&Thing::Node(*node), name))
    }

    pub(super) fn reads_of_relationship(&self, link: &Relationship<'_>, name: &str) -> bool {
        self.role.is_none_or(|role| role.reads(&Thing::Relationship(*link), name))
    }

    /// Properties that can be read of a node that can be seen.
    pub(super) fn properties_of_node<'n>(
        &self,
        node: &'n Node<'r>,
    ) -> impl Iterator<Item = (&'r str, Value<'r>)> + use<'n, 'r, '_> {
        node.properties().filter(|(name, _)| self.reads_of_node(node, name))
    }

    pub(super) fn properties_of_relationship<'n>(
        &self,
        link: &'n Relationship<'r>,
    ) -> impl Iterator<Item = (&'r str, Value<'r>)> + use<'n, 'r, '_> {
        link.properties().filter(|(name, _)| self.reads_of_relationship(link, name))
    }

    /// A node that can be seen, with what can be read of it.
    pub(super) fn write_node(&self, out: &mut Vec<u8>, node: &Node<'r>) {
        if self.role.is_none() {
            write_node(out, node);
        } else {
            write_node_of(out, node, self.properties_of_node(node));
        }
    }

    pub(super) fn write_relationship(&self, out: &mut Vec<u8>, link: &Relationship<'r>) {
        if self.role.is_none() {
            write_relationship(out, link);
        } else {
            write_relationship_of(out, link, self.properties_of_relationship(link));
        }
    }

    /// Visits that the search of texts by patterns in the conditions of a role was worth since this was asked last.
    pub(super) fn take_searched_visits(&self) -> usize {
        self.role.map_or(0, |role| role.view.take_searched_visits())
    }
}

fn side_of(thing: &Thing<'_>) -> Side {
    match thing {
        Thing::Node(_) => Side::Nodes,
        Thing::Relationship(_) => Side::Relationships,
    }
}
