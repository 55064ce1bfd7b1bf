//! Looks at the graph: nodes, relationships and what is around them, in the orders that clients are promised.

use crate::index::property_index::Lookup;
use crate::memory::links::{Direction, Link};
use crate::memory::stamps::{Looked, StampPlace};
use crate::memory::{Memory, parts, place};
use crate::types::change::Side;
use crate::types::condition::Condition;
use crate::types::filter::Filter;
use crate::types::id::Ref;
use crate::types::schema::{Schema, Type};
use crate::types::value::{Properties, Value, find_property};
use crossbeam_epoch::Guard;
use prony_log::ticket::Ticket;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A look at the graph. Cheap to make; memory that writers replace is kept for as long as it lives, so it should not
/// live long. Stays on its thread.
pub struct Read {
    guard: Guard,
    // Borrowed, because a counted reference would be written to by all processors.
    memory: arc_swap::Guard<Arc<Memory>>,
    schema: arc_swap::Guard<Arc<Schema>>,
    looked: Looked,
}

/// A node as it was when it was looked at.
#[derive(Debug, Clone, Copy)]
pub struct Node<'r> {
    pub at: Ref,
    pub of: &'r Type,
    pub key: &'r str,
    pub(crate) properties: &'r [u8],
}

#[derive(Debug, Clone, Copy)]
pub struct Relationship<'r> {
    pub at: Ref,
    pub of: &'r Type,
    pub from: Ref,
    pub to: Ref,
    pub(crate) properties: &'r [u8],
}

/// What an index names is taken from it up to this part of all nodes or relationships of a type, and this many more.
const WALKED_PART: u64 = 16;
const WALKED_MIN: u64 = 1000;

/// An index names more than may be collected at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManyNamed;

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
    pub(crate) fn new(memory: arc_swap::Guard<Arc<Memory>>) -> Self {
        let guard = crossbeam_epoch::pin();
        let schema = memory.schema.load();
        Self { guard, memory, schema, looked: Looked::default() }
    }

    /// The last write that has changed any of what was looked at, or a later one; none where that is not known.
    pub(crate) fn last_changed(&self) -> Option<Ticket> {
        self.looked.last_changed(&self.memory.stamps)
    }

    /// Called after the place was read, as [`Looked::at`] wants it.
    fn looked_at(&self, place: StampPlace) {
        self.looked.at(place, &self.memory.stamps);
    }

    /// Called after what may be hidden, because a node of it is deleted, was read.
    fn looked_for_deleted(&self) {
        if !self.memory.detaches_none() {
            self.looked.at_all();
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The same, to be kept.
    pub fn shared_schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    pub fn node(&self, at: Ref) -> Option<Node<'_>> {
        let of = self.schema.side(Side::Nodes).get(at.type_number())?;
        let found = self.memory.node(at, &self.guard);
        self.looked_at(StampPlace::of_node(at));
        let (key, properties) = found?;
        Some(Node { at, of, key, properties })
    }

    pub fn find(&self, type_name: &str, key: &str) -> Option<Node<'_>> {
        let (number, of) = self.schema.side(Side::Nodes).find(type_name)?;
        let (hash, shard) = place(&of.name, key);
        let found = self.memory.find_body((number, (hash, shard)), key, &self.guard);
        self.looked_at(StampPlace::of_key(hash));
        let (at, body) = found?;
        self.looked_at(StampPlace::of_node(at));
        let (key, properties) = parts(body);
        Some(Node { at, of, key, properties })
    }

    pub fn relationship(&self, at: Ref) -> Option<Relationship<'_>> {
        let found = self.relationship_of_node(at);
        self.looked_at(StampPlace::of_relationship(at));
        self.looked_for_deleted();
        found
    }

    /// As [`Self::relationship`], where a node of it was looked at, whose stamp is set with that of each of its relationships.
    fn relationship_of_node(&self, at: Ref) -> Option<Relationship<'_>> {
        let of = self.schema.side(Side::Relationships).get(at.type_number())?;
        let ends = self.memory.shown_relationship(at, &self.guard)?;
        Some(Relationship { at, of, from: ends.from, to: ends.to, properties: ends.properties })
    }

    /// All nodes, or those of one type, by type, shard and index.
    pub fn nodes(&self, type_number: Option<u16>) -> impl Iterator<Item = Node<'_>> {
        self.numbers(Side::Nodes, type_number)
            .flat_map(|number| self.slots(Side::Nodes, number))
            .filter_map(|at| self.node(at))
    }

    /// As [`Self::nodes`].
    pub fn relationships(&self, type_number: Option<u16>) -> impl Iterator<Item = Relationship<'_>> {
        self.numbers(Side::Relationships, type_number)
            .flat_map(|number| self.slots(Side::Relationships, number))
            .filter_map(|at| self.relationship(at))
    }

    /// Those nodes that fulfil all conditions, in the order of [`Self::nodes`]; looked for as they are asked for. An index
    /// on one of the properties is used for equality, ranges, beginnings of strings and lists of values. While writers
    /// change a value, a node may be missed whose value fulfils the conditions before and after.
    pub fn nodes_where<'r>(
        &'r self,
        type_number: Option<u16>,
        conditions: &'r [Condition<'r>],
    ) -> impl Iterator<Item = Node<'r>> {
        let filters = self.filters(Side::Nodes, type_number, conditions);
        filters.flat_map(move |(number, filter)| {
            let nodes = self.all_candidates(Side::Nodes, number, &filter).filter_map(|at| self.node(at));
            nodes.filter(move |node| filter.holds(node.properties))
        })
    }

    /// As [`Self::nodes_where`].
    pub fn relationships_where<'r>(
        &'r self,
        type_number: Option<u16>,
        conditions: &'r [Condition<'r>],
    ) -> impl Iterator<Item = Relationship<'r>> {
        let filters = self.filters(Side::Relationships, type_number, conditions);
        filters.flat_map(move |(number, filter)| {
            let candidates = self.all_candidates(Side::Relationships, number, &filter);
            let all = candidates.filter_map(|at| self.relationship(at));
            all.filter(move |one| filter.holds(one.properties))
        })
    }

    /// Nodes of a type among which are all that fulfil the conditions: those that an index names, or all of them. For those
    /// who count what they look at, and hold the conditions themselves.
    ///
    /// # Errors
    /// An index names more than `collected_max`, which would have to be put in order first.
    pub fn candidate_nodes<'r>(
        &'r self,
        number: u16,
        conditions: &[Condition<'_>],
        collected_max: usize,
    ) -> Result<impl Iterator<Item = Node<'r>> + use<'r>, ManyNamed> {
        let slots = self.candidate_slots(Side::Nodes, number, conditions, collected_max)?;
        Ok(slots.into_iter().flatten().filter_map(|at| self.node(at)))
    }

    /// As [`Self::candidate_nodes`].
    ///
    /// # Errors
    /// As there.
    pub fn candidate_relationships<'r>(
        &'r self,
        number: u16,
        conditions: &[Condition<'_>],
        collected_max: usize,
    ) -> Result<impl Iterator<Item = Relationship<'r>> + use<'r>, ManyNamed> {
        let slots = self.candidate_slots(Side::Relationships, number, conditions, collected_max)?;
        Ok(slots.into_iter().flatten().filter_map(|at| self.relationship(at)))
    }

    fn candidate_slots<'r>(
        &'r self,
        side: Side,
        number: u16,
        conditions: &[Condition<'_>],
        collected_max: usize,
    ) -> Result<Option<impl Iterator<Item = Ref> + use<'r>>, ManyNamed> {
        let filter = self.schema.side(side).get(number).and_then(|of| Filter::new(of, conditions));
        filter.map(|filter| self.candidates(side, number, &filter, collected_max)).transpose()
    }

    /// Slots of a type among which are all that fulfil conditions, in their order, where an index names no more than so
    /// many; else none: all slots are to be looked at. For those who come back for more, and look at little at a time.
    pub fn few_candidates(
        &self,
        side: Side,
        number: u16,
        conditions: &[Condition<'_>],
        at_most: usize,
    ) -> Option<Vec<Ref>> {
        self.looked.at_all();
        let of = self.schema.side(side).get(number)?;
        // What is compared with another kind of value fits nothing.
        let Some(filter) = Filter::new(of, conditions) else { return Some(Vec::new()) };
        let (index, spans) = match filter.lookup(of)? {
            (index, Lookup::Point(span)) => (index, vec![span]),
            (index, Lookup::Spans(spans)) => (index, spans),
        };
        index.few_owners(number, spans, at_most, &self.guard)
    }

    /// Slots of a type on one shard from an index on, filled or not.
    pub fn slots_from(
        &self,
        side: Side,
        number: u16,
        shard: u8,
        index: u32,
    ) -> impl Iterator<Item = Ref> + use<'_> {
        self.looked.at_all();
        let made = self.memory.slots_on(side, number, shard);
        let behind = made.flat_map(move |slots| slots.start.max(index)..slots.end.max(index));
        behind.map(move |index| Ref::new(number, shard, index))
    }

    fn filters<'r>(
        &'r self,
        side: Side,
        type_number: Option<u16>,
        conditions: &'r [Condition<'r>],
    ) -> impl Iterator<Item = (u16, Filter<'r>)> {
        self.numbers(side, type_number).filter_map(move |number| {
            let of = self.schema.side(side).get(number)?;
            Some((number, Filter::new(of, conditions)?))
        })
    }

    fn all_candidates<'r>(
        &'r self,
        side: Side,
        number: u16,
        filter: &Filter<'_>,
    ) -> impl Iterator<Item = Ref> + use<'r> {
        self.candidates(side, number, filter, usize::MAX).into_iter().flatten()
    }

    /// Slots of a type that may fulfil conditions, in their order: those that an index names, where one does.
    fn candidates<'r>(
        &'r self,
        side: Side,
        number: u16,
        filter: &Filter<'_>,
        collected_max: usize,
    ) -> Result<impl Iterator<Item = Ref> + use<'r>, ManyNamed> {
        self.looked.at_all();
        let of = self.schema.side(side).get(number);
        let (mut point, mut few) = (None, None);
        match of.and_then(|of| filter.lookup(of)) {
            Some((index, Lookup::Point(span))) => point = Some(index.owners(number, span, &self.guard)),
            Some((index, Lookup::Spans(spans))) => {
                // Where there are many, to walk all slots costs less than to sort them, and the first come at once.
                let at_most = (self.memory.living(side, number) / WALKED_PART + WALKED_MIN) as usize;
                few = index.few_owners(number, spans, at_most.min(collected_max), &self.guard);
                if few.is_none() && at_most > collected_max {
                    return Err(ManyNamed);
                }
            }
            None => {}
        }
        let all = (point.is_none() && few.is_none()).then(|| self.slots(side, number));
        Ok(point.into_iter().flatten().chain(few.into_iter().flatten()).chain(all.into_iter().flatten()))
    }

    /// The numbers of all types, or the one that is wanted.
    fn numbers(&self, side: Side, wanted: Option<u16>) -> impl Iterator<Item = u16> {
        let numbers = self.schema.side(side).all().map(|(number, _)| number);
        numbers.filter(move |number| wanted.is_none_or(|wanted| wanted == *number))
    }

    fn slots(&self, side: Side, number: u16) -> impl Iterator<Item = Ref> + use<'_> {
        self.looked.at_all();
        self.memory.slots_of(side, number)
    }

    /// How many there are of a type, or of all.
    pub fn count(&self, side: Side, type_number: Option<u16>) -> u64 {
        self.looked.at_all();
        match type_number {
            Some(number) => self.memory.living(side, number),
            None => self.schema.side(side).all().map(|(number, _)| self.memory.living(side, number)).sum(),
        }
    }

    /// The relationships of a node with the direction in which each is its own: by shard, outgoing before incoming, then
    /// by type, by the other node's id and by their own. A loop is there twice where no direction is named.
    pub fn around(&self, node: Ref, around: Around<'_>) -> Vec<(Direction, Relationship<'_>)> {
        let mut found = Vec::with_capacity(self.memory.fetch_links(node, &self.guard));
        let _all = self.each_around(node, around, |direction, one| {
            found.push((direction, one));
            ControlFlow::Continue(())
        });
        sort(&mut found);
        found
    }

    /// Of the relationships around `a` those that lead to or come from `b`, in the order of [`Self::around`]. Looks at
    /// those of the node that has fewer.
    pub fn between(&self, a: Ref, b: Ref, around: Around<'_>) -> Vec<(Direction, Relationship<'_>)> {
        let mut found = Vec::new();
        let turned = Around { direction: around.direction.map(Direction::opposite), ..around };
        let is_of_a = self.degree_at_most(a, around) <= self.degree_at_most(b, turned);
        let (node, around, wanted) = if is_of_a { (a, around, b) } else { (b, turned, a) };
        let _all = self.each_around(node, around, |direction, one| {
            if one.other(direction) == wanted {
                found.push((if is_of_a { direction } else { direction.opposite() }, one));
            }
            ControlFlow::Continue(())
        });
        sort(&mut found);
        found
    }

    /// As [`Self::around`] in no order, for nodes with too many to keep them all; until `each` breaks off.
    pub fn each_around<'r>(
        &'r self,
        node: Ref,
        around: Around<'_>,
        mut each: impl FnMut(Direction, Relationship<'r>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut take = |link: Link| match self.relationship_of_node(link.relationship) {
            // A slot that was filled again since the link was read belongs to another node.
            Some(relationship) if relationship.own(link.direction) == node => {
                each(link.direction, relationship)
            }
            _ => ControlFlow::Continue(()),
        };
        let end = match self.groups(around) {
            None => self.memory.try_links_of(node, None, &self.guard, &mut |link| {
                let is_wanted = around.direction.is_none_or(|direction| direction == link.direction);
                if is_wanted { take(link) } else { ControlFlow::Continue(()) }
            }),
            Some(groups) => groups
                .into_iter()
                .try_for_each(|group| self.memory.try_links_of(node, Some(group), &self.guard, &mut take)),
        };
        self.looked_at_links(node);
        end
    }

    /// Called after relationships of the node were read.
    fn looked_at_links(&self, node: Ref) {
        self.looked_at(StampPlace::of_node(node));
        self.looked_for_deleted();
    }

    /// Whether a node may have more relationships than a hundred or so; looks at none of them.
    pub fn has_many(&self, node: Ref) -> bool {
        let has_many = self.memory.has_many(node, &self.guard);
        self.looked_at_links(node);
        has_many
    }

    /// Of a node with many relationships without walking them, where [that can be](Self::knows_degrees).
    pub fn degree(&self, node: Ref, around: Around<'_>) -> u64 {
        let degree = |direction, of| self.memory.shown_degree(node, direction, of, &self.guard);
        let sum = self.sum(around, degree);
        self.looked_at_links(node);
        sum
    }

    /// As [`Self::degree`], and those of nodes that are being detached; never walks the relationships of a node with many.
    pub fn degree_at_most(&self, node: Ref, around: Around<'_>) -> u64 {
        let sum = self.sum(around, |direction, of| self.memory.degree(node, direction, of, &self.guard));
        self.looked_at_links(node);
        sum
    }

    /// Whether [`Self::degree`] walks nothing: no node is being detached.
    pub fn knows_degrees(&self) -> bool {
        self.memory.detaches_none()
    }

    fn sum(&self, around: Around<'_>, degree: impl Fn(Direction, Option<u16>) -> u64) -> u64 {
        match self.groups(around) {
            None => directions(around.direction).map(|direction| degree(direction, None)).sum(),
            Some(groups) => groups.into_iter().map(|(direction, of)| degree(direction, Some(of))).sum(),
        }
    }

    /// The directions and types that are meant, each once; none where all types are.
    fn groups(&self, around: Around<'_>) -> Option<Vec<(Direction, u16)>> {
        let types = self.schema.side(Side::Relationships);
        let mut numbers: Vec<u16> = around.types?.iter().filter_map(|name| types.number(name)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let of_each = |direction| numbers.iter().map(move |number| (direction, *number));
        Some(directions(around.direction).flat_map(of_each).collect())
    }
}

fn directions(wanted: Option<Direction>) -> impl Iterator<Item = Direction> {
    let both = [Direction::Outgoing, Direction::Incoming];
    both.into_iter().filter(move |direction| wanted.is_none_or(|wanted| wanted == *direction))
}

fn sort(found: &mut [(Direction, Relationship<'_>)]) {
    /// Two bits of the shard, one of the direction, 16 of the type, 58 of the other node's id, and of their own id what is
    /// not the same already.
    fn place((direction, of): &(Direction, Relationship<'_>)) -> u128 {
        let first =
            u64::from(of.at.shard()) << 17 | (*direction as u64) << 16 | u64::from(of.at.type_number());
        u128::from(first) << 90 | u128::from(of.other(*direction).id()) << 32 | u128::from(of.at.index())
    }
    if !found.is_sorted_by_key(place) {
        found.sort_unstable_by_key(place);
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
    /// The node at the other end, of one that has this direction at a node.
    pub const fn other(&self, direction: Direction) -> Ref {
        match direction {
            Direction::Outgoing => self.to,
            Direction::Incoming => self.from,
        }
    }

    const fn own(&self, direction: Direction) -> Ref {
        self.other(direction.opposite())
    }

    /// Sorted by name.
    pub fn properties(&self) -> impl Iterator<Item = (&'r str, Value<'r>)> {
        named(self.of, self.properties)
    }

    pub fn property(&self, name: &str) -> Option<Value<'r>> {
        value_of(self.of, self.properties, name)
    }
}

/// They were sorted by name when they were written, and names do not change.
fn named<'r>(of: &'r Type, properties: &'r [u8]) -> impl Iterator<Item = (&'r str, Value<'r>)> {
    Properties::new(properties).filter_map(|(number, value)| Some((&**of.property(number)?.0, value)))
}

fn value_of<'r>(of: &Type, properties: &'r [u8], name: &str) -> Option<Value<'r>> {
    find_property(properties, of.properties.get(name)?.number)
}
