//! Changes whole: what a slot holds, and with it keys, links, indexes and free slots; what takes a change back; by which stamps reads know of it.

use crate::index::property_index::{PropertyIndex, have_one_entry};
use crate::memory::free::{FreeSlots, WriterState};
use crate::memory::links::{Direction, Link};
use crate::memory::stamps::StampPlace;
use crate::memory::{Ends, Memory, parts, place};
use crate::types::change::{Change, Side};
use crate::types::id::Ref;
use crate::types::schema::{Schema, Type};
use crate::types::value::{Value, find_property};
use crossbeam_epoch::Guard;
use prony_log::ticket::Ticket;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::atomic::fence;

impl Memory {
    /// A write of this ticket is about to make a change. Tickets may come again where a write was refused.
    pub(crate) fn stamp(&self, change: &Change<'_>, ticket: Ticket, guard: &Guard) {
        let set = |place| self.stamps.set(place, ticket);
        match *change {
            // Who finds a new node looks at it, and who does not has seen nothing of it.
            Change::PutNode { at, .. } => set(StampPlace::of_node(at)),
            Change::DropNode { at } => {
                set(StampPlace::of_node(at));
                let schema = self.schema.load();
                let of = schema.side(Side::Nodes).get(at.type_number());
                if let (Some((key, _)), Some(of)) = (self.node(at, guard), of) {
                    set(StampPlace::of_key(place(&of.name, key).0));
                }
            }
            Change::PutRelationship { at, from, to, .. } => {
                set(StampPlace::of_relationship(at));
                set(StampPlace::of_node(from));
                set(StampPlace::of_node(to));
            }
            Change::DropRelationship { at } => {
                set(StampPlace::of_relationship(at));
                if let Some(ends) = self.relationship(at, guard) {
                    set(StampPlace::of_node(ends.from));
                    set(StampPlace::of_node(ends.to));
                }
            }
            _ => self.stamps.set_all(ticket),
        }
        // Whoever sees the change finds the stamps, however the change is stored.
        fence(Release);
    }

    /// Makes a change whole, keys, links and free slots included, and adds to `undo` what takes it back.
    pub(crate) fn apply(
        &self,
        change: &Change<'_>,
        is_undone: bool,
        state: &mut WriterState,
        undo: &mut Vec<u8>,
        guard: &Guard,
    ) {
        match *change {
            Change::PutNode { at, key, properties } => {
                let old = self.node(at, guard);
                node_inverse(at, old).write(undo);
                let schema = self.schema.load();
                let of = schema.side(Side::Nodes).get(at.type_number()).map(|of| &**of);
                let old = old.map(|(_, properties)| properties);
                in_step(of, at, old, Some(properties), guard, || {
                    self.put(change, is_undone, guard);
                });
                if let (None, Some(of)) = (old, of) {
                    self.insert_key(of, at, key, state, guard);
                    self.detaching.remove(at);
                }
            }
            Change::DropNode { at } => {
                let old = self.node(at, guard);
                node_inverse(at, old).write(undo);
                if let (Some((key, properties)), Some(of)) = (old, self.type_of(Side::Nodes, at)) {
                    let own = state.nodes.make((at.type_number(), at.shard()));
                    let nodes = self.make_node_slot(at).0;
                    nodes.keys.remove(&mut own.keys, place(&of.name, key).0, at.index(), guard);
                    in_step(Some(&of), at, Some(properties), None, guard, || {
                        self.put(change, is_undone, guard);
                    });
                    self.detach(at, state, guard);
                }
            }
            Change::PutRelationship { at, from, to, properties } => {
                let old = self.relationship(at, guard);
                relationship_inverse(at, old).write(undo);
                let schema = self.schema.load();
                let of = schema.side(Side::Relationships).get(at.type_number()).map(|of| &**of);
                in_step(of, at, old.map(|old| old.properties), Some(properties), guard, || {
                    self.put(change, is_undone, guard);
                });
                if old.is_none() {
                    self.link(at, from, Direction::Outgoing, state, guard);
                    self.link(at, to, Direction::Incoming, state, guard);
                }
            }
            Change::DropRelationship { at } => {
                let old = self.relationship(at, guard);
                relationship_inverse(at, old).write(undo);
                if let Some(Ends { from, to, properties }) = old {
                    let of = self.type_of(Side::Relationships, at);
                    in_step(of.as_deref(), at, Some(properties), None, guard, || {
                        self.put(change, is_undone, guard);
                    });
                    for (node, direction) in [(from, Direction::Outgoing), (to, Direction::Incoming)] {
                        let link = Link { relationship: at, direction };
                        self.make_node_slot(node).1.links.remove(link, &self.hubs, guard);
                    }
                    state.relationships.make((at.type_number(), at.shard())).push(at.index());
                }
            }
            _ => {
                self.schema_inverse(change, |inverse| inverse.write(undo));
                self.apply_to_schema(change, is_undone, state, guard);
            }
        }
    }

    fn apply_to_schema(&self, change: &Change<'_>, is_undone: bool, state: &mut WriterState, guard: &Guard) {
        match *change {
            Change::Index { side, of, number } => self.make_index((side, of, number), state, guard),
            _ => self.put(change, is_undone, guard),
        }
    }

    /// The index that a change drops.
    pub(crate) fn dropped_by(&self, change: &Change<'_>) -> Option<Arc<PropertyIndex>> {
        let Change::DropIndex { side, of, number } = *change else { return None };
        self.schema.load().side(side).get(of)?.index_of(number).cloned()
    }

    fn type_of(&self, side: Side, at: Ref) -> Option<Arc<Type>> {
        self.schema.load().side(side).get(at.type_number()).cloned()
    }

    /// Readers see it once it is whole; one that was made before is.
    fn make_index(&self, place: (Side, u16, u16), state: &mut WriterState, guard: &Guard) {
        let (side, of, number) = place;
        let made = state.made_index.take().filter(|(made, _)| *made == place);
        let fill = || {
            let index = PropertyIndex::default();
            self.slots_of(side, of).for_each(|at| self.add_to_index(&index, (side, at, number), guard));
            Arc::new(index)
        };
        let index = made.map_or_else(fill, |(_, index)| index);
        let mut schema = Schema::clone(&self.schema.load());
        schema.set_index(side, of, number, index);
        self.schema.store(Arc::new(schema));
    }

    pub(crate) fn add_to_index(
        &self,
        index: &PropertyIndex,
        (side, at, number): (Side, Ref, u16),
        guard: &Guard,
    ) {
        if let Some(value) = self.property(side, at, number, guard) {
            index.add(&value, at, guard);
        }
    }

    /// What a change of the schema would have to be followed by, for all to be as it is now.
    fn schema_inverse(&self, change: &Change<'_>, take: impl FnOnce(Change<'_>)) {
        let schema = self.schema.load();
        match *change {
            Change::Type { side, number, .. } => take(Change::DropType { side, number }),
            Change::DropType { side, number } => {
                if let Some(of) = schema.side(side).get(number) {
                    take(Change::Type { side, number, name: &of.name });
                }
            }
            Change::Property { side, of, number, .. } => take(Change::DropProperty { side, of, number }),
            Change::DropProperty { side, of, number } => {
                let found = schema.side(side).get(of).and_then(|of| of.property(number));
                if let Some((name, kind)) = found {
                    take(Change::Property { side, of, number, name, kind });
                }
            }
            Change::Index { side, of, number } => take(Change::DropIndex { side, of, number }),
            Change::DropIndex { side, of, number } => {
                let is_there = |of: &Arc<Type>| of.indexes().any(|(own, ..)| own == number);
                if schema.side(side).get(of).is_some_and(is_there) {
                    take(Change::Index { side, of, number });
                }
            }
            // Whoever holds the memory keeps the one before; the others are no changes of the schema.
            Change::Clear
            | Change::PutNode { .. }
            | Change::DropNode { .. }
            | Change::PutRelationship { .. }
            | Change::DropRelationship { .. } => {}
        }
    }

    fn insert_key(&self, of: &Type, at: Ref, key: &str, state: &mut WriterState, guard: &Guard) {
        let nodes = self.make_node_slot(at).0;
        let hash_of = |index| {
            let body = nodes.slots.get(index)?.body.load(guard)?;
            Some(place(&of.name, parts(body).0).0)
        };
        let state = state.nodes.make((at.type_number(), at.shard()));
        nodes.keys.insert(&mut state.keys, place(&of.name, key).0, at.index(), hash_of, guard);
    }

    fn link(
        &self,
        relationship: Ref,
        node: Ref,
        direction: Direction,
        state: &mut WriterState,
        guard: &Guard,
    ) {
        let link = Link { relationship, direction };
        self.make_node_slot(node).1.links.add(link, &self.hubs, &mut state.hubs_end, guard);
    }
}

impl Memory {
    /// The lowest free slot for a node; none where there are as many as there can be.
    pub(crate) fn free_node(
        &self,
        type_number: u16,
        shard: u8,
        state: &mut WriterState,
        guard: &Guard,
    ) -> Option<Ref> {
        let end = self.node_shard(type_number, shard).map_or(0, |nodes| nodes.end.load(Relaxed));
        let free = &mut state.nodes.make((type_number, shard)).free;
        // A slot that was filled again when a deletion was taken back is still among them.
        let is_free = |index: u32| {
            let at = Ref::new(type_number, shard, index);
            self.node(at, guard).is_none() && !self.detaching.contains(at)
        };
        lowest(free, end, is_free).map(|index| Ref::new(type_number, shard, index))
    }

    pub(crate) fn free_relationship(
        &self,
        type_number: u16,
        shard: u8,
        state: &mut WriterState,
        guard: &Guard,
    ) -> Option<Ref> {
        let end = self.relationship_shard(type_number, shard).map_or(0, |all| all.end.load(Relaxed));
        let free = state.relationships.make((type_number, shard));
        let is_free = |index: u32| self.relationship(Ref::new(type_number, shard, index), guard).is_none();
        lowest(free, end, is_free).map(|index| Ref::new(type_number, shard, index))
    }

    /// The shard that a key puts its node on.
    pub(crate) fn shard_of(of: &Type, key: &str) -> u8 {
        place(&of.name, key).1
    }
}

const fn node_inverse<'a>(at: Ref, old: Option<(&'a str, &'a [u8])>) -> Change<'a> {
    match old {
        Some((key, properties)) => Change::PutNode { at, key, properties },
        None => Change::DropNode { at },
    }
}

const fn relationship_inverse(at: Ref, old: Option<Ends<'_>>) -> Change<'_> {
    match old {
        Some(Ends { from, to, properties }) => Change::PutRelationship { at, from, to, properties },
        None => Change::DropRelationship { at },
    }
}

/// Keeps the indexes of a type in step while one of its nodes or relationships is set.
fn in_step(
    of: Option<&Type>,
    at: Ref,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    guard: &Guard,
    set: impl FnOnce(),
) {
    let indexes = || of.into_iter().flat_map(Type::kept_indexes);
    let value_of =
        |properties: Option<&'_ [u8]>, number| find_property(properties?, number).map(Value::into_owned);
    for (number, index) in indexes() {
        if let Some(value) = value_of(new, number) {
            index.add(&value, at, guard);
        }
    }
    set();
    for (number, index) in indexes() {
        let (old, new) = (value_of(old, number), value_of(new, number));
        if let Some(value) = old.filter(|old| new.as_ref().is_none_or(|new| !have_one_entry(old, new))) {
            index.remove(&value, at, guard);
        }
    }
}

fn lowest(free: &mut FreeSlots, end: u32, is_free: impl Fn(u32) -> bool) -> Option<u32> {
    while let Some(index) = free.pop() {
        if is_free(index) {
            return Some(index);
        }
    }
    (end <= crate::types::id::INDEX_MAX).then_some(end)
}
