//! Slots under numbers, in memory that never moves: readers find a slot while a writer adds more.

use std::ops::Range;
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

    /// Of the slots up to `end` those that were made, the lowest first. As much work as there are pieces, or groups without
    /// any.
    pub(crate) fn made(&self, end: u32) -> impl Iterator<Item = Range<u32>> + use<'_, T, PIECE> {
        let end = u64::from(end);
        let groups = self.groups.iter().enumerate();
        let groups = groups.map(|(group, pieces)| ((1_u64 << group) - 1, pieces));
        let groups = groups.take_while(move |(first, _)| first * (PIECE as u64) < end);
        let pieces = groups.filter_map(|(first, pieces)| Some((first..).zip(pieces.get()?))).flatten();
        let made = pieces.filter(|(_, piece)| piece.get().is_some());
        let slots = made.map(move |(piece, _)| {
            let begin = piece * PIECE as u64;
            begin.min(end) as u32..(begin + PIECE as u64).min(end) as u32
        });
        slots.filter(|slots| !slots.is_empty())
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
    fn only_what_was_made_is_gone_through() {
        let slab = Slab::<AtomicU32, 64>::default();
        assert_eq!(slab.made(u32::MAX).count(), 0);
        for index in [5, 63, 64, 640, u32::MAX - 1] {
            slab.make(index);
        }
        let all: Vec<_> = slab.made(u32::MAX).collect();
        assert_eq!(all, [0..64, 64..128, 640..704, u32::MAX - 63..u32::MAX]);
        assert_eq!(slab.made(650).collect::<Vec<_>>(), [0..64, 64..128, 640..650]);
        assert_eq!(slab.made(640).count(), 2);
        assert_eq!(slab.made(0).count(), 0);
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
