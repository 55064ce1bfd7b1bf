//! What users publish and what subscribers hear, brought to the trackers.

use super::Subscribers;
use super::connection::Marks;
use crate::subscriptions::delivery::Counting;
use crate::subscriptions::link::Heard;
use crate::subscriptions::messages::has_errors;
use crate::subscriptions::publications::{Notice, Published};
use prony_model::Nanos;
use prony_model::subscription::tally::count_reason;
use std::mem;

/// How often debts are settled.
pub(super) const SETTLE_EVERY: Nanos = Nanos::from_millis(200);

impl Subscribers<'_> {
    pub(super) fn take_notices(&mut self) {
        let mut notices = mem::take(&mut self.notices);
        self.shared.publications.take(self.index, &mut notices);
        for Notice { group, token, at, what } in notices.drain(..) {
            let at = self.moment(at);
            let window = self.window_at(at);
            let tracker = &mut self.groups[group].tracker;
            let counts_mutations = self.index == 0;
            let counting = &mut Counting { tally: &mut self.tally.subscribers, group, counts_mutations };
            match what {
                Published::Sent { key } => tracker.sent(token, &key, at, window, counting),
                Published::Acknowledged => tracker.answered(token, Some(at), counting),
                Published::Failed => tracker.answered(token, None, counting),
            }
        }
        self.notices = notices;
    }

    pub(super) fn settle(&mut self, now: Nanos) {
        if now >= self.next_settling {
            self.next_settling = now.plus(SETTLE_EVERY);
            self.settle_all(now);
        }
    }

    pub(super) fn settle_all(&mut self, now: Nanos) {
        for (group, entry) in self.groups.iter_mut().enumerate() {
            entry.tracker.settle(
                now,
                &mut Counting { tally: &mut self.tally.subscribers, group, counts_mutations: false },
            );
        }
    }

    /// Something that came over a connection.
    pub(super) fn hear(
        &mut self,
        index: usize,
        heard: &Heard<'_>,
        at: Nanos,
        window: usize,
        marks: &mut Marks,
    ) {
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
            Heard::Begun => link.subscribe.record(at.since(marks.asked.unwrap_or(at))),
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
        entry.tracker.received(
            member,
            token,
            at,
            window,
            &mut Counting { tally, group, counts_mutations: false },
        );
    }
}
