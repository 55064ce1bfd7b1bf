//! The seam between what is watched and when: an observer takes one look at a time and notes what it saw.

use crate::book::Notes;
use crate::clock::RunClock;
use prony_model::Nanos;

pub(crate) trait Observer: Send {
    /// Called at the run's start, each second after it, and once at its end. May wait for its peer for as long as
    /// its own limit of time allows; looks that it misses meanwhile are left out.
    fn look(&mut self, clock: &RunClock, notes: &mut Notes);
}

/// In one run. Each has a thread of its own, and figures of more than these are read by nobody.
pub(crate) const OBSERVERS_MAX: usize = 16;
/// Rates over less than this are noise: /proc counts processor time in steps of 10 ms.
pub(crate) const INTERVAL_MIN: Nanos = Nanos::from_millis(200);
