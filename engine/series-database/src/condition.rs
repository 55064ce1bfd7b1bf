//! How a database fares, as upkeep finds it; and upkeep's end.

use crate::fault::Fault;
use crate::frame::submit;
use prony_series_store::{EngineHealth, WritesElsewhere};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is known of the database's state.
#[derive(Debug, Default)]
pub struct Condition {
    pub rows: AtomicU64,
    /// Why it cannot be asked, and since when.
    pub gone: Mutex<Option<(Fault, SystemTime)>>,
    /// Why upkeep failed the last time, and when.
    pub failure: Mutex<Option<(Arc<str>, SystemTime)>>,
    is_stopping: Mutex<bool>,
    stops: Condvar,
}

impl Condition {
    pub fn stop(&self) {
        *lock(&self.is_stopping) = true;
        self.stops.notify_all();
    }

    /// Waits; true where upkeep is to stop.
    pub fn pause(&self, longest: Duration) -> bool {
        let stopping = lock(&self.is_stopping);
        let waited = self.stops.wait_timeout_while(stopping, longest, |is_stopping| !*is_stopping);
        let (is_stopping, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *is_stopping
    }
    /// Whether the database could be asked just now. Where it is back, those who were refused can write again.
    pub fn note_gone(&self, fault: Option<&Fault>, writes: &WritesElsewhere) {
        let mut gone = lock(&self.gone);
        match fault {
            Some(fault) if gone.is_none() => *gone = Some((fault.clone(), SystemTime::now())),
            Some(_) => {}
            None => {
                *gone = None;
                drop(gone);
                if writes.failure().is_some() {
                    // A write of nothing shows that others can be made again.
                    let _ = submit(writes, &mut |_| Ok(()));
                }
            }
        }
    }

    /// As [`prony_series_store::Engine::health`].
    pub fn health(&self, database: &Arc<str>, writes: &WritesElsewhere) -> EngineHealth {
        let gone = lock(&self.gone).clone();
        let gone = gone.map(|(fault, at)| (fault.of_write(database), at));
        let failure = lock(&self.failure).clone();
        EngineHealth { write_failure: writes.failure().or(gone), upkeep_failure: failure }
    }
}
