//! One connection of a thread of subscribers: opened when it is due, written to and read until it ends.

use super::Subscribers;
use super::control::{CONTROL, Control};
use crate::subscriptions::link::Link;
use crate::subscriptions::requests::Speaker;
use prony_client::http2::connection::Http2Connection;
use prony_client::poller::{Poller, Ready};
use prony_client::targets::TargetId;
use prony_client::transport::{Fault, Progress, Read, Transport};
use prony_model::Nanos;
use prony_model::subscription::Protocol;
use prony_model::subscription::tally::count_reason;
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
    pub(super) carrier: Carrier,
    pub(super) link: Link,
    pub(super) marks: Marks,
    /// Beside a shared stream, once that is open.
    pub(super) control: Option<Control>,
}

/// What brings a connection's bytes.
pub(super) enum Carrier {
    Http1(Wire),
    Http2(Box<Http2Connection>),
}

/// How far a connection is.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a step that comes in its own order")]
pub(super) struct Marks {
    pub(super) begun: Nanos,
    /// What is awaited next fails then.
    pub(super) deadline: Nanos,
    /// When its operations were sent; over a shared stream the last of them.
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
        let counts = &mut self.tally.subscribers.links[group].counts;
        counts.attempted += 1;
        counts.first_attempt_ns = Some(counts.first_attempt_ns.map_or(now, |first| first.min(now)));
        let transport = match self.open(index) {
            Ok(transport) => transport,
            Err(fault) => {
                self.refuse(index, &connect_reason(&fault));
                return Ok(());
            }
        };
        self.poller.add(transport.socket(), index as u64)?;
        let protocol = subscription.draft.protocol;
        let (carrier, link) = if subscription.draft.is_http2 {
            match self.ask_over_http2(index, transport) {
                Ok(begun) => begun,
                Err(error) => {
                    self.refuse(index, &error.to_string());
                    return Ok(());
                }
            }
        } else {
            let values = self.values_of(index, 0);
            let mut queued = Vec::new();
            let opening = Speaker { plan, subscription, values: &values }.opening();
            let link = Link::open(protocol, opening, &mut queued);
            (Carrier::Http1(Wire { transport, queued }), link)
        };
        // Over a stream of its own the request is the operation.
        let asked = (protocol == Protocol::Sse).then_some(now);
        let marks = Marks {
            begun: now,
            deadline: now.plus(plan.timeout()),
            asked,
            is_connected: false,
            is_greeted: !protocol.is_websocket(),
            is_acknowledged: false,
            is_read: false,
        };
        let operations = if asked.is_some() { self.slots[index].subscriptions } else { 0 };
        self.tally.subscribers.links[group].counts.asked += u64::from(operations);
        self.slots[index].live = Some(Box::new(Live { carrier, link, marks, control: None }));
        self.alarms.push(Reverse((marks.deadline, Alarm::Timeout, index as u32)));
        Ok(())
    }

    /// The connection could not even be begun.
    fn refuse(&mut self, index: usize, reason: &str) {
        count_reason(&mut self.tally.subscribers.links[self.slots[index].group].counts.refused, reason);
        self.end_subscriptions(index);
    }

    /// Begins another connection to where a client's target is.
    pub(super) fn open(&self, index: usize) -> Result<Transport, Fault> {
        let (plan, slot) = (self.shared.plan, &self.slots[index]);
        let groups = &plan.subscriptions()[..slot.group];
        let before = groups.iter().map(|group| group.draft.connections()).sum::<u64>();
        let user = plan.users().wrapping_add((before + slot.number) as u32);
        let target = TargetId(plan.subscriptions()[slot.group].target as u32);
        self.shared.targets.planned(target).open(user, user, None, false).1
    }

    pub(super) fn handle(&mut self, ready: Ready, since: Nanos) {
        if Poller::is_timer(ready) {
            return;
        }
        let index = (ready.token & !CONTROL) as usize;
        let Some(mut live) = self.slots[index].live.take() else { return };
        let mut buffer = mem::take(&mut self.buffer);
        let gone_on = if ready.token & CONTROL == 0 {
            self.go_on(index, &mut live, ready, since, &mut buffer)
        } else {
            self.go_on_with_orders(index, &mut live, ready, &mut buffer)
        };
        self.buffer = buffer;
        if let Err(reason) = gone_on {
            self.hear_end(index, &mut live, reason);
        }
        if !live.link.is_over() {
            self.slots[index].live = Some(live);
        }
    }

    /// Or says why the connection cannot go on.
    fn go_on(
        &mut self,
        index: usize,
        live: &mut Live,
        ready: Ready,
        since: Nanos,
        buffer: &mut [u8],
    ) -> Result<(), String> {
        let Carrier::Http1(wire) = &mut live.carrier else {
            return self.go_on_with_streams(index, live, ready, since);
        };
        if !wire.go_on(ready)? {
            return Ok(());
        }
        while let Carrier::Http1(wire) = &mut live.carrier
            && let Some((count, is_all)) = wire.read(buffer)?
        {
            let at = self.now();
            self.tally.subscribers.read_lateness.record(at.since(since));
            self.take(index, live, &buffer[..count], at);
            if live.link.is_over() || is_all && !ready.is_ending {
                break;
            }
        }
        Ok(())
    }

    /// Bytes that were read at this moment.
    fn take(&mut self, index: usize, live: &mut Live, bytes: &[u8], at: Nanos) {
        // Whatever mutation an event is of was told of before it was written.
        self.take_notices();
        let window = self.window_at(at);
        self.count_bytes(index, bytes.len(), window);
        let (mut out, mut memo) = (mem::take(&mut self.out), mem::take(&mut self.memo));
        out.clear();
        let Live { link, marks, .. } = live;
        link.take(bytes, &mut memo, &mut out, &mut |heard| self.hear(index, &heard, at, window, marks));
        if marks.is_connected && !mem::replace(&mut marks.is_greeted, true) {
            self.greet(index, &mut out);
        } else if marks.is_acknowledged && marks.asked.is_none() {
            if live.link.token().is_none() {
                self.subscribe(index, live, at, &mut out);
            } else if let Err(reason) = self.begin_orders(index, live) {
                self.hear_end(index, live, reason);
            }
        }
        if !live.link.is_over()
            && !out.is_empty()
            && let Carrier::Http1(wire) = &mut live.carrier
            && let Err(reason) = wire.send(&out)
        {
            self.hear_end(index, live, reason);
        }
        (self.out, self.memo) = (out, memo);
    }

    pub(super) fn count_bytes(&mut self, index: usize, count: usize, window: usize) {
        let tally = &mut self.tally.subscribers;
        tally.cell_mut(self.slots[index].group, window).counts.bytes += count as u64;
        tally.interval.bytes += count as u64;
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
                Alarm::Timeout if now < live.marks.deadline => {
                    self.alarms.push(Reverse((live.marks.deadline, Alarm::Timeout, index as u32)));
                }
                Alarm::Timeout => {
                    let timeout = self.shared.plan.timeout();
                    let awaited = match (live.marks.is_acknowledged, &live.control, &live.carrier) {
                        (false, ..) => "acknowledgement",
                        (true, None, Carrier::Http1(_)) => "answer to a ping",
                        (true, ..) => "answer to an operation",
                    };
                    self.hear_end(index, &mut live, format!("no {awaited} within {timeout}"));
                }
            }
            if !live.link.is_over() {
                self.slots[index].live = Some(live);
            }
        }
    }
}

/// A connection's bytes, before and while it stands.
pub(super) struct Wire {
    pub(super) transport: Transport,
    /// Written before the connection stood.
    pub(super) queued: Vec<u8>,
}

impl Wire {
    /// Takes an event: true where there is something to read.
    pub(super) fn go_on(&mut self, ready: Ready) -> Result<bool, String> {
        if !self.transport.is_open() {
            match self.transport.progress().map_err(|fault| connect_reason(&fault))? {
                Progress::Waiting => return Ok(false),
                Progress::Open => {
                    let queued = mem::take(&mut self.queued);
                    self.send(&queued)?;
                }
            }
        } else if ready.writable {
            self.transport.flush().map_err(|fault| fault.to_string())?;
        }
        Ok(ready.readable)
    }

    /// How many bytes were read, and whether more of them make a new event; nothing where there are none.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Option<(usize, bool)>, String> {
        match self.transport.read(buffer) {
            Ok(Read::Bytes { count, is_all }) => Ok(Some((count, is_all))),
            Ok(Read::Nothing) => Ok(None),
            Ok(Read::End) => Err("the connection ended".to_owned()),
            Err(fault) => Err(fault.to_string()),
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.transport.send(bytes).map_err(|fault| fault.to_string())
    }
}

pub(super) fn connect_reason(fault: &Fault) -> String {
    format!("connect: {}", fault.cause)
}
