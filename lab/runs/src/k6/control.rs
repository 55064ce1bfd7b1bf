//! What is known of a script's life while it goes, and what is asked of it from outside.

use prony_load::StopFlag;
use prony_model::Nanos;
use prony_script_k6::Began;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How far a life is, by k6's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LifeStatus {
    Created = 0,
    PausedBeforeRun = 4,
    Started = 5,
    Setup = 6,
    Running = 7,
    Teardown = 8,
    Ended = 9,
    Interrupted = 10,
}

/// Shared by who lives a life and who looks at it.
#[derive(Debug)]
pub struct LifeControl {
    began: Began,
    state: Mutex<LifeState>,
    resumed: Condvar,
}

/// One moment of a life.
#[derive(Debug, Clone)]
pub(crate) struct LifeState {
    pub(crate) status: LifeStatus,
    pub(crate) is_paused: bool,
    pub(crate) is_stopped: bool,
    pub(crate) users: u32,
    pub(crate) users_max: u32,
    /// What `setup` returned, or what was given in its place; JSON.
    pub(crate) setup_data: Option<Arc<str>>,
    /// For how long the test had been executed at a moment, and whether it goes on since.
    executed: (Nanos, Instant, bool),
}

/// A pause looks so often whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);

impl LifeControl {
    /// Of a life that waits to be resumed before it begins, where it is paused.
    pub fn new(is_paused: bool) -> Self {
        let state = LifeState {
            status: LifeStatus::Created,
            is_paused,
            is_stopped: false,
            users: 0,
            users_max: 0,
            setup_data: None,
            executed: (Nanos::ZERO, Instant::now(), false),
        };
        let began = (Instant::now(), SystemTime::now());
        Self { began, state: Mutex::new(state), resumed: Condvar::new() }
    }

    pub(crate) const fn began(&self) -> Began {
        self.began
    }

    fn state(&self) -> MutexGuard<'_, LifeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> LifeState {
        self.state().clone()
    }

    pub(crate) fn set_status(&self, status: LifeStatus) {
        let mut state = self.state();
        state.status = status;
        if status >= LifeStatus::Ended {
            state.users = 0;
        }
    }

    pub(crate) fn set_users(&self, users: u32, users_max: u32) {
        let mut state = self.state();
        (state.users, state.users_max) = (users, users_max);
    }

    /// The test has been executed for so long, and goes on where it runs.
    pub(crate) fn set_executed(&self, executed: Nanos, runs: bool) {
        self.state().executed = (executed, Instant::now(), runs);
    }

    pub(crate) fn set_setup_data(&self, data: Option<Arc<str>>) {
        self.state().setup_data = data;
    }

    pub(crate) fn set_stopped(&self) {
        self.state().is_stopped = true;
    }

    /// Where it is paused, waits until it is resumed or is to end.
    pub(crate) fn wait_while_paused(&self, stop: &StopFlag) {
        let mut state = self.state();
        while state.is_paused && !stop.is_stopped() {
            state.status = LifeStatus::PausedBeforeRun;
            state = self.resumed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_paused = false;
        state.status = LifeStatus::Started;
    }

    /// False where it was not paused.
    pub(crate) fn resume(&self) -> bool {
        let was_paused = std::mem::take(&mut self.state().is_paused);
        self.resumed.notify_all();
        was_paused
    }
}

impl LifeState {
    pub(crate) fn is_running(&self) -> bool {
        (LifeStatus::Started..=LifeStatus::Teardown).contains(&self.status)
    }

    /// For how long the test has been executed; rates go by it.
    pub(crate) fn executed(&self) -> Nanos {
        let (executed, at, runs) = self.executed;
        let since = if runs { u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX) } else { 0 };
        executed.plus(Nanos(since))
    }
}
