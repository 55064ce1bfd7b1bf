//! Stories of mutations and events, told line by line, and what the tracker makes of them.

use super::*;
use expect_test::{Expect, expect};
use prony_model::subscription::tally::EventCounts;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const WAIT_MAX: Nanos = Nanos::from_secs(10);

fn token(publisher: u32, sequence: u32) -> Token {
    Token { run: 1, publisher, sequence }
}

struct Story {
    tracker: DeliveryTracker,
    tally: SubscriptionTally,
    members: Vec<Member>,
}

impl Story {
    /// Subscriptions with these keys, all in force.
    fn new(keys: &[&str]) -> Self {
        let mut tracker = DeliveryTracker::new(WAIT_MAX);
        let members: Vec<_> = keys.iter().map(|key| tracker.join(key.as_bytes())).collect();
        for member in &members {
            tracker.begin(*member);
        }
        Self { tracker, tally: SubscriptionTally::new(1, 1), members }
    }

    /// `MS WHAT …`: `send P S KEY`, `ack P S`, `fail P S`, `get SUBSCRIPTION P S`, `end SUBSCRIPTION`, `settle`, `responses-end`.
    fn tell(&mut self, line: &str) {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<u32>().unwrap();
        let at = Nanos::from_millis(u64::from(number(0)));
        let counting = &mut Counting { tally: &mut self.tally, group: 0, counts_mutations: true };
        match words[1] {
            "send" => self.tracker.sent(token(number(2), number(3)), words[4].as_bytes(), at, 0, counting),
            "ack" => self.tracker.answered(token(number(2), number(3)), Some(at), counting),
            "fail" => self.tracker.answered(token(number(2), number(3)), None, counting),
            "get" => {
                let member = self.members[number(2) as usize];
                self.tracker.received(member, token(number(3), number(4)), at, 0, counting);
            }
            "end" => self.tracker.end(self.members[number(2) as usize]),
            "settle" => self.tracker.settle(at, counting),
            "responses-end" => self.tracker.end_responses(),
            word => panic!("{word} is no part of a story"),
        }
    }

    fn counts(&self) -> EventCounts {
        self.tally.sum(0, &[0]).counts
    }
}

fn check(keys: &[&str], lines: &str, expected: &Expect) {
    let mut story = Story::new(keys);
    lines.lines().map(str::trim).filter(|line| !line.is_empty()).for_each(|line| story.tell(line));
    story.tracker.close(&mut Counting { tally: &mut story.tally, group: 0, counts_mutations: true });
    assert!(!story.tracker.is_waiting());
    let (counts, cell) = (story.counts(), story.tally.sum(0, &[0]));
    let mut text = String::new();
    for (name, count) in [
        ("acknowledged", counts.acknowledged),
        ("due", counts.due),
        ("missed", counts.missed),
        ("cut off", counts.cut_off),
        ("late", counts.late),
        ("duplicated", counts.duplicated),
        ("out of order", counts.out_of_order),
        ("unexpected", counts.unexpected),
        ("before acknowledgement", counts.before_acknowledgement),
    ] {
        if count > 0 {
            let _ = write!(text, "{name} {count}, ");
        }
    }
    let times = |times: &prony_model::measurement::histogram::Latencies| {
        format!("{} up to {}", times.count(), times.max().unwrap_or_default())
    };
    let _ = write!(text, "times {}, after {}", times(&cell.from_send), times(&cell.from_acknowledgement));
    expected.assert_eq(&text);
}

#[test]
fn each_subscription_of_the_key_is_owed_one_event() {
    check(
        &["a", "a", "b"],
        "0 send 0 0 a
         5 ack 0 0
         7 get 0 0 0
         9 get 1 0 0",
        &expect!["acknowledged 1, due 2, times 2 up to 9.00 ms, after 2 up to 4.00 ms"],
    );
    check(
        &["b"],
        "0 send 0 0 a\n5 ack 0 0",
        &expect!["acknowledged 1, times 0 up to 0 s, after 0 up to 0 s"],
    );
}

/// As where the run is stopped while a user waits for a response.
#[test]
fn a_mutation_that_nobody_responds_to_any_more_is_not_waited_for() {
    let mut story = Story::new(&["a"]);
    for line in ["0 send 0 0 a", "5 ack 0 0", "7 get 0 0 0", "8 send 0 1 a", "9 settle"] {
        story.tell(line);
    }
    assert!(story.tracker.is_waiting(), "a response may come");
    for line in ["10 responses-end", "10 settle", "11 get 0 0 1"] {
        story.tell(line);
    }
    assert!(!story.tracker.is_waiting());
    let counts = story.counts();
    assert_eq!((counts.acknowledged, counts.due, counts.missed, counts.unexpected), (1, 1, 0, 0));
}

#[test]
fn what_comes_before_the_acknowledgement_counts_as_immediate() {
    check(
        &["a"],
        "0 send 0 0 a
         3 get 0 0 0
         5 ack 0 0",
        &expect!["acknowledged 1, due 1, before acknowledgement 1, times 1 up to 3.00 ms, after 1 up to 0 s"],
    );
}

#[test]
fn what_does_not_come_is_missed_and_what_comes_after_all_is_late() {
    check(
        &["a", "a"],
        "0 send 0 0 a
         5 ack 0 0
         7 get 0 0 0
         10004 settle
         10005 settle
         11000 get 1 0 0",
        &expect!["acknowledged 1, due 2, missed 1, late 1, times 2 up to 11.0 s, after 2 up to 11.0 s"],
    );
}

#[test]
fn nothing_is_owed_by_a_mutation_that_was_not_acknowledged() {
    check(
        &["a"],
        "0 send 0 0 a
         5 fail 0 0
         9 send 0 1 a
         10 get 0 0 1",
        &expect!["times 1 up to 1.00 ms, after 0 up to 0 s"],
    );
}

#[test]
fn what_was_ended_by_the_target_is_cut_off_and_owed_nothing_later() {
    check(
        &["a", "a"],
        "0 send 0 0 a
         5 ack 0 0
         6 get 0 0 0
         7 end 1
         8 send 0 1 a
         9 ack 0 1
         10 get 0 0 1",
        &expect!["acknowledged 2, due 3, cut off 1, times 2 up to 6.00 ms, after 2 up to 1.00 ms"],
    );
}

#[test]
fn duplicates_and_a_wrong_order_are_counted_each_time() {
    check(
        &["a"],
        "0 send 0 0 a
         1 ack 0 0
         2 send 0 1 a
         3 ack 0 1
         4 send 0 2 a
         5 ack 0 2
         6 get 0 0 2
         7 get 0 0 0
         8 get 0 0 1
         9 get 0 0 1
         10 get 0 0 1",
        &expect![
            "acknowledged 3, due 3, duplicated 2, out of order 2, times 3 up to 7.00 ms, after 3 up to 6.00 ms"
        ],
    );
}

#[test]
fn publishers_and_keys_have_orders_of_their_own() {
    check(
        &["a", "b"],
        "0 send 0 0 a
         0 send 1 0 a
         1 ack 0 0
         1 ack 1 0
         2 send 0 1 b
         3 ack 0 1
         4 get 1 0 1
         5 get 0 1 0
         6 get 0 0 0",
        &expect!["acknowledged 3, due 3, times 3 up to 6.00 ms, after 3 up to 5.00 ms"],
    );
}

#[test]
fn events_of_other_keys_and_of_nothing_are_unexpected() {
    check(
        &["a", "b"],
        "0 send 0 0 a
         1 ack 0 0
         2 get 0 0 0
         3 get 1 0 0
         4 get 0 0 7
         5 get 0 9 0
         20000 settle
         20001 get 0 0 0",
        &expect!["acknowledged 1, due 1, unexpected 4, times 1 up to 2.00 ms, after 1 up to 1.00 ms"],
    );
}

#[test]
fn who_is_not_in_force_yet_is_owed_nothing_but_may_get_it() {
    let mut story = Story::new(&[]);
    let member = story.tracker.join(b"a");
    story.members.push(member);
    for line in ["0 send 0 0 a", "1 ack 0 0", "2 get 0 0 0", "3 get 0 0 0"] {
        story.tell(line);
    }
    let counts = story.counts();
    assert_eq!((counts.not_due, counts.due, counts.missed, counts.duplicated), (1, 0, 0, 1));
    assert_eq!(story.tally.sum(0, &[0]).from_send.count(), 1);
}

proptest! {
    /// Whatever is dropped, doubled and swapped: the counts are those of the plain definition.
    #[test]
    fn faults_are_counted_exactly(
        mutations in prop::collection::vec((0_u32..3, any::<bool>()), 1..40),
        faults in prop::collection::vec(0_u8..6, 200),
        keys in prop::collection::vec(0_u8..3, 1..80),
    ) {
        let names = ["x", "y", "z"];
        let keys: Vec<_> = keys.iter().map(|key| names[usize::from(*key)]).collect();
        let mut story = Story::new(&keys);
        let mut sequences = [0; 3];
        let mut sent = Vec::new();
        for (publisher, is_acknowledged) in mutations {
            let sequence = sequences[publisher as usize];
            sequences[publisher as usize] += 1;
            let key = names[sequence as usize % 3];
            story.tell(&format!("{} send {publisher} {sequence} {key}", sent.len()));
            story.tell(&format!("{} {} {publisher} {sequence}", sent.len(), if is_acknowledged { "ack" } else { "fail" }));
            sent.push((publisher, sequence, key, is_acknowledged));
        }
        let (mut missed, mut duplicated, mut out_of_order, mut turn) = (0, 0, 0, 0);
        for (place, key) in keys.iter().enumerate() {
            let mut events: Vec<_> = sent.iter().filter(|(.., of, _)| of == key).collect();
            let mut got = Vec::new();
            while !events.is_empty() {
                let fault = faults[turn % faults.len()];
                turn += 1;
                match fault {
                    0 => missed += u64::from(events.remove(0).3),
                    1 => { let event = events.remove(0); got.extend([event, event]); duplicated += 1; }
                    2 if events.len() > 1 => { let event = events.remove(1); got.push(event); }
                    _ => got.push(events.remove(0)),
                }
            }
            let mut seen = BTreeSet::new();
            for (publisher, sequence, ..) in got {
                let is_later = seen.iter().any(|(p, s)| p == publisher && s > sequence);
                out_of_order += u64::from(seen.insert((*publisher, *sequence)) && is_later);
                story.tell(&format!("50 get {place} {publisher} {sequence}"));
            }
        }
        story.tracker.close(&mut Counting { tally: &mut story.tally, group: 0, counts_mutations: true });
        let counts = story.counts();
        prop_assert_eq!(
            (counts.missed, counts.duplicated, counts.out_of_order, counts.unexpected),
            (missed, duplicated, out_of_order, 0)
        );
    }
}

#[test]
fn what_is_settled_is_forgotten_after_twice_the_wait() {
    let mut story = Story::new(&["a"]);
    for sequence in 0..100 {
        story.tell(&format!("{sequence} send 0 {sequence} a"));
        story.tell(&format!("{sequence} ack 0 {sequence}"));
        story.tell(&format!("{sequence} get 0 0 {sequence}"));
    }
    story.tell("20050 settle");
    assert_eq!(story.tracker.publishers[0].publications.len(), 49);
    assert!(!story.tracker.is_waiting());
    assert_eq!(story.counts().missed, 0);
}
