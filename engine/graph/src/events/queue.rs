//! What waits for one reader of changes, within bounds: the log's thread puts it in, the reader's core takes it out. Where
//! more waits than may, all of it is dropped, and the reader is told how much that was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use prony_graph_store::Schema;

use crate::events::change::Change;

/// How much may wait for one reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) changes: usize,
    pub(super) bytes: usize,
}

impl Bounds {
    /// A reader empties its queue as fast as its core goes; this much is a bulk load of some ten thousand nodes at once.
    /// Changes are shared by all readers, so their bytes count only where each keeps its own.
    pub(super) const USUAL: Self = Self { changes: 1 << 16, bytes: 64 << 20 };
}

/// One thing that a reader is told.
#[derive(Debug, Clone)]
pub(super) enum Told {
    Changed(Arc<Change>),
    /// Types are not what they were; this is what they were then.
    Schema(Arc<Schema>),
    /// Nothing is left of the graph.
    Cleared,
    /// So many changes did not fit.
    Lost(u64),
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: Bounds,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    told: VecDeque<Told>,
    changes: usize,
    bytes: usize,
    /// Since the reader was last told of a loss.
    lost: u64,
    waker: Option<Waker>,
}

impl Queue {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, waiting: Mutex::default() }
    }

    /// Puts in what one frame of the log has for the reader, and wakes it once.
    pub(super) fn push(&self, told: impl IntoIterator<Item = Told>) {
        let mut waiting = self.lock();
        let before = waiting.told.len();
        for one in told {
            waiting.push(one, self.bounds);
        }
        let is_news = waiting.told.len() > before || waiting.lost > 0;
        let waker = is_news.then(|| waiting.waker.take()).flatten();
        drop(waiting);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next thing. A loss comes before what was put in after it.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<Told> {
        let mut waiting = self.lock();
        let told = waiting.pop();
        if told.is_none() {
            waiting.waker = Some(context.waker().clone());
        }
        told.map_or(Poll::Pending, Poll::Ready)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing panics while it is held.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, told: Told, bounds: Bounds) {
        if let Told::Changed(change) = &told {
            if self.changes >= bounds.changes || self.bytes + change.len_bytes() > bounds.bytes {
                self.lose();
            }
            self.changes += 1;
            self.bytes += change.len_bytes();
        } else if matches!(told, Told::Schema(_)) && matches!(self.told.back(), Some(Told::Schema(_))) {
            // Only the last of several matters where nothing came between them.
            self.told.pop_back();
        }
        self.told.push_back(told);
    }

    /// Drops the changes. That types are not what they were is still said, once: it may be the reader's end.
    fn lose(&mut self) {
        self.lost += self.changes as u64;
        (self.changes, self.bytes) = (0, 0);
        let is_cleared = self.told.iter().any(|told| matches!(told, Told::Cleared));
        let schema = self.told.iter().rfind(|told| matches!(told, Told::Schema(_))).cloned();
        self.told.clear();
        if is_cleared {
            self.told.push_back(Told::Cleared);
        } else {
            self.told.extend(schema);
        }
    }

    fn pop(&mut self) -> Option<Told> {
        if self.lost > 0 {
            return Some(Told::Lost(std::mem::take(&mut self.lost)));
        }
        let told = self.told.pop_front()?;
        if let Told::Changed(change) = &told {
            self.changes -= 1;
            self.bytes -= change.len_bytes();
        }
        Some(told)
    }
}
