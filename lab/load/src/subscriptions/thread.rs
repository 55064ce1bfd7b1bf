//! One thread of subscribers: its connections, one event loop, and the trackers of what they are owed.

mod connection;
mod control;
mod events;
mod operations;
mod streams;

use super::delivery::{Counting, DeliveryTracker, Member};
use super::publications::{Notice, PublicationQueue};
use super::values::SubscriberValues;
use crate::worker::{ThreadInterval, WorkerError, processor_time};
use connection::{Alarm, Slot};
use events::SETTLE_EVERY;
use prony_client::http1::head::HeadMemo;
use prony_client::http2::io::{ReadBuffer, read_buffer};
use prony_client::poller::Poller;
use prony_client::targets::Targets;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::program::StopFlag;
use prony_model::subscription::token::TokenFinder;
use prony_model::{Nanos, Plan, Windows};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// How often the flag to stop is looked at when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// Shared by all connections of a thread.
const READ_BUFFER_BYTES: usize = 256 * 1024;
/// A wait for events that took longer was a sleep: what woke it came at its end.
const SLEEP_MIN: Nanos = Nanos::from_micros(20);

/// What all threads of subscribers share with those of users.
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) targets: &'a Targets,
    pub(crate) publications: &'a PublicationQueue,
    pub(crate) stop: &'a StopFlag,
    /// Threads of users that have not ended.
    pub(crate) users_running: &'a AtomicU32,
    pub(crate) threads: u32,
}

/// One subscription.
struct Subscription {
    member: Member,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    InForce,
    Over,
}

/// What a group needs beside the plan.
struct Group {
    tracker: DeliveryTracker,
    finder: Option<TokenFinder>,
}

pub(crate) struct Subscribers<'a> {
    shared: &'a Shared<'a>,
    /// Of all threads of the run, and among those of subscribers.
    number: u32,
    index: u32,
    epoch: Instant,
    groups: Vec<Group>,
    /// By when they are due.
    slots: Vec<Slot>,
    next_slot: usize,
    subscriptions: Vec<Subscription>,
    poller: Poller,
    alarms: BinaryHeap<Reverse<(Nanos, Alarm, u32)>>,
    tally: Tally,
    hand_over: Sender<ThreadInterval>,
    second: u64,
    busy_before: Nanos,
    next_settling: Nanos,
    /// The load has ended: only what is still owed is waited for.
    ended: Option<Nanos>,
    in_force: u64,
    notices: Vec<Notice>,
    memo: HeadMemo,
    buffer: Vec<u8>,
    /// Of connections that speak HTTP/2.
    http2_buffer: ReadBuffer,
    out: Vec<u8>,
}

impl<'a> Subscribers<'a> {
    /// `number` counts all threads of the run, `index` those of subscribers.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        index: u32,
        hand_over: Sender<ThreadInterval>,
    ) -> Result<Self, WorkerError> {
        let plan = shared.plan;
        let mut thread = Self {
            shared,
            number,
            index,
            epoch: Instant::now(),
            groups: plan
                .subscriptions()
                .iter()
                .map(|group| Group::new(plan, shared.publications.run, group))
                .collect(),
            slots: Vec::new(),
            next_slot: 0,
            subscriptions: Vec::new(),
            poller: Poller::new()?,
            alarms: BinaryHeap::new(),
            tally: Tally::new(shared.windows, TallyShape::of(plan)),
            hand_over,
            second: 0,
            busy_before: Nanos::ZERO,
            next_settling: SETTLE_EVERY,
            ended: None,
            in_force: 0,
            notices: Vec::new(),
            memo: HeadMemo::default(),
            buffer: vec![0; READ_BUFFER_BYTES],
            http2_buffer: read_buffer(),
            out: Vec::new(),
        };
        (0..plan.subscriptions().len()).for_each(|group| thread.admit(group));
        thread.slots.sort_by_key(|slot| slot.due);
        Ok(thread)
    }

    /// Makes this thread's share of a group's connections.
    fn admit(&mut self, group: usize) {
        let plan = self.shared.plan;
        let subscription = &plan.subscriptions()[group];
        let draft = &subscription.draft;
        let each = draft.subscriptions_each();
        for number in
            (0..draft.connections()).filter(|n| n % u64::from(self.shared.threads) == u64::from(self.index))
        {
            let first = self.subscriptions.len();
            for at in 0..u64::from(each) {
                let key = subscription.fan_out.as_ref().map(|fan_out| {
                    let values =
                        SubscriberValues::new(plan, group, subscription, number * u64::from(each) + at);
                    values.render(&fan_out.key)
                });
                let member = self.groups[group].tracker.join(&key.unwrap_or_default());
                self.subscriptions.push(Subscription { member, state: State::Waiting });
            }
            let due = draft.due(number);
            self.slots.push(Slot { group, number, due, first, subscriptions: each, live: None });
        }
    }

    pub(crate) fn run(mut self, epoch: Instant) -> Result<(), WorkerError> {
        self.epoch = epoch;
        self.busy_before = processor_time();
        // What is ready when nobody slept has waited since this moment at most.
        let mut looked = Nanos::ZERO;
        loop {
            let now = self.now();
            self.hand_over_seconds(now);
            self.connect_due(now)?;
            self.fire_alarms(now);
            self.settle(now);
            if self.is_over(now) {
                self.finish(now);
                return Ok(());
            }
            let asked = self.now();
            self.poller.wait(asked, self.next_moment(asked))?;
            let woken = self.now();
            let has_slept = woken.since(asked) >= SLEEP_MIN;
            let since = if has_slept { woken } else { looked };
            looked = woken;
            let mut index = 0;
            while let Some(ready) = self.poller.ready(index) {
                self.handle(ready, since);
                index += 1;
            }
            self.take_notices();
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    fn moment(&self, at: Instant) -> Nanos {
        Nanos(at.saturating_duration_since(self.epoch).as_nanos() as u64)
    }

    fn window_at(&self, at: Nanos) -> usize {
        self.shared.windows.index_at(at).unwrap_or(self.shared.windows.all().len() - 1)
    }

    fn next_moment(&self, now: Nanos) -> Nanos {
        let alarm = self.alarms.peek().map_or(Nanos::MAX, |Reverse((at, ..))| *at);
        let due = self.slots.get(self.next_slot).filter(|_| self.ended.is_none());
        let due = due.map_or(Nanos::MAX, |slot| slot.due);
        let second = Nanos::from_secs(self.second + 1);
        now.plus(STOP_CHECK).min(alarm).min(due).min(second)
    }

    /// Users have ended, or where there are none the plan's time has; and nothing that is owed can still come.
    fn is_over(&mut self, now: Nanos) -> bool {
        let plan = self.shared.plan;
        let have_users_ended = self.shared.users_running.load(Ordering::Acquire) == 0;
        let has_time_ended = plan.users() > 0 || now >= plan.duration();
        if !(self.shared.stop.is_stopped() || have_users_ended && has_time_ended) {
            return false;
        }
        let ended = *self.ended.get_or_insert(now);
        self.take_notices();
        // Users that were stopped leave their last mutations without an answer, which owe nothing.
        if !have_users_ended {
            return false;
        }
        self.settle_all(now);
        let longest = plan.subscriptions().iter().filter_map(|group| group.fan_out.as_ref());
        let longest = longest.map(|fan_out| fan_out.wait_max).max().unwrap_or(Nanos::ZERO);
        now >= ended.plus(longest) || !self.groups.iter().any(|group| group.tracker.is_waiting())
    }

    fn finish(&mut self, now: Nanos) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.tracker.close(&mut Counting {
                tally: &mut self.tally.subscribers,
                group,
                counts_mutations: false,
            });
        }
        for index in 0..self.slots.len() {
            if let Some(mut live) = self.slots[index].live.take() {
                self.leave(index, &mut live);
            }
        }
        self.hand_over_seconds(now);
        self.send_tally(true);
    }

    // ---- hand over

    fn hand_over_seconds(&mut self, now: Nanos) {
        while now >= Nanos::from_secs(self.second + 1) {
            self.send_tally(false);
        }
    }

    fn send_tally(&mut self, is_last: bool) {
        let fresh = Tally::new(self.shared.windows, TallyShape::of(self.shared.plan));
        let mut tally = mem::replace(&mut self.tally, fresh);
        tally.subscribers.active = self.in_force;
        let (until, busy) = (self.now(), processor_time());
        let interval = ThreadInterval {
            thread: self.number,
            second: self.second,
            until,
            is_last,
            tally,
            busy: busy.since(self.busy_before),
        };
        self.busy_before = busy;
        self.second += 1;
        // The collector only goes away when the run is being given up.
        let _ = self.hand_over.send(interval);
    }
}

impl Group {
    fn new(plan: &Plan, run: u32, group: &prony_model::subscription::Subscription) -> Self {
        let wait_max = group.fan_out.as_ref().map_or(Nanos::ZERO, |fan_out| fan_out.wait_max);
        let finder = group.fan_out.as_ref().map(|fan_out| {
            let prefix = plan.variables()[fan_out.variable].token_prefix().unwrap_or_default();
            TokenFinder::new(prefix, run)
        });
        Self { tracker: DeliveryTracker::new(wait_max), finder }
    }
}
