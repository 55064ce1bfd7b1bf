//! What one core's requests wait for in one database, as the log's thread and other cores see it.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use futures_util::task::AtomicWaker;
use prony_graph_store::Settled;

/// What the log's thread has settled and the core has not read yet.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(super) settled: Mutex<Vec<Settled>>,
    pub(super) waker: AtomicWaker,
    /// The queue's length; only its core writes it.
    pub(super) waiting: AtomicUsize,
}

impl Inbox {
    /// Requests of the core that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }
}
