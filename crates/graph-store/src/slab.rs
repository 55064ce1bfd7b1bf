//! Slots under numbers, in memory that never moves: readers find a slot while a writer adds more.

use std::sync::OnceLock;

/// Groups of pieces, each twice as large as the one before: 2^26 pieces, which are 2^32 slots where a piece has 64.
const GROUPS: usize = 27;

/// Grows by `PIECE` slots at a time, never shrinks.
#[derive(Debug)]
pub(crate) struct Slab<T, const PIECE: usize> {
    groups: [OnceLock<Group<T>>; GROUPS],
}

type Group<T> = Box<[OnceLock<Box<[T]>>]>;

impl<T: Default, const PIECE: usize> Default for Slab<T, PIECE> {
    fn default() -> Self {
        Self { groups: [const { OnceLock::new() }; GROUPS] }
    }
}

impl<T: Default, const PIECE: usize> Slab<T, PIECE> {
    /// The slot, where one was made under this number.
    pub(crate) fn get(&self, index: u32) -> Option<&T> {
        let (group, piece, slot) = Self::place(index);
        self.groups[group].get()?[piece].get().map(|piece| &piece[slot])
    }

    /// The slot; makes those around it too where there is none.
    pub(crate) fn make(&self, index: u32) -> &T {
        let (group, piece, slot) = Self::place(index);
        let pieces = self.groups[group].get_or_init(|| (0..1 << group).map(|_| OnceLock::new()).collect());
        &pieces[piece].get_or_init(|| (0..PIECE).map(|_| T::default()).collect())[slot]
    }

    /// Group, piece within the group, slot within the piece.
    const fn place(index: u32) -> (usize, usize, usize) {
        const { assert!(PIECE.is_power_of_two() && PIECE >= 64) };
        let piece = index as usize / PIECE + 1;
        let group = piece.ilog2() as usize;
        (group, piece - (1 << group), index as usize % PIECE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn slots_keep_their_places() {
        let slab = Slab::<AtomicU32, 64>::default();
        assert!(slab.get(0).is_none());
        for index in (0..100_000).rev().step_by(7) {
            slab.make(index).store(index, Ordering::Relaxed);
        }
        assert!((0..100_000).rev().step_by(7).all(|i| slab.get(i).unwrap().load(Ordering::Relaxed) == i));
        assert!(slab.get(900_000).is_none());
    }

    #[test]
    fn all_numbers_have_places_of_their_own() {
        type Small = Slab<u8, 64>;
        assert_eq!((Small::place(0), Small::place(63)), ((0, 0, 0), (0, 0, 63)));
        assert_eq!((Small::place(64), Small::place(3 * 64 - 1)), ((1, 0, 0), (1, 1, 63)));
        assert_eq!(Small::place(3 * 64), (2, 0, 0));
        let (group, piece, slot) = Small::place(u32::MAX - 1);
        assert!(group < GROUPS && piece < 1 << group && slot < 64);
    }
}
