//! The clock of a client: the system's, or that of a test, in which time passes only while the client waits.

use crate::poller::Poller;
use prony_model::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Debug;
use std::io;
use std::time::Instant;

/// How often the clock is read to find how two of its readings relate.
const READINGS: u32 = 16;

/// Time, and all that happens behind a client's sockets meanwhile, in a test.
pub trait VirtualTime: Debug {
    fn now(&self) -> Nanos;

    /// The client waits, and nothing is ready: peers act, or time goes on until one of them does, or until this moment.
    fn pass(&mut self, until: Nanos);
}

#[derive(Debug)]
pub(crate) enum Clock {
    /// Counted from this moment, in nanoseconds of the system's monotonic clock: what [`Instant`] does with its own reading
    /// costs as much as the reading.
    System {
        start_ns: u64,
    },
    Virtual(Box<dyn VirtualTime>),
}

impl Clock {
    /// The system's, counted from this moment.
    pub(crate) fn system(epoch: Instant) -> Self {
        // The reading between whose two neighbours least time has passed is the most exact.
        let reading = || {
            let before_ns = monotonic_ns();
            let elapsed_ns = epoch.elapsed().as_nanos() as u64;
            let took_ns = monotonic_ns() - before_ns;
            (took_ns, (before_ns + took_ns / 2).saturating_sub(elapsed_ns))
        };
        let (_, start_ns) = (0..READINGS).map(|_| reading()).min().unwrap_or_default();
        Self::System { start_ns }
    }

    pub(crate) fn now(&self) -> Nanos {
        match self {
            Self::System { start_ns } => Nanos(monotonic_ns().saturating_sub(*start_ns)),
            Self::Virtual(time) => time.now(),
        }
    }

    /// Waits until a socket is ready or the moment `until` has come.
    pub(crate) fn wait(&mut self, poller: &mut Poller, now: Nanos, until: Nanos) -> io::Result<()> {
        let Self::Virtual(time) = self else { return poller.wait(now, until) };
        loop {
            poller.wait(now, now)?;
            if poller.ready(0).is_some() || time.now() >= until {
                return Ok(());
            }
            time.pass(until);
        }
    }
}

fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_system_s_clock_counts_from_the_start_as_an_instant_does() {
        let epoch = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        let clock = Clock::system(epoch);
        let (before, now, after) = (epoch.elapsed(), clock.now(), epoch.elapsed());
        let slack = Nanos::from_millis(1).0;
        assert!(before.as_nanos() as u64 <= now.0 + slack && now.0 <= after.as_nanos() as u64 + slack);
    }
}
