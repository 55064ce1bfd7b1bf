//! The figures of one window and name, as results and reports hold them.

use crate::measurement::histogram::Latencies;
use crate::measurement::record::OutcomeKind;
use crate::measurement::status_counts::StatusCounts;
use crate::measurement::tally::TallyCell;
use crate::units::Nanos;
use crate::verdict::threshold::Metric;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Percentiles that results hold, where there are samples enough.
pub const PERCENTILES: [f64; 9] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 100.0];

/// Latency of successes. Every figure is absent where it would rest on too few samples.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    pub count: u64,
    pub min_ns: Option<Nanos>,
    pub mean_ns: Option<Nanos>,
    pub max_ns: Option<Nanos>,
    /// Pairs of percentile and time, rising.
    pub percentiles: Vec<(f64, Nanos)>,
}

impl LatencyFigures {
    pub fn of(latencies: &Latencies) -> Self {
        let percentiles = PERCENTILES.iter().filter_map(|p| Some((*p, latencies.percentile(*p)?)));
        Self {
            count: latencies.count(),
            min_ns: latencies.min(),
            mean_ns: latencies.mean(),
            max_ns: latencies.max(),
            percentiles: percentiles.collect(),
        }
    }

    /// One of [`PERCENTILES`].
    pub fn percentile(&self, percentile: f64) -> Option<Nanos> {
        self.percentiles.iter().find(|(p, _)| (p - percentile).abs() < 1e-9).map(|(_, time)| *time)
    }
}

/// Histograms in `HdrHistogram`'s V2 compressed form, base64, in microseconds; empty without samples.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    pub response: String,
    pub service: String,
    pub first_byte: String,
    pub errors: String,
    pub timeouts: String,
}

/// Requests of one name (or all) that were due in one window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub requests: u64,
    pub successes: u64,
    pub failures: u64,
    /// Requests that were answered, as expected or not.
    pub answered: u64,
    /// Successes that ended within the window, a second.
    pub rate_per_s: f64,
    /// Without those that did not occur.
    pub outcomes: BTreeMap<OutcomeKind, u64>,
    /// Unexpected ones.
    pub statuses: BTreeMap<u16, u64>,
    /// Responses by status, expected or not; empty in results of before they were counted.
    #[serde(default, skip_serializing_if = "StatusCounts::is_empty")]
    pub responses: StatusCounts,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// From when a request was due.
    pub response_time: LatencyFigures,
    /// From when work on a request began; absent where that was always when it was due.
    pub service_time: Option<LatencyFigures>,
    pub first_byte_time: LatencyFigures,
    pub histograms: Histograms,
}

impl Figures {
    /// What most requests failed by that did; the status too, where responses had another one than is expected. Empty where none failed.
    pub fn worst_failure(&self) -> String {
        match (self.worst_kind(), self.worst_status()) {
            (Some(OutcomeKind::Status), Some(status)) => {
                format!("{} {status}", OutcomeKind::Status.label())
            }
            (Some(kind), _) => kind.label().to_owned(),
            (None, _) => String::new(),
        }
    }

    /// How most requests failed that did.
    pub fn worst_kind(&self) -> Option<OutcomeKind> {
        let failures = self.outcomes.iter().filter(|(kind, _)| **kind != OutcomeKind::Success);
        failures.max_by_key(|(_, count)| **count).map(|(kind, _)| *kind)
    }

    /// The most frequent of the unexpected statuses.
    pub fn worst_status(&self) -> Option<u16> {
        self.statuses.iter().max_by_key(|(_, count)| **count).map(|(status, _)| *status)
    }

    pub fn of(cell: &TallyCell, length: Nanos) -> Self {
        let outcomes = OutcomeKind::ALL.into_iter().map(|kind| (kind, cell.outcome(kind)));
        let seconds = length.as_secs_f64();
        Self {
            requests: cell.requests(),
            successes: cell.successes(),
            failures: cell.failures(),
            answered: cell.answered(),
            rate_per_s: if seconds > 0.0 { cell.delivered as f64 / seconds } else { 0.0 },
            outcomes: outcomes.filter(|(_, count)| *count > 0).collect(),
            statuses: cell.statuses.clone(),
            responses: cell.responses.clone(),
            bytes_sent: cell.bytes_sent,
            bytes_received: cell.bytes_received,
            response_time: LatencyFigures::of(&cell.response),
            service_time: (!cell.service.is_empty()).then(|| LatencyFigures::of(&cell.service)),
            first_byte_time: LatencyFigures::of(&cell.first_byte),
            histograms: Histograms {
                response: cell.response.to_base64(),
                service: cell.service.to_base64(),
                first_byte: cell.first_byte.to_base64(),
                errors: cell.errors.to_base64(),
                timeouts: cell.timeouts.to_base64(),
            },
        }
    }

    /// The share of requests that failed in any way; 0 without requests.
    pub fn error_share(&self) -> f64 {
        share(self.failures, self.requests)
    }

    /// A threshold's figure. Absent where there are too few samples to stand behind it.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        let times = &self.response_time;
        let time = |time: Option<Nanos>| time.map(|time| time.0 as f64);
        match metric {
            Metric::Percentile(percentile) => match times.percentile(percentile) {
                Some(value) => Some(value.0 as f64),
                None => time(Latencies::from_base64(&self.histograms.response).ok()?.percentile(percentile)),
            },
            Metric::Min => time(times.min_ns),
            Metric::Mean => time(times.mean_ns),
            Metric::Max => time(times.max_ns),
            Metric::Errors => (self.requests > 0).then(|| self.error_share()),
            Metric::Checks => (self.answered > 0).then(|| share(self.successes, self.answered)),
            Metric::Rate => Some(self.rate_per_s),
            Metric::Requests => Some(self.requests as f64),
            // Asked of scenarios and of subscribers, not of requests: window and result know them.
            Metric::RateReached
            | Metric::FanOut(_)
            | Metric::Missed
            | Metric::Duplicated
            | Metric::OutOfOrder
            | Metric::Events
            | Metric::Refused
            | Metric::Lost => None,
        }
    }
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
