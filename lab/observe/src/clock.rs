//! The run's time line: nanoseconds since its start, and where wall clocks stand on it.

use prony_model::Nanos;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunClock {
    epoch: Instant,
    /// Nanoseconds since 1970 when the run began.
    wall_at_epoch: i128,
}

impl RunClock {
    pub(crate) fn started_at(epoch: Instant) -> Self {
        let since = epoch.elapsed().as_nanos().cast_signed();
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let wall = wall.cast_signed();
        Self { epoch, wall_at_epoch: wall - since }
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    pub(crate) fn instant_of(&self, at: Nanos) -> Instant {
        self.epoch + std::time::Duration::from_nanos(at.0)
    }

    /// Where a wall clock's time is on the run's line; negative before its start.
    pub(crate) fn of_wall(&self, unix_ns: i128) -> i128 {
        unix_ns - self.wall_at_epoch
    }
}
