//! What the cores of a server and the thread that asks the store for them both know.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use prony_access::{SharedCounts, StoreCall, Verdict, WhenUnreachable};
use tokio::sync::oneshot;

use crate::clock::{monotonic_ns, unix_now};

/// What the cores and the thread both know.
#[derive(Debug)]
pub(super) struct SharedState {
    pub(super) counts: SharedCounts<Waiter>,
    /// Without its password.
    pub(super) address: String,
    pub(super) failure: Mutex<Option<Failure>>,
    pub(super) calls: AtomicU64,
    pub(super) failures: AtomicU64,
}

/// Since when, in Unix seconds, and why the store cannot be reached.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    pub(super) since: i64,
    pub(super) reason: String,
}

/// Who waits for the store.
pub(super) type Waiter = oneshot::Sender<Verdict>;

/// What the thread is to do.
pub(super) enum LimitOrder {
    /// There are no more of these than operations that wait.
    Call(StoreCall),
    /// What is not used is given back, and the thread ends.
    End,
}

impl SharedState {
    pub(super) fn failure(&self) -> MutexGuard<'_, Option<Failure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn choice(&self) -> &'static str {
        match self.counts.settings.when_unreachable {
            WhenUnreachable::Local => "local",
            WhenUnreachable::Refuse => "refuse",
        }
    }

    /// The store is reached.
    pub(super) fn reached(&self) {
        *self.failure() = None;
        self.counts.set_reachable(true);
        tracing::info!(redis = self.address, "limits are shared with other servers");
    }

    /// The store is not reached; that is logged when it begins.
    pub(super) fn lost(&self, reason: &str) {
        self.counts.set_reachable(false);
        self.failures.fetch_add(1, Relaxed);
        let mut failure = self.failure();
        let since = failure.as_ref().map_or_else(unix_now, |failure| failure.since);
        let is_new = failure.replace(Failure { since, reason: reason.to_owned() }).is_none();
        drop(failure);
        if is_new {
            tracing::error!(
                redis = self.address,
                reason,
                limits = self.choice(),
                "limits are not shared with other servers: their store cannot be reached"
            );
        }
    }

    /// Calls that cannot be made decide for those who wait for them.
    pub(super) fn fail_all<'c>(&self, calls: impl IntoIterator<Item = &'c StoreCall>) {
        for call in calls {
            let (decided, _) = self.counts.replied(call, None, monotonic_ns());
            for (waiter, _, verdict) in decided {
                // Who has gone needs no verdict.
                let _ = waiter.send(verdict);
            }
        }
    }
}
