//! What was changed, for those who listen: made of what the log was given and of what would have taken it back, so that
//! it costs nothing where nobody listens.

use crate::memory::Memory;
use crate::memory::undo::Undo;
use crate::read::{Node, Relationship};
use crate::types::change::{Change, Side};
use crate::types::id::Ref;
use crate::types::schema::{Schema, Type};
use crossbeam_epoch::Guard;
use prony_log::codec::Input;
use prony_log::register::Register;
use std::sync::Arc;

/// A change that is as durable as the store was opened for.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// New where there was none before, deleted where there is none after.
    Node { before: Option<Node<'a>>, after: Option<Node<'a>> },
    Relationship {
        before: Option<Relationship<'a>>,
        after: Option<Relationship<'a>>,
        /// The keys of the nodes where it starts and ends, of those that are there as this is told: others may have their ids later.
        end_keys: [Option<&'a str>; 2],
    },
    /// Types, declared properties or indexes have changed; `number` is the type's, and `schema` what there is afterwards.
    Schema { side: Side, number: u16, schema: &'a Arc<Schema> },
    /// Nothing is left, types included. The nodes and relationships that went are not told of one by one.
    Cleared,
}

pub(crate) type Listener = dyn Fn(&[Event<'_>]) + Send + Sync;

/// Tells of the changes of a frame from one of them on.
pub(crate) fn tell(
    listeners: &Register<Listener>,
    memory: &Memory,
    payload: &[u8],
    undo: &Undo,
    first: usize,
    schema: Arc<Schema>,
) {
    let mut schemas = vec![schema];
    let steps = steps(payload, undo, first, &mut schemas);
    let guard = crossbeam_epoch::pin();
    let events: Vec<_> = steps.iter().filter_map(|step| step.event(&schemas, memory, &guard)).collect();
    if !events.is_empty() {
        listeners.each(|listener| listener(&events));
    }
}

/// A change with what it replaced, and the number of the schema after it.
struct LoggedChange<'a> {
    change: Change<'a>,
    inverse: Option<Change<'a>>,
    schema: usize,
}

fn steps<'a>(
    payload: &'a [u8],
    undo: &'a Undo,
    first: usize,
    schemas: &mut Vec<Arc<Schema>>,
) -> Vec<LoggedChange<'a>> {
    let mut input = Input::new(payload);
    let mut steps = Vec::new();
    for (number, inverse) in undo.inverses().enumerate() {
        let change = Change::read(&mut input).expect("a frame has as many changes as can be taken back");
        if number < first {
            continue;
        }
        if change.is_of_schema() {
            let mut schema = Schema::clone(&schemas[schemas.len() - 1]);
            schema.make(&change, false);
            schemas.push(Arc::new(schema));
        }
        steps.push(LoggedChange { change, inverse, schema: schemas.len() - 1 });
    }
    steps
}

impl<'a> LoggedChange<'a> {
    fn event(&self, schemas: &'a [Arc<Schema>], memory: &'a Memory, guard: &'a Guard) -> Option<Event<'a>> {
        let schema = &schemas[self.schema];
        let event = match self.change {
            Change::Clear => Event::Cleared,
            Change::PutNode { .. } | Change::DropNode { .. } => Event::Node {
                before: self.inverse.and_then(|inverse| node(schema, inverse)),
                after: node(schema, self.change),
            },
            Change::PutRelationship { .. } | Change::DropRelationship { .. } => {
                let before = self.inverse.and_then(|inverse| relationship(schema, inverse));
                let after = relationship(schema, self.change);
                let key = |end| memory.node(end, guard).map(|(key, _)| key);
                let end_keys = after.or(before).map_or([None; 2], |of| [of.from, of.to].map(key));
                Event::Relationship { before, after, end_keys }
            }
            Change::Type { side, number, .. } | Change::DropType { side, number } => {
                Event::Schema { side, number, schema }
            }
            Change::Property { side, of, .. }
            | Change::DropProperty { side, of, .. }
            | Change::Index { side, of, .. }
            | Change::DropIndex { side, of, .. } => Event::Schema { side, number: of, schema },
        };
        let is_nothing = matches!(
            event,
            Event::Node { before: None, after: None } | Event::Relationship { before: None, after: None, .. }
        );
        (!is_nothing).then_some(event)
    }
}

fn of(schema: &Schema, side: Side, at: Ref) -> Option<&Type> {
    schema.side(side).get(at.type_number()).map(|of| &**of)
}

fn node<'a>(schema: &'a Schema, change: Change<'a>) -> Option<Node<'a>> {
    match change {
        Change::PutNode { at, key, properties } => {
            Some(Node { at, of: of(schema, Side::Nodes, at)?, key, properties })
        }
        _ => None,
    }
}

fn relationship<'a>(schema: &'a Schema, change: Change<'a>) -> Option<Relationship<'a>> {
    match change {
        Change::PutRelationship { at, from, to, properties } => {
            Some(Relationship { at, of: of(schema, Side::Relationships, at)?, from, to, properties })
        }
        _ => None,
    }
}
