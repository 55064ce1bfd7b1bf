//! Looks at the graph: nodes, relationships and what is around them, in the orders that clients are promised.

use crate::change::Side;
use crate::codec::Input;
use crate::id::{Ref, SHARDS};
use crate::links::Direction;
use crate::memory::Memory;
use crate::schema::{Schema, Type};
use crate::value::{Properties, Value, read_properties};
use crossbeam_epoch::Guard;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Acquire;

/// A look at the graph. Cheap to make; memory that writers replace is kept for as long as it lives, so it should not
/// live long. Stays on its thread.
pub struct Read {
    guard: Guard,
    memory: Arc<Memory>,
    schema: Arc<Schema>,
}

/// A node as it was when it was looked at.
#[derive(Debug, Clone, Copy)]
pub struct Node<'r> {
    pub at: Ref,
    pub of: &'r Type,
    pub key: &'r str,
    properties: &'r [u8],
}

#[derive(Debug, Clone, Copy)]
pub struct Relationship<'r> {
    pub at: Ref,
    pub of: &'r Type,
    pub from: Ref,
    pub to: Ref,
    properties: &'r [u8],
}

/// Which relationships of a node are meant.
#[derive(Debug, Clone, Copy, Default)]
pub struct Around<'a> {
    /// Both where none is named.
    pub direction: Option<Direction>,
    /// All where none is named; unknown ones have no relationships.
    pub types: Option<&'a [&'a str]>,
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Read")
    }
}

impl Read {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        let guard = crossbeam_epoch::pin();
        let schema = memory.schema.load_full();
        Self { guard, memory, schema }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    pub fn node(&self, at: Ref) -> Option<Node<'_>> {
        let of = self.schema.side(Side::Nodes).get(at.type_number())?;
        let (key, properties) = self.memory.node(at, &self.guard)?;
        Some(Node { at, of, key, properties })
    }

    pub fn find(&self, type_name: &str, key: &str) -> Option<Node<'_>> {
        let types = self.schema.side(Side::Nodes);
        let number = types.number(type_name)?;
        self.node(self.memory.find(types.get(number)?, number, key, &self.guard)?)
    }

    pub fn relationship(&self, at: Ref) -> Option<Relationship<'_>> {
        let of = self.schema.side(Side::Relationships).get(at.type_number())?;
        let ends = self.memory.relationship(at, &self.guard)?;
        Some(Relationship { at, of, from: ends.from, to: ends.to, properties: ends.properties })
    }

    /// All nodes, or those of one type, by type, shard and index.
    pub fn nodes(&self, type_number: Option<u16>) -> impl Iterator<Item = Node<'_>> {
        let places = self.places(Side::Nodes, type_number, |number, shard| {
            self.memory.node_shard(number, shard).map_or(0, |nodes| nodes.end.load(Acquire))
        });
        places.filter_map(|at| self.node(at))
    }

    /// As [`Self::nodes`].
    pub fn relationships(&self, type_number: Option<u16>) -> impl Iterator<Item = Relationship<'_>> {
        let places = self.places(Side::Relationships, type_number, |number, shard| {
            self.memory.relationship_shard(number, shard).map_or(0, |all| all.end.load(Acquire))
        });
        places.filter_map(|at| self.relationship(at))
    }

    fn places<'r>(
        &'r self,
        side: Side,
        type_number: Option<u16>,
        end: impl Fn(u16, u8) -> u32 + 'r,
    ) -> impl Iterator<Item = Ref> + 'r {
        let numbers = self.schema.side(side).all().map(|(number, _)| number);
        let numbers = numbers.filter(move |number| type_number.is_none_or(|wanted| wanted == *number));
        numbers.flat_map(|number| (0..SHARDS as u8).map(move |shard| (number, shard))).flat_map(
            move |(number, shard)| (0..end(number, shard)).map(move |index| Ref::new(number, shard, index)),
        )
    }

    /// How many there are of a type, or of all.
    pub fn count(&self, side: Side, type_number: Option<u16>) -> u64 {
        match type_number {
            Some(number) => self.memory.living(side, number),
            None => self.schema.side(side).all().map(|(number, _)| self.memory.living(side, number)).sum(),
        }
    }

    /// The relationships of a node with the direction in which each is its own: by shard, outgoing before incoming, then
    /// by type, by the other node's id and by their own. A loop is there twice where no direction is named.
    pub fn around(&self, node: Ref, around: Around<'_>) -> Vec<(Direction, Relationship<'_>)> {
        let mut found = Vec::new();
        let guard = &self.guard;
        let mut take = |link: crate::links::Link| {
            let Some(relationship) = self.relationship(link.relationship) else { return };
            // A slot that was filled again since the link was read belongs to another node.
            let own = match link.direction {
                Direction::Outgoing => relationship.from,
                Direction::Incoming => relationship.to,
            };
            if own == node {
                found.push((link.direction, relationship));
            }
        };
        match self.groups(around) {
            None => self.memory.links_of(node, None, guard, |link| {
                if around.direction.is_none_or(|direction| direction == link.direction) {
                    take(link);
                }
            }),
            Some(groups) => {
                for group in groups {
                    self.memory.links_of(node, Some(group), guard, &mut take);
                }
            }
        }
        let key = |(direction, of): &(Direction, Relationship<'_>)| {
            let other = if *direction == Direction::Outgoing { of.to } else { of.from };
            (of.at.shard(), *direction, of.at.type_number(), other.id(), of.at.id())
        };
        found.sort_unstable_by_key(key);
        found
    }

    /// Of a node with many relationships without walking them.
    pub fn degree(&self, node: Ref, around: Around<'_>) -> u64 {
        let directions = around
            .direction
            .map_or(vec![Direction::Outgoing, Direction::Incoming], |direction| vec![direction]);
        let degree = |direction, of| self.memory.degree(node, direction, of, &self.guard);
        match self.groups(around) {
            None => directions.into_iter().map(|direction| degree(direction, None)).sum(),
            Some(groups) => groups.into_iter().map(|(direction, of)| degree(direction, Some(of))).sum(),
        }
    }

    /// The directions and types that are meant, each once; none where all types are.
    fn groups(&self, around: Around<'_>) -> Option<Vec<(Direction, u16)>> {
        let types = self.schema.side(Side::Relationships);
        let mut numbers: Vec<u16> = around.types?.iter().filter_map(|name| types.number(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let directions = [Direction::Outgoing, Direction::Incoming];
        let directions =
            directions.into_iter().filter(|of| around.direction.is_none_or(|wanted| wanted == *of));
        Some(
            directions.flat_map(|direction| numbers.iter().map(move |number| (direction, *number))).collect(),
        )
    }
}

impl<'r> Node<'r> {
    /// Sorted by name.
    pub fn properties(&self) -> impl Iterator<Item = (&'r str, Value<'r>)> {
        named(self.of, self.properties)
    }

    pub fn property(&self, name: &str) -> Option<Value<'r>> {
        value_of(self.of, self.properties, name)
    }
}

impl<'r> Relationship<'r> {
    /// Sorted by name.
    pub fn properties(&self) -> impl Iterator<Item = (&'r str, Value<'r>)> {
        named(self.of, self.properties)
    }

    pub fn property(&self, name: &str) -> Option<Value<'r>> {
        value_of(self.of, self.properties, name)
    }
}

pub(crate) fn decode(properties: &[u8]) -> Properties<'_> {
    read_properties(&mut Input::new(properties)).expect("properties are written by this store alone")
}

/// They were sorted by name when they were written, and names do not change.
fn named<'r>(of: &'r Type, properties: &'r [u8]) -> impl Iterator<Item = (&'r str, Value<'r>)> {
    decode(properties).into_iter().filter_map(|(number, value)| Some((&**of.property(number)?.0, value)))
}

fn value_of<'r>(of: &Type, properties: &'r [u8], name: &str) -> Option<Value<'r>> {
    let number = of.properties.get(name)?.number;
    decode(properties).into_iter().find(|(of, _)| *of == number).map(|(_, value)| value)
}
