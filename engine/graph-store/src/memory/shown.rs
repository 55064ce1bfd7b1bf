//! What those who read may see: nothing of a node that is [being detached](crate::memory::detaching); and when a node is.

use crate::memory::free::WriterState;
use crate::memory::links::Direction;
use crate::memory::{Ends, Memory};
use crate::types::id::Ref;
use crossbeam_epoch::Guard;

impl Memory {
    /// As [`Self::relationship`], of what is there for those who read: not of one whose node is deleted.
    pub(crate) fn shown_relationship<'g>(&'g self, at: Ref, guard: &'g Guard) -> Option<Ends<'g>> {
        self.relationship(at, guard).filter(|ends| self.shows(ends))
    }

    fn shows(&self, ends: &Ends<'_>) -> bool {
        self.detaching.is_empty() || !(self.detaching.contains(ends.from) || self.detaching.contains(ends.to))
    }

    /// Whether no node is being detached.
    pub(crate) fn detaches_none(&self) -> bool {
        self.detaching.is_empty()
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
