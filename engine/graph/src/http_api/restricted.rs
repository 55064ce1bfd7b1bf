//! Calls of those who may not do everything: single nodes and relationships with what can be seen of them. Whatever else there is
//! is refused.

use std::cell::Cell;

use prony_graph_store::{Read, Side};
use prony_graphql::{json::write_string, variables::Variables};
use prony_source::http_api::{ApiRequest, ApiResponse};

use super::{
    error::CallError,
    json::{begin_ok, write_member, write_node_of, write_properties, write_relationship_of},
    path::{self, Call, NodeName, Owner},
    read::{find, relationship},
};
use crate::{
    databases::DEFAULT_DATABASE,
    execute::{
        thing::Thing,
        view::{View, Visible},
    },
    planning::{restrict::Restrictions, rights::PropertyUse},
    schema::model::{Model, TypeId},
};

/// What is served of the default database.
pub(crate) struct RestrictedRead<'r> {
    pub(crate) read: &'r Read,
    pub(crate) model: &'r Model,
    pub(crate) restrictions: &'r Restrictions,
    pub(crate) variables: &'r Variables,
}

impl RestrictedRead<'_> {
    /// Responds to a request, or says that it is refused.
    pub(crate) fn respond(&self, request: &ApiRequest<'_>, response: &mut ApiResponse) -> bool {
        let rest = request.path.strip_prefix("/db/").and_then(|rest| rest.strip_prefix(DEFAULT_DATABASE));
        let call = rest.and_then(|rest| rest.strip_prefix('/')).map(path::read);
        let Some(Ok(call)) = call else { return false };
        if !path::is_read(request.method) {
            return false;
        }
        let (owner, is_whole) = match &call {
            Call::Node(name) => (Owner::Node(name.clone()), true),
            Call::Relationship(id) => (Owner::Relationship(*id), true),
            Call::Properties(owner) | Call::Property(owner, _) => (owner.clone(), false),
            _ => return false,
        };
        let Ok(visible) = Visible::new(self.restrictions, self.variables) else { return false };
        let searched_bytes = Cell::new(0);
        let view = View::new(self.read, self.model, Some(&visible), &searched_bytes);
        let found = self.find(&owner).and_then(|thing| Some((thing, view.type_of(&thing)?)));
        match (found, call) {
            (None, _) if is_whole => CallError::NotFound.write(response),
            (Some((thing, of)), Call::Node(_) | Call::Relationship(_)) => {
                self.write_whole(begin_ok(response), &thing, of);
            }
            (found, Call::Properties(_)) => {
                let body = begin_ok(response);
                match found {
                    Some((thing, of)) => self.write_properties(body, &thing, of),
                    None => body.extend_from_slice(b"{}"),
                }
            }
            (found, Call::Property(_, name)) => {
                let found = found.filter(|(thing, of)| self.reads(thing, *of, &name));
                let value = found.and_then(|(thing, _)| thing.property(&name));
                let body = begin_ok(response);
                body.push(b'{');
                if let Some(value) = value {
                    write_member(body, &name, &value);
                } else {
                    write_string(body, &name);
                    body.extend_from_slice(b": null");
                }
                body.push(b'}');
            }
            _ => return false,
        }
        true
    }

    fn find(&self, owner: &Owner<'_>) -> Option<Thing<'_>> {
        match owner {
            Owner::Node(name @ (NodeName::Key(..) | NodeName::Id(_))) => {
                find(self.read, name).map(Thing::Node)
            }
            Owner::Relationship(id) => relationship(self.read, *id).map(Thing::Relationship),
        }
    }

    /// Whether a property can be read; one that was declared after the role's schema was made cannot.
    fn reads(&self, thing: &Thing<'_>, of: TypeId, name: &str) -> bool {
        let side = side_of(thing);
        let property = self.model.side(side).get(of).properties.iter().find(|known| *known.name == *name);
        let restrictions = self.restrictions.of(side, of);
        property.zip(restrictions).is_some_and(|(property, of)| of.rights.allows(PropertyUse::Read, property))
    }

    fn write_whole(&self, body: &mut Vec<u8>, thing: &Thing<'_>, of: TypeId) {
        match thing {
            Thing::Node(node) => {
                write_node_of(body, node, node.properties().filter(|(name, _)| self.reads(thing, of, name)));
            }
            Thing::Relationship(link) => {
                let shown = link.properties().filter(|(name, _)| self.reads(thing, of, name));
                write_relationship_of(body, link, shown);
            }
        }
    }

    fn write_properties(&self, body: &mut Vec<u8>, thing: &Thing<'_>, of: TypeId) {
        match thing {
            Thing::Node(node) => {
                write_properties(body, node.properties().filter(|(name, _)| self.reads(thing, of, name)));
            }
            Thing::Relationship(link) => {
                write_properties(body, link.properties().filter(|(name, _)| self.reads(thing, of, name)));
            }
        }
    }
}

fn side_of(thing: &Thing<'_>) -> Side {
    match thing {
        Thing::Node(_) => Side::Nodes,
        Thing::Relationship(_) => Side::Relationships,
    }
}
