//! Alarms of an event loop: moments at which something has to be looked at again.

use prony_model::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Alarms in the order of time, each with what it is for.
#[derive(Debug)]
pub struct Timers<A> {
    heap: BinaryHeap<Reverse<(Nanos, A)>>,
}

impl<A: Ord> Default for Timers<A> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new() }
    }
}

impl<A: Ord> Timers<A> {
    pub fn set(&mut self, at: Nanos, alarm: A) {
        self.heap.push(Reverse((at, alarm)));
    }

    pub fn next(&self) -> Option<Nanos> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }

    /// An alarm that is due by `now`, the earliest first.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, A)> {
        (self.next()? <= now).then(|| self.heap.pop().map(|Reverse(entry)| entry)).flatten()
    }
}

/// A moment that moves on before it comes, nearly always: an alarm that is set for an earlier one stays, and is set again
/// when it rings. So a request costs no alarm of its own.
#[derive(Debug)]
pub struct LazyAlarm {
    set_for: Nanos,
}

impl Default for LazyAlarm {
    fn default() -> Self {
        Self { set_for: Nanos::MAX }
    }
}

impl LazyAlarm {
    /// Makes it ring at this moment or before.
    pub fn set<A: Ord>(&mut self, timers: &mut Timers<A>, at: Nanos, alarm: A) {
        if at < self.set_for {
            self.set_for = at;
            timers.set(at, alarm);
        }
    }

    /// False for one that was replaced by an earlier alarm.
    pub fn rings(&mut self, at: Nanos) -> bool {
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
        timers.set(Nanos(30), 1);
        timers.set(Nanos(10), 2);
        timers.set(Nanos(20), 3);
        assert_eq!(timers.pop_due(Nanos(9)), None);
        assert_eq!(timers.pop_due(Nanos(25)), Some((Nanos(10), 2)));
        assert_eq!(timers.pop_due(Nanos(25)), Some((Nanos(20), 3)));
        assert_eq!(timers.pop_due(Nanos(25)), None);
        assert_eq!(timers.next(), Some(Nanos(30)));
    }

    #[test]
    fn a_later_moment_needs_no_alarm_before_the_earlier_one_rings() {
        let (mut timers, mut lazy) = (Timers::default(), LazyAlarm::default());
        lazy.set(&mut timers, Nanos(10), 7);
        lazy.set(&mut timers, Nanos(20), 7);
        lazy.set(&mut timers, Nanos(5), 7);
        let mut due = || timers.pop_due(Nanos(30)).map(|(at, _)| at);
        assert_eq!((due(), due(), due()), (Some(Nanos(5)), Some(Nanos(10)), None));
        assert_eq!((lazy.rings(Nanos(5)), lazy.rings(Nanos(10))), (true, false));
        lazy.set(&mut timers, Nanos(20), 7);
        assert_eq!(timers.next(), Some(Nanos(20)));
    }
}
