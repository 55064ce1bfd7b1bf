//! Who runs and who waits where so many may run at a time: keys that wait take turns, however many of one key wait. It has no
//! clock, and wakes nobody: it hands back what each waiter has left. Operations that are admitted and statements that wait for a connection share it.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
};

/// How many may run at a time, and wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueBounds {
    /// Of all keys together.
    pub most: u64,
    /// Of one key.
    pub each: u64,
    /// Of all keys together.
    pub max_waiting: usize,
    /// Of one key.
    pub max_waiting_each: usize,
}

/// One that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaiterId(u64);

/// What has become of one that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueOutcome {
    Runs,
    Waits(WaiterId),
    /// As many wait as may.
    Full,
}

/// What is handed back of a waiter is a `T`.
pub struct FairQueue<T> {
    bounds: QueueBounds,
    /// Weights of those that run.
    running: u64,
    waiting: usize,
    /// Keys of which one runs or waits.
    keys: HashMap<Box<[u8]>, Key<T>>,
    /// Keys of which one waits and may run by the bound of its key, each once. The first does not fit beside all that run.
    turns: VecDeque<Box<[u8]>>,
    last_id: u64,
}

struct Key<T> {
    running: u64,
    waiting: VecDeque<Waiter<T>>,
    /// Whether it is among the turns.
    has_turn: bool,
}

struct Waiter<T> {
    id: WaiterId,
    weight: u64,
    left: T,
}

impl QueueBounds {
    /// What an operation with so many root fields weighs: one that is over a bound runs alone.
    pub fn weight(&self, fields: u64) -> u64 {
        fields.min(self.most).min(self.each)
    }
}

impl<T> FairQueue<T> {
    pub fn new(bounds: QueueBounds) -> Self {
        let (keys, turns) = (HashMap::new(), VecDeque::new());
        Self { bounds, running: 0, waiting: 0, keys, turns, last_id: 0 }
    }

    /// One of a key comes. Where it waits, `left` is what is handed back when it runs. Its weight is one of [`QueueBounds::weight`].
    pub fn enter(&mut self, key: &[u8], weight: u64, left: T) -> QueueOutcome {
        let known = self.keys.get(key);
        let (of_key, waiting) = known.map_or((0, 0), |known| (known.running, known.waiting.len()));
        let has_room = self.running + weight <= self.bounds.most && of_key + weight <= self.bounds.each;
        if has_room && waiting == 0 && self.turns.is_empty() {
            self.running += weight;
            self.key(key).running += weight;
            return QueueOutcome::Runs;
        }
        if self.waiting >= self.bounds.max_waiting || waiting >= self.bounds.max_waiting_each {
            return QueueOutcome::Full;
        }
        self.last_id += 1;
        let id = WaiterId(self.last_id);
        self.waiting += 1;
        self.key(key).waiting.push_back(Waiter { id, weight, left });
        self.give_turn(key);
        QueueOutcome::Waits(id)
    }

    /// One that ran has ended. What those left that run from now on.
    #[must_use]
    pub fn leave(&mut self, key: &[u8], weight: u64) -> Vec<T> {
        self.running -= weight;
        self.key(key).running -= weight;
        self.give_turn(key);
        let granted = self.grant();
        self.forget(key);
        granted
    }

    /// One that waits goes. False where it does not wait, since it runs by now. What those left that run from now on.
    #[must_use]
    pub fn cancel(&mut self, key: &[u8], id: WaiterId) -> (bool, Vec<T>) {
        let place = self.keys.get_mut(key).and_then(|known| {
            let place = known.waiting.iter().position(|waiter| waiter.id == id)?;
            known.waiting.remove(place)
        });
        if place.is_none() {
            return (false, Vec::new());
        }
        self.waiting -= 1;
        self.end_turn(key);
        // It may have been the one that did not fit.
        self.give_turn(key);
        let granted = self.grant();
        self.forget(key);
        (true, granted)
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// Weights of those that run.
    pub fn running(&self) -> u64 {
        self.running
    }

    fn key(&mut self, key: &[u8]) -> &mut Key<T> {
        self.keys.entry(key.into()).or_insert_with(|| Key {
            running: 0,
            waiting: VecDeque::new(),
            has_turn: false,
        })
    }

    /// Puts a key among the turns where one of it may run by the bound of the key.
    fn give_turn(&mut self, key: &[u8]) {
        let each = self.bounds.each;
        let Some(known) = self.keys.get_mut(key) else { return };
        let may_run = known.waiting.front().is_some_and(|first| known.running + first.weight <= each);
        if may_run && !known.has_turn {
            known.has_turn = true;
            self.turns.push_back(key.into());
        }
    }

    /// Takes a key from the turns where none of it waits.
    fn end_turn(&mut self, key: &[u8]) {
        let Some(known) = self.keys.get_mut(key) else { return };
        if known.has_turn && known.waiting.is_empty() {
            known.has_turn = false;
            self.turns.retain(|other| &**other != key);
        }
    }

    /// Lets those run that fit, one of each key in turn.
    fn grant(&mut self) -> Vec<T> {
        let mut granted = Vec::new();
        while let Some(key) = self.turns.pop_front() {
            let Some(known) = self.keys.get_mut(&key) else { continue };
            known.has_turn = false;
            let fits_key = |first: &Waiter<T>| known.running + first.weight <= self.bounds.each;
            let Some(weight) =
                known.waiting.front().filter(|first| fits_key(first)).map(|first| first.weight)
            else {
                continue;
            };
            if self.running + weight > self.bounds.most {
                known.has_turn = true;
                self.turns.push_front(key);
                break;
            }
            if let Some(waiter) = known.waiting.pop_front() {
                known.running += weight;
                self.running += weight;
                self.waiting -= 1;
                granted.push(waiter.left);
            }
            self.give_turn(&key);
        }
        granted
    }

    fn forget(&mut self, key: &[u8]) {
        let is_idle = |known: &Key<T>| known.running == 0 && known.waiting.is_empty() && !known.has_turn;
        if self.keys.get(key).is_some_and(is_idle) {
            self.keys.remove(key);
        }
    }
}

impl<T> fmt::Debug for FairQueue<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("FairQueue")
            .field("bounds", &self.bounds)
            .field("running", &self.running)
            .field("waiting", &self.waiting)
            .field("keys", &self.keys.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bounds(most: u64, each: u64, max_waiting: usize, max_waiting_each: usize) -> QueueBounds {
        QueueBounds { most, each, max_waiting, max_waiting_each }
    }

    #[test]
    fn keys_take_turns_however_many_of_one_wait() {
        let mut queue = FairQueue::new(bounds(1, 1, 1000, 1000));
        assert_eq!(queue.enter(b"ann", 1, "ann 0"), QueueOutcome::Runs);
        for name in ["ann 1", "ann 2", "ann 3"] {
            assert!(matches!(queue.enter(b"ann", 1, name), QueueOutcome::Waits(_)));
        }
        assert!(matches!(queue.enter(b"bob", 1, "bob 1"), QueueOutcome::Waits(_)));
        assert!(matches!(queue.enter(b"bob", 1, "bob 2"), QueueOutcome::Waits(_)));
        let mut order = Vec::new();
        let mut last = "ann 0";
        while queue.running() > 0 {
            let key = last.split(' ').next().unwrap_or_default();
            let granted = queue.leave(key.as_bytes(), 1);
            assert!(granted.len() <= 1);
            let Some(next) = granted.first() else { continue };
            last = next;
            order.push(*next);
        }
        assert_eq!(order, ["bob 1", "ann 1", "bob 2", "ann 2", "ann 3"]);
        assert!(queue.keys.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn a_key_at_its_own_bound_holds_nobody_else_back() {
        let mut queue = FairQueue::new(bounds(4, 2, 2, 1));
        assert_eq!(queue.enter(b"ann", 2, 0), QueueOutcome::Runs);
        let waits = queue.enter(b"ann", 1, 1);
        assert!(matches!(waits, QueueOutcome::Waits(_)));
        assert_eq!(queue.enter(b"ann", 1, 2), QueueOutcome::Full, "one of a key may wait");
        assert_eq!(queue.enter(b"bob", 1, 3), QueueOutcome::Runs);
        assert_eq!(queue.enter(b"cid", 1, 4), QueueOutcome::Runs);
        assert!(matches!(queue.enter(b"dan", 1, 5), QueueOutcome::Waits(_)));
        assert_eq!(queue.enter(b"eve", 1, 6), QueueOutcome::Full, "two of all may wait");
        assert_eq!(queue.leave(b"bob", 1), [5]);
        let QueueOutcome::Waits(id) = waits else { unreachable!() };
        assert_eq!(queue.cancel(b"ann", id), (true, vec![]));
        assert_eq!(queue.cancel(b"ann", id), (false, vec![]));
        assert_eq!(queue.waiting(), 0);
    }

    #[test]
    fn one_that_goes_lets_those_behind_it_run() {
        let mut queue = FairQueue::new(bounds(3, 3, 10, 10));
        assert_eq!(queue.enter(b"ann", 2, 0), QueueOutcome::Runs);
        let QueueOutcome::Waits(large) = queue.enter(b"bob", 3, 1) else { panic!("it does not fit") };
        assert!(matches!(queue.enter(b"cid", 1, 2), QueueOutcome::Waits(_)), "it is not overtaken");
        assert_eq!(queue.cancel(b"bob", large), (true, vec![2]));
        assert_eq!(queue.running(), 3);
    }

    #[derive(Debug, Clone)]
    enum Event {
        Enter { key: u8, weight: u64 },
        Leave(prop::sample::Index),
        Cancel(prop::sample::Index),
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            3 => (0_u8..5, 1_u64..4).prop_map(|(key, weight)| Event::Enter { key, weight }),
            2 => any::<prop::sample::Index>().prop_map(Event::Leave),
            1 => any::<prop::sample::Index>().prop_map(Event::Cancel),
        ]
    }

    proptest! {
        /// Bounds hold at each moment, nobody waits who could run, and at the end nothing is left.
        #[test]
        fn bounds_hold_and_nobody_is_forgotten(
            most in 1_u64..6, each in 1_u64..5, max_waiting in 0_usize..8, max_waiting_each in 0_usize..5,
            events in prop::collection::vec(event(), 1..200),
        ) {
            let bounds = bounds(most, each, max_waiting, max_waiting_each);
            let mut queue = FairQueue::new(bounds);
            let mut running: Vec<(u8, u64, u64)> = Vec::new();
            let mut waiting: Vec<(WaiterId, (u8, u64, u64))> = Vec::new();
            for (number, event) in (0_u64..).zip(events) {
                let mut granted = Vec::new();
                match event {
                    Event::Enter { key, weight } => {
                        let one = (key, bounds.weight(weight), number);
                        match queue.enter(&[key], one.1, one) {
                            QueueOutcome::Runs => running.push(one),
                            QueueOutcome::Waits(id) => waiting.push((id, one)),
                            QueueOutcome::Full => {
                                let of_key = waiting.iter().filter(|(_, other)| other.0 == key).count();
                                prop_assert!(waiting.len() == max_waiting || of_key == max_waiting_each);
                            }
                        }
                    }
                    Event::Leave(index) if !running.is_empty() => {
                        let (key, weight, _) = running.swap_remove(index.index(running.len()));
                        granted = queue.leave(&[key], weight);
                    }
                    Event::Cancel(index) if !waiting.is_empty() => {
                        let (id, (key, ..)) = waiting.remove(index.index(waiting.len()));
                        let (did_wait, others) = queue.cancel(&[key], id);
                        prop_assert!(did_wait);
                        granted = others;
                    }
                    Event::Leave(_) | Event::Cancel(_) => {}
                }
                for one in granted {
                    // Those of one key run in the order in which they came.
                    let first = waiting.iter().position(|(_, other)| other.0 == one.0);
                    prop_assert_eq!(first.map(|place| waiting[place].1), Some(one));
                    waiting.remove(first.unwrap_or_default());
                    running.push(one);
                }
                let sum = |of: &dyn Fn(&u8) -> bool| -> u64 {
                    running.iter().filter(|(key, ..)| of(key)).map(|(_, weight, _)| weight).sum()
                };
                prop_assert!(sum(&|_| true) <= most);
                prop_assert!((0..5).all(|key| sum(&|other| *other == key) <= each));
                prop_assert_eq!((queue.running(), queue.waiting()), (sum(&|_| true), waiting.len()));
                prop_assert!(queue.keys.len() <= running.len() + waiting.len());
                // Where something waits and may run by its key, what is first in turn does not fit beside the others.
                let firsts: Vec<_> = (0..5).filter_map(|key| waiting.iter().find(|(_, one)| one.0 == key)).collect();
                let may = |key: u8, weight: u64| sum(&|other| *other == key) + weight <= each;
                let eligible: Vec<_> = firsts.iter().filter(|(_, one)| may(one.0, one.1)).collect();
                let waits_for_room = |one: &(u8, u64, u64)| sum(&|_| true) + one.1 > most;
                prop_assert!(eligible.is_empty() || eligible.iter().any(|(_, one)| waits_for_room(one)));
            }
            while let Some((key, weight, _)) = running.pop() {
                running.extend(queue.leave(&[key], weight));
            }
            prop_assert!(queue.keys.is_empty() && queue.turns.is_empty() && queue.waiting() == 0);
        }
    }
}
