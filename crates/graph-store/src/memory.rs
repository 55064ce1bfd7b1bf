//! The graph in memory: slots of nodes and relationships that readers look at while one writer changes them.
//!
//! [`Memory::put`] and its brothers set slots alone, as recovery needs it; [`Memory::apply`] keeps the keys and links in
//! step with them. What a change may be asked for is not decided here.

use crate::cell::SliceCell;
use crate::change::{Change, Side};
use crate::codec::{Input, length_bytes};
use crate::condition::is_equal;
use crate::id::{Ref, SHARDS, hash_of_key};
use crate::index::{KeyIndex, KeyIndexState};
use crate::links::{Direction, Hubs, Link, Links};
use crate::property_index::PropertyIndex;
use crate::schema::{Schema, Type};
use crate::slab::Slab;
use crate::value::{Value, find_property};
use arc_swap::ArcSwap;
use crossbeam_epoch::Guard;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Slots for which memory is taken at a time.
const PIECE: usize = 4096;
/// The bits above a relationship's start, which count how often its slot was filled.
const GENERATION: u64 = 1 << Ref::BITS;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) schema: ArcSwap<Schema>,
    nodes: Slab<OnceLock<Box<[NodeShard; SHARDS]>>, 64>,
    relationships: Slab<OnceLock<Box<[RelationshipShard; SHARDS]>>, 64>,
    pub(crate) hubs: Hubs,
}

/// The nodes of one type in one shard.
#[derive(Debug, Default)]
pub(crate) struct NodeShard {
    pub(crate) slots: Slab<NodeSlot, PIECE>,
    pub(crate) keys: KeyIndex,
    /// Slots up to here have been used.
    pub(crate) end: AtomicU32,
    pub(crate) living: AtomicU64,
}

/// 16 bytes; a node with a short key and without relationships takes about 72 with its entry among the keys.
#[derive(Debug, Default)]
pub(crate) struct NodeSlot {
    /// Length and text of the key, then the properties; none where there is no node.
    pub(crate) body: SliceCell<u8>,
    pub(crate) links: Links,
}

#[derive(Debug, Default)]
pub(crate) struct RelationshipShard {
    slots: Slab<RelationshipSlot, PIECE>,
    /// Only where one has some.
    properties: Slab<SliceCell<u8>, PIECE>,
    pub(crate) end: AtomicU32,
    pub(crate) living: AtomicU64,
}

/// 16 bytes. `from` is written last and cleared first; its upper bits count how often the slot was filled, so that a
/// reader who finds it unchanged after it has read the rest has read one and the same relationship.
#[derive(Debug)]
struct RelationshipSlot {
    from: AtomicU64,
    to: AtomicU64,
}

impl Default for RelationshipSlot {
    fn default() -> Self {
        Self { from: AtomicU64::new(Ref::NONE.bits()), to: AtomicU64::new(Ref::NONE.bits()) }
    }
}

/// A relationship as its slot has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends<'g> {
    pub(crate) from: Ref,
    pub(crate) to: Ref,
    pub(crate) properties: &'g [u8],
}

/// What only the writer knows: free slots, and how far indexes have moved.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    pub(crate) nodes: HashMap<(u16, u8), NodeState>,
    pub(crate) relationships: HashMap<(u16, u8), FreeSlots>,
    pub(crate) hubs_end: u32,
}

/// The lowest is used first.
pub(crate) type FreeSlots = BinaryHeap<Reverse<u32>>;

#[derive(Debug, Default)]
pub(crate) struct NodeState {
    pub(crate) free: FreeSlots,
    pub(crate) keys: KeyIndexState,
}

impl WriterState {
    /// Slots that are known to be free; some may have been filled again since.
    pub(crate) fn free(&self, side: Side, place: (u16, u8)) -> impl Iterator<Item = u32> + '_ {
        let free = match side {
            Side::Nodes => self.nodes.get(&place).map(|state| &state.free),
            Side::Relationships => self.relationships.get(&place),
        };
        free.into_iter().flatten().map(|Reverse(index)| *index)
    }
}

// ---- reading

impl Memory {
    pub(crate) fn node_shard(&self, type_number: u16, shard: u8) -> Option<&NodeShard> {
        Some(&self.nodes.get(u32::from(type_number))?.get()?[usize::from(shard)])
    }

    pub(crate) fn relationship_shard(&self, type_number: u16, shard: u8) -> Option<&RelationshipShard> {
        Some(&self.relationships.get(u32::from(type_number))?.get()?[usize::from(shard)])
    }

    /// Key and properties of a node that is there.
    pub(crate) fn node<'g>(&'g self, at: Ref, guard: &'g Guard) -> Option<(&'g str, &'g [u8])> {
        let slot = self.node_shard(at.type_number(), at.shard())?.slots.get(at.index())?;
        Some(parts(slot.body.load(guard)?))
    }

    pub(crate) fn find(&self, of: &Type, type_number: u16, key: &str, guard: &Guard) -> Option<Ref> {
        let (hash, shard) = place(&of.name, key);
        let nodes = self.node_shard(type_number, shard)?;
        let mut candidates = nodes.keys.candidates(hash, guard);
        let found = candidates.find(|index| {
            let body = nodes.slots.get(*index).and_then(|slot| slot.body.load(guard));
            body.is_some_and(|body| parts(body).0 == key)
        })?;
        Some(Ref::new(type_number, shard, found))
    }

    pub(crate) fn relationship<'g>(&'g self, at: Ref, guard: &'g Guard) -> Option<Ends<'g>> {
        let shard = self.relationship_shard(at.type_number(), at.shard())?;
        let slot = shard.slots.get(at.index())?;
        loop {
            let before = slot.from.load(Acquire);
            let from = Ref::from_bits(before);
            if from == Ref::NONE {
                return None;
            }
            let to = Ref::from_bits(slot.to.load(Acquire));
            let properties =
                shard.properties.get(at.index()).and_then(|cell| cell.load(guard)).unwrap_or(&[]);
            // Only a change of this very slot in this very moment makes it go round again.
            if slot.from.load(Acquire) == before {
                return Some(Ends { from, to, properties });
            }
        }
    }

    /// Each relationship at a node, or those of one direction and type.
    pub(crate) fn links_of(
        &self,
        node: Ref,
        only: Option<(Direction, u16)>,
        guard: &Guard,
        each: impl FnMut(Link),
    ) {
        let Some(slot) = self.node_slot(node) else { return };
        match only {
            None => slot.links.walk(&self.hubs, guard, each),
            Some((direction, of)) => slot.links.walk_group(&self.hubs, direction, of, guard, each),
        }
    }

    pub(crate) fn degree(&self, node: Ref, direction: Direction, of: Option<u16>, guard: &Guard) -> u64 {
        self.node_slot(node).map_or(0, |slot| slot.links.degree(&self.hubs, direction, of, guard))
    }

    fn node_slot(&self, at: Ref) -> Option<&NodeSlot> {
        self.node_shard(at.type_number(), at.shard())?.slots.get(at.index())
    }
}

/// Key and properties within a body.
pub(crate) fn parts(body: &[u8]) -> (&str, &[u8]) {
    let mut input = Input::new(body);
    let key = input.text().expect("a body was written with its key");
    (key, input.rest())
}

/// The hash of a key, and the shard that it puts its node on.
pub(crate) fn place(type_name: &str, key: &str) -> (u64, u8) {
    let hash = hash_of_key(type_name, key);
    (hash, (hash >> 62) as u8)
}

// ---- setting slots

impl Memory {
    fn make_node_slot(&self, at: Ref) -> (&NodeShard, &NodeSlot) {
        let shards = self.nodes.make(u32::from(at.type_number())).get_or_init(Box::default);
        let shard = &shards[usize::from(at.shard())];
        (shard, shard.slots.make(at.index()))
    }

    fn make_relationship_slot(&self, at: Ref) -> (&RelationshipShard, &RelationshipSlot) {
        let shards = self.relationships.make(u32::from(at.type_number())).get_or_init(Box::default);
        let shard = &shards[usize::from(at.shard())];
        (shard, shard.slots.make(at.index()))
    }

    /// Sets what slots hold, and the schema; keys, links and free slots are left as they are.
    pub(crate) fn put(&self, change: &Change<'_>, is_undone: bool, guard: &Guard) {
        match *change {
            Change::PutNode { at, key, properties } => self.put_node(at, key, properties, guard),
            Change::DropNode { at } => self.drop_node(at, guard),
            Change::PutRelationship { at, from, to, properties } => {
                self.put_relationship(at, from, to, properties, guard);
            }
            Change::DropRelationship { at } => self.drop_relationship(at, guard),
            // Whoever holds the memory replaces it.
            Change::Clear => {}
            Change::Type { .. }
            | Change::DropType { .. }
            | Change::Property { .. }
            | Change::DropProperty { .. }
            | Change::Index { .. }
            | Change::DropIndex { .. } => {
                let mut schema = Schema::clone(&self.schema.load());
                schema.make(change, is_undone);
                self.schema.store(Arc::new(schema));
            }
        }
    }

    fn put_node(&self, at: Ref, key: &str, properties: &[u8], guard: &Guard) {
        let is_new = self.set_node(at, key, properties, guard);
        self.count(Side::Nodes, at, u64::from(is_new), at.index() + 1);
    }

    /// The slot alone, without what counts slots. True where there was no node.
    pub(crate) fn set_node(&self, at: Ref, key: &str, properties: &[u8], guard: &Guard) -> bool {
        let slot = self.make_node_slot(at).1;
        let (length, count) = length_bytes(key.len());
        let is_new = slot.body.load(guard).is_none();
        slot.body.replace_with_parts([&length[..count], key.as_bytes(), properties], guard);
        is_new
    }

    /// So many more are there of the type and in the shard of one, and slots have been used up to here.
    pub(crate) fn count(&self, side: Side, of: Ref, more: u64, end: u32) {
        let (living, slots_end) = match side {
            Side::Nodes => {
                let shard = self.make_node_slot(of).0;
                (&shard.living, &shard.end)
            }
            Side::Relationships => {
                let shard = self.make_relationship_slot(of).0;
                (&shard.living, &shard.end)
            }
        };
        living.fetch_add(more, Relaxed);
        slots_end.fetch_max(end, Release);
    }

    fn drop_node(&self, at: Ref, guard: &Guard) {
        let (shard, slot) = self.make_node_slot(at);
        if slot.body.load(guard).is_some() {
            slot.body.clear(guard);
            shard.living.fetch_sub(1, Relaxed);
        }
    }

    fn put_relationship(&self, at: Ref, from: Ref, to: Ref, properties: &[u8], guard: &Guard) {
        let is_new = self.set_relationship(at, from, to, properties, guard);
        self.count(Side::Relationships, at, u64::from(is_new), at.index() + 1);
    }

    /// As [`Self::set_node`].
    pub(crate) fn set_relationship(
        &self,
        at: Ref,
        from: Ref,
        to: Ref,
        properties: &[u8],
        guard: &Guard,
    ) -> bool {
        let (shard, slot) = self.make_relationship_slot(at);
        let before = slot.from.load(Relaxed);
        // Readers that are at it now find the start changed and read again.
        slot.from.store(before | Ref::NONE.bits(), Release);
        if !properties.is_empty() {
            shard.properties.make(at.index()).replace_with_parts([properties], guard);
        } else if let Some(cell) = shard.properties.get(at.index()) {
            cell.clear(guard);
        }
        slot.to.store(to.bits(), Release);
        let generation = (before & !Ref::NONE.bits()).wrapping_add(GENERATION);
        slot.from.store(generation | from.bits(), Release);
        Ref::from_bits(before) == Ref::NONE
    }

    pub(crate) fn drop_relationship(&self, at: Ref, guard: &Guard) {
        let (shard, slot) = self.make_relationship_slot(at);
        let before = slot.from.load(Relaxed);
        if Ref::from_bits(before) == Ref::NONE {
            return;
        }
        slot.from.store(before | Ref::NONE.bits(), Release);
        if let Some(cell) = shard.properties.get(at.index()) {
            cell.clear(guard);
        }
        shard.living.fetch_sub(1, Relaxed);
    }
}

// ---- changing

impl Memory {
    /// Makes a change whole, keys, links and free slots included, and adds to `undo` what takes it back.
    pub(crate) fn apply(
        &self,
        change: &Change<'_>,
        is_undone: bool,
        state: &mut WriterState,
        undo: &mut Vec<u8>,
        guard: &Guard,
    ) {
        self.inverse(change, guard, |inverse| inverse.write(undo));
        match *change {
            Change::PutNode { at, key, properties } => {
                let old = self.node(at, guard).map(|(_, properties)| properties);
                let is_new = old.is_none();
                self.in_step(Side::Nodes, at, old, Some(properties), guard, || {
                    self.put(change, is_undone, guard);
                });
                if is_new {
                    self.insert_key(at, key, state, guard);
                }
            }
            Change::DropNode { at } => {
                if let Some((key, properties)) = self.node(at, guard) {
                    self.remove_key(at, key, state, guard);
                    self.in_step(Side::Nodes, at, Some(properties), None, guard, || {
                        self.put(change, is_undone, guard);
                    });
                    self.make_node_slot(at).1.links.clear(guard);
                    state
                        .nodes
                        .entry((at.type_number(), at.shard()))
                        .or_default()
                        .free
                        .push(Reverse(at.index()));
                }
            }
            Change::PutRelationship { at, from, to, properties } => {
                let old = self.relationship(at, guard).map(|ends| ends.properties);
                let is_new = old.is_none();
                self.in_step(Side::Relationships, at, old, Some(properties), guard, || {
                    self.put(change, is_undone, guard);
                });
                if is_new {
                    self.link(at, from, Direction::Outgoing, state, guard);
                    self.link(at, to, Direction::Incoming, state, guard);
                }
            }
            Change::DropRelationship { at } => {
                if let Some(Ends { from, to, properties }) = self.relationship(at, guard) {
                    self.in_step(Side::Relationships, at, Some(properties), None, guard, || {
                        self.put(change, is_undone, guard);
                    });
                    for (node, direction) in [(from, Direction::Outgoing), (to, Direction::Incoming)] {
                        let link = Link { relationship: at, direction };
                        self.make_node_slot(node).1.links.remove(link, &self.hubs, guard);
                    }
                    let free = state.relationships.entry((at.type_number(), at.shard())).or_default();
                    free.push(Reverse(at.index()));
                }
            }
            Change::Index { side, of, number } => self.make_index(side, of, number, guard),
            _ => self.put(change, is_undone, guard),
        }
    }

    /// Keeps the indexes of a type in step while one of its nodes or relationships is set.
    fn in_step(
        &self,
        side: Side,
        at: Ref,
        old: Option<&[u8]>,
        new: Option<&[u8]>,
        guard: &Guard,
        set: impl FnOnce(),
    ) {
        let schema = self.schema.load();
        let indexes = || schema.side(side).get(at.type_number()).into_iter().flat_map(|of| of.indexes());
        let value_of =
            |properties: Option<&'_ [u8]>, number| find_property(properties?, number).map(Value::into_owned);
        for (number, _, index) in indexes() {
            if let Some(value) = value_of(new, number) {
                index.add(&value, at, guard);
            }
        }
        set();
        for (number, _, index) in indexes() {
            let (old, new) = (value_of(old, number), value_of(new, number));
            if let Some(value) = old.filter(|old| new.as_ref().is_none_or(|new| !is_equal(old, new))) {
                index.remove(&value, at, guard);
            }
        }
    }

    /// Readers see it once it is whole.
    fn make_index(&self, side: Side, of: u16, number: u16, guard: &Guard) {
        let index = Arc::new(PropertyIndex::default());
        for at in self.slots(side).filter(|at| at.type_number() == of) {
            if let Some(value) = self.property(side, at, number, guard) {
                index.add(&value, at, guard);
            }
        }
        let mut schema = Schema::clone(&self.schema.load());
        schema.set_index(side, of, number, index);
        self.schema.store(Arc::new(schema));
    }

    /// The value of a property of what is there.
    pub(crate) fn property<'g>(
        &'g self,
        side: Side,
        at: Ref,
        number: u16,
        guard: &'g Guard,
    ) -> Option<Value<'g>> {
        let properties = match side {
            Side::Nodes => self.node(at, guard)?.1,
            Side::Relationships => self.relationship(at, guard)?.properties,
        };
        find_property(properties, number)
    }

    /// What a change would have to be followed by, for all to be as it is now.
    fn inverse(&self, change: &Change<'_>, guard: &Guard, take: impl FnOnce(Change<'_>)) {
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
            Change::PutNode { at, .. } | Change::DropNode { at } => match self.node(at, guard) {
                Some((key, properties)) => take(Change::PutNode { at, key, properties }),
                None => take(Change::DropNode { at }),
            },
            Change::PutRelationship { at, .. } | Change::DropRelationship { at } => {
                match self.relationship(at, guard) {
                    Some(Ends { from, to, properties }) => {
                        take(Change::PutRelationship { at, from, to, properties });
                    }
                    None => take(Change::DropRelationship { at }),
                }
            }
            Change::Clear => {}
        }
    }

    fn insert_key(&self, at: Ref, key: &str, state: &mut WriterState, guard: &Guard) {
        let schema = self.schema.load();
        let Some(of) = schema.side(Side::Nodes).get(at.type_number()) else { return };
        let nodes = self.make_node_slot(at).0;
        let hash_of = |index| {
            let body = nodes.slots.get(index)?.body.load(guard)?;
            Some(place(&of.name, parts(body).0).0)
        };
        let state = state.nodes.entry((at.type_number(), at.shard())).or_default();
        nodes.keys.insert(&mut state.keys, place(&of.name, key).0, at.index(), hash_of, guard);
    }

    fn remove_key(&self, at: Ref, key: &str, state: &mut WriterState, guard: &Guard) {
        let schema = self.schema.load();
        if let Some(of) = schema.side(Side::Nodes).get(at.type_number()) {
            let state = state.nodes.entry((at.type_number(), at.shard())).or_default();
            let hash = place(&of.name, key).0;
            self.make_node_slot(at).0.keys.remove(&mut state.keys, hash, at.index(), guard);
        }
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

    /// Nodes or relationships of a type.
    pub(crate) fn living(&self, side: Side, type_number: u16) -> u64 {
        let living = |shard: u8| match side {
            Side::Nodes => self.node_shard(type_number, shard).map(|nodes| nodes.living.load(Acquire)),
            Side::Relationships => {
                self.relationship_shard(type_number, shard).map(|all| all.living.load(Acquire))
            }
        };
        (0..SHARDS as u8).filter_map(living).sum()
    }

    /// Slots up to here have been used.
    pub(crate) fn slots_end(&self, side: Side, type_number: u16, shard: u8) -> u32 {
        let end = match side {
            Side::Nodes => self.node_shard(type_number, shard).map(|nodes| &nodes.end),
            Side::Relationships => self.relationship_shard(type_number, shard).map(|all| &all.end),
        };
        end.map_or(0, |end| end.load(Acquire))
    }

    /// All slots of nodes or relationships that have been used, by type, shard and index.
    pub(crate) fn slots(&self, side: Side) -> impl Iterator<Item = Ref> + '_ {
        let numbers: Vec<u16> = self.schema.load().side(side).all().map(|(number, _)| number).collect();
        let shards =
            numbers.into_iter().flat_map(|number| (0..SHARDS as u8).map(move |shard| (number, shard)));
        shards.flat_map(move |(number, shard)| {
            let end = self.slots_end(side, number, shard);
            (0..end).map(move |index| Ref::new(number, shard, index))
        })
    }
}

// ---- free slots

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
        let free = &mut state.nodes.entry((type_number, shard)).or_default().free;
        // A slot that was filled again when a deletion was taken back is still among them.
        let is_free = |index: u32| self.node(Ref::new(type_number, shard, index), guard).is_none();
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
        let free = state.relationships.entry((type_number, shard)).or_default();
        let is_free = |index: u32| self.relationship(Ref::new(type_number, shard, index), guard).is_none();
        lowest(free, end, is_free).map(|index| Ref::new(type_number, shard, index))
    }

    /// The shard that a key puts its node on.
    pub(crate) fn shard_of(of: &Type, key: &str) -> u8 {
        place(&of.name, key).1
    }
}

fn lowest(free: &mut BinaryHeap<Reverse<u32>>, end: u32, is_free: impl Fn(u32) -> bool) -> Option<u32> {
    while let Some(Reverse(index)) = free.pop() {
        if is_free(index) {
            return Some(index);
        }
    }
    (end <= crate::id::INDEX_MAX).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reader that saw the start before a slot was filled again sees another word after, though the start is the same.
    #[test]
    fn a_slot_that_is_filled_again_is_another_one() {
        let (memory, guard) = (Memory::default(), crossbeam_epoch::pin());
        let (at, node) = (Ref::new(1, 2, 3), Ref::new(1, 2, 0));
        let word = || memory.make_relationship_slot(at).1.from.load(Relaxed);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1000 {
            memory.put_relationship(at, node, node, &[], &guard);
            assert!(seen.insert(word()), "a word has come again");
            assert_eq!(Ref::from_bits(word()), node);
            memory.drop_relationship(at, &guard);
            assert_eq!(memory.relationship(at, &guard), None);
        }
        // New properties are another filling too: start and properties belong together.
        memory.put_relationship(at, node, node, &[1, 2], &guard);
        let before = word();
        memory.put_relationship(at, node, node, &[], &guard);
        assert_ne!(word(), before);
    }
}
