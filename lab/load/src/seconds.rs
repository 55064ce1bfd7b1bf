//! The seconds of one thread's work, as it hands them over to the collector.

use prony_model::Nanos;
use prony_model::measurement::tally::Tally;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::Sender;

/// A second of one thread's work, or of one worker's.
#[derive(Debug)]
pub struct ThreadInterval {
    pub thread: u32,
    pub second: u64,
    /// When it was handed over.
    pub until: Nanos,
    /// The thread hands over nothing more.
    pub is_last: bool,
    pub tally: Tally,
    /// Processor time that the thread took in it.
    pub busy: Nanos,
}

/// Numbers the seconds of a thread and measures the processor time of each.
#[derive(Debug)]
pub(crate) struct Seconds {
    /// Among all threads of the run.
    thread: u32,
    hand_over: Sender<ThreadInterval>,
    second: u64,
    busy_before: Nanos,
}

impl Seconds {
    pub(crate) const fn new(thread: u32, hand_over: Sender<ThreadInterval>) -> Self {
        Self { thread, hand_over, second: 0, busy_before: Nanos::ZERO }
    }

    /// The thread's part in the run begins with this moment: what it computed before is not counted.
    pub(crate) fn begin(&mut self, from: Nanos) {
        (self.busy_before, self.second) = (processor_time(), from.0 / 1_000_000_000);
    }

    /// When the present second ends.
    pub(crate) const fn end(&self) -> Nanos {
        Nanos::from_secs(self.second + 1)
    }

    /// Hands over what was counted in the present second; the next one begins.
    pub(crate) fn hand_over(&mut self, tally: Tally, until: Nanos, is_last: bool) {
        let busy = processor_time();
        let interval = ThreadInterval {
            thread: self.thread,
            second: self.second,
            until,
            is_last,
            tally,
            busy: busy.since(self.busy_before),
        };
        (self.busy_before, self.second) = (busy, self.second + 1);
        // The collector only goes away when the run is being given up.
        let _ = self.hand_over.send(interval);
    }
}

/// Of the calling thread so far.
pub(crate) fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}
