//! One connection of a thread of subscribers: opened when it is due, written to and read until it ends.

use super::Subscribers;
use crate::poller::{Poller, Ready};
use crate::subscriptions::link::Link;
use crate::subscriptions::values::opening;
use crate::transport::{Fault, Progress, Read, Transport};
use prony_load_model::Nanos;
use prony_load_model::subscription::tally::count_reason;
use std::cmp::Reverse;
use std::io;
use std::mem;

/// One connection, before, while and after it stands.
pub(super) struct Slot {
    pub(super) group: usize,
    /// Among the connections of its group.
    pub(super) number: u64,
    pub(super) due: Nanos,
    /// Its first subscription among those of the thread.
    pub(super) first: usize,
    pub(super) subscriptions: u32,
    pub(super) live: Option<Box<Live>>,
}

pub(super) struct Live {
    pub(super) transport: Transport,
    /// Written before the connection stood.
    pub(super) queued: Vec<u8>,
    pub(super) link: Link,
    pub(super) marks: Marks,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a step that comes in its own order")]
pub(super) struct Marks {
    pub(super) begun: Nanos,
    /// When its operations were sent.
    pub(super) asked: Option<Nanos>,
    pub(super) is_connected: bool,
    /// The target was told who connects.
    pub(super) is_greeted: bool,
    /// The target may be asked for operations now.
    pub(super) is_acknowledged: bool,
    /// All of its operations were read by the target.
    pub(super) is_read: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A connection should stand, and its operations be read.
    Timeout,
    /// Its subscriptions come into force.
    InForce,
}

impl Subscribers<'_> {
    pub(super) fn connect_due(&mut self, now: Nanos) -> Result<(), io::Error> {
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

    pub(super) fn handle(&mut self, ready: Ready, since: Nanos) {
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

    pub(super) fn hear_end(&mut self, index: usize, live: &mut Live, reason: String) {
        // What was sent before the end was owed.
        self.take_notices();
        let at = self.now();
        let (window, Live { link, marks, .. }) = (self.window_at(at), live);
        link.end(reason, &mut |heard| self.hear(index, &heard, at, window, marks));
    }

    pub(super) fn fire_alarms(&mut self, now: Nanos) {
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

fn connect_reason(fault: &Fault) -> String {
    format!("connect: {}", fault.cause)
}
