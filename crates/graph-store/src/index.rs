//! Keys to nodes, for the nodes of one type in one shard. Readers look up while the writer adds.
//!
//! An open-addressing table of hints: 32 bits of the key's hash and the node's number. A hint is never believed: whoever
//! looks up compares the key with the node's own. So an entry that has become stale harms nobody, and a table can be
//! replaced by a larger one step by step while both are read.

use crate::cell::{TableCell, push_down, zeroed};
use crossbeam_epoch::Guard;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const SIZE_FIRST: usize = 16;
/// A table is replaced when more than this many of eight places are taken.
const FULL_EIGHTHS: usize = 6;
/// Places that move to the new table with each insertion: it is through long before the new one is full.
const MOVED_A_TIME: usize = 16;
/// A place whose entry was removed; searches go on behind it.
const REMOVED: u64 = u64::MAX;

/// One writer at a time.
#[derive(Debug, Default)]
pub(crate) struct KeyIndex {
    present: TableCell,
    /// Whose entries are still on their way to the present one.
    previous: TableCell,
}

/// What only the writer knows of an index.
#[derive(Debug, Default)]
pub(crate) struct KeyIndexState {
    /// Places of the present table that are not empty.
    taken: usize,
    /// The first place of the previous table that has not moved yet.
    moved: usize,
}

impl KeyIndex {
    /// The numbers of the nodes that may have a key with this hash, for the caller to compare.
    pub(crate) fn candidates<'g>(&self, hash: u64, guard: &'g Guard) -> impl Iterator<Item = u32> + use<'g> {
        // The present one is loaded first: an entry that moves away from the previous one meanwhile is still in that.
        let tables = [self.present.load(guard), self.previous.load(guard)];
        tables.into_iter().flatten().flat_map(move |table| {
            let mask = table.len() - 1;
            (0..table.len())
                .map(move |step| table[(start(hash, mask) + step) & mask].load(Acquire))
                .take_while(|entry| *entry != 0)
                .filter(move |entry| *entry != REMOVED && *entry >> 32 == tag(hash))
                .map(|entry| entry as u32 - 1)
        })
    }

    pub(crate) fn insert(
        &self,
        state: &mut KeyIndexState,
        hash: u64,
        index: u32,
        hash_of: impl Fn(u32) -> Option<u64>,
        guard: &Guard,
    ) {
        self.go_on_moving(state, &hash_of, guard);
        let size = self.present.load(guard).map_or(0, <[_]>::len);
        if (state.taken + 1) * 8 > size * FULL_EIGHTHS {
            self.grow(state, size, &hash_of, guard);
        }
        self.put(state, hash, index, guard);
    }

    /// The first entries of an index, at most `count`: as [`Self::insert`] one by one, without growing on the way.
    pub(crate) fn fill(
        &self,
        count: usize,
        entries: impl Iterator<Item = (u64, u32)>,
        guard: &Guard,
    ) -> KeyIndexState {
        let mut state = KeyIndexState::default();
        let size = ((count + 1) * 8).div_ceil(FULL_EIGHTHS).next_power_of_two().max(SIZE_FIRST);
        self.present.replace(Some(zeroed(size)), guard);
        for (hash, index) in entries {
            self.put(&mut state, hash, index, guard);
        }
        state
    }

    /// Takes the entry out of both tables.
    pub(crate) fn remove(&self, hash: u64, index: u32, guard: &Guard) {
        for table in [self.present.load(guard), self.previous.load(guard)].into_iter().flatten() {
            let mask = table.len() - 1;
            for step in 0..table.len() {
                let place = &table[(start(hash, mask) + step) & mask];
                match place.load(Relaxed) {
                    0 => break,
                    entry if entry == self::entry(hash, index) => place.store(REMOVED, Release),
                    _ => {}
                }
            }
        }
    }

    fn put(&self, state: &mut KeyIndexState, hash: u64, index: u32, guard: &Guard) {
        let table = self.present.load(guard).expect("a table is made before the first entry");
        let mask = table.len() - 1;
        for step in 0..table.len() {
            let place = &table[(start(hash, mask) + step) & mask];
            match place.load(Relaxed) {
                0 => {
                    place.store(entry(hash, index), Release);
                    state.taken += 1;
                    return;
                }
                REMOVED => {
                    place.store(entry(hash, index), Release);
                    return;
                }
                _ => {}
            }
        }
        unreachable!("a table is replaced before it is full");
    }

    fn grow(
        &self,
        state: &mut KeyIndexState,
        size: usize,
        hash_of: &impl Fn(u32) -> Option<u64>,
        guard: &Guard,
    ) {
        // What is still on its way would be lost with the previous table.
        while self.previous.load(guard).is_some() {
            self.go_on_moving(state, hash_of, guard);
        }
        if size == 0 {
            self.present.replace(Some(zeroed(SIZE_FIRST)), guard);
            return;
        }
        push_down(&self.present, &self.previous, zeroed(size * 2), guard);
        (state.taken, state.moved) = (0, 0);
    }

    fn go_on_moving(&self, state: &mut KeyIndexState, hash_of: &impl Fn(u32) -> Option<u64>, guard: &Guard) {
        let Some(previous) = self.previous.load(guard) else { return };
        let end = (state.moved + MOVED_A_TIME).min(previous.len());
        for place in &previous[state.moved..end] {
            let entry = place.load(Relaxed);
            if entry != 0
                && entry != REMOVED
                && let Some(hash) = hash_of(entry as u32 - 1)
            {
                self.put(state, hash, entry as u32 - 1, guard);
            }
        }
        state.moved = end;
        if end == previous.len() {
            self.previous.replace(None, guard);
        }
    }
}

const fn tag(hash: u64) -> u64 {
    hash >> 32
}

const fn start(hash: u64, mask: usize) -> usize {
    // The two highest bits are the shard's, the same for all.
    hash as usize & mask
}

const fn entry(hash: u64, index: u32) -> u64 {
    tag(hash) << 32 | (index as u64 + 1)
}
