//! Slots that can be filled again, which only the writer knows: the lowest first, as ids are promised to be.

use crate::index::KeyIndexState;
use crate::index::property_index::PropertyIndex;
use crate::types::change::Side;
use crate::types::id::SHARDS;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;

/// What only the writer knows: free slots, and how far indexes have moved.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    pub(crate) nodes: ByPlace<NodeState>,
    pub(crate) relationships: ByPlace<FreeSlots>,
    pub(crate) hubs_end: u32,
    /// Side, type, property, and an index of it that has all; for the next change that makes one.
    pub(crate) made_index: Option<((Side, u16, u16), Arc<PropertyIndex>)>,
}

#[derive(Debug, Default)]
pub(crate) struct NodeState {
    pub(crate) free: FreeSlots,
    pub(crate) keys: KeyIndexState,
}

/// A type's number and a shard.
pub(crate) type Place = (u16, u8);

/// By type and shard.
#[derive(Debug)]
pub(crate) struct ByPlace<T>(Vec<[T; SHARDS]>);

impl<T> Default for ByPlace<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByPlace<T> {
    pub(crate) fn get(&self, (number, shard): Place) -> Option<&T> {
        Some(&self.0.get(usize::from(number))?[usize::from(shard)])
    }

    pub(crate) fn make(&mut self, (number, shard): Place) -> &mut T {
        let number = usize::from(number);
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Default::default);
        }
        &mut self.0[number][usize::from(shard)]
    }
}

impl WriterState {
    pub(crate) fn free(&self, side: Side, place: Place) -> Option<&FreeSlots> {
        match side {
            Side::Nodes => self.nodes.get(place).map(|state| &state.free),
            Side::Relationships => self.relationships.get(place),
        }
    }
}

/// Some may have been filled again since: whoever takes one looks.
#[derive(Debug, Default)]
pub(crate) struct FreeSlots {
    single: BinaryHeap<Reverse<u32>>,
    /// Those for which a start had no memory to take, in order; what is taken of them is gone from here.
    gaps: Vec<Range<u32>>,
    /// Gaps before this one are empty.
    gap: usize,
}

impl FreeSlots {
    /// As a start finds them: `made` has memory for all others up to `end`.
    pub(crate) fn new(single: Vec<Reverse<u32>>, made: impl Iterator<Item = Range<u32>>, end: u32) -> Self {
        let (mut gaps, mut before) = (Vec::new(), 0);
        for slots in made.chain(std::iter::once(end..end)) {
            if before < slots.start {
                gaps.push(before..slots.start);
            }
            before = slots.end;
        }
        Self { single: single.into(), gaps, gap: 0 }
    }

    pub(crate) fn push(&mut self, index: u32) {
        self.single.push(Reverse(index));
    }

    /// The lowest, which is taken out.
    pub(crate) fn pop(&mut self) -> Option<u32> {
        let single = self.single.peek().map(|Reverse(index)| *index);
        while self.gaps.get(self.gap).is_some_and(Range::is_empty) {
            self.gap += 1;
        }
        if let Some(gap) =
            self.gaps.get_mut(self.gap).filter(|gap| single.is_none_or(|single| gap.start < single))
        {
            return gap.next();
        }
        self.single.pop();
        single
    }

    pub(crate) fn iter_single(&self) -> impl Iterator<Item = u32> + '_ {
        self.single.iter().map(|Reverse(index)| *index)
    }

    pub(crate) fn is_in_gap(&self, index: u32) -> bool {
        let at = self.gaps.partition_point(|gap| gap.end <= index);
        self.gaps.get(at).is_some_and(|gap| gap.contains(&index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_comes_first_from_wherever_it_is() {
        let mut free = FreeSlots::new(vec![Reverse(70), Reverse(65)], [64..128, 192..256].into_iter(), 256);
        assert!(free.is_in_gap(0) && free.is_in_gap(128) && !free.is_in_gap(64) && !free.is_in_gap(256));
        free.push(66);
        let popped: Vec<u32> = std::iter::from_fn(|| free.pop()).collect();
        let wanted: Vec<u32> = (0..64).chain([65, 66, 70]).chain(128..192).collect();
        assert_eq!(popped, wanted);
        free.push(3);
        assert_eq!((free.pop(), free.pop()), (Some(3), None));
        assert!(!free.is_in_gap(0));
    }
}
