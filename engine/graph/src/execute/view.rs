//! What a request may look at: the graph at one moment, without what is hidden from it; and which nodes and relationships
//! of it pass a filter. How answers combine is SQL's, where what is asked of a missing property is neither true nor false.

use prony_graph_store::{Node, Read, Ref, Relationship, Side, Value};
use prony_graphql::{error::GraphqlError, variables::Variables};

use crate::{
    execute::{filter::Bound, searched::Searched, thing::Thing},
    planning::{filter::Filter, restrict::Restrictions},
    schema::model::{Model, TypeId},
};

/// Bytes of text that are searched by a pattern in about the time of a visit.
pub(crate) const BYTES_PER_VISIT: usize = 256;

/// Filters of what can be seen, with the values of one request; none for a type of which nothing can be seen.
#[derive(Debug)]
pub(crate) struct Visible<'v> {
    nodes: Vec<Option<Bound<'v>>>,
    relationships: Vec<Option<Bound<'v>>>,
}

impl<'v> Visible<'v> {
    pub(crate) fn new(
        restrictions: &'v Restrictions,
        variables: &'v Variables,
    ) -> Result<Self, GraphqlError> {
        let side = |side| {
            let each = restrictions.side(side).iter();
            let each = each.map(|of| of.as_ref().map(|of| Bound::new(&of.read, variables)).transpose());
            each.collect::<Result<_, _>>()
        };
        Ok(Self { nodes: side(Side::Nodes)?, relationships: side(Side::Relationships)? })
    }

    fn of(&self, side: Side, of: TypeId) -> Option<&Bound<'v>> {
        let types = match side {
            Side::Nodes => &self.nodes,
            Side::Relationships => &self.relationships,
        };
        types.get(usize::from(of.0))?.as_ref()
    }
}

/// The graph as far as it can be seen. A relationship is seen where both its ends are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'r> {
    pub(crate) read: &'r Read,
    pub(crate) model: &'r Model,
    /// Everything can be seen where there is none.
    visible: Option<&'r Visible<'r>>,
    searched: &'r Searched,
    /// Nodes that are not there, whatever has their ids by now.
    gone: &'r [Ref],
}

impl<'r> View<'r> {
    pub(crate) fn new(
        read: &'r Read,
        model: &'r Model,
        visible: Option<&'r Visible<'r>>,
        searched: &'r Searched,
    ) -> Self {
        Self { read, model, visible, searched, gone: &[] }
    }

    /// The same without nodes that went: others may have their ids by now.
    pub(crate) fn without(self, gone: &'r [Ref]) -> Self {
        Self { gone, ..self }
    }

    /// The type of something, where the request's schema has it and the thing can be seen.
    pub(crate) fn type_of(&self, thing: &Thing<'_>) -> Option<TypeId> {
        let of = self.model_type(thing)?;
        self.shows(thing, of).then_some(of)
    }

    /// The type of something, where the request's schema has it.
    pub(crate) fn model_type(&self, thing: &Thing<'_>) -> Option<TypeId> {
        match thing {
            Thing::Node(node) => self.model.nodes.find(node.at.type_number(), &node.of.name),
            Thing::Relationship(of) => self.model.relationships.find(of.at.type_number(), &of.of.name),
        }
    }

    /// Visits that are worth what was searched by patterns, and compared with many values, since this was asked last.
    pub(crate) fn take_searched_visits(&self) -> usize {
        self.searched.take() / BYTES_PER_VISIT
    }

    /// Whether a search had to stop in its text: what was found is not known then.
    pub(crate) fn is_cut(&self) -> bool {
        self.searched.is_cut()
    }

    fn shows(&self, thing: &Thing<'_>, of: TypeId) -> bool {
        let Some(visible) = self.visible else { return true };
        let side = if matches!(thing, Thing::Node(_)) { Side::Nodes } else { Side::Relationships };
        let everything = Self { visible: None, ..*self };
        let passes = |filter: &Bound<'_>| filter.is_everything() || filter.passes(thing, &everything);
        visible.of(side, of).is_some_and(passes)
            && match thing {
                Thing::Node(_) => true,
                Thing::Relationship(link) => {
                    self.node(link.from).is_some() && (link.from == link.to || self.node(link.to).is_some())
                }
            }
    }

    /// None where it is gone, or hidden.
    pub(crate) fn node(&self, at: Ref) -> Option<Node<'r>> {
        if self.gone.contains(&at) {
            return None;
        }
        let node = self.read.node(at)?;
        (self.visible.is_none() || self.type_of(&Thing::Node(node)).is_some()).then_some(node)
    }

    /// Whether nothing of a type is hidden from it.
    pub(crate) fn shows_all_of(&self, side: Side, of: TypeId) -> bool {
        match self.visible {
            None => true,
            // What is hidden at its ends hides a relationship.
            Some(visible) => side == Side::Nodes && visible.of(side, of).is_some_and(Bound::is_everything),
        }
    }

    /// Whether all relationships around a node are seen: then the store knows their number.
    pub(crate) fn shows_all_around(&self) -> bool {
        self.visible.is_none()
    }

    /// Whether a node or relationship passes a filter of a restriction, which looks at everything.
    pub(crate) fn passes(
        &self,
        filter: &Filter,
        variables: &Variables,
        thing: &Thing<'_>,
    ) -> Result<bool, GraphqlError> {
        let everything = Self { visible: None, ..*self };
        Ok(filter.is_everything() || Bound::new(filter, variables)?.passes(thing, &everything))
    }
}

impl Bound<'_> {
    /// Only what is certain passes.
    pub(crate) fn passes(&self, thing: &Thing<'_>, view: &View<'_>) -> bool {
        self.holds(thing, view) == Some(true)
    }

    /// None where it is neither true nor false.
    fn holds(&self, thing: &Thing<'_>, view: &View<'_>) -> Option<bool> {
        match self {
            Self::Unknown => None,
            Self::All(parts) => combine(parts.iter().map(|part| part.holds(thing, view)), false),
            Self::Any(parts) => combine(parts.iter().map(|part| part.holds(thing, view)), true),
            Self::Not(filter) => filter.holds(thing, view).map(|holds| !holds),
            Self::IsNull(subject, is_null) => Some(thing.value(subject).is_none() == *is_null),
            Self::Test(subject, condition) => {
                let found = thing.value(subject)?;
                view.searched.note(condition.cost(&found));
                Some(condition.holds(Some(&found)))
            }
            Self::Like(subject, pattern) => match thing.value(subject)? {
                Value::String(text) => view.searched.matches(pattern, &text),
                _ => Some(false),
            },
            Self::From(filter) => holds_at(filter, thing, view, |relationship| relationship.from),
            Self::To(filter) => holds_at(filter, thing, view, |relationship| relationship.to),
        }
    }
}

fn holds_at(
    filter: &Bound<'_>,
    thing: &Thing<'_>,
    view: &View<'_>,
    end: impl Fn(&Relationship<'_>) -> Ref,
) -> Option<bool> {
    let Thing::Relationship(relationship) = thing else { return None };
    filter.holds(&Thing::Node(view.node(end(relationship))?), view)
}

/// All of them, or where `decisive` is true any of them: a decisive one decides, else an unknown one leaves it open.
fn combine(parts: impl Iterator<Item = Option<bool>>, decisive: bool) -> Option<bool> {
    let mut is_open = false;
    for part in parts {
        match part {
            Some(holds) if holds == decisive => return Some(decisive),
            Some(_) => {}
            None => is_open = true,
        }
    }
    (!is_open).then_some(!decisive)
}
