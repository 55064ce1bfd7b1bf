//! What makes a snapshot due: the log's thread says how long the log is, the thread of snapshots waits for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How the log's thread tells that the log is long.
#[derive(Debug)]
pub(crate) struct SnapshotTrigger {
    at: AtomicU64,
    is_closing: Mutex<bool>,
    changed: Condvar,
}

impl Default for SnapshotTrigger {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), is_closing: Mutex::new(false), changed: Condvar::new() }
    }
}

impl SnapshotTrigger {
    /// Wakes who waits where the log has become so long.
    pub(crate) fn note_log_bytes(&self, log_bytes: u64) {
        if log_bytes >= self.at.load(Ordering::Relaxed) {
            self.at.store(u64::MAX, Ordering::Relaxed);
            drop(self.lock());
            self.changed.notify_one();
        }
    }

    pub(crate) fn close(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// False where the store is being closed.
    pub(crate) fn wait(&self, at: u64, log_bytes: &AtomicU64) -> bool {
        let mut is_closing = self.lock();
        self.at.store(at, Ordering::Relaxed);
        while !*is_closing && log_bytes.load(Ordering::Relaxed) < at {
            is_closing = self.changed.wait(is_closing).unwrap_or_else(PoisonError::into_inner);
        }
        !*is_closing
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
