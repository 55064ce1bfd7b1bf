//! Writing an answer: from a node to what is around it, as JSON text straight from the store.

use prony_graph_store::{Ref, Side};
use prony_graphql::{budget::ResponseMeter, json};
use prony_source::dialect::write_integer;

use crate::{
    events::{Change, Operation},
    execute::{
        aggregate::Totals,
        bind::{BoundLists, Item},
        find::{Search, Stop},
        json_value,
        thing::Thing,
    },
    planning::plan::{
        Candidates, ChangeOutputKind, ChangePlan, ListAnswer, ListId, OutputKind, Plan, ShapeId,
    },
};

pub(crate) struct Walk<'q, 'r> {
    pub(crate) plan: &'q Plan,
    pub(crate) bound: &'q BoundLists<'q>,
    pub(crate) search: Search<'r>,
    pub(crate) out: Vec<u8>,
    pub(crate) meter: ResponseMeter,
    /// Nodes that an event tells of and that are no more; others may have their ids by now.
    pub(crate) gone: Vec<Ref>,
}

impl<'r> Walk<'_, 'r> {
    /// A list or an aggregate. `parent` is the node above.
    pub(crate) fn list(&mut self, id: ListId, parent: Option<Ref>) -> Result<(), Stop> {
        let plan = self.plan;
        let (list, bound) = (plan.list(id), &self.bound.0[id.0]);
        let shape = match &list.answer {
            ListAnswer::Aggregate(_) => return self.aggregate(id, parent),
            ListAnswer::Items { shape, .. } => *shape,
        };
        let items = if self.is_gone(parent) { Vec::new() } else { self.search.items(list, bound, parent)? };
        self.out.push(b'[');
        let mut is_first = true;
        for item in items {
            let before = self.out.len();
            if !is_first {
                self.out.push(b',');
            }
            if self.object(item, shape)? {
                is_first = false;
            } else {
                self.out.truncate(before);
            }
        }
        self.out.push(b']');
        Ok(())
    }

    /// False, and nothing is written, where it is gone by now.
    pub(crate) fn object(&mut self, item: Item, shape: ShapeId) -> Result<bool, Stop> {
        self.search.visit()?;
        self.meter.check(self.out.len()).map_err(Stop::TooLarge)?;
        let read = self.search.view.read;
        let thing = match item {
            Item::Node(at) => read.node(at).map(Thing::Node),
            Item::Relationship { at, .. } => read.relationship(at).map(Thing::Relationship),
        };
        let Some(thing) = thing else { return Ok(false) };
        self.thing(thing, item, shape)
    }

    /// As [`Self::object`], of what is looked at already.
    fn thing(&mut self, thing: Thing<'r>, item: Item, shape: ShapeId) -> Result<bool, Stop> {
        let Some(of) = self.search.view.type_of(&thing) else { return Ok(false) };
        let (plan, model) = (self.plan, self.search.view.model);
        self.out.push(b'{');
        for output in plan.shape(shape).outputs(of) {
            self.out.extend_from_slice(&output.prefix);
            match &output.kind {
                OutputKind::Typename => {
                    let side =
                        if matches!(thing, Thing::Node(_)) { Side::Nodes } else { Side::Relationships };
                    json::write_string(&mut self.out, &model.side(side).get(of).type_name);
                }
                OutputKind::Property(name, kind) => match thing.property(name) {
                    Some(value) if value.kind() == *kind => json_value::write(&mut self.out, &value),
                    _ => self.out.extend_from_slice(b"null"),
                },
                kind => self.member(kind, &thing, item)?,
            }
        }
        self.out.push(b'}');
        Ok(true)
    }

    fn member(&mut self, kind: &OutputKind, thing: &Thing<'r>, item: Item) -> Result<(), Stop> {
        match (kind, thing, item) {
            (OutputKind::Id, ..) => write_integer(&mut self.out, thing.at().id()),
            (OutputKind::Type, Thing::Node(node), _) => json::write_string(&mut self.out, &node.of.name),
            (OutputKind::Type, Thing::Relationship(of), _) => json::write_string(&mut self.out, &of.of.name),
            (OutputKind::Key, Thing::Node(node), _) => json::write_string(&mut self.out, node.key),
            (OutputKind::List(id), ..) => self.list(*id, Some(thing.at()))?,
            (OutputKind::Degree(around), ..) => {
                let is_gone = self.is_gone(Some(thing.at()));
                let degree = if is_gone { 0 } else { self.search.degree(thing.at(), around)? };
                write_integer(&mut self.out, degree);
            }
            (OutputKind::From(shape), Thing::Relationship(of), _) => self.nullable(of.from, *shape)?,
            (OutputKind::To(shape), Thing::Relationship(of), _) => self.nullable(of.to, *shape)?,
            (OutputKind::Other(shape), _, Item::Relationship { other, .. }) => {
                self.nullable(other, *shape)?;
            }
            _ => unreachable!("nodes are asked for what nodes have, and relationships for theirs"),
        }
        Ok(())
    }

    /// An event: what was done, and the node or relationship as the change has left it.
    pub(crate) fn change(&mut self, wanted: &ChangePlan, change: &'r Change) -> Result<(), Stop> {
        let thing = change.thing();
        let item = match thing {
            Thing::Node(node) => {
                let is_there = self.search.view.read.node(node.at).is_some_and(|now| now.key == node.key);
                let is_gone = !is_there || change.operation == Operation::Delete;
                self.gone = if is_gone { vec![node.at] } else { Vec::new() };
                Item::Node(node.at)
            }
            Thing::Relationship(of) => {
                self.gone = change.gone(self.search.view.read);
                Item::Relationship { at: of.at, other: of.to }
            }
        };
        self.out.push(b'{');
        for output in &wanted.outputs {
            self.out.extend_from_slice(&output.prefix);
            match &output.kind {
                ChangeOutputKind::Typename(name) => json::write_string(&mut self.out, name),
                ChangeOutputKind::Operation => json::write_string(&mut self.out, change.operation.name()),
                ChangeOutputKind::Thing(shape) => {
                    if !self.thing(thing, item, *shape)? {
                        self.out.extend_from_slice(b"null");
                    }
                }
            }
        }
        self.out.push(b'}');
        Ok(())
    }

    fn is_gone(&self, parent: Option<Ref>) -> bool {
        parent.is_some_and(|parent| self.gone.contains(&parent))
    }

    fn nullable(&mut self, node: Ref, shape: ShapeId) -> Result<(), Stop> {
        if self.is_gone(Some(node)) || !self.object(Item::Node(node), shape)? {
            self.out.extend_from_slice(b"null");
        }
        Ok(())
    }

    fn aggregate(&mut self, id: ListId, parent: Option<Ref>) -> Result<(), Stop> {
        let (list, bound) = (self.plan.list(id), &self.bound.0[id.0]);
        let ListAnswer::Aggregate(outputs) = &list.answer else { return Ok(()) };
        let mut totals = Totals::new(outputs);
        let Candidates { side, only, ref around } = list.candidates;
        // The store knows how many there are of a type.
        if let (None, Some(only), true, true) =
            (around, only, bound.filter.is_everything(), totals.only_counts())
            && self.search.view.shows_all_of(side, only)
        {
            let name = &self.search.view.model.side(side).get(only).name;
            let number = self.search.view.read.schema().side(side).number(name);
            totals.set_count(number.map_or(0, |number| self.search.view.read.count(side, Some(number))));
        } else if !self.is_gone(parent) {
            self.search.each(list, bound, parent, |thing, _, _| {
                totals.add(&thing);
                Ok(true)
            })?;
        }
        totals.write(&mut self.out);
        Ok(())
    }
}
