//! What waits for one reader of changes, within bounds: the log's thread puts it in, the reader's core takes it out. Where
//! more waits than may, all of it is dropped, and the reader is event how much that was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

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

/// One thing that a reader hears of.
#[derive(Debug, Clone)]
pub(super) enum QueuedEvent {
    Changed(Arc<Change>),
    /// The type is gone; another may have its name by now.
    Dropped,
    /// Nothing is left of the graph.
    Cleared,
    /// So many changes did not fit.
    Lost(u64),
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: Bounds,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<QueuedEvent>,
    changes: usize,
    bytes: usize,
    /// Since the reader last heard of a loss.
    lost: u64,
    waker: Option<Waker>,
}

impl Queue {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, state: Mutex::default() }
    }

    /// Puts in what one frame of the log has for the reader, and wakes it once.
    pub(super) fn push(&self, event: impl IntoIterator<Item = QueuedEvent>) {
        let mut state = self.lock();
        let before = state.events.len();
        for one in event {
            state.push(one, self.bounds);
        }
        let is_news = state.events.len() > before || state.lost > 0;
        let waker = is_news.then(|| state.waker.take()).flatten();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next thing. A loss comes before what was put in after it.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<QueuedEvent> {
        let mut state = self.lock();
        let event = state.pop();
        if event.is_none() {
            state.waker = Some(context.waker().clone());
        }
        event.map_or(Poll::Pending, Poll::Ready)
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn push(&mut self, event: QueuedEvent, bounds: Bounds) {
        if let QueuedEvent::Changed(change) = &event {
            if self.changes >= bounds.changes || self.bytes + change.len_bytes() > bounds.bytes {
                self.lose();
            }
            self.changes += 1;
            self.bytes += change.len_bytes();
        }
        self.events.push_back(event);
    }

    /// Drops the changes. What is the reader's end is still said.
    fn lose(&mut self) {
        self.lost += self.changes as u64;
        (self.changes, self.bytes) = (0, 0);
        let is_end = |event: &&QueuedEvent| matches!(event, QueuedEvent::Dropped | QueuedEvent::Cleared);
        let end = self.events.iter().find(is_end).cloned();
        self.events.clear();
        self.events.extend(end);
    }

    fn pop(&mut self) -> Option<QueuedEvent> {
        if self.lost > 0 {
            return Some(QueuedEvent::Lost(std::mem::take(&mut self.lost)));
        }
        let event = self.events.pop_front()?;
        if let QueuedEvent::Changed(change) = &event {
            self.changes -= 1;
            self.bytes -= change.len_bytes();
        }
        Some(event)
    }
}
