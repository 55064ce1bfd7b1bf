//! Nodes that are deleted while some of their relationships are still there: those with too many to drop at one stroke.
//!
//! Whoever reads takes such a relationship for gone, from the moment in which the node is; `detach.rs` drops them some at a time.

use crate::memory::free::WriterState;
use crate::memory::links::Direction;
use crate::memory::{Ends, Memory};
use crate::types::id::Ref;
use arc_swap::ArcSwap;
use crossbeam_epoch::Guard;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Release};

/// A set of nodes, which only the writer changes. In most graphs it is empty at most times, which costs readers one load.
#[derive(Debug, Default)]
pub(crate) struct Detaching {
    count: AtomicUsize,
    /// Sorted.
    nodes: ArcSwap<Vec<Ref>>,
}

impl Detaching {
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Acquire) == 0
    }

    pub(crate) fn contains(&self, node: Ref) -> bool {
        !self.is_empty() && self.nodes.load().binary_search(&node).is_ok()
    }

    pub(crate) fn first(&self) -> Option<Ref> {
        self.nodes.load().first().copied()
    }

    pub(crate) fn insert(&self, node: Ref) {
        self.change(|nodes| {
            if let Err(place) = nodes.binary_search(&node) {
                nodes.insert(place, node);
            }
        });
    }

    pub(crate) fn remove(&self, node: Ref) {
        if self.contains(node) {
            self.change(|nodes| nodes.retain(|of| *of != node));
        }
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Ref>)) {
        let mut nodes = Vec::clone(&self.nodes.load());
        change(&mut nodes);
        let count = nodes.len();
        self.nodes.store(Arc::new(nodes));
        self.count.store(count, Release);
    }
}

impl Memory {
    /// As [`Self::relationship`], of what is there for those who read: not of one whose node is deleted.
    pub(crate) fn shown_relationship<'g>(&'g self, at: Ref, guard: &'g Guard) -> Option<Ends<'g>> {
        self.relationship(at, guard).filter(|ends| self.shows(ends))
    }

    fn shows(&self, ends: &Ends<'_>) -> bool {
        self.detaching.is_empty() || !(self.detaching.contains(ends.from) || self.detaching.contains(ends.to))
    }

    /// As [`Self::degree`], of those that are [there for those who read](Self::shown_relationship). Looks at each while nodes are being
    /// detached.
    pub(crate) fn shown_degree(
        &self,
        node: Ref,
        direction: Direction,
        of: Option<u16>,
        guard: &Guard,
    ) -> u64 {
        if self.detaching.is_empty() {
            return self.degree(node, direction, of, guard);
        }
        let mut count = 0;
        self.links_of(node, of.map(|of| (direction, of)), guard, |link| {
            let is_it =
                link.direction == direction && self.shown_relationship(link.relationship, guard).is_some();
            count += u64::from(is_it);
        });
        count
    }

    /// A node was deleted: its slot is free, or has relationships that are to be dropped first.
    pub(crate) fn detach(&self, at: Ref, state: &mut WriterState, guard: &Guard) {
        let (_, slot) = self.make_node_slot(at);
        if slot.links.is_empty(&self.hubs, guard) {
            self.detaching.remove(at);
            slot.links.clear(guard);
            state.nodes.make((at.type_number(), at.shard())).free.push(at.index());
        } else {
            self.detaching.insert(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_set() {
        let (detaching, [a, b]) = (Detaching::default(), [Ref::new(1, 2, 3), Ref::new(1, 2, 4)]);
        assert!(detaching.is_empty() && !detaching.contains(a) && detaching.first().is_none());
        for node in [b, a, b] {
            detaching.insert(node);
        }
        assert_eq!(detaching.first(), Some(a));
        detaching.remove(a);
        detaching.remove(a);
        assert!(!detaching.contains(a) && detaching.contains(b) && !detaching.is_empty());
        detaching.remove(b);
        assert!(detaching.is_empty() && !detaching.contains(b));
    }
}
