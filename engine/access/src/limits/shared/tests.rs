//! Several servers, a store between them, and time as tests give it.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::limits::rate::RateLimit;

const HOLD_NS: u64 = 1_000_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// What the script of a store does.
#[derive(Default)]
struct Store {
    /// By key and window: of rates the time at which all so far would have come, of quotas what is used.
    counts: HashMap<([u8; 16], i64), f64>,
    calls: usize,
}

impl Store {
    fn call(&mut self, call: &StoreCall, now_ns: u64) -> StoreReply {
        self.calls += 1;
        let (need, least, unused) = (call.need as f64, call.least as f64, call.unused as f64);
        let take = |free: f64, part: f64| {
            if need <= 0.0 || free < least {
                return 0.0;
            }
            let granted = need.min(free);
            granted + (call.ahead as f64).min(((free - granted) / part).floor())
        };
        match call.bound {
            SharedBound::Rate(limit) => {
                let (now, interval) = (now_ns as f64, limit.interval_ns() as f64);
                let state = self.counts.entry((call.key, 0)).or_insert(0.0);
                *state = (*state - unused * interval).max(now);
                let free = (limit.burst as f64 - (*state - now) / interval + 1e-6).floor();
                let granted = take(free, 2.0);
                *state += granted * interval;
                let wait = (*state - now + (least - limit.burst as f64) * interval).max(0.0);
                StoreReply { granted: granted as u64, left: (free - granted) as u64, wait_ns: wait as u64 }
            }
            SharedBound::Quota { most, ends_at } => {
                let used = self.counts.entry((call.key, ends_at)).or_insert(0.0);
                *used = (*used - unused).max(0.0);
                let free = most as f64 - *used;
                let granted = take(free, 16.0);
                *used += granted;
                StoreReply { granted: granted as u64, left: (free - granted) as u64, wait_ns: 0 }
            }
        }
    }
}

/// Several servers with one store.
struct Servers {
    store: Store,
    counts: Vec<SharedCounts<usize>>,
    next: usize,
}

fn limit(bound: SharedBound, key: &[u8], cost: u64) -> SharedLimit<'_> {
    SharedLimit { number: 1, name: "q", key, cost, bound }
}

fn rate(text: &str, burst: u64) -> SharedBound {
    SharedBound::Rate(RateLimit { rate: text.parse().expect("it is a rate"), burst })
}

impl Servers {
    fn new(count: usize, hold_ns: u64) -> Self {
        let settings = SharedSettings { when_unreachable: WhenUnreachable::Refuse, hold_ns };
        let counts = (0..count).map(|_| SharedCounts::new(settings)).collect();
        Self { store: Store::default(), counts, next: 0 }
    }

    /// One request at one server; the store responds at once.
    fn take(&mut self, server: usize, bound: SharedBound, cost: u64, now_ns: u64) -> bool {
        let counts = &self.counts[server];
        self.next += 1;
        let number = self.next;
        match counts.take(&limit(bound, b"ann", cost), now_ns, Some(&mut || number)) {
            Attempt::Taken { .. } => true,
            Attempt::Refused { .. } => false,
            Attempt::Waits(call) => {
                let mut verdict = None;
                let mut next = call;
                while let Some(call) = next {
                    let reply = self.store.call(&call, now_ns);
                    let (decided, more) = counts.replied(&call, Some(reply), now_ns);
                    for (waiter, _, decision) in decided {
                        assert_eq!(waiter, number, "nobody else waits");
                        verdict = Some(decision);
                    }
                    next = more;
                }
                matches!(verdict.expect("the store has decided"), Verdict::Taken { .. })
            }
        }
    }

    /// What is over is given back.
    fn sweep(&mut self, now_ns: u64) {
        for counts in &self.counts {
            for call in counts.due(now_ns) {
                let reply = self.store.call(&call, now_ns);
                counts.replied(&call, Some(reply), now_ns);
            }
        }
    }
}

#[test]
fn a_steady_demand_costs_few_calls() {
    let mut servers = Servers::new(1, HOLD_NS);
    let bound = rate("1000/s", 1000);
    let taken = (0..5_000_u64).filter(|index| servers.take(0, bound, 1, SECOND_NS + index * 2_000_000));
    assert_eq!(taken.count(), 5_000, "500 come in a second, and 1000 may");
    assert!(servers.store.calls < 60, "{} calls in ten seconds", servers.store.calls);
}

#[test]
fn whoever_is_refused_is_not_asked_for_again_and_again() {
    let mut servers = Servers::new(2, HOLD_NS);
    let bound = rate("100/s", 100);
    let mut taken = 0;
    for index in 0..100_000_u64 {
        taken += u64::from(servers.take((index % 2) as usize, bound, 1, SECOND_NS + index * 100_000));
    }
    assert!((1_090..=1_200).contains(&taken), "{taken} in ten seconds, 100 of them at once");
    assert!(servers.store.calls < 5_000, "{} calls for 100000 requests", servers.store.calls);
}

#[test]
fn what_one_server_does_not_use_comes_to_another() {
    let mut servers = Servers::new(2, HOLD_NS);
    let bound = SharedBound::Quota { most: 1_000, ends_at: 3_600 };
    let now = SECOND_NS;
    let first = (0..40).filter(|_| servers.take(0, bound, 1, now)).count();
    assert_eq!(first, 40);
    let mut second = 0;
    while servers.take(1, bound, 1, now) {
        second += 1;
    }
    let ahead = 1_000 - first - second;
    assert!(ahead > 0 && ahead <= 60, "{ahead} are held by the first");
    assert!(!servers.take(1, bound, 1, now + HOLD_NS / 2));
    servers.sweep(now + HOLD_NS);
    let later = now + 2 * HOLD_NS;
    assert_eq!((0..2_000).filter(|_| servers.take(1, bound, 1, later)).count(), ahead);
    let next = SharedBound::Quota { most: 1_000, ends_at: 7_200 };
    assert!(servers.take(1, next, 1, later) && servers.take(0, next, 500, later));
}

/// A request that waited for another limit had come before the last response, and took one ahead by that.
#[test]
fn nothing_is_taken_ahead_where_nothing_is_held() {
    let mut servers = Servers::new(1, 0);
    let bound = SharedBound::Quota { most: 100, ends_at: 3_600 };
    assert!(servers.take(0, bound, 1, 2 * SECOND_NS));
    assert!(servers.take(0, bound, 1, SECOND_NS));
    assert!(servers.counts[0].end().is_empty(), "all that was taken is used");
}

/// Whoever was let in before a window ended, and refused by another limit after that, gave a unit to the next window.
#[test]
fn what_was_taken_in_a_window_is_not_given_back_to_the_next() {
    let mut servers = Servers::new(1, HOLD_NS);
    let until = |ends_at| SharedBound::Quota { most: 2, ends_at };
    let now = SECOND_NS;
    assert!(servers.take(0, until(3_600), 1, now));
    assert!(servers.take(0, until(7_200), 1, now));
    servers.counts[0].give_back(&limit(until(3_600), b"ann", 1));
    let later = now + 2 * HOLD_NS;
    servers.sweep(later);
    assert_eq!((0..5).filter(|_| servers.take(0, until(7_200), 1, later)).count(), 1);
}

/// The server that was refused went on refusing for the hours in which the rate gives a unit.
#[test]
fn what_another_server_gives_back_is_found_before_the_rate_gives_some() {
    let mut servers = Servers::new(2, HOLD_NS);
    let (bound, now) = (rate("5/d", 5), SECOND_NS);
    assert!(servers.take(0, bound, 1, now) && servers.take(0, bound, 1, now));
    assert!(servers.take(1, bound, 1, now) && servers.take(1, bound, 1, now));
    assert!(!servers.take(1, bound, 1, now), "the first holds one ahead");
    let refused = servers.counts[1].take(&limit(bound, b"ann", 1), now + 1, None);
    assert!(matches!(refused, Attempt::Refused { wait_ns } if wait_ns > 3_600 * SECOND_NS), "{refused:?}");
    let later = now + 2 * HOLD_NS;
    servers.sweep(later);
    assert!(servers.take(1, bound, 1, later));
    assert!(!servers.take(1, bound, 1, later) && !servers.take(0, bound, 1, later));
}

#[test]
fn many_who_wait_are_served_in_their_order_by_one_call() {
    let mut servers = Servers::new(1, HOLD_NS);
    let bound = rate("1/h", 5);
    let counts = &servers.counts[0];
    let take = |number: usize, cost| counts.take(&limit(bound, b"ann", cost), 1, Some(&mut || number));
    let Attempt::Waits(Some(call)) = take(0, 1) else { panic!("the first asks") };
    for (number, cost) in [(1, 2), (2, 3), (3, 1)] {
        assert_eq!(take(number, cost), Attempt::Waits(None));
    }
    assert_eq!((call.need, call.least), (1, 1));
    let reply = servers.store.call(&call, 1);
    let (decided, next) = counts.replied(&call, Some(reply), 1);
    assert_eq!(decided, [(0, 1, Verdict::Taken { left: 4 })]);
    let next = next.expect("the others wait");
    assert_eq!((next.need, next.least), (6, 2));
    let reply = servers.store.call(&next, 1);
    let (decided, last) = counts.replied(&next, Some(reply), 1);
    let taken: Vec<_> = decided.iter().map(|(number, _, verdict)| (*number, is_taken(*verdict))).collect();
    assert_eq!((taken, last), (vec![(1, true), (3, true), (2, false)], None));
    // One unit is left of what was given for all.
    assert_eq!(take(4, 1), Attempt::Taken { left: 0 });
}

fn is_taken(verdict: Verdict) -> bool {
    matches!(verdict, Verdict::Taken { .. })
}

#[test]
fn a_call_that_fails_decides_for_all_who_wait() {
    let servers = Servers::new(1, HOLD_NS);
    let counts = &servers.counts[0];
    let take = |number: usize| counts.take(&limit(rate("1/s", 5), b"ann", 1), 1, Some(&mut || number));
    let Attempt::Waits(Some(call)) = take(0) else { panic!("the first asks") };
    assert_eq!(take(1), Attempt::Waits(None));
    let (decided, next) = counts.replied(&call, None, 1);
    assert_eq!(decided, [(0, 1, Verdict::Unreachable), (1, 1, Verdict::Unreachable)]);
    assert_eq!(next, None);
    assert!(matches!(take(2), Attempt::Waits(Some(_))), "it is asked again");
}

#[test]
fn keys_are_bounded_in_number_and_those_who_wait_stay() {
    let counts: SharedCounts<usize> =
        SharedCounts::new(SharedSettings { when_unreachable: WhenUnreachable::Refuse, hold_ns: HOLD_NS });
    let bound = rate("10/s", 10);
    let mut waiting = Vec::new();
    for number in 0..400_000_usize {
        let key = number.to_le_bytes();
        let Attempt::Waits(Some(call)) = counts.take(&limit(bound, &key, 1), 1, Some(&mut || number)) else {
            panic!("each asks")
        };
        let reply = Some(StoreReply { granted: 2, left: 8, wait_ns: 0 });
        if number % 100 == 0 {
            waiting.push(call);
        } else {
            assert_eq!(counts.replied(&call, reply, 1).0.len(), 1);
        }
    }
    for call in waiting {
        assert_eq!(counts.replied(&call, None, 1).0.len(), 1, "who waits is not forgotten");
    }
    assert!(counts.end().len() <= 200_000);
}

proptest! {
    /// All servers together let in no more of a quota than it has; and all of it, once what was not used is given back.
    #[test]
    fn quotas_are_exact_over_all_servers(
        most in 1_u64..300,
        takes in prop::collection::vec((0_usize..3, 1_u64..4, 0_u64..400_000_000, any::<bool>()), 1..300),
    ) {
        let mut servers = Servers::new(3, HOLD_NS);
        let bound = SharedBound::Quota { most, ends_at: 1 << 40 };
        let (mut now, mut used) = (SECOND_NS, 0);
        for (server, cost, gap_ns, sweeps) in takes {
            now += gap_ns;
            if servers.take(server, bound, cost, now) {
                used += cost;
            }
            if sweeps {
                servers.sweep(now);
            }
            prop_assert!(used <= most, "{used} of {most}");
        }
        now += 2 * HOLD_NS;
        servers.sweep(now);
        while servers.take(0, bound, 1, now) {
            used += 1;
        }
        prop_assert_eq!(used, most);
    }

    /// In any time, all servers together let in no more than the burst and what the rate gives in that time and in the time for which
    /// units are held.
    #[test]
    fn rates_hold_over_all_servers(
        per_s in 1_u64..2_000,
        burst in 1_u64..200,
        takes in prop::collection::vec((0_usize..3, 0_u64..20, any::<bool>()), 1..600),
        holds in any::<bool>(),
    ) {
        let hold_ns = if holds { HOLD_NS / 4 } else { 0 };
        let mut servers = Servers::new(3, hold_ns);
        let bound = rate(&format!("{per_s}/s"), burst);
        let (mut now, mut taken) = (SECOND_NS, Vec::new());
        for (server, gap, sweeps) in takes {
            now += gap * SECOND_NS / per_s / 4;
            if servers.take(server, bound, 1, now) {
                taken.push(now);
            }
            if sweeps {
                servers.sweep(now);
            }
        }
        for (index, begin) in taken.iter().enumerate() {
            for (more, end) in taken[index..].iter().enumerate() {
                let seconds = (end - begin + hold_ns) as f64 / 1e9;
                let most = burst as f64 + seconds * per_s as f64;
                prop_assert!((more + 1) as f64 <= most * 1.001 + 1e-3, "{} in {} s", more + 1, seconds);
            }
        }
    }
}
