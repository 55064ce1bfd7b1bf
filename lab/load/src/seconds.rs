//! The seconds of one thread's work, as it hands them over to the collector.

use prony_model::Nanos;
use prony_model::measurement::tally::Tally;
use rustix::time::{ClockId, clock_gettime};
use std::sync::mpsc::{SyncSender, TrySendError};

/// So many seconds of each thread wait for whoever gathers them; further ones are put together. A terminal that stands still for a minute,
/// as Ctrl-S has it, costs no more memory than that.
pub(crate) const WAITING_SECONDS_MAX: usize = 60;

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
    hand_over: SyncSender<ThreadInterval>,
    second: u64,
    busy_before: Nanos,
    /// What found no room, all of it together.
    held: Option<ThreadInterval>,
}

impl Seconds {
    pub(crate) const fn new(thread: u32, hand_over: SyncSender<ThreadInterval>) -> Self {
        Self { thread, hand_over, second: 0, busy_before: Nanos::ZERO, held: None }
    }

    /// The thread's part in the run begins with this moment: what it computed before is not counted.
    pub(crate) fn begin(&mut self, from: Nanos) {
        (self.busy_before, self.second) = (processor_time(), from.0 / 1_000_000_000);
    }

    /// When the present second ends.
    pub(crate) const fn end(&self) -> Nanos {
        Nanos::from_secs(self.second + 1)
    }

    /// Hands over what was counted in the present second; the next one begins. Only the last one waits for room: there is no load any more
    /// that it could hold up.
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
        let interval = match self.held.take() {
            Some(held) => put_together(held, &interval),
            None => interval,
        };
        if is_last {
            // The collector only goes away when the run is being given up.
            let _ = self.hand_over.send(interval);
        } else if let Err(TrySendError::Full(interval)) = self.hand_over.try_send(interval) {
            self.held = Some(interval);
        }
    }
}

/// One interval, which stands in the second of the later one.
fn put_together(mut held: ThreadInterval, next: &ThreadInterval) -> ThreadInterval {
    held.tally.merge_next(&next.tally);
    let busy = held.busy.plus(next.busy);
    ThreadInterval { tally: held.tally, busy, ..*next }
}

/// Of the calling thread so far.
pub(crate) fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::measurement::tally::TallyShape;
    use prony_model::{LoadModel, Windows};
    use std::sync::mpsc::sync_channel;

    #[test]
    fn seconds_that_nobody_takes_are_put_together_and_hold_up_nobody() {
        let load = LoadModel::constant(1, Nanos::from_secs(9));
        let windows = Windows::of(&[(Nanos::ZERO, &load)], Nanos::ZERO);
        let shape = TallyShape {
            requests: 1,
            scenarios: 1,
            subscriptions: 0,
            keeps_service: false,
            keeps_records: false,
        };
        let (sender, receiver) = sync_channel(2);
        let mut seconds = Seconds::new(0, sender);
        let mut hand_over = |is_last| {
            let mut tally = Tally::new(&windows, shape);
            (tally.started, tally.users_active) = (10, 7);
            let until = seconds.end();
            seconds.hand_over(tally, until, is_last);
        };
        (0..5).for_each(|_| hand_over(false));
        let mut taken = Vec::new();
        let mut take = |interval: ThreadInterval| {
            taken.push((interval.second, interval.tally.started, interval.tally.users_active));
        };
        receiver.try_iter().for_each(&mut take);
        hand_over(false);
        hand_over(true);
        receiver.try_iter().for_each(&mut take);
        assert_eq!(taken, [(0, 10, 7), (1, 10, 7), (5, 40, 7), (6, 10, 7)]);
    }
}
