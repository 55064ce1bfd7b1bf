//! What can be found about a result: the kind, the number, the cause and the remedy, and when it was so.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    GeneratorBound,
    PortsExhausted,
    ErrorsDominate,
    RampInVerdict,
    TooFewSamples,
    TooShort,
    TimeoutsCensor,
    TargetSharesCpu,
    ConnectionChurn,
    FeederExhausted,
    OfferedLoadLimited,
    RateNotReached,
    StartsDropped,
    UsersCompute,
    SubscribersMissing,
    SubscribersLate,
    EventsUnmatched,
    ReceiptsLate,
    AverageUsersDiffer,
    PayloadNotCarried,
    Clock,
    WorkerLost,
    WorkersApart,
    WorkerLate,
    WorkersDiffer,
}

impl FindingKind {
    /// As in the result file and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GeneratorBound => "generator-bound",
            Self::PortsExhausted => "ports-exhausted",
            Self::ErrorsDominate => "errors-dominate",
            Self::RampInVerdict => "ramp-in-verdict",
            Self::TooFewSamples => "too-few-samples",
            Self::TooShort => "too-short",
            Self::TimeoutsCensor => "timeouts-censor",
            Self::TargetSharesCpu => "target-shares-cpu",
            Self::ConnectionChurn => "connection-churn",
            Self::FeederExhausted => "feeder-exhausted",
            Self::OfferedLoadLimited => "offered-load-limited",
            Self::RateNotReached => "rate-not-reached",
            Self::StartsDropped => "starts-dropped",
            Self::UsersCompute => "users-compute",
            Self::SubscribersMissing => "subscribers-missing",
            Self::SubscribersLate => "subscribers-late",
            Self::EventsUnmatched => "events-unmatched",
            Self::ReceiptsLate => "receipts-late",
            Self::AverageUsersDiffer => "average-users-differ",
            Self::PayloadNotCarried => "payload-not-carried",
            Self::Clock => "clock",
            Self::WorkerLost => "worker-lost",
            Self::WorkersApart => "workers-apart",
            Self::WorkerLate => "worker-late",
            Self::WorkersDiffer => "workers-differ",
        }
    }

    /// True of what every run has at its beginning.
    pub const fn heals_with_time(self) -> bool {
        matches!(self, Self::RampInVerdict | Self::TooFewSamples | Self::TooShort)
    }

    /// True where the figures are not about the target any more. Where the load comes when the plan says
    /// ([`Finding::with_bounds`]) a busy lab makes times longer and nothing else. Where a worker was lost they are about less
    /// load than was asked for.
    pub const fn voids(self) -> bool {
        matches!(self, Self::GeneratorBound | Self::PortsExhausted | Self::ErrorsDominate | Self::WorkerLost)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub voids_claim: bool,
    /// What was seen, with its number.
    pub seen: String,
    pub cause: String,
    pub try_next: String,
    /// When it was so; absent of what is true of the whole run, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<TimeSpan>,
}

/// A part of a run, counted from its start; a moment where both ends are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeSpan {
    pub from_ns: Nanos,
    pub to_ns: Nanos,
}

impl Finding {
    pub(super) fn new(kind: FindingKind, seen: String, cause: &str, try_next: &str) -> Self {
        Self {
            kind,
            voids_claim: kind.voids(),
            seen,
            cause: cause.to_owned(),
            try_next: try_next.to_owned(),
            span: None,
        }
    }

    /// The same, of this part of the run.
    pub(super) fn during(self, span: Option<TimeSpan>) -> Self {
        Self { span, ..self }
    }

    /// The same, of a load that comes when the plan says: the lab's lateness is then part of each response time, which is
    /// too long if anything.
    pub(super) fn with_bounds(self) -> Self {
        let is_lab = self.kind == FindingKind::GeneratorBound;
        Self { voids_claim: self.voids_claim && !is_lab, ..self }
    }

    /// True where times are too long if anything: a limit that they keep is kept.
    pub fn is_upper_bound(&self) -> bool {
        self.kind == FindingKind::GeneratorBound && !self.voids_claim
    }

    /// What it does to the figures, for people; empty where they stand.
    pub fn weight(&self) -> &'static str {
        if self.voids_claim {
            "the figures are not about the target"
        } else if self.is_upper_bound() {
            "times are too long if anything"
        } else {
            ""
        }
    }
}
