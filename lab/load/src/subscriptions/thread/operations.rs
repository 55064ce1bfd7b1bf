//! The operations of a connection: asked for, read by the target, in force, ended.

use super::connection::{Alarm, Carrier, Live, Marks};
use super::{State, Subscribers};
use crate::subscriptions::link::Link;
use crate::subscriptions::values::SubscriberValues;
use prony_model::Nanos;
use std::cmp::Reverse;
use std::mem;

impl<'a> Subscribers<'a> {
    pub(super) fn greet(&mut self, index: usize, out: &mut Vec<u8>) {
        let values = self.values_of(index, 0);
        let group = &self.shared.plan.subscriptions()[self.slots[index].group];
        let payload = group.connection_init.as_ref().map(|payload| values.render(payload));
        Link::greet(payload.as_deref(), out);
    }

    /// Of one of a connection's subscriptions.
    pub(super) fn values_of(&self, index: usize, number: u32) -> SubscriberValues<'a> {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let place = slot.number * u64::from(slot.subscriptions) + u64::from(number);
        SubscriberValues::new(plan, slot.group, &plan.subscriptions()[slot.group], place)
    }

    /// Sends all operations of a connection, and a ping behind them.
    pub(super) fn subscribe(&mut self, index: usize, live: &mut Live, at: Nanos, out: &mut Vec<u8>) {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let subscription = &plan.subscriptions()[slot.group];
        for number in 0..slot.subscriptions {
            let values = self.values_of(index, number);
            live.link.subscribe(number, &values.render(&subscription.operation), out);
        }
        live.link.ping(out);
        live.marks.asked = Some(at);
        self.tally.subscribers.links[slot.group].counts.asked += u64::from(slot.subscriptions);
    }

    /// The target has read a connection's operations, which were sent at once.
    pub(super) fn note_read(&mut self, index: usize, at: Nanos, marks: &mut Marks) {
        let slot = &self.slots[index];
        let asked = marks.asked.unwrap_or(at);
        let link = &mut self.tally.subscribers.links[slot.group];
        (0..slot.subscriptions).for_each(|_| link.subscribe.record(at.since(asked)));
        self.note_all_read(index, at, marks);
    }

    /// None of a connection's operations waits to be read any more: they come into force.
    pub(super) fn note_all_read(&mut self, index: usize, at: Nanos, marks: &mut Marks) {
        marks.is_read = true;
        let slot = &self.slots[index];
        let asked = marks.asked.unwrap_or(at);
        let settle = self.shared.plan.subscriptions()[slot.group].draft.settle;
        self.alarms.push(Reverse((asked.plus(settle).max(at), Alarm::InForce, index as u32)));
    }

    pub(super) fn put_in_force(&mut self, index: usize, now: Nanos) {
        let slot = &self.slots[index];
        for at in slot.first..slot.first + slot.subscriptions as usize {
            let subscription = &mut self.subscriptions[at];
            if subscription.state == State::Waiting {
                subscription.state = State::InForce;
                self.groups[slot.group].tracker.begin(subscription.member);
                self.in_force += 1;
                let counts = &mut self.tally.subscribers.links[slot.group].counts;
                counts.subscribed += 1;
                counts.last_subscribed_ns = counts.last_subscribed_ns.max(Some(now));
            }
        }
    }

    pub(super) fn state_of(&self, index: usize, number: u32) -> State {
        self.subscriptions[self.slots[index].first + number as usize].state
    }

    /// Says farewell over a connection that stands; answers are of no interest.
    pub(super) fn leave(&mut self, index: usize, live: &mut Live) {
        let mut out = mem::take(&mut self.out);
        out.clear();
        live.link.leave(self.slots[index].subscriptions, &mut out);
        if let Carrier::Http1(wire) = &mut live.carrier {
            // Who does not take a farewell goes without.
            let _ = wire.send(&out);
        }
        self.out = out;
        self.stop_orders(index, live);
    }

    pub(super) fn end_subscriptions(&mut self, index: usize) {
        (0..self.slots[index].subscriptions).for_each(|number| self.end_subscription(index, number));
    }

    pub(super) fn end_subscription(&mut self, index: usize, number: u32) {
        let slot = &self.slots[index];
        let subscription = &mut self.subscriptions[slot.first + number as usize];
        self.in_force -= u64::from(subscription.state == State::InForce);
        subscription.state = State::Over;
        self.groups[slot.group].tracker.end(subscription.member);
    }
}
