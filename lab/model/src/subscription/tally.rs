//! Counting what subscribers see: one tally a thread, handed over and begun anew each second with the thread's other counts.

use crate::measurement::histogram::Latencies;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reasons for one thing that are told apart; more are counted together.
const REASONS_MAX: usize = 24;
const OTHER_REASONS: &str = "for other reasons";

/// One group of subscribers in one window: events by when they came, and what became of them by when their mutation was
/// sent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscriptionCell {
    pub counts: EventCounts,
    /// From the sending of a mutation to each receipt.
    pub from_send: Latencies,
    /// From the mutation's acknowledgement to each receipt; zero for those that came before it.
    pub from_acknowledgement: Latencies,
}

/// Deliveries are pairs of one mutation and one subscription.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventCounts {
    /// All that came, of whatever kind.
    pub events: u64,
    /// Of `events`: hold `errors`.
    pub events_with_errors: u64,
    /// Of `events`: hold no token of this run, so they were made by others.
    pub without_token: u64,
    /// Of the connections, protocol included.
    pub bytes: u64,
    /// Mutations that were sent, and those of them that were answered as expected.
    pub published: u64,
    pub acknowledged: u64,
    /// Not owed: the subscription was not in force yet when the mutation was sent.
    pub not_due: u64,
    /// Deliveries that acknowledged mutations owe: to each matching subscription that was in force when they were sent.
    pub due: u64,
    /// Of `due`: had not come when the longest wait was over.
    pub missed: u64,
    /// Of `due`: had not come when their connection, or the subscription, was ended by the target.
    pub cut_off: u64,
    /// Of `missed`: came after all.
    pub late: u64,
    /// Came to a subscription that had this event already.
    pub duplicated: u64,
    /// Came to a subscription that had a later event of the same publisher and key already.
    pub out_of_order: u64,
    /// Came to a subscription for which they were not meant, or of a mutation that was never sent or is long settled.
    pub unexpected: u64,
    /// Came before their mutation was acknowledged.
    pub before_acknowledgement: u64,
}

impl EventCounts {
    pub fn merge(&mut self, other: &Self) {
        let Self {
            events,
            events_with_errors,
            without_token,
            bytes,
            published,
            acknowledged,
            not_due,
            due,
            missed,
            cut_off,
            late,
            duplicated,
            out_of_order,
            unexpected,
            before_acknowledgement,
        } = other;
        self.events += events;
        self.events_with_errors += events_with_errors;
        self.without_token += without_token;
        self.bytes += bytes;
        self.published += published;
        self.acknowledged += acknowledged;
        self.not_due += not_due;
        self.due += due;
        self.missed += missed;
        self.cut_off += cut_off;
        self.late += late;
        self.duplicated += duplicated;
        self.out_of_order += out_of_order;
        self.unexpected += unexpected;
        self.before_acknowledgement += before_acknowledgement;
    }
}

impl SubscriptionCell {
    pub fn merge(&mut self, other: &Self) {
        let Self { counts, from_send, from_acknowledgement } = other;
        self.counts.merge(counts);
        self.from_send.merge(from_send);
        self.from_acknowledgement.merge(from_acknowledgement);
    }
}

/// How often something happened, by its reason.
pub type Reasons = BTreeMap<String, u64>;

/// The connections of one group over a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkCell {
    pub counts: LinkCounts,
    /// From the beginning to the answer that opens the WebSocket or the stream.
    pub connect: Latencies,
    /// From the beginning to `connection_ack`; over SSE to the answer's head.
    pub acknowledge: Latencies,
    /// From when an operation was sent to a sign that the target has read it: the answer to a ping that followed it. Over
    /// SSE the head of its stream.
    pub subscribe: Latencies,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkCounts {
    /// Connections that were begun, and those that came as far as an acknowledgement.
    pub attempted: u64,
    pub made: u64,
    /// Before the acknowledgement, by reason.
    pub refused: Reasons,
    /// After it and not by us, by reason.
    pub lost: Reasons,
    /// Operations that were sent, and those in force at some time.
    pub asked: u64,
    pub subscribed: u64,
    /// Operations that the target answered with an error, or ended.
    pub rejected: Reasons,
    pub completed: u64,
    /// When the first connection was begun, and when the last one was made.
    pub first_attempt_ns: Option<Nanos>,
    pub last_made_ns: Option<Nanos>,
    /// When the last subscription came into force.
    pub last_subscribed_ns: Option<Nanos>,
}

impl LinkCounts {
    pub fn refused_count(&self) -> u64 {
        self.refused.values().sum()
    }

    pub fn lost_count(&self) -> u64 {
        self.lost.values().sum()
    }

    pub fn rejected_count(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// Connections that were made in a second, while they were made.
    pub fn made_per_s(&self) -> Option<f64> {
        let time = self.last_made_ns?.since(self.first_attempt_ns?).as_secs_f64();
        (time > 0.0).then(|| self.made as f64 / time)
    }

    fn merge(&mut self, other: &Self) {
        let Self {
            attempted,
            made,
            refused,
            lost,
            asked,
            subscribed,
            rejected,
            completed,
            first_attempt_ns,
            last_made_ns,
            last_subscribed_ns,
        } = other;
        self.attempted += attempted;
        self.made += made;
        merge_reasons(&mut self.refused, refused);
        merge_reasons(&mut self.lost, lost);
        self.asked += asked;
        self.subscribed += subscribed;
        merge_reasons(&mut self.rejected, rejected);
        self.completed += completed;
        self.first_attempt_ns = self.first_attempt_ns.into_iter().chain(*first_attempt_ns).min();
        self.last_made_ns = self.last_made_ns.max(*last_made_ns);
        self.last_subscribed_ns = self.last_subscribed_ns.max(*last_subscribed_ns);
    }
}

/// Counts one more of a reason.
pub fn count_reason(reasons: &mut Reasons, reason: &str) {
    add_reason(reasons, reason, 1);
}

fn add_reason(reasons: &mut Reasons, reason: &str, count: u64) {
    if let Some(known) = reasons.get_mut(reason) {
        *known += count;
    } else if reasons.len() < REASONS_MAX {
        reasons.insert(reason.to_owned(), count);
    } else {
        *reasons.entry(OTHER_REASONS.to_owned()).or_default() += count;
    }
}

fn merge_reasons(reasons: &mut Reasons, other: &Reasons) {
    for (reason, count) in other {
        add_reason(reasons, reason, *count);
    }
}

impl LinkCell {
    fn merge(&mut self, other: &Self) {
        let Self { counts, connect, acknowledge, subscribe } = other;
        self.counts.merge(counts);
        self.connect.merge(connect);
        self.acknowledge.merge(acknowledge);
        self.subscribe.merge(subscribe);
    }
}

/// What one thread's subscribers saw since its last hand-over, all groups and windows.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscriptionTally {
    /// By group, then by window.
    cells: Vec<SubscriptionCell>,
    windows: usize,
    /// By group.
    pub links: Vec<LinkCell>,
    /// Of all groups since the last hand-over.
    pub interval: EventCounts,
    pub interval_from_send: Latencies,
    /// Subscriptions in force when it was handed over.
    pub active: u64,
    /// For how long bytes can have waited for this thread before it read them, at most.
    pub read_lateness: Latencies,
}

impl SubscriptionTally {
    pub fn new(groups: usize, windows: usize) -> Self {
        Self {
            cells: vec![SubscriptionCell::default(); groups * windows],
            windows,
            links: vec![LinkCell::default(); groups],
            ..Self::default()
        }
    }

    pub fn cell_mut(&mut self, group: usize, window: usize) -> &mut SubscriptionCell {
        &mut self.cells[group * self.windows + window]
    }

    /// One group over several windows.
    pub fn sum(&self, group: usize, windows: &[usize]) -> SubscriptionCell {
        let mut sum = SubscriptionCell::default();
        for window in windows {
            sum.merge(&self.cells[group * self.windows + window]);
        }
        sum
    }

    pub fn merge(&mut self, other: &Self) {
        let Self { cells, windows: _, links, interval, interval_from_send, active, read_lateness } = other;
        for (cell, others) in self.cells.iter_mut().zip(cells) {
            cell.merge(others);
        }
        for (link, others) in self.links.iter_mut().zip(links) {
            link.merge(others);
        }
        self.interval.merge(interval);
        self.interval_from_send.merge(interval_from_send);
        self.active += active;
        self.read_lateness.merge(read_lateness);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_bounded() {
        let mut reasons = Reasons::new();
        for number in 0..100 {
            count_reason(&mut reasons, &format!("reason {number}"));
        }
        assert_eq!(reasons.len(), REASONS_MAX + 1);
        assert_eq!(reasons.values().sum::<u64>(), 100);
    }

    #[test]
    fn windows_and_groups_are_kept_apart_and_merged() {
        let (mut first, mut second) = (SubscriptionTally::new(2, 2), SubscriptionTally::new(2, 2));
        first.cell_mut(0, 0).counts.events = 1;
        second.cell_mut(0, 1).counts.events = 2;
        second.cell_mut(1, 1).counts.events = 4;
        second.cell_mut(0, 0).from_send.record(Nanos::from_millis(3));
        second.links[1].counts.first_attempt_ns = Some(Nanos(5));
        first.merge(&second);
        let events = |group, windows: &[usize]| first.sum(group, windows).counts.events;
        assert_eq!((events(0, &[0]), events(0, &[0, 1]), events(1, &[0, 1])), (1, 3, 4));
        assert_eq!(first.sum(0, &[0]).from_send.count(), 1);
        assert_eq!(first.links[1].counts.first_attempt_ns, Some(Nanos(5)));
    }

    #[test]
    fn the_rate_of_connections_is_that_of_the_time_in_which_they_were_made() {
        let counts = LinkCounts {
            made: 100,
            first_attempt_ns: Some(Nanos::from_secs(1)),
            last_made_ns: Some(Nanos::from_secs(3)),
            ..LinkCounts::default()
        };
        assert_eq!(counts.made_per_s(), Some(50.0));
        assert_eq!(LinkCounts::default().made_per_s(), None);
    }
}
