//! Hashes to numbers: of keys to nodes, for the nodes of one type in one shard, and of links to their places in a node's
//! groups. Readers look up while the writer adds.
//!
//! An open-addressing table of hints: 32 bits of the hash and the number. A hint is never believed: whoever looks up
//! compares with what is there. So an entry that has become stale harms nobody, and a table can be
//! replaced by a larger one step by step while both are read.

pub(crate) mod property_index;

use crate::memory::cell::{TableCell, push_down, zeroed};
use crossbeam_epoch::Guard;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

const SIZE_FIRST: usize = 16;
/// A table is replaced when more than this many of eight places are taken.
const FULL_EIGHTHS: usize = 6;
/// The new one is larger only when more than this many of eight hold an entry.
const LIVING_EIGHTHS: usize = 3;
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
    /// Entries in both tables.
    living: usize,
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
        state.living += 1;
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
            state.living += 1;
        }
        state
    }

    /// Takes the entry out of both tables.
    pub(crate) fn remove(&self, state: &mut KeyIndexState, hash: u64, index: u32, guard: &Guard) {
        let mut is_found = false;
        for table in [self.present.load(guard), self.previous.load(guard)].into_iter().flatten() {
            let mask = table.len() - 1;
            for step in 0..table.len() {
                let place = &table[(start(hash, mask) + step) & mask];
                match place.load(Relaxed) {
                    0 => break,
                    entry if entry == self::entry(hash, index) => {
                        place.store(REMOVED, Release);
                        is_found = true;
                    }
                    _ => {}
                }
            }
        }
        state.living -= usize::from(is_found);
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
        // Where most places are those of removed entries, a table of the same size has room again.
        let size = if state.living * 8 > size * LIVING_EIGHTHS { size * 2 } else { size };
        push_down(&self.present, &self.previous, zeroed(size), guard);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn hash_of(number: u32) -> u64 {
        // Few bits, so that places are fought for.
        u64::from(number % 37) << 32 | u64::from(number % 11)
    }

    fn found(index: &KeyIndex, number: u32, guard: &Guard) -> bool {
        index.candidates(hash_of(number), guard).any(|found| found == number)
    }

    fn size(index: &KeyIndex, guard: &Guard) -> usize {
        index.present.load(guard).map_or(0, <[_]>::len)
    }

    proptest! {
        #[test]
        fn what_is_in_it_is_found(steps in prop::collection::vec((any::<bool>(), 0..300_u32), 0..1500)) {
            let (index, mut state, guard) = (KeyIndex::default(), KeyIndexState::default(), crossbeam_epoch::pin());
            let mut model = BTreeSet::new();
            for (is_added, number) in steps {
                if is_added && model.insert(number) {
                    index.insert(&mut state, hash_of(number), number, |number| Some(hash_of(number)), &guard);
                } else if !is_added && model.remove(&number) {
                    index.remove(&mut state, hash_of(number), number, &guard);
                }
            }
            for number in 0..300 {
                prop_assert_eq!(found(&index, number, &guard), model.contains(&number));
            }
            prop_assert_eq!(state.living, model.len());
        }
    }

    /// An insertion does a bounded part of the move, and the move ends long before the new table is full.
    #[test]
    fn entries_move_a_few_at_a_time_and_in_time() {
        let (index, mut state, guard) =
            (KeyIndex::default(), KeyIndexState::default(), crossbeam_epoch::pin());
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut sizes = BTreeSet::new();
        for number in 0..100_000 {
            let (before, moved) = (size(&index, &guard), state.moved);
            index.insert(&mut state, hash(number), number, |number| Some(hash(number)), &guard);
            if before == size(&index, &guard) {
                assert!(state.moved - moved <= 64, "{} moved at once", state.moved - moved);
                continue;
            }
            // The move of the table before is over: growing has not had to finish it.
            assert!(moved == before / 2 || before <= SIZE_FIRST, "{moved} of {} were moved", before / 2);
            sizes.insert(before);
        }
        assert_eq!(sizes.len(), 15, "{sizes:?}");
    }

    /// A table grew with all that was ever in it.
    #[test]
    fn a_table_does_not_grow_with_what_is_gone() {
        let (index, mut state, guard) =
            (KeyIndex::default(), KeyIndexState::default(), crossbeam_epoch::pin());
        let hash = |number: u32| u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for number in 0..200_000 {
            index.insert(&mut state, hash(number), number, |number| Some(hash(number)), &guard);
            if let Some(gone) = number.checked_sub(100) {
                index.remove(&mut state, hash(gone), gone, &guard);
            }
        }
        assert!(size(&index, &guard) <= 512, "{}", size(&index, &guard));
        let last: Vec<u32> = (199_900..200_000).collect();
        assert!(
            last.iter().all(|number| index.candidates(hash(*number), &guard).any(|found| found == *number))
        );
    }
}
