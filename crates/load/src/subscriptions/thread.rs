//! One thread of subscribers: its connections, one event loop, and the ledgers of what they are owed.

mod operations;

use super::board::{Board, Notice, Published};
use super::ledger::{Counting, Ledger, Member};
use super::link::{Heard, Link};
use super::messages::has_errors;
use super::values::{SubscriberValues, opening};
use crate::http::head::HeadMemo;
use crate::network::Network;
use crate::options::StopFlag;
use crate::poller::{Poller, Ready};
use crate::transport::{Fault, Progress, Read, Transport};
use crate::worker::{Handover, WorkerError, processor_time};
use prony_load_model::subscription::tally::count_reason;
use prony_load_model::subscription::token::TokenFinder;
use prony_load_model::tally::{Tally, TallyShape};
use prony_load_model::{Nanos, Plan, Windows};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// How often the flag to stop is looked at when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// How often debts are settled.
const SETTLE_EVERY: Nanos = Nanos::from_millis(200);
/// Shared by all connections of a thread.
const READ_BUFFER_BYTES: usize = 256 * 1024;
/// A wait for events that took longer was a sleep: what woke it came at its end.
const SLEEP_MIN: Nanos = Nanos::from_micros(20);

/// What all threads of subscribers share with those of users.
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) network: &'a Network,
    pub(crate) board: &'a Board,
    pub(crate) stop: &'a StopFlag,
    /// Threads of users that have not ended.
    pub(crate) users_running: &'a AtomicU32,
    pub(crate) threads: u32,
}

/// One connection, before, while and after it stands.
struct Slot {
    group: usize,
    /// Among the connections of its group.
    number: u64,
    due: Nanos,
    /// Its first subscription among those of the thread.
    first: usize,
    subscriptions: u32,
    live: Option<Box<Live>>,
}

struct Live {
    transport: Transport,
    /// Written before the connection stood.
    queued: Vec<u8>,
    link: Link,
    marks: Marks,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a step that comes in its own order")]
struct Marks {
    begun: Nanos,
    /// When its operations were sent.
    asked: Option<Nanos>,
    is_connected: bool,
    /// The target was told who connects.
    is_greeted: bool,
    /// The target may be asked for operations now.
    is_acknowledged: bool,
    /// All of its operations were read by the target.
    is_read: bool,
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
    ledger: Ledger,
    finder: Option<TokenFinder>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// A connection should stand, and its operations be read.
    Timeout,
    /// Its subscriptions come into force.
    InForce,
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
    hand_over: Sender<Handover>,
    second: u64,
    busy_before: Nanos,
    next_settling: Nanos,
    /// The load has ended: only what is still owed is waited for.
    ended: Option<Nanos>,
    in_force: u64,
    notices: Vec<Notice>,
    memo: HeadMemo,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl<'a> Subscribers<'a> {
    /// `number` counts all threads of the run, `index` those of subscribers.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        index: u32,
        hand_over: Sender<Handover>,
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
                .map(|group| Group::new(plan, shared.board.run, group))
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
        let each = if draft.protocol.is_websocket() { draft.per_client } else { 1 };
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
                let member = self.groups[group].ledger.join(&key.unwrap_or_default());
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
        now >= ended.plus(longest) || !self.groups.iter().any(|group| group.ledger.is_waiting())
    }

    fn finish(&mut self, now: Nanos) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.ledger.close(&mut Counting {
                tally: &mut self.tally.subscribers,
                group,
                counts_mutations: false,
            });
        }
        for slot in &mut self.slots {
            if let Some(mut live) = slot.live.take() {
                self.out.clear();
                live.link.leave(slot.subscriptions, &mut self.out);
                // Who does not take a farewell goes without.
                let _ = live.transport.send(&self.out);
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
        let busy = processor_time();
        let handover = Handover {
            thread: self.number,
            second: self.second,
            is_last,
            tally,
            busy: busy.since(self.busy_before),
        };
        self.busy_before = busy;
        self.second += 1;
        // The collector only goes away when the run is being given up.
        let _ = self.hand_over.send(handover);
    }

    // ---- what users publish

    fn take_notices(&mut self) {
        let mut notices = mem::take(&mut self.notices);
        self.shared.board.take(self.index, &mut notices);
        for Notice { group, token, at, what } in notices.drain(..) {
            let at = self.moment(at);
            let window = self.window_at(at);
            let ledger = &mut self.groups[group].ledger;
            let counts_mutations = self.index == 0;
            let counting = &mut Counting { tally: &mut self.tally.subscribers, group, counts_mutations };
            match what {
                Published::Sent { key } => ledger.sent(token, &key, at, window, counting),
                Published::Acknowledged => ledger.answered(token, Some(at), counting),
                Published::Failed => ledger.answered(token, None, counting),
            }
        }
        self.notices = notices;
    }

    fn settle(&mut self, now: Nanos) {
        if now >= self.next_settling {
            self.next_settling = now.plus(SETTLE_EVERY);
            self.settle_all(now);
        }
    }

    fn settle_all(&mut self, now: Nanos) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.ledger.settle(
                now,
                &mut Counting { tally: &mut self.tally.subscribers, group, counts_mutations: false },
            );
        }
    }

    // ---- connect

    fn connect_due(&mut self, now: Nanos) -> Result<(), io::Error> {
        while self.ended.is_none() && self.slots.get(self.next_slot).is_some_and(|slot| slot.due <= now) {
            let index = self.next_slot;
            self.next_slot += 1;
            self.connect(index, now)?;
        }
        Ok(())
    }

    fn connect(&mut self, index: usize, now: Nanos) -> Result<(), io::Error> {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let group = slot.group;
        let subscription = &plan.subscriptions()[group];
        let before = plan.subscriptions()[..group].iter().map(|group| group.draft.connections()).sum::<u64>();
        let user = plan.users().wrapping_add((before + slot.number) as u32);
        let counts = &mut self.tally.subscribers.links[group].counts;
        counts.attempted += 1;
        counts.first_attempt_ns = Some(counts.first_attempt_ns.map_or(now, |first| first.min(now)));
        let transport = match self.shared.network.open(subscription.target, user, 0, None) {
            Ok(transport) => transport,
            Err(fault) => {
                count_reason(&mut counts.refused, &connect_reason(&fault));
                self.end_subscriptions(index);
                return Ok(());
            }
        };
        self.poller.add(transport.socket(), index as u64)?;
        let values = self.values_of(index, 0);
        let (head, body) = opening(plan, subscription, &values);
        let mut queued = Vec::new();
        let link = Link::open(subscription.draft.protocol, &head, &body, &mut queued);
        // Over SSE the request is the operation.
        let asked = (!subscription.draft.protocol.is_websocket()).then_some(now);
        let marks = Marks {
            begun: now,
            asked,
            is_connected: false,
            is_greeted: asked.is_some(),
            is_acknowledged: false,
            is_read: false,
        };
        self.tally.subscribers.links[group].counts.asked += u64::from(asked.is_some());
        self.slots[index].live = Some(Box::new(Live { transport, queued, link, marks }));
        self.alarms.push(Reverse((now.plus(plan.timeout()), Alarm::Timeout, index as u32)));
        Ok(())
    }

    // ---- read

    fn handle(&mut self, ready: Ready, since: Nanos) {
        if Poller::is_timer(ready) {
            return;
        }
        let index = ready.token as usize;
        let Some(mut live) = self.slots[index].live.take() else { return };
        if let Some(reason) = self.go_on(index, &mut live, ready, since) {
            self.hear_end(index, &mut live, reason);
        }
        if !live.link.is_over() {
            self.slots[index].live = Some(live);
        }
    }

    /// Why the connection cannot go on, if so.
    fn go_on(&mut self, index: usize, live: &mut Live, ready: Ready, since: Nanos) -> Option<String> {
        if !live.transport.is_open() {
            match live.transport.progress() {
                Ok(Progress::Waiting) => return None,
                Ok(Progress::Open) => {
                    let queued = mem::take(&mut live.queued);
                    if let Err(fault) = live.transport.send(&queued) {
                        return Some(fault.to_string());
                    }
                }
                Err(fault) => return Some(connect_reason(&fault)),
            }
        } else if ready.writable
            && let Err(fault) = live.transport.flush()
        {
            return Some(fault.to_string());
        }
        if !ready.readable {
            return None;
        }
        let mut buffer = mem::take(&mut self.buffer);
        let ended = loop {
            match live.transport.read(&mut buffer) {
                Ok(Read::Bytes { count, is_all }) => {
                    let at = self.now();
                    self.tally.subscribers.read_lateness.record(at.since(since));
                    self.take(index, live, &buffer[..count], at);
                    if live.link.is_over() || is_all && !ready.is_ending {
                        break None;
                    }
                }
                Ok(Read::Nothing) => break None,
                Ok(Read::End) => break Some("the connection ended".to_owned()),
                Err(fault) => break Some(fault.to_string()),
            }
        };
        self.buffer = buffer;
        ended
    }

    /// Bytes that were read at this moment.
    fn take(&mut self, index: usize, live: &mut Live, bytes: &[u8], at: Nanos) {
        // Whatever mutation an event is of was told of before it was written.
        self.take_notices();
        let (window, group) = (self.window_at(at), self.slots[index].group);
        self.tally.subscribers.cell_mut(group, window).counts.bytes += bytes.len() as u64;
        self.tally.subscribers.interval.bytes += bytes.len() as u64;
        let (mut out, mut memo) = (mem::take(&mut self.out), mem::take(&mut self.memo));
        out.clear();
        let Live { link, marks, .. } = live;
        link.take(bytes, &mut memo, &mut out, &mut |heard| self.hear(index, &heard, at, window, marks));
        if marks.is_connected && !mem::replace(&mut marks.is_greeted, true) {
            self.greet(index, &mut out);
        } else if marks.is_acknowledged && marks.asked.is_none() {
            self.subscribe(index, live, at, &mut out);
        }
        if !live.link.is_over()
            && !out.is_empty()
            && let Err(fault) = live.transport.send(&out)
        {
            self.hear_end(index, live, fault.to_string());
        }
        (self.out, self.memo) = (out, memo);
    }

    /// Something that came over a connection.
    fn hear(&mut self, index: usize, heard: &Heard<'_>, at: Nanos, window: usize, marks: &mut Marks) {
        let (group, count) = (self.slots[index].group, self.slots[index].subscriptions);
        let link = &mut self.tally.subscribers.links[group];
        match heard {
            Heard::Connected => {
                marks.is_connected = true;
                link.connect.record(at.since(marks.begun));
            }
            Heard::Acknowledged => {
                marks.is_acknowledged = true;
                link.counts.made += 1;
                link.counts.last_made_ns = link.counts.last_made_ns.max(Some(at));
                link.acknowledge.record(at.since(marks.begun));
            }
            Heard::Read if marks.is_read || marks.asked.is_none() => {}
            Heard::Read => self.note_read(index, at, marks),
            Heard::Result(number, result) if *number < count => {
                self.take_event(index, *number, result, at, window);
            }
            Heard::Rejected(number, errors) if *number < count => {
                count_reason(&mut link.counts.rejected, errors);
                self.end_subscription(index, *number);
            }
            Heard::Completed(number) if *number < count => {
                link.counts.completed += 1;
                self.end_subscription(index, *number);
            }
            // Of an operation that was never asked for.
            Heard::Result(..) | Heard::Rejected(..) | Heard::Completed(_) => {
                self.tally.subscribers.cell_mut(group, window).counts.unexpected += 1;
            }
            Heard::Ended(reason) => {
                let reasons =
                    if marks.is_acknowledged { &mut link.counts.lost } else { &mut link.counts.refused };
                count_reason(reasons, reason);
                self.end_subscriptions(index);
            }
        }
    }

    fn hear_end(&mut self, index: usize, live: &mut Live, reason: String) {
        // What was sent before the end was owed.
        self.take_notices();
        let at = self.now();
        let (window, Live { link, marks, .. }) = (self.window_at(at), live);
        link.end(reason, &mut |heard| self.hear(index, &heard, at, window, marks));
    }

    fn take_event(&mut self, index: usize, number: u32, result: &[u8], at: Nanos, window: usize) {
        let group = self.slots[index].group;
        let tally = &mut self.tally.subscribers;
        let counts = &mut tally.cell_mut(group, window).counts;
        counts.events += 1;
        counts.events_with_errors += u64::from(has_errors(result));
        tally.interval.events += 1;
        let entry = &mut self.groups[group];
        let Some(finder) = &entry.finder else { return };
        let fan_out = self.shared.plan.subscriptions()[group].fan_out.as_ref();
        let text = match fan_out.and_then(|fan_out| fan_out.token.as_ref()) {
            None => result,
            Some(pointer) => pointer.find(result).ok().flatten().unwrap_or_default().as_bytes(),
        };
        let Some(token) = finder.find(text) else {
            tally.cell_mut(group, window).counts.without_token += 1;
            return;
        };
        let member = self.subscriptions[self.slots[index].first + number as usize].member;
        entry.ledger.received(
            member,
            token,
            at,
            window,
            &mut Counting { tally, group, counts_mutations: false },
        );
    }

    fn fire_alarms(&mut self, now: Nanos) {
        while self.alarms.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, alarm, index))) = self.alarms.pop() else { return };
            let index = index as usize;
            let Some(mut live) = self.slots[index].live.take() else { continue };
            match alarm {
                Alarm::InForce => self.put_in_force(index, now),
                Alarm::Timeout if live.marks.is_read => {}
                Alarm::Timeout => {
                    let timeout = self.shared.plan.timeout();
                    let awaited =
                        if live.marks.is_acknowledged { "answer to a ping" } else { "acknowledgement" };
                    self.hear_end(index, &mut live, format!("no {awaited} within {timeout}"));
                }
            }
            if !live.link.is_over() {
                self.slots[index].live = Some(live);
            }
        }
    }
}

impl Group {
    fn new(plan: &Plan, run: u32, group: &prony_load_model::subscription::Subscription) -> Self {
        let wait_max = group.fan_out.as_ref().map_or(Nanos::ZERO, |fan_out| fan_out.wait_max);
        let finder = group.fan_out.as_ref().map(|fan_out| {
            let prefix = plan.variables()[fan_out.variable].token_prefix().unwrap_or_default();
            TokenFinder::new(prefix, run)
        });
        Self { ledger: Ledger::new(wait_max), finder }
    }
}

fn connect_reason(fault: &Fault) -> String {
    format!("connect: {}", fault.cause)
}
