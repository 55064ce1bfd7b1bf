//! What a start does on all processors: a snapshot's slots, then keys, links and free slots from the slots alone, each
//! list at its full length at once instead of growing link by link.

use crate::memory::cell::zeroed;
use crate::memory::free::{ByPlace, FreeSlots, NodeState, WriterState};
use crate::memory::links::{Direction, Link};
use crate::memory::{Memory, PIECE, parts, place};
use crate::types::change::{Change, Side};
use crate::types::id::{Ref, SHARDS};
use crate::types::value::check_properties;
use prony_log::codec::Input;
use prony_log::error::OpenError;
use prony_log::frame_reader::Frames;
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Mutex, PoisonError};

/// More threads would wait for the memory more than they do.
const THREADS_MAX: usize = 8;
/// Slots that a thread takes at a time, in pieces.
const PIECES_A_TIME: usize = 16;
/// Links are written to their nodes in about so many parts, each of which is given up before the next: so a start needs little more memory than
/// the graph has afterwards. More parts would be less than a processor each has to do.
const LINK_PARTS: usize = 8;
/// Instead of a number of links: there is no such node.
const NO_NODE: u64 = u64::MAX;

/// Does each job once, on all processors.
pub(crate) fn on_all_processors<J: Sync>(jobs: &[J], work: impl Fn(&J) + Sync) {
    let threads =
        std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX).min(jobs.len());
    let next = AtomicUsize::new(0);
    let work_on = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Relaxed)) {
            work(job);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work_on);
        }
        work_on();
    });
}

/// The graph of a snapshot without keys and links; none where anything is wrong with it. Its frames say nothing twice, so
/// they can be read in any order, but for the types, which stand before all else.
pub(crate) fn read_snapshot(frames: &mut Frames) -> Result<Option<Memory>, OpenError> {
    let memory = Memory::default();
    let Some(spans) = frames.spans()? else { return Ok(None) };
    let frames = &*frames;
    let begins_with_type = |span: &Range<usize>| {
        let mut buffer = Vec::new();
        let change = frames.payload(span, &mut buffer).map(|payload| Change::read(&mut Input::new(payload)));
        matches!(change, Some(Ok(change)) if change.is_of_schema())
    };
    let types = spans.iter().take_while(|span| begins_with_type(span)).count();
    let (first, rest) = spans.split_at(types);
    let is_good = AtomicBool::new(true);
    let read = |span: &Range<usize>, is_type_allowed: bool| {
        let mut buffer = BUFFERS.take();
        let payload = frames.payload(span, &mut buffer);
        if payload.is_none_or(|payload| set_slots(&memory, payload, is_type_allowed).is_none()) {
            is_good.store(false, Relaxed);
        }
        BUFFERS.set(buffer);
    };
    for span in first {
        read(span, true);
    }
    on_all_processors(rest, |span| read(span, false));
    BUFFERS.take();
    Ok(is_good.into_inner().then_some(memory))
}

thread_local! {
    /// For the frame that a thread reads.
    static BUFFERS: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The changes of one frame of a snapshot. Slots are counted together as long as they have one type and shard.
fn set_slots(memory: &Memory, payload: &[u8], is_type_allowed: bool) -> Option<()> {
    let guard = &crossbeam_epoch::pin();
    let mut input = Input::new(payload);
    let mut counted: Option<(Side, Ref, u64, u32)> = None;
    while !input.is_empty() {
        let change = Change::read(&mut input).ok()?;
        let (side, at, is_new) = match change {
            Change::PutNode { at, key, properties } => {
                check_properties(properties).ok()?;
                (Side::Nodes, at, memory.set_node(at, key, properties, guard))
            }
            Change::PutRelationship { at, from, to, properties } => {
                check_properties(properties).ok()?;
                (Side::Relationships, at, memory.set_relationship(at, from, to, properties, guard))
            }
            _ if change.is_of_schema() && is_type_allowed && change != Change::Clear => {
                memory.put(&change, false, guard);
                continue;
            }
            _ => return None,
        };
        let place = |of: Ref| (of.type_number(), of.shard());
        match &mut counted {
            Some((of, first, more, end)) if *of == side && place(*first) == place(at) => {
                *more += u64::from(is_new);
                *end = (*end).max(at.index() + 1);
            }
            _ => {
                let new = (side, at, u64::from(is_new), at.index() + 1);
                if let Some((side, of, more, end)) = counted.replace(new) {
                    memory.count(side, of, more, end);
                }
            }
        }
    }
    if let Some((side, of, more, end)) = counted {
        memory.count(side, of, more, end);
    }
    Some(())
}

/// Slots of one type in one shard, for which there is memory. A file may name one far behind all others: there is none
/// between, and nothing is done for those.
struct Job {
    number: u16,
    shard: u8,
    slots: Vec<Range<u32>>,
}

impl Job {
    fn indexes(&self) -> impl Iterator<Item = u32> + '_ {
        self.slots.iter().cloned().flatten()
    }

    fn refs(&self) -> impl Iterator<Item = Ref> + '_ {
        self.indexes().map(|index| Ref::new(self.number, self.shard, index))
    }
}

/// The slots that have been used, in parts of so many pieces.
fn jobs(memory: &Memory, side: Side, pieces: usize) -> Vec<Job> {
    let schema = memory.schema.load();
    let mut jobs = Vec::new();
    for (number, _) in schema.side(side).all() {
        for shard in 0..SHARDS as u8 {
            let made: Vec<_> = memory.slots_on(side, number, shard).collect();
            let part = |slots: &[Range<u32>]| Job { number, shard, slots: slots.to_vec() };
            jobs.extend(made.chunks(pieces).map(part));
        }
    }
    jobs
}

/// The links of all nodes, those of one node side by side.
#[derive(Default)]
struct Gathered {
    /// By type and shard.
    shards: Vec<Option<OfShard>>,
}

struct OfShard {
    /// By the number of a piece of slots: where its nodes stand among the places.
    pieces: Vec<u32>,
    /// By node: how many links it has; then where they begin; at last where they end.
    places: Box<[AtomicU64]>,
    links: Box<[AtomicU64]>,
}

/// There is no such piece.
const NO_PIECE: u32 = u32::MAX;

impl OfShard {
    fn new(slots: &[Range<u32>]) -> Self {
        let mut pieces = Vec::new();
        for (place, slots) in (0..).zip(slots) {
            let piece = slots.start as usize / PIECE;
            pieces.resize(piece, NO_PIECE);
            pieces.push(place * PIECE as u32);
        }
        Self { pieces, places: zeroed(slots.len() * PIECE), links: Box::default() }
    }

    /// Where a node stands among the places; none where there is no memory for its slot.
    fn position(&self, index: u32) -> Option<usize> {
        let first = *self.pieces.get(index as usize / PIECE)?;
        (first != NO_PIECE).then_some(first as usize + index as usize % PIECE)
    }
}

impl Gathered {
    fn index(number: u16, shard: u8) -> usize {
        usize::from(number) * SHARDS + usize::from(shard)
    }

    fn of(&self, number: u16, shard: u8) -> Option<&OfShard> {
        self.shards.get(Self::index(number, shard))?.as_ref()
    }

    fn give_up(&mut self, number: u16, shard: u8) {
        if let Some(of) = self.shards.get_mut(Self::index(number, shard)) {
            *of = None;
        }
    }

    fn place(&self, node: Ref) -> Option<&AtomicU64> {
        let of = self.of(node.type_number(), node.shard())?;
        let place = of.places.get(of.position(node.index())?)?;
        (place.load(Relaxed) != NO_NODE).then_some(place)
    }
}

/// What the writer needs to know. Relationships that have lost a node are dropped, and named, but for those of nodes that were
/// `dropped` with so many that they follow later.
pub(crate) fn build(memory: &Memory, dropped: &HashSet<Ref>) -> (WriterState, Vec<Ref>) {
    let (nodes, mut gathered) = build_keys(memory, dropped);
    let orphans = count_links(memory, &gathered);
    for at in &orphans {
        memory.drop_relationship(*at, &crossbeam_epoch::pin());
    }
    lay_out(&mut gathered);
    let relationships = gather_links(memory, &gathered);
    let hubs_end = write_links(memory, gathered);
    let guard = crossbeam_epoch::pin();
    for at in dropped.iter().filter(|at| memory.has_links(**at, &guard)) {
        memory.detaching.insert(*at);
    }
    for side in [Side::Nodes, Side::Relationships] {
        fill_indexes(memory, side);
    }
    (WriterState { nodes, relationships, hubs_end, made_index: None }, orphans)
}

fn build_keys(memory: &Memory, dropped: &HashSet<Ref>) -> (ByPlace<NodeState>, Gathered) {
    let built = Mutex::new((ByPlace::default(), Gathered::default()));
    on_all_processors(&jobs(memory, Side::Nodes, usize::MAX), |job| {
        let (state, of) = build_shard(memory, job, dropped);
        let mut built = built.lock().unwrap_or_else(PoisonError::into_inner);
        *built.0.make((job.number, job.shard)) = state;
        let index = Gathered::index(job.number, job.shard);
        if built.1.shards.len() <= index {
            built.1.shards.resize_with(index + 1, || None);
        }
        built.1.shards[index] = Some(of);
    });
    built.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn build_shard(memory: &Memory, job: &Job, dropped: &HashSet<Ref>) -> (NodeState, OfShard) {
    let guard = &crossbeam_epoch::pin();
    let schema = memory.schema.load();
    let of = schema.side(Side::Nodes).get(job.number).expect("jobs are made of the types that there are");
    let nodes = memory.node_shard(job.number, job.shard).expect("jobs are made of the shards that there are");
    let mut free = Vec::new();
    let gathered = OfShard::new(&job.slots);
    let entries = job.indexes().filter_map(|index| {
        let body = nodes.slots.get(index).and_then(|slot| slot.body.load(guard));
        let Some(body) = body else {
            if !dropped.contains(&Ref::new(job.number, job.shard, index)) {
                let position = gathered.position(index).expect("it has places for all slots of the job");
                gathered.places[position].store(NO_NODE, Relaxed);
            }
            free.push(Reverse(index));
            return None;
        };
        Some((place(&of.name, parts(body).0).0, index))
    });
    let keys = nodes.keys.fill(nodes.living.load(Relaxed) as usize, entries, guard);
    let end = nodes.end.load(Relaxed);
    (NodeState { free: FreeSlots::new(free, job.slots.iter().cloned(), end), keys }, gathered)
}

/// Gives the relationships of which a node is missing.
fn count_links(memory: &Memory, gathered: &Gathered) -> Vec<Ref> {
    let orphans = Mutex::new(Vec::new());
    on_all_processors(&jobs(memory, Side::Relationships, PIECES_A_TIME), |job| {
        let guard = &crossbeam_epoch::pin();
        for at in job.refs() {
            let Some(ends) = memory.relationship(at, guard) else { continue };
            match (gathered.place(ends.from), gathered.place(ends.to)) {
                (Some(from), Some(to)) => {
                    from.fetch_add(1, Relaxed);
                    to.fetch_add(1, Relaxed);
                }
                _ => orphans.lock().unwrap_or_else(PoisonError::into_inner).push(at),
            }
        }
    });
    let mut orphans = orphans.into_inner().unwrap_or_else(PoisonError::into_inner);
    orphans.sort_unstable();
    orphans
}

/// From how many links each node has to where they begin.
fn lay_out(gathered: &mut Gathered) {
    for shard in gathered.shards.iter_mut().flatten() {
        let mut end = 0;
        for place in &shard.places {
            let count = place.load(Relaxed);
            place.store(end, Relaxed);
            end += if count == NO_NODE { 0 } else { count };
        }
        shard.links = zeroed(end as usize);
    }
}

/// The links to where they belong; gives the free slots.
fn gather_links(memory: &Memory, gathered: &Gathered) -> ByPlace<FreeSlots> {
    let all_free = Mutex::new(ByPlace::<Vec<Reverse<u32>>>::default());
    on_all_processors(&jobs(memory, Side::Relationships, PIECES_A_TIME), |job| {
        let guard = &crossbeam_epoch::pin();
        let mut free = Vec::new();
        for at in job.refs() {
            let Some(ends) = memory.relationship(at, guard) else {
                free.push(Reverse(at.index()));
                continue;
            };
            for (node, direction) in [(ends.from, Direction::Outgoing), (ends.to, Direction::Incoming)] {
                let shard = gathered.of(node.type_number(), node.shard());
                let shard = shard.expect("a relationship without its node was dropped");
                let position = shard.position(node.index()).expect("as above");
                let place = shard.places[position].fetch_add(1, Relaxed);
                shard.links[place as usize].store(Link { relationship: at, direction }.bits(), Relaxed);
            }
        }
        let mut all_free = all_free.lock().unwrap_or_else(PoisonError::into_inner);
        all_free.make((job.number, job.shard)).extend(free);
    });
    let mut single = all_free.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut all = ByPlace::default();
    for (number, _) in memory.schema.load().side(Side::Relationships).all() {
        for shard in 0..SHARDS as u8 {
            let made = memory.slots_on(Side::Relationships, number, shard);
            let end = memory.slots_end(Side::Relationships, number, shard);
            let single = std::mem::take(single.make((number, shard)));
            *all.make((number, shard)) = FreeSlots::new(single, made, end);
        }
    }
    all
}

/// Gives how many nodes have groups.
fn write_links(memory: &Memory, mut gathered: Gathered) -> u32 {
    let hubs_end = AtomicU32::new(0);
    let jobs = jobs(memory, Side::Nodes, PIECES_A_TIME);
    let all: usize = gathered.shards.iter().flatten().map(|of| of.links.len()).sum();
    let (mut begin, mut end, mut links) = (0, 0, 0);
    let is_of_same_shard = |one: &Job, other: &Job| (one.number, one.shard) == (other.number, other.shard);
    for of_shard in jobs.chunk_by(is_of_same_shard) {
        end += of_shard.len();
        links += gathered.of(of_shard[0].number, of_shard[0].shard).map_or(0, |of| of.links.len());
        if links * LINK_PARTS >= all || end == jobs.len() {
            let part = &jobs[begin..end];
            on_all_processors(part, |job| write_links_of(memory, &gathered, job, &hubs_end));
            for job in part {
                gathered.give_up(job.number, job.shard);
            }
            (begin, links) = (end, 0);
        }
    }
    hubs_end.into_inner()
}

fn write_links_of(memory: &Memory, gathered: &Gathered, job: &Job, hubs_end: &AtomicU32) {
    let guard = &crossbeam_epoch::pin();
    let nodes = memory.node_shard(job.number, job.shard);
    let (Some(nodes), Some(of)) = (nodes, gathered.of(job.number, job.shard)) else { return };
    let mut links = Vec::new();
    for index in job.indexes() {
        let position = of.position(index).expect("it has places for all slots of the type and shard");
        let begin = position.checked_sub(1).map_or(0, |before| of.places[before].load(Relaxed));
        let end = of.places[position].load(Relaxed);
        if let Some(slot) = nodes.slots.get(index).filter(|_| begin < end) {
            links.clear();
            links.extend(of.links[begin as usize..end as usize].iter().map(|link| link.load(Relaxed)));
            // Threads have put them there in no order.
            links.sort_unstable();
            slot.links.fill(&links, &memory.hubs, hubs_end, guard);
        }
    }
}

fn fill_indexes(memory: &Memory, side: Side) {
    let schema = memory.schema.load();
    on_all_processors(&jobs(memory, side, PIECES_A_TIME), |job| {
        let Some(of) = schema.side(side).get(job.number) else { return };
        for (number, _, index) in of.indexes() {
            for at in job.refs() {
                let guard = &crossbeam_epoch::pin();
                if let Some(value) = memory.property(side, at, number, guard) {
                    index.add(&value, at, guard);
                }
            }
        }
    });
}
