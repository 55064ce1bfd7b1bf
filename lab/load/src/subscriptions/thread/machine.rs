//! What the subscribers of one thread wait for and have, as a state machine: moments, mutations and what their connections
//! bring go in, counts come out. It knows neither sockets nor clocks.

use super::slot::{ConnectionAlarm, ConnectionSlot, Marks, Subscription, SubscriptionState};
use crate::subscriptions::delivery::{Counting, DeliveryTracker};
use crate::subscriptions::link::LinkEvent;
use crate::subscriptions::messages::has_errors;
use crate::subscriptions::publications::{Notice, Published};
use crate::subscriptions::values::SubscriberValues;
use prony_client::timers::Timers;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::program::ThreadPlace;
use prony_model::subscription::tally::count_reason;
use prony_model::subscription::token::TokenFinder;
use prony_model::{Nanos, Plan, Windows};
use std::mem;
use std::time::Instant;

/// How often deliveries are looked through for those that are complete or expired.
const SETTLE_EVERY: Nanos = Nanos::from_millis(200);

/// Which of the plan's connections are a thread's: dealt out by their number, as users are, to all threads of subscribers, also
/// those of other parts of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    /// Among the threads of subscribers of this part.
    pub(super) index: u32,
    pub(super) place: ThreadPlace,
}

/// What a group needs beside the plan.
struct Group {
    tracker: DeliveryTracker,
    finder: Option<TokenFinder>,
}

pub(super) struct SubscriberMachine<'a> {
    plan: &'a Plan,
    windows: &'a Windows,
    share: Share,
    groups: Vec<Group>,
    /// By when they are due.
    pub(super) slots: Vec<ConnectionSlot>,
    next_slot: usize,
    subscriptions: Vec<Subscription>,
    timers: Timers<(ConnectionAlarm, u32)>,
    pub(super) tally: Tally,
    next_settling: Nanos,
    in_force: u64,
}

impl<'a> SubscriberMachine<'a> {
    /// `run`: of all tokens of the run.
    pub(super) fn new(plan: &'a Plan, windows: &'a Windows, run: u32, share: Share) -> Self {
        let groups = plan.subscriptions().iter().map(|group| Group::new(plan, run, group));
        let mut machine = Self {
            plan,
            windows,
            share,
            groups: groups.collect(),
            slots: Vec::new(),
            next_slot: 0,
            subscriptions: Vec::new(),
            timers: Timers::default(),
            tally: Tally::new(windows, TallyShape::of(plan)),
            next_settling: SETTLE_EVERY,
            in_force: 0,
        };
        (0..plan.subscriptions().len()).for_each(|group| machine.admit(group));
        machine.slots.sort_by_key(|slot| slot.due);
        machine
    }

    /// Makes this thread's share of a group's connections.
    fn admit(&mut self, group: usize) {
        let plan = self.plan;
        let subscription = &plan.subscriptions()[group];
        let draft = &subscription.draft;
        let each = draft.subscriptions_each();
        let ThreadPlace { number: first, threads } = self.share.place;
        for number in (u64::from(first)..draft.connections()).step_by(threads as usize) {
            let first = self.subscriptions.len();
            for at in 0..u64::from(each) {
                let key = subscription.fan_out.as_ref().map(|fan_out| {
                    let values =
                        SubscriberValues::new(plan, group, subscription, number * u64::from(each) + at);
                    values.render(&fan_out.key)
                });
                let member = self.groups[group].tracker.join(&key.unwrap_or_default());
                self.subscriptions.push(Subscription { member, state: SubscriptionState::Waiting });
            }
            let due = draft.due(number);
            self.slots.push(ConnectionSlot { group, number, due, first, subscriptions: each, live: None });
        }
    }

    pub(super) fn window_at(&self, at: Nanos) -> usize {
        self.windows.index_at(at).unwrap_or(self.windows.all().len() - 1)
    }

    /// The values of one of a connection's subscriptions.
    pub(super) fn values_of(&self, index: usize, number: u32) -> SubscriberValues<'a> {
        let slot = &self.slots[index];
        let place = slot.number * u64::from(slot.subscriptions) + u64::from(number);
        SubscriberValues::new(self.plan, slot.group, &self.plan.subscriptions()[slot.group], place)
    }

    // ---- time

    /// The next connection that is due.
    pub(super) fn next_due(&mut self, now: Nanos) -> Option<usize> {
        let index = self.next_slot;
        self.slots.get(index).filter(|slot| slot.due <= now)?;
        self.next_slot += 1;
        Some(index)
    }

    /// When there is something to do. `has_ended`: no connection begins any more.
    pub(super) fn next_moment(&self, has_ended: bool) -> Nanos {
        let due = self.slots.get(self.next_slot).filter(|_| !has_ended).map_or(Nanos::MAX, |slot| slot.due);
        self.timers.next().unwrap_or(Nanos::MAX).min(due)
    }

    pub(super) fn set_alarm(&mut self, at: Nanos, alarm: ConnectionAlarm, index: usize) {
        self.timers.set(at, (alarm, index as u32));
    }

    /// An alarm that is due, and its connection.
    pub(super) fn pop_alarm(&mut self, now: Nanos) -> Option<(ConnectionAlarm, usize)> {
        self.timers.pop_due(now).map(|(_, (alarm, index))| (alarm, index as usize))
    }

    // ---- publications

    /// Takes what users published, in the order in which they did; `moment` places it in the run.
    pub(super) fn take_notices(&mut self, notices: &mut Vec<Notice>, moment: impl Fn(Instant) -> Nanos) {
        for Notice { group, token, at, what } in notices.drain(..) {
            let at = moment(at);
            let window = self.window_at(at);
            let tracker = &mut self.groups[group].tracker;
            let counts_mutations = self.share.index == 0;
            let counting = &mut Counting { tally: &mut self.tally.subscribers, group, counts_mutations };
            match what {
                Published::Sent { key } => tracker.sent(token, &key, at, window, counting),
                Published::Acknowledged => tracker.answered(token, Some(at), counting),
                Published::Failed => tracker.answered(token, None, counting),
            }
        }
    }

    pub(super) fn settle(&mut self, now: Nanos) {
        if now >= self.next_settling {
            self.next_settling = now.plus(SETTLE_EVERY);
            self.settle_all(now);
        }
    }

    pub(super) fn settle_all(&mut self, now: Nanos) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.tracker.settle(now, &mut counting(&mut self.tally, group));
        }
    }

    /// All users have ended.
    pub(super) fn end_responses(&mut self) {
        self.groups.iter_mut().for_each(|group| group.tracker.end_responses());
    }

    /// Deliveries may still come.
    pub(super) fn is_waiting(&self) -> bool {
        self.groups.iter().any(|group| group.tracker.is_waiting())
    }

    /// The run is over: what has not come is missed.
    pub(super) fn close(&mut self) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.tracker.close(&mut counting(&mut self.tally, group));
        }
    }

    /// What was counted since this was last taken.
    pub(super) fn take_tally(&mut self) -> Tally {
        let fresh = Tally::new(self.windows, TallyShape::of(self.plan));
        let mut tally = mem::replace(&mut self.tally, fresh);
        tally.subscribers.active = self.in_force;
        tally
    }

    // ---- connections

    /// A connection begins; `operations`: those that are asked for along with it.
    pub(super) fn note_attempt(&mut self, index: usize, operations: u32, now: Nanos) {
        let counts = &mut self.tally.subscribers.links[self.slots[index].group].counts;
        counts.attempted += 1;
        counts.first_attempt_ns = Some(counts.first_attempt_ns.map_or(now, |first| first.min(now)));
        counts.asked += u64::from(operations);
    }

    /// The connection could not even be begun.
    pub(super) fn refuse(&mut self, index: usize, reason: &str) {
        count_reason(&mut self.tally.subscribers.links[self.slots[index].group].counts.refused, reason);
        self.end_subscriptions(index);
    }

    pub(super) fn count_bytes(&mut self, index: usize, count: u64, at: Nanos) {
        let window = self.window_at(at);
        let tally = &mut self.tally.subscribers;
        tally.cell_mut(self.slots[index].group, window).counts.bytes += count;
        tally.interval.bytes += count;
    }

    /// Something that came over a connection.
    pub(super) fn on_link_event(
        &mut self,
        index: usize,
        event: &LinkEvent<'_>,
        at: Nanos,
        window: usize,
        marks: &mut Marks,
    ) {
        let (group, count) = (self.slots[index].group, self.slots[index].subscriptions);
        let link = &mut self.tally.subscribers.links[group];
        match event {
            LinkEvent::Connected => {
                marks.is_connected = true;
                link.connect.record(at.since(marks.begun));
            }
            LinkEvent::Acknowledged => {
                marks.is_acknowledged = true;
                link.counts.made += 1;
                link.counts.last_made_ns = link.counts.last_made_ns.max(Some(at));
                link.acknowledge.record(at.since(marks.begun));
            }
            LinkEvent::Read if marks.is_read || marks.asked.is_none() => {}
            LinkEvent::Read => self.note_read(index, at, marks),
            LinkEvent::Begun => link.subscribe.record(at.since(marks.asked.unwrap_or(at))),
            LinkEvent::Result(number, result) if *number < count => {
                self.take_event(index, *number, result, at, window);
            }
            LinkEvent::Rejected(number, errors) if *number < count => self.reject(index, *number, errors),
            LinkEvent::Completed(number) if *number < count => {
                link.counts.completed += 1;
                self.end_subscription(index, *number);
            }
            // Of an operation that was never asked for.
            LinkEvent::Result(..) | LinkEvent::Rejected(..) | LinkEvent::Completed(_) => {
                self.tally.subscribers.cell_mut(group, window).counts.unexpected += 1;
            }
            LinkEvent::Ended(reason) => {
                let reasons =
                    if marks.is_acknowledged { &mut link.counts.lost } else { &mut link.counts.refused };
                count_reason(reasons, reason);
                self.end_subscriptions(index);
            }
        }
    }

    fn take_event(&mut self, index: usize, number: u32, result: &[u8], at: Nanos, window: usize) {
        let group = self.slots[index].group;
        let counts = &mut self.tally.subscribers.cell_mut(group, window).counts;
        counts.events += 1;
        counts.events_with_errors += u64::from(has_errors(result));
        self.tally.subscribers.interval.events += 1;
        let entry = &mut self.groups[group];
        let Some(finder) = &entry.finder else { return };
        let fan_out = self.plan.subscriptions()[group].fan_out.as_ref();
        let text = match fan_out.and_then(|fan_out| fan_out.token.as_ref()) {
            None => result,
            Some(pointer) => pointer.find(result).ok().flatten().unwrap_or_default().as_bytes(),
        };
        let Some(token) = finder.find(text) else {
            self.tally.subscribers.cell_mut(group, window).counts.without_token += 1;
            return;
        };
        let member = self.subscriptions[self.slots[index].first + number as usize].member;
        entry.tracker.received(member, token, at, window, &mut counting(&mut self.tally, group));
    }

    // ---- operations

    /// Operations of a connection were sent.
    pub(super) fn note_asked(&mut self, index: usize, operations: u32) {
        self.tally.subscribers.links[self.slots[index].group].counts.asked += u64::from(operations);
    }

    /// The target has accepted an operation that was sent by itself.
    pub(super) fn note_answered(&mut self, index: usize, at: Nanos, marks: &Marks) {
        let link = &mut self.tally.subscribers.links[self.slots[index].group];
        link.subscribe.record(at.since(marks.asked.unwrap_or(at)));
    }

    /// The target has refused an operation.
    pub(super) fn reject(&mut self, index: usize, number: u32, reason: &str) {
        count_reason(&mut self.tally.subscribers.links[self.slots[index].group].counts.rejected, reason);
        self.end_subscription(index, number);
    }

    /// The target has read a connection's operations, which were sent at once.
    fn note_read(&mut self, index: usize, at: Nanos, marks: &mut Marks) {
        let slot = &self.slots[index];
        let asked = marks.asked.unwrap_or(at);
        let link = &mut self.tally.subscribers.links[slot.group];
        (0..slot.subscriptions).for_each(|_| link.subscribe.record(at.since(asked)));
        self.note_all_read(index, at, marks);
    }

    /// None of a connection's operations waits to be read any more: they come into force.
    pub(super) fn note_all_read(&mut self, index: usize, at: Nanos, marks: &mut Marks) {
        marks.is_read = true;
        let settle = self.plan.subscriptions()[self.slots[index].group].draft.settle;
        self.set_alarm(marks.asked.unwrap_or(at).plus(settle).max(at), ConnectionAlarm::InForce, index);
    }

    pub(super) fn put_in_force(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        for at in slot.first..slot.first + slot.subscriptions as usize {
            let subscription = &mut self.subscriptions[at];
            if subscription.state == SubscriptionState::Waiting {
                subscription.state = SubscriptionState::InForce;
                self.groups[slot.group].tracker.begin(subscription.member);
                self.in_force += 1;
                let counts = &mut self.tally.subscribers.links[slot.group].counts;
                counts.subscribed += 1;
                counts.last_subscribed_ns = counts.last_subscribed_ns.max(Some(now));
            }
        }
    }

    pub(super) fn state_of(&self, index: usize, number: u32) -> SubscriptionState {
        self.subscriptions[self.slots[index].first + number as usize].state
    }

    fn end_subscriptions(&mut self, index: usize) {
        (0..self.slots[index].subscriptions).for_each(|number| self.end_subscription(index, number));
    }

    fn end_subscription(&mut self, index: usize, number: u32) {
        let slot = &self.slots[index];
        let subscription = &mut self.subscriptions[slot.first + number as usize];
        self.in_force -= u64::from(subscription.state == SubscriptionState::InForce);
        subscription.state = SubscriptionState::Over;
        self.groups[slot.group].tracker.end(subscription.member);
    }
}

/// What comes of a connection counts no mutations: the notices of users do.
fn counting(tally: &mut Tally, group: usize) -> Counting<'_> {
    Counting { tally: &mut tally.subscribers, group, counts_mutations: false }
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

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::data::variable::{Order, Variable};
    use prony_model::program::RunShare;
    use prony_model::subscription::{SubscriptionDraft, SubscriptionProtocol};
    use prony_model::{LoadModel, PlanDraft, RequestDraft, Target};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn plan(groups: &[(u32, u32, bool)]) -> Plan {
        let load = LoadModel::constant(1, Nanos::from_secs(9));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        let rows: Vec<Value> = (0..7).map(|row| json!(format!("größe-{row}"))).collect();
        draft.variables = vec![
            Variable::list("row", &rows, Order::Sequential),
            Variable::list("any", &rows, Order::Random),
        ];
        let group = |(number, (clients, per_client, is_sse)): (usize, &(u32, u32, bool))| {
            let mut group = SubscriptionDraft::new(&format!("g{number}"), "subscription { on }", *clients);
            group.variables = json!({ "row": "${row}", "any": "${any}" }).as_object().unwrap().clone();
            (group.per_client, group.rate_per_s) = (*per_client, 3.0);
            if *is_sse {
                group.protocol = SubscriptionProtocol::Sse;
            }
            group
        };
        draft.subscriptions = groups.iter().enumerate().map(group).collect();
        draft.check().unwrap()
    }

    /// Of each connection its group, its number, when it is due and what its subscriptions ask for.
    type Connections = Vec<(usize, u64, Nanos, Vec<Vec<u8>>)>;

    fn connections(plan: &Plan, place: ThreadPlace) -> Connections {
        let windows = plan.windows();
        let machine = SubscriberMachine::new(plan, &windows, 7, Share { index: 0, place });
        let of = |(index, slot): (usize, &ConnectionSlot)| {
            let operation = &plan.subscriptions()[slot.group].operation;
            let asked = (0..slot.subscriptions).map(|at| machine.values_of(index, at).render(operation));
            (slot.group, slot.number, slot.due, asked.collect())
        };
        machine.slots.iter().enumerate().map(of).collect()
    }

    proptest! {
        /// Whatever the numbers of threads, which may differ from part to part.
        #[test]
        fn connections_of_all_parts_are_those_of_one_machine(
            groups in prop::collection::vec((1_u32..9, 1_u32..4, any::<bool>()), 1..3),
            parts in 1_u32..5, threads in prop::collection::vec(1_u32..4, 4)
        ) {
            let plan = plan(&groups);
            let (mut split, mut sockets) = (Connections::new(), 0);
            for (number, threads) in (0..parts).zip(&threads) {
                let share = RunShare::new(number, parts).unwrap();
                sockets += plan.subscriber_connections_of(share);
                split.extend((0..*threads).flat_map(|at| connections(&plan, share.thread(at, *threads))));
            }
            let mut whole = connections(&plan, RunShare::WHOLE.thread(0, 1));
            prop_assert_eq!(sockets, plan.subscriber_connections());
            prop_assert_eq!(whole.len() as u64, sockets);
            whole.sort();
            split.sort();
            prop_assert_eq!(split, whole);
        }
    }
}
