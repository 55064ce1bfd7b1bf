//! What makes work due that keeps the log short: the log's thread says how long the log is, a thread waits for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How the log's thread tells that the log is long.
#[derive(Debug)]
pub struct LengthTrigger {
    at: AtomicU64,
    is_closing: Mutex<bool>,
    changed: Condvar,
}

impl Default for LengthTrigger {
    fn default() -> Self {
        Self { at: AtomicU64::new(u64::MAX), is_closing: Mutex::new(false), changed: Condvar::new() }
    }
}

impl LengthTrigger {
    /// Wakes who waits where the log has become so long.
    pub fn note_log_bytes(&self, log_bytes: u64) {
        if log_bytes >= self.at.load(Ordering::Relaxed) {
            self.at.store(u64::MAX, Ordering::Relaxed);
            drop(self.lock());
            self.changed.notify_one();
        }
    }

    pub fn close(&self) {
        *self.lock() = true;
        self.changed.notify_one();
    }

    /// False where the store is being closed.
    pub fn wait(&self, at: u64, log_bytes: &AtomicU64) -> bool {
        let mut is_closing = self.lock();
        self.at.store(at, Ordering::Relaxed);
        while !*is_closing && log_bytes.load(Ordering::Relaxed) < at {
            is_closing = self.changed.wait(is_closing).unwrap_or_else(PoisonError::into_inner);
        }
        !*is_closing
    }

    /// As [`Self::wait`], and returns when so much time has passed.
    pub fn wait_for(&self, at: u64, log_bytes: &AtomicU64, timeout: Duration) -> bool {
        if timeout == Duration::MAX {
            return self.wait(at, log_bytes);
        }
        let is_closing = self.lock();
        self.at.store(at, Ordering::Relaxed);
        let is_waiting = |is_closing: &mut bool| !*is_closing && log_bytes.load(Ordering::Relaxed) < at;
        let waited = self.changed.wait_timeout_while(is_closing, timeout, is_waiting);
        let (is_closing, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*is_closing
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
