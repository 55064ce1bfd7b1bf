//! The graph in memory: slots of nodes and relationships that readers look at while one writer changes them.
//!
//! [`Memory::put`] and its brothers set slots alone, as recovery needs it; `apply.rs` keeps keys, links and indexes in step
//! with them. What a change may be asked for is not decided here.

pub(crate) mod apply;
pub(crate) mod bulk;
pub(crate) mod cell;
pub(crate) mod detaching;
pub(crate) mod free;
pub(crate) mod links;
mod shown;
pub(crate) mod slab;
pub(crate) mod stamps;
pub(crate) mod undo;

use crate::index::KeyIndex;
use crate::memory::cell::SliceCell;
use crate::memory::detaching::Detaching;
use crate::memory::links::{Direction, Hubs, Link, Links};
use crate::memory::slab::Slab;
use crate::memory::stamps::Stamps;
use crate::types::change::{Change, Side};
use crate::types::id::{Ref, SHARDS, hash_of_key};
use crate::types::schema::{Schema, Type};
use crate::types::value::{Value, find_property};
use arc_swap::ArcSwap;
use crossbeam_epoch::Guard;
use prony_log::codec::{Input, length_bytes};
use std::ops::{ControlFlow, Range};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Slots for which memory is taken at a time.
pub(crate) const PIECE: usize = 4096;
/// The bits above a relationship's start, which count how often its slot was filled.
const GENERATION: u64 = 1 << Ref::BITS;

#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) schema: ArcSwap<Schema>,
    nodes: Slab<OnceLock<Box<[NodeShard; SHARDS]>>, 64>,
    relationships: Slab<OnceLock<Box<[RelationshipShard; SHARDS]>>, 64>,
    pub(crate) hubs: Hubs,
    pub(crate) detaching: Detaching,
    pub(crate) stamps: Stamps,
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
        self.find_at((type_number, place(&of.name, key)), key, guard)
    }

    /// As [`Self::find`], of a type's number and what [`place`] says of the key.
    pub(crate) fn find_at(&self, at: (u16, (u64, u8)), key: &str, guard: &Guard) -> Option<Ref> {
        Some(self.find_body(at, key, guard)?.0)
    }

    /// As [`Self::find_at`], with the node's body.
    pub(crate) fn find_body<'g>(
        &'g self,
        (type_number, (hash, shard)): (u16, (u64, u8)),
        key: &str,
        guard: &'g Guard,
    ) -> Option<(Ref, &'g [u8])> {
        let nodes = self.node_shard(type_number, shard)?;
        nodes.keys.candidates(hash, guard).find_map(|index| {
            let body = nodes.slots.get(index)?.body.load(guard)?;
            let is_it = Input::new(body).bytes() == Ok(key.as_bytes());
            is_it.then(|| (Ref::new(type_number, shard, index), body))
        })
    }

    pub(crate) fn has_node(&self, at: Ref, guard: &Guard) -> bool {
        self.node_slot(at).is_some_and(|slot| slot.body.load(guard).is_some())
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
        mut each: impl FnMut(Link),
    ) {
        let mut every = |link| {
            each(link);
            ControlFlow::Continue(())
        };
        let _ended = self.try_links_of(node, only, guard, &mut every);
    }

    /// As [`Self::links_of`], until `each` breaks off.
    pub(crate) fn try_links_of(
        &self,
        node: Ref,
        only: Option<(Direction, u16)>,
        guard: &Guard,
        each: &mut impl FnMut(Link) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(slot) = self.node_slot(node) else { return ControlFlow::Continue(()) };
        match only {
            None => slot.links.walk(&self.hubs, guard, each),
            Some((direction, of)) => slot.links.walk_group(&self.hubs, direction, of, guard, each),
        }
    }

    /// Prefetches the slots of a node's relationships into the processor's cache, where there are few of them, so that their
    /// loads overlap; the number of relationships.
    pub(crate) fn fetch_links(&self, node: Ref, guard: &Guard) -> usize {
        let Some(slot) = self.node_slot(node) else { return 0 };
        slot.links.walk_few(&self.hubs, guard, |link| {
            let at = link.relationship;
            let shard = self.relationship_shard(at.type_number(), at.shard());
            if let Some(slot) = shard.and_then(|shard| shard.slots.get(at.index())) {
                std::hint::black_box(slot.from.load(Relaxed));
            }
        })
    }

    /// Whether a node's relationships are more than a short list.
    pub(crate) fn has_many(&self, node: Ref, guard: &Guard) -> bool {
        self.node_slot(node).is_some_and(|slot| slot.links.are_many(guard))
    }

    pub(crate) fn has_links(&self, node: Ref, guard: &Guard) -> bool {
        self.node_slot(node).is_some_and(|slot| !slot.links.is_empty(&self.hubs, guard))
    }

    pub(crate) fn degree(&self, node: Ref, direction: Direction, of: Option<u16>, guard: &Guard) -> u64 {
        self.node_slot(node).map_or(0, |slot| slot.links.degree(&self.hubs, direction, of, guard))
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

    /// The slots of a type in a shard for which there is memory, by index: all that have been used are among them.
    pub(crate) fn slots_on(
        &self,
        side: Side,
        number: u16,
        shard: u8,
    ) -> impl Iterator<Item = Range<u32>> + use<'_> {
        let end = self.slots_end(side, number, shard);
        let (nodes, relationships) = match side {
            Side::Nodes => (self.node_shard(number, shard).map(|nodes| nodes.slots.made(end)), None),
            Side::Relationships => {
                (None, self.relationship_shard(number, shard).map(|all| all.slots.made(end)))
            }
        };
        nodes.into_iter().flatten().chain(relationships.into_iter().flatten())
    }

    /// As [`Self::slots_on`], of all shards in turn.
    pub(crate) fn slots_of(&self, side: Side, number: u16) -> impl Iterator<Item = Ref> + use<'_> {
        (0..SHARDS as u8).flat_map(move |shard| {
            let slots = self.slots_on(side, number, shard).flatten();
            slots.map(move |index| Ref::new(number, shard, index))
        })
    }

    /// As [`Self::slots_of`], of all types in turn.
    pub(crate) fn slots(&self, side: Side) -> impl Iterator<Item = Ref> + '_ {
        let numbers: Vec<u16> = self.schema.load().side(side).all().map(|(number, _)| number).collect();
        numbers.into_iter().flat_map(move |number| self.slots_of(side, number))
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
    pub(crate) fn make_node_slot(&self, at: Ref) -> (&NodeShard, &NodeSlot) {
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
        if is_new {
            self.count(Side::Nodes, at, 1, at.index() + 1);
        }
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
        if is_new {
            self.count(Side::Relationships, at, 1, at.index() + 1);
        }
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
