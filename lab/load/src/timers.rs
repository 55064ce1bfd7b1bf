//! When a thread has to look at a user again: starts that are due, and requests that may have timed out.

use prony_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Alarm {
    /// The user goes on: with an iteration, after a pause, or after a failure.
    Act,
    /// At most one a user is in the heap; where the user's deadline has moved on, it is set again.
    Timeout,
    /// The time for which a program wants its user to wait is over.
    Wake,
    /// An iteration of a script may have no more time.
    Interrupt,
    /// Of a call, by its place: a deadline.
    Call,
    /// Of a WebSocket, by its connection's place: its peer should have closed.
    Close,
}

/// At most a few alarms a user and a call, so it never grows beyond a small multiple of both.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, Alarm, u32)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at: Nanos, alarm: Alarm, index: u32) {
        self.heap.push(Reverse((at, alarm, index)));
    }

    pub(crate) fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// An alarm that is due by `now`, the earliest first.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, Alarm, u32)> {
        (self.next()? <= now).then(|| self.heap.pop().map(|Reverse(entry)| entry)).flatten()
    }
}

/// A moment that moves on before it comes, nearly always: an alarm that is set for an earlier one stays, and is set again
/// when it rings. So a request costs no alarm of its own.
#[derive(Debug)]
pub(crate) struct LazyAlarm {
    set_for: Nanos,
}

impl Default for LazyAlarm {
    fn default() -> Self {
        Self { set_for: Nanos::MAX }
    }
}

impl LazyAlarm {
    /// Makes it ring at this moment or before.
    pub(crate) fn set(&mut self, timers: &mut Timers, at: Nanos, alarm: Alarm, index: u32) {
        if at < self.set_for {
            self.set_for = at;
            timers.set(at, alarm, index);
        }
    }

    /// False for one that was replaced by an earlier alarm.
    pub(crate) fn rings(&mut self, at: Nanos) -> bool {
        let rings = at == self.set_for;
        if rings {
            self.set_for = Nanos::MAX;
        }
        rings
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

    #[test]
    fn a_later_moment_needs_no_alarm_before_the_earlier_one_rings() {
        let (mut timers, mut lazy) = (Timers::default(), LazyAlarm::default());
        let set = |timers: &mut Timers, lazy: &mut LazyAlarm, at| lazy.set(timers, at, Alarm::Call, 7);
        set(&mut timers, &mut lazy, Nanos(10));
        set(&mut timers, &mut lazy, Nanos(20));
        set(&mut timers, &mut lazy, Nanos(5));
        let mut due = || timers.pop_due(Nanos(30)).map(|(at, _, _)| at);
        assert_eq!((due(), due(), due()), (Some(Nanos(5)), Some(Nanos(10)), None));
        assert_eq!((lazy.rings(Nanos(5)), lazy.rings(Nanos(10))), (true, false));
        set(&mut timers, &mut lazy, Nanos(20));
        assert_eq!(timers.next(), Some(Nanos(20)));
    }
}
