//! One of several load generators that made a run together, as the result names it.

use super::{LabFigures, Machine};
use crate::measurement::clock::ClockEvent;
use crate::units::Nanos;
use crate::verdict::finding::Finding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerFigures {
    /// No two workers of a run have the same.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub machine: Machine,
    /// Files and sockets that its process may have open.
    pub descriptors_max: u64,
    /// Of the plan's users.
    pub users: u32,
    pub threads: u32,
    /// Its wall clock less that of the coordinator, compared through the NATS server before the start.
    pub clock_offset_ns: i64,
    /// The offset is right to so much, and the agreed start with it: half of the fastest round trip.
    pub clock_uncertainty_ns: Nanos,
    /// How long after the agreed start it began.
    pub start_late_ns: Nanos,
    /// The seconds of the run that it handed over; its share is missing in those after them where it was lost.
    pub seconds: u64,
    /// Whose share this is from `from_second` on, where another worker was lost before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_over: Option<String>,
    /// The first second of its share; 0 unless it takes over another's.
    #[serde(default)]
    pub from_second: u64,
    /// Where it was lost and others have its share: from which second on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<u64>,
    /// Where it was lost: when, from the start of the run.
    pub lost_at_ns: Option<Nanos>,
    /// Why it was lost or ended early, for people; empty where it did not.
    pub reason: String,
    /// What it says of itself; absent where it was lost before it could.
    pub lab: Option<LabFigures>,
    /// What it found in its own figures about itself: that it was the limit, that its clock was set.
    pub findings: Vec<Finding>,
}

impl WorkerFigures {
    pub const fn is_lost(&self) -> bool {
        self.lost_at_ns.is_some()
    }
}

impl LabFigures {
    /// What all of them say of themselves, as one lab: threads and processor time together, the busiest thread of any. Latencies,
    /// connections and silences are those of the merged counts, so they are not among it.
    pub fn of_workers(workers: &[WorkerFigures]) -> Self {
        let labs = || workers.iter().filter_map(|worker| worker.lab.as_ref());
        let mut clock: Vec<ClockEvent> = labs().flat_map(|lab| lab.clock.clone()).collect();
        clock.sort_by_key(|event| event.at_ns);
        Self {
            threads: workers.iter().map(|worker| worker.threads).sum(),
            spoken: labs().next().map(|lab| lab.spoken.clone()).unwrap_or_default(),
            busiest_thread_share: labs().map(|lab| lab.busiest_thread_share).fold(0.0, f64::max),
            processor_time_ns: labs().fold(Nanos::ZERO, |sum, lab| sum.plus(lab.processor_time_ns)),
            memory_peak_bytes: labs().map(|lab| lab.memory_peak_bytes).max().unwrap_or(0),
            clock,
            ..Self::default()
        }
    }
}
