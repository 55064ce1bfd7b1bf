//! One second of a run in a form that can leave the process: to a file, a page or another machine.
//!
//! Names stand in the place of positions that depend on what came first, histograms keep their exact extremes and sums,
//! and merging the snapshots of a run that was split over machines gives what one machine would have counted.

use crate::load::windows::Windows;
use crate::measurement::counts::Counts;
use crate::measurement::histogram::Latencies;
use crate::measurement::tally::{ConnectionCounts, StartCounts, Tally, TallyCell, TallyShape};
use crate::plan::Plan;
use crate::program::table::Tables;
use crate::subscription::tally::SubscriptionTally;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Fields are only added within a version; a reader ignores unknown ones.
pub const SNAPSHOT_VERSION: u32 = 1;

/// What all threads of one load generator counted in one second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalSnapshot {
    /// [`SNAPSHOT_VERSION`] of its writer.
    pub version: u32,
    /// From the start of the run.
    pub second: u64,
    /// By name of the request, then by window; names without any request in the second are left out.
    pub requests: BTreeMap<String, Vec<TallyCell>>,
    /// By window, then by the plan's scenarios.
    pub starts: Vec<StartCounts>,
    pub failures: u64,
    pub timeouts: u64,
    pub bytes_received: u64,
    /// Requests that were begun.
    pub started: u64,
    pub dropped: u64,
    /// Users in an iteration or between two, at the end of the second.
    pub users_active: u32,
    /// How late the load generator itself was with each start.
    pub lateness: Latencies,
    pub connections: ConnectionCounts,
    /// The longest time without any response while requests were waiting for one.
    pub longest_silence_ns: Nanos,
    /// Requests without an end when the run stopped.
    pub unfinished: u64,
    /// By the plan's checks and variables.
    pub counts: Counts,
    /// By the plan's subscriptions.
    pub subscribers: SubscriptionTally,
}

/// A snapshot that this version cannot read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the snapshot has version {found}, and {SNAPSHOT_VERSION} is known")]
    Version { found: u32 },
    #[error("the snapshot has {found} windows and the plan {expected}: it belongs to another plan")]
    Windows { found: usize, expected: usize },
}

/// The names of a run's requests: those of its plan, or those that a script found while the run went.
#[derive(Debug, Clone, Copy)]
pub struct RequestNames<'a> {
    pub plan: &'a Plan,
    pub found: Option<&'a Tables>,
}

impl RequestNames<'_> {
    /// Nothing where there is no such request.
    pub fn name(self, index: usize) -> Option<String> {
        match self.found {
            Some(found) => found.names.get(index).map(|name| name.to_string()),
            None => self.plan.requests().get(index).map(|request| request.name.clone()),
        }
    }

    /// A name that a script's table has no room for is counted among the others.
    fn index(self, name: &str) -> Option<usize> {
        match self.found {
            Some(found) => Some(found.name(name)),
            None => self.plan.requests().iter().position(|request| request.name == name),
        }
    }
}

impl IntervalSnapshot {
    pub fn of(second: u64, tally: &Tally, names: RequestNames<'_>) -> Self {
        let windows = tally.windows();
        let cells = |request: usize| {
            let cells: Vec<TallyCell> =
                (0..windows).map(|window| tally.cell(window, request).clone()).collect();
            cells.iter().any(|cell| *cell != TallyCell::default()).then_some(cells)
        };
        let with_name = |request| Some((names.name(request)?, cells(request)?));
        Self {
            version: SNAPSHOT_VERSION,
            second,
            requests: (0..tally.requests()).filter_map(with_name).collect(),
            starts: tally.starts.clone(),
            failures: tally.interval_failures,
            timeouts: tally.interval_timeouts,
            bytes_received: tally.interval_bytes_received,
            started: tally.started,
            dropped: tally.interval_dropped,
            users_active: tally.users_active,
            lateness: tally.lateness.clone(),
            connections: tally.connections,
            longest_silence_ns: tally.longest_silence,
            unfinished: tally.unfinished,
            counts: tally.counts.clone(),
            subscribers: tally.subscribers.clone(),
        }
    }

    /// The tally that it was made of, with this run's positions. Requests that the plan does not have are left out.
    pub fn into_tally(self, windows: &Windows, names: RequestNames<'_>) -> Result<Tally, SnapshotError> {
        let expected = windows.all().len();
        if self.version != SNAPSHOT_VERSION {
            return Err(SnapshotError::Version { found: self.version });
        }
        let mut tally = Tally::new(windows, TallyShape::of(names.plan));
        for (name, cells) in self.requests {
            if cells.len() != expected {
                return Err(SnapshotError::Windows { found: cells.len(), expected });
            }
            let Some(request) = names.index(&name) else { continue };
            for (window, cell) in cells.iter().enumerate() {
                tally.cell_mut(window, request).merge(cell);
            }
        }
        for (counts, others) in tally.starts.iter_mut().zip(&self.starts) {
            counts.merge(others);
        }
        tally.interval_failures = self.failures;
        tally.interval_timeouts = self.timeouts;
        tally.interval_bytes_received = self.bytes_received;
        tally.started = self.started;
        tally.interval_dropped = self.dropped;
        tally.users_active = self.users_active;
        tally.lateness = self.lateness;
        tally.connections = self.connections;
        tally.longest_silence = self.longest_silence_ns;
        tally.unfinished = self.unfinished;
        tally.counts = self.counts;
        tally.subscribers.merge(&self.subscribers);
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadModel;
    use crate::measurement::record::{Outcome, Record, TransportError};
    use crate::plan::PlanDraft;
    use crate::plan::request::RequestDraft;
    use crate::plan::target::Target;
    use crate::result::window_results;
    use proptest::prelude::*;

    const NAMES: [&str; 4] = ["a", "b", "c", "d"];

    fn plan() -> Plan {
        let load = LoadModel::ramp_and_hold(3, Nanos::from_secs(2), Nanos::from_secs(4));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = NAMES.map(|name| RequestDraft::get(name, "/")).to_vec();
        draft.check().unwrap()
    }

    /// Request, times from the start in milliseconds, how it ended, and the machine that made it.
    type Drawn = (usize, u64, u64, u64, usize, usize);

    fn record((request, due, late, took, outcome, _): Drawn) -> Record {
        let scheduled = Nanos::from_millis(due);
        let started = scheduled.plus(Nanos::from_micros(late));
        let ended = started.plus(Nanos(took));
        let outcome = [
            Outcome::Success,
            Outcome::Status(503),
            Outcome::FailedCheck,
            Outcome::Transport(TransportError::Timeout),
        ][outcome];
        let first_byte = Some(started.plus(Nanos(took / 2)));
        Record {
            request,
            scheduled,
            started,
            first_byte,
            ended,
            outcome,
            status: match outcome {
                Outcome::Transport(_) => None,
                Outcome::Status(status) => Some(status),
                _ => Some(200),
            },
            bytes_sent: 7,
            bytes_received: took,
        }
    }

    fn count(tally: &mut Tally, windows: &Windows, record: &Record) {
        tally.record(windows, record);
        tally.started += 1;
        tally.lateness.record(record.started.since(record.scheduled));
        let starts = tally.starts_at(windows, record.scheduled, 0);
        starts.started += 1;
    }

    /// As a script's machine names requests: by their first use there.
    fn found(records: &[Drawn], machine: usize) -> (Tables, Vec<Record>) {
        let tables = Tables::default();
        let own = records.iter().filter(|drawn| drawn.5 == machine);
        let records =
            own.map(|drawn| Record { request: tables.name(NAMES[drawn.0]), ..record(*drawn) }).collect();
        (tables, records)
    }

    proptest! {
        // Each case writes and reads a dozen histograms.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn merged_snapshots_of_a_split_run_give_the_result_of_one(
            drawn in prop::collection::vec((0_usize..4, 0_u64..5_900, 0_u64..9_000, 1_u64..1 << 33, 0_usize..4, 0_usize..3), 0..60)
        ) {
            let plan = plan();
            let windows = plan.windows();
            let names = RequestNames { plan: &plan, found: None };
            let (mut whole, mut merged) =
                (Tally::new(&windows, TallyShape::of(&plan)), Tally::new(&windows, TallyShape::of(&plan)));
            for drawn in &drawn {
                count(&mut whole, &windows, &record(*drawn));
            }
            for machine in 0..3 {
                let (tables, records) = found(&drawn, machine);
                // Each machine hands over twice, as after two seconds.
                for (second, part) in records.chunks(records.len().div_ceil(2).max(1)).enumerate() {
                    let mut tally = Tally::new(&windows, TallyShape::of(&plan));
                    for record in part {
                        count(&mut tally, &windows, record);
                    }
                    let own = RequestNames { plan: &plan, found: Some(&tables) };
                    let snapshot = IntervalSnapshot::of(second as u64, &tally, own);
                    let text = serde_json::to_string(&snapshot).unwrap();
                    let read: IntervalSnapshot = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(&read, &snapshot);
                    merged.merge(&read.into_tally(&windows, names).unwrap());
                }
            }
            prop_assert_eq!(&merged, &whole);
            let result = |tally| {
                serde_json::to_string(&window_results(&plan, None, &windows, tally, plan.duration())).unwrap()
            };
            prop_assert_eq!(result(&merged), result(&whole));
        }
    }

    #[test]
    fn a_snapshot_of_another_version_or_plan_is_refused() {
        let plan = plan();
        let windows = plan.windows();
        let names = RequestNames { plan: &plan, found: None };
        let mut tally = Tally::new(&windows, TallyShape::of(&plan));
        tally.record(&windows, &record((0, 1, 0, 1, 0, 0)));
        let snapshot = IntervalSnapshot::of(0, &tally, names);
        let newer = IntervalSnapshot { version: 2, ..snapshot.clone() };
        assert_eq!(newer.into_tally(&windows, names), Err(SnapshotError::Version { found: 2 }));
        let other = Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(1)))], Nanos::ZERO);
        let error = SnapshotError::Windows { found: windows.all().len(), expected: other.all().len() };
        assert_eq!(snapshot.into_tally(&other, names), Err(error));
    }
}
