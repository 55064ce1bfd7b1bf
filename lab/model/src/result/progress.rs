//! How far a run is, told each second to whoever shows it.

use super::SecondRow;
use crate::measurement::coarse_histogram::CoarseHistogram;
use crate::measurement::histogram::Latencies;
use crate::measurement::record::OutcomeKind;
use crate::measurement::tally::TallyCell;
use crate::subscription::figures::SubscriberRow;
use crate::units::Nanos;
use crate::verdict::finding::Finding;
use std::collections::BTreeMap;

/// How far a run is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    pub elapsed: Nanos,
    /// How long requests are started for; answers may come later.
    pub duration: Nanos,
    /// The second that has just passed.
    pub last: SecondRow,
    /// The same second of its subscribers, where the plan has any.
    pub subscribers: Option<SubscriberRow>,
    /// Starts that the open models asked for in that second; `None` where none is open.
    pub asked_per_s: Option<f64>,
    pub requests: u64,
    pub failures: u64,
    /// The same by how they failed, the most frequent first.
    pub failures_of: Vec<FailureCount>,
    /// Response times of all successes so far.
    pub times: TimesSoFar,
    /// Iterations that have ended, where every scenario has a budget of them.
    pub iterations: Option<IterationsDone>,
    /// Starts of open models so far that waited for a free user, and that none became free for in time.
    pub waited: u64,
    pub dropped: u64,
    /// The same by the plan's scenarios.
    pub dropped_of: Vec<u64>,
    /// Findings so far that more time will not heal; known from when the result is first written.
    pub findings: Vec<Finding>,
    /// Something that the user should know at once, such as a result file that cannot be written.
    pub warning: Option<String>,
    /// The run is over; no more progress follows.
    pub is_last: bool,
}

/// Failures of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailureCount {
    pub kind: OutcomeKind,
    /// Of responses with an unexpected status.
    pub status: Option<u16>,
    pub count: u64,
}

/// Response times of a run so far.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TimesSoFar {
    /// However few there were; absent without any.
    pub p50: Option<Nanos>,
    pub p95: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub max: Option<Nanos>,
    pub histogram: CoarseHistogram,
}

/// How much of a budget of iterations is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IterationsDone {
    pub done: u64,
    pub of: u64,
}

impl FailureCount {
    /// Of all cells together, the most frequent first.
    pub fn of<'a>(cells: impl Iterator<Item = &'a TallyCell>) -> Vec<Self> {
        let mut counts: BTreeMap<(OutcomeKind, Option<u16>), u64> = BTreeMap::new();
        for cell in cells.filter(|cell| cell.failures() > 0) {
            for (status, count) in &cell.statuses {
                *counts.entry((OutcomeKind::Status, Some(*status))).or_default() += count;
            }
            let by_kind = OutcomeKind::ALL.into_iter().map(|kind| (kind, cell.outcome(kind)));
            let has_no_status = |(kind, count): &(OutcomeKind, u64)| {
                *count > 0 && !matches!(kind, OutcomeKind::Success | OutcomeKind::Status)
            };
            for (kind, count) in by_kind.filter(has_no_status) {
                *counts.entry((kind, None)).or_default() += count;
            }
        }
        let counts = counts.into_iter().map(|((kind, status), count)| Self { kind, status, count });
        let mut counts: Vec<_> = counts.collect();
        counts.sort_by_key(|failure| std::cmp::Reverse(failure.count));
        counts
    }

    /// For people: the status, or how it failed.
    pub fn label(&self) -> String {
        self.status.map_or_else(|| self.kind.label().to_owned(), |status| status.to_string())
    }
}

impl TimesSoFar {
    pub fn of(times: &Latencies) -> Self {
        Self {
            p50: times.percentile_of_few(50.0),
            p95: times.percentile_of_few(95.0),
            p99: times.percentile_of_few(99.0),
            max: times.max(),
            histogram: CoarseHistogram::of(times),
        }
    }
}

impl Progress {
    /// How much of the run is done, from 0 to 1: its time, or its iterations where those are further.
    pub fn share_done(&self) -> f64 {
        let of_time = self.elapsed.0 as f64 / self.duration.0.max(1) as f64;
        let of_iterations =
            self.iterations.map_or(0.0, |iterations| iterations.done as f64 / iterations.of.max(1) as f64);
        of_time.max(of_iterations).min(1.0)
    }

    /// How long the run goes on, if it goes on as it did until now.
    pub fn left(&self) -> Nanos {
        let by_time = self.duration.since(self.elapsed);
        let Some(IterationsDone { done: done @ 1.., of }) = self.iterations else { return by_time };
        let each = self.elapsed.0 as f64 / done as f64;
        by_time.min(Nanos((each * of.saturating_sub(done) as f64) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadModel;
    use crate::load::windows::Windows;
    use crate::measurement::record::{Outcome, Record, TransportError};
    use crate::measurement::tally::{Tally, TallyShape};

    #[test]
    fn failures_are_counted_by_status_and_by_kind_the_most_frequent_first() {
        let windows =
            Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(10)))], Nanos::ZERO);
        let shape = TallyShape {
            requests: 2,
            scenarios: 1,
            subscriptions: 0,
            keeps_service: false,
            keeps_records: false,
        };
        let mut tally = Tally::new(&windows, shape);
        let at = Nanos::from_millis(1);
        let timeout = Outcome::Transport(TransportError::Timeout);
        let outcomes = [Outcome::Success, timeout, Outcome::Status(503), Outcome::Status(404)];
        for (request, outcome) in
            outcomes.into_iter().map(|outcome| (0, outcome)).chain([(1, Outcome::Status(503)); 2])
        {
            let (first_byte, bytes_sent, bytes_received) = (Some(at), 1, 1);
            let (scheduled, started, ended) = (at, at, at);
            tally.record(
                &windows,
                &Record {
                    request,
                    scheduled,
                    started,
                    first_byte,
                    ended,
                    outcome,
                    status: None,
                    bytes_sent,
                    bytes_received,
                },
            );
        }
        let found = FailureCount::of((0..2).map(|request| tally.cell(0, request)));
        let shown: Vec<_> = found.iter().map(|failure| (failure.label(), failure.count)).collect();
        let expected = [("503", 3), ("timeout", 1), ("404", 1)];
        assert_eq!(shown, expected.map(|(label, count)| (label.to_owned(), count)));
    }

    #[test]
    fn a_budget_of_iterations_may_end_a_run_before_its_time() {
        let (elapsed, duration) = (Nanos::from_secs(10), Nanos::from_secs(100));
        let timed = Progress { elapsed, duration, ..Progress::default() };
        assert_eq!((timed.share_done(), timed.left()), (0.1, Nanos::from_secs(90)));
        let with = |done| Progress { iterations: Some(IterationsDone { done, of: 80 }), ..timed.clone() };
        assert_eq!((with(0).share_done(), with(0).left()), (0.1, Nanos::from_secs(90)));
        assert_eq!((with(40).share_done(), with(40).left()), (0.5, Nanos::from_secs(10)));
        let over = Progress { elapsed: Nanos::from_secs(101), ..with(2) };
        assert_eq!((over.share_done(), over.left()), (1.0, Nanos::ZERO));
    }
}
