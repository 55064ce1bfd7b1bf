//! A file that is slow, for tests: what is done to it waits as long as the test likes, and then may fail.

use crate::mutex::lock;
use crate::step::Step;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Which file is held up, and who waits for it.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    state: Mutex<HeldFile>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct HeldFile {
    name: Option<&'static str>,
    waiting: usize,
    /// So many of those that waited are to find no room.
    failing: usize,
}

impl Holds {
    fn lock(&self) -> MutexGuard<'_, HeldFile> {
        lock(&self.state)
    }

    pub(crate) fn begin(&self, name: &'static str) {
        self.lock().name = Some(name);
    }

    /// As long as the file of a step is held up; whether the step is to fail for want of room.
    pub(crate) fn wait(&self, step: Step<'_>) -> bool {
        let is_held = |state: &HeldFile| state.name.is_some_and(|name| is_called(step.path(), name));
        let mut state = self.lock();
        if !is_held(&state) {
            return false;
        }
        state.waiting += 1;
        self.changed.notify_all();
        while is_held(&state) {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting -= 1;
        let fails = state.failing > 0;
        state.failing -= usize::from(fails);
        fails
    }

    fn end(&self, fails: bool) {
        let mut state = self.lock();
        if state.name.take().is_some() && fails {
            state.failing = state.waiting;
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Whether the last name of a path begins so.
pub fn is_called(path: &Path, begin: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(begin))
}

/// Dropped, it lets the file go.
#[derive(Debug)]
pub struct Held(pub(crate) Arc<Holds>);

impl Held {
    /// Whether somebody comes to wait for the file within this time.
    pub fn is_waited_for(&self, within: Duration) -> bool {
        let holds = &self.0;
        let waited = holds.changed.wait_timeout_while(holds.lock(), within, |state| state.waiting == 0);
        waited.unwrap_or_else(PoisonError::into_inner).0.waiting > 0
    }

    /// Lets the file go; those who wait for it find no room.
    pub fn fail(self) {
        self.0.end(true);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.end(false);
    }
}
