//! Nodes that are deleted while some of their relationships are still there: those with too many to drop at one stroke.
//!
//! Whoever reads (`shown.rs`) takes such a relationship for gone, from the moment in which the node is; `detach.rs` drops them some at a time.

use crate::types::id::Ref;
use arc_swap::ArcSwap;
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
