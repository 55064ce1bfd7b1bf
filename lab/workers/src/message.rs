//! What coordinator and workers say to each other, as JSON, and under which subjects of NATS.
//!
//! A run: the coordinator offers it to all, idle workers join, each is assigned its share and fetches the plan in pieces, says that it
//! is ready, has its clock compared, begins at the agreed instant, and reports each second until it has ended. Reports are
//! numbered and kept until they are acknowledged, so one that is lost on the way is sent again and none is counted twice.
//!
//! Workers stay with their coordinator until they are released: for the runs that follow, and for what they take over of a
//! worker that was lost. Each share that a worker is assigned has a number, which no other has of the same coordinator.

use prony_model::Nanos;
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::plan::PlanChange;
use prony_model::program::RunShare;
use prony_model::result::{LabFigures, Machine, RunState};
use prony_model::verdict::finding::Finding;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Both sides must speak the same.
pub(crate) const PROTOCOL: u32 = 5;
/// More than any load test has; it catches slips of the keyboard.
pub const WORKERS_MAX: u32 = 1_000;
/// Both sides say something at least as often.
pub(crate) const BEAT: Duration = Duration::from_secs(1);
/// Nothing heard for so long is said.
pub(crate) const SILENCE: Duration = Duration::from_secs(3);
/// A side that has heard nothing of the other for so long takes it for lost: a worker stops, a coordinator goes on without.
pub(crate) const CONTACT_MAX: Duration = Duration::from_secs(10);
/// After the end of its share, a worker tries for so long to hand over what the coordinator lacks, without hearing of it.
pub(crate) const HAND_OVER_PATIENCE: Duration = Duration::from_secs(60);

/// Runs are offered here, to all workers.
pub(crate) const OFFERS: &str = "prony.v1.offers";

/// To one worker.
pub(crate) fn worker_subject(id: &str) -> String {
    format!("prony.v1.worker.{id}")
}

/// To a coordinator, by its name.
pub(crate) fn coordinator_subject(name: &str) -> String {
    format!("prony.v1.run.{name}")
}

/// To workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Told {
    /// Who says it.
    pub(crate) coordinator: String,
    /// Of which of the worker's shares; of no matter where an order is of all.
    pub(crate) part: u32,
    pub(crate) order: Order,
}

/// From the coordinator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Who is idle may join.
    Offer {
        protocol: u32,
        prony_version: String,
    },
    Assign(Box<Assignment>),
    /// The plan from `offset` on.
    Piece {
        offset: u64,
        bytes: String,
    },
    /// What do your clocks say?
    Probe {
        number: u32,
    },
    /// The run begins when your own monotonic clock shows this, your share of it so long after that.
    Start {
        at_ns: u64,
        from_ns: Nanos,
    },
    /// All reports up to this number have come; also a sign of life.
    Acknowledge {
        up_to: u64,
    },
    /// A sign of life to all.
    Beat,
    /// End the share early; what was measured counts.
    Stop,
    /// Nothing more is expected of this share.
    Leave,
    /// The run is over, and another one follows: stay.
    Stay,
    /// Nothing more is expected at all.
    Release,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// Of all shares of the run.
    pub(crate) run: String,
    pub(crate) share: RunShare,
    /// Unlike that of any other share of the run.
    pub(crate) name: String,
    /// What the run changes of the plan.
    pub(crate) change: PlanChange,
    /// It is that of a worker that was lost; its users take rows from the worker's own share.
    #[serde(default)]
    pub(crate) is_taken_over: bool,
    pub(crate) plan_bytes: u64,
    /// SHA-256 of the plan with its files.
    pub(crate) plan_hash: String,
}

/// From a worker. What it says may have been written before, as JSON that is put in its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Said<W = Reply> {
    /// The worker's.
    pub(crate) id: String,
    /// Of which of its shares; of no matter where it speaks of itself.
    #[serde(default)]
    pub(crate) part: u32,
    pub(crate) what: W,
}

/// A report may have been written before, as JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reply<R = Box<Report>> {
    Join(Box<Joined>),
    /// It needs the plan from here on.
    Want {
        offset: u64,
    },
    /// All its programs are made.
    Ready,
    /// It works for another coordinator.
    Engaged,
    /// It cannot run its share.
    Failed {
        message: String,
        #[serde(default)]
        cause: FailureCause,
    },
    Clocks {
        number: u32,
        monotonic_ns: u64,
        wall_ns: i64,
    },
    /// It has begun, so long after the agreed start.
    Begun {
        late_ns: u64,
    },
    Report {
        number: u64,
        report: R,
    },
    Beat,
}

/// What kept a worker from running its share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// Its machine is too small for it.
    Limit,
    /// A script that cannot go on, such as one that throws in its init code.
    Program,
    /// What was asked for cannot be set up.
    Settings,
    /// The load could not be made for another reason.
    Load,
    #[default]
    Other,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Joined {
    pub(crate) protocol: u32,
    pub(crate) prony_version: String,
    pub(crate) name: String,
    // Other versions may not have what follows, and are to be told of all the same.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) machine: Machine,
    #[serde(default)]
    pub(crate) threads: u32,
    #[serde(default)]
    pub(crate) descriptors_max: u64,
}

/// What is counted: numbered from 0, and kept until it is acknowledged. It is written where the snapshot is only looked at.
#[expect(clippy::large_enum_variant, reason = "all but one of a run are the larger one")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report<S = IntervalSnapshot> {
    Second {
        snapshot: S,
        /// What the kind of load has counted beside requests.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<Value>,
    },
    Ended {
        state: RunState,
        ended_ns: u64,
        reason: String,
        lab: LabFigures,
        findings: Vec<Finding>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        counted: Option<Value>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_model::measurement::snapshot::RequestNames;
    use prony_model::measurement::tally::{Tally, TallyShape};
    use prony_model::{LoadModel, Outcome, PlanDraft, Record, RequestDraft, Target};

    /// Statuses are numbers where JSON has texts, and sums of latencies are larger than other numbers.
    #[test]
    fn reports_come_as_they_were_sent() {
        let mut draft =
            PlanDraft::new("p", Target::new("test", 80), LoadModel::constant(1, Nanos::from_secs(9)));
        draft.requests = vec![RequestDraft::get("größe", "/")];
        let plan = draft.check().unwrap();
        let windows = plan.windows();
        let mut tally = Tally::new(&windows, TallyShape::of(&plan));
        for (outcome, took) in
            [(Outcome::Status(503), 7), (Outcome::Status(404), 9), (Outcome::Success, 1 << 52)]
        {
            let record = Record {
                request: 0,
                scheduled: Nanos(1),
                started: Nanos(2),
                first_byte: None,
                ended: Nanos(took),
                outcome,
                status: Some(204),
                bytes_sent: 3,
                bytes_received: 5,
            };
            (0..3).for_each(|_| tally.record(&windows, &record));
        }
        let snapshot = IntervalSnapshot::of(4, &tally, RequestNames { plan: &plan, found: None });
        let report = Box::new(Report::Second { snapshot, counted: Some(Value::from("größe")) });
        let said = Said { id: "1".to_owned(), part: 7, what: Reply::Report { number: u64::MAX, report } };
        let text = serde_json::to_vec(&said).unwrap();
        assert_eq!(serde_json::from_slice::<Said>(&text).unwrap(), said);
    }

    #[test]
    fn a_worker_whose_version_says_less_of_itself_is_understood() {
        let text =
            r#"{"id":"1","what":{"join":{"protocol":1,"prony_version":"0.0.1","name":"ä","color":"red"}}}"#;
        let said: Said = serde_json::from_str(text).unwrap();
        let Reply::Join(joined) = said.what else { panic!("it joins") };
        assert_eq!((joined.protocol, joined.prony_version.as_str(), joined.threads), (1, "0.0.1", 0));
    }
}
