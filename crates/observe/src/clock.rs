//! The run's time line: nanoseconds since its start, and where wall clocks and boot times stand on it.

use prony_load_model::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunClock {
    epoch: Instant,
    /// Nanoseconds since 1970 when the run began.
    wall_at_epoch: i128,
    /// Nanoseconds since the machine began when the run began.
    boot_at_epoch: i128,
}

impl RunClock {
    pub(crate) fn started_at(epoch: Instant) -> Self {
        let since = epoch.elapsed().as_nanos() as i128;
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i128;
        let boot = clock_gettime(ClockId::Boottime);
        let boot = i128::from(boot.tv_sec) * 1_000_000_000 + i128::from(boot.tv_nsec);
        Self { epoch, wall_at_epoch: wall - since, boot_at_epoch: boot - since }
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

    /// Where a time since boot is on the run's line.
    pub(crate) fn of_boot(&self, boot_ns: i128) -> i128 {
        boot_ns - self.boot_at_epoch
    }
}
