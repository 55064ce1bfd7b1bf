//! When a thread has to look at a user again: starts that are due, and requests that may have timed out.

use prony_load_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The user goes on: with an iteration, after a pause, or after a failure.
    Act,
    /// At most one a user is in the heap; where the user's deadline has moved on, it is set again.
    Timeout,
}

/// At most two alarms a user, so it never grows beyond twice the thread's users.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, Alarm, u32)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Nanos, alarm: Alarm, user: u32) {
        self.heap.push(Reverse((at, alarm, user)));
    }

    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// An alarm that is due by `now`, the earliest first.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, Alarm, u32)> {
        (self.next()? <= now).then(|| self.heap.pop().map(|Reverse(entry)| entry)).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_come_in_the_order_of_time_and_not_before() {
        let mut timers = Timers::default();
        timers.set(Nanos(30), Alarm::Act, 1);
        timers.set(Nanos(10), Alarm::Timeout, 2);
        timers.set(Nanos(20), Alarm::Act, 3);
        assert_eq!(timers.pop_due(Nanos(9)), None);
        assert_eq!(timers.pop_due(Nanos(25)), Some((Nanos(10), Alarm::Timeout, 2)));
        assert_eq!(timers.pop_due(Nanos(25)), Some((Nanos(20), Alarm::Act, 3)));
        assert_eq!(timers.pop_due(Nanos(25)), None);
        assert_eq!(timers.next(), Some(Nanos(30)));
    }
}
