//! What waits for one reader of rows, within bounds: the log's thread puts it in, the reader's core takes it out. Where more waits than
//! may, all of it is dropped, and the reader is told how much that was.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use prony_series_store::{RowEvent, Rows, Series};

/// How much may wait for one reader.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) rows: usize,
    pub(super) bytes: usize,
}

impl Bounds {
    /// A reader empties its queue as fast as its core goes; this much is some tens of thousands of rows at once. Rows are shared by all
    /// readers, so their bytes count only where each keeps its own.
    pub(super) const USUAL: Self = Self { rows: 1 << 16, bytes: 64 << 20 };
}

/// A row as it was written.
#[derive(Debug)]
pub(super) struct NotifiedRow {
    pub(super) id: Box<str>,
    pub(super) path: Box<str>,
    /// One row.
    pub(super) rows: Rows,
    bytes: usize,
}

/// One thing that a reader is told.
#[derive(Debug, Clone)]
pub(super) enum QueuedEvent {
    Row(Arc<NotifiedRow>),
    /// The type is gone.
    Dropped,
    /// So many rows did not fit.
    Lost(u64),
}

#[derive(Debug)]
pub(super) struct Queue {
    bounds: Bounds,
    state: Mutex<QueueState>,
}

#[derive(Debug, Default)]
struct QueueState {
    rows: VecDeque<Arc<NotifiedRow>>,
    bytes: usize,
    /// Since the reader was last told of a loss.
    lost: u64,
    is_dropped: bool,
    waker: Option<Waker>,
}

impl NotifiedRow {
    pub(super) fn new(of: &Series, event: &RowEvent<'_>) -> Self {
        let rows = event.to_rows();
        let bytes = size_of::<Self>() + of.entity.len() + of.path.len() + rows.weight_bytes();
        Self { id: of.entity.clone(), path: of.path.clone(), rows, bytes }
    }
}

impl Queue {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { bounds, state: Mutex::default() }
    }

    /// Puts one thing in; whether the reader waits and is to be woken for it.
    pub(super) fn put(&self, event: QueuedEvent) -> bool {
        let mut state = self.lock();
        match event {
            QueuedEvent::Row(row) => {
                if state.rows.len() >= self.bounds.rows || state.bytes + row.bytes > self.bounds.bytes {
                    state.lost += state.rows.len() as u64;
                    state.rows.clear();
                    state.bytes = 0;
                }
                state.bytes += row.bytes;
                state.rows.push_back(row);
                state.rows.len() == 1
            }
            QueuedEvent::Dropped => {
                state.is_dropped = true;
                true
            }
            QueuedEvent::Lost(count) => {
                state.lost += count;
                true
            }
        }
    }

    /// Wakes the reader where it waits.
    pub(super) fn wake(&self) {
        let waker = self.lock().waker.take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The next thing. A loss comes before what was put in after it, the end after everything.
    pub(super) fn poll(&self, context: &Context<'_>) -> Poll<QueuedEvent> {
        let mut state = self.lock();
        if state.lost > 0 {
            return Poll::Ready(QueuedEvent::Lost(std::mem::take(&mut state.lost)));
        }
        if let Some(row) = state.rows.pop_front() {
            state.bytes -= row.bytes;
            return Poll::Ready(QueuedEvent::Row(row));
        }
        if state.is_dropped {
            return Poll::Ready(QueuedEvent::Dropped);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Nothing panics while it is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn row(name: &str) -> QueuedEvent {
        let rows = Rows::default();
        QueuedEvent::Row(Arc::new(NotifiedRow { id: name.into(), path: "/".into(), rows, bytes: 10 }))
    }

    fn told(queue: &Queue) -> String {
        match queue.poll(&Context::from_waker(Waker::noop())) {
            Poll::Pending => "waits".to_owned(),
            Poll::Ready(QueuedEvent::Row(row)) => row.id.to_string(),
            Poll::Ready(QueuedEvent::Dropped) => "dropped".to_owned(),
            Poll::Ready(QueuedEvent::Lost(count)) => format!("lost {count}"),
        }
    }

    #[test]
    fn what_does_not_fit_is_counted_and_what_comes_later_is_told() {
        for bounds in [Bounds { rows: 2, bytes: 1000 }, Bounds { rows: 1000, bytes: 29 }] {
            let queue = Queue::new(bounds);
            assert_eq!(told(&queue), "waits");
            assert!(queue.put(row("a")), "the reader waits");
            assert!(!queue.put(row("b")), "it is woken already");
            queue.put(row("c"));
            queue.put(row("d"));
            queue.put(QueuedEvent::Dropped);
            let all: Vec<String> = (0..5).map(|_| told(&queue)).collect();
            assert_eq!(all, ["lost 2", "c", "d", "dropped", "dropped"]);
        }
    }
}
