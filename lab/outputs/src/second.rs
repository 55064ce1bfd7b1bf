//! A second of a run as outputs take it: what was counted in it, and what all seconds up to it add up to.

use crate::exponential::Exponential;
use prony_model::measurement::record::OutcomeKind;
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::measurement::tally::TallyCell;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// Requests by name and outcome, a counter.
pub(crate) const REQUESTS: &str = "prony_requests";
/// Response times of successes by name, a histogram in seconds.
pub(crate) const RESPONSE_TIME: &str = "prony_response_time_seconds";
pub(crate) const SENT: &str = "prony_sent_bytes";
pub(crate) const RECEIVED: &str = "prony_received_bytes";
/// Users in an iteration or between two, a gauge.
pub(crate) const USERS: &str = "prony_users";
/// Starts of open loads for which no user was free, a counter.
pub(crate) const DROPPED: &str = "prony_dropped_starts";

/// All metrics as Prometheus has them, where names of counters end in `_total`.
pub const METRICS: [&str; 6] = [
    "prony_requests_total",
    RESPONSE_TIME,
    "prony_sent_bytes_total",
    "prony_received_bytes_total",
    USERS,
    "prony_dropped_starts_total",
];

/// What leaves a run each second.
#[derive(Debug, Clone)]
pub(crate) struct Second {
    /// Of the plan.
    pub(crate) run: String,
    pub(crate) started: SystemTime,
    pub(crate) ended: SystemTime,
    /// Those that were sent so far.
    pub(crate) requests: BTreeMap<String, RequestSecond>,
    pub(crate) users: u32,
    pub(crate) dropped: u64,
    pub(crate) dropped_in_all: u64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct RequestSecond {
    /// Of this second alone.
    pub(crate) cell: TallyCell,
    pub(crate) total: Total,
}

/// Since the start of the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Total {
    /// Those that occurred.
    pub(crate) outcomes: BTreeMap<OutcomeKind, u64>,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) times: Exponential,
}

/// Adds up the seconds of a run.
#[derive(Debug)]
pub(crate) struct Seconds {
    run: String,
    started: SystemTime,
    /// The number of the one that was taken first, and when that was.
    first: Option<(u64, SystemTime)>,
    totals: BTreeMap<String, Total>,
    dropped: u64,
}

impl Seconds {
    pub(crate) fn new(run: &str, started: SystemTime) -> Self {
        Self { run: run.to_owned(), started, first: None, totals: BTreeMap::new(), dropped: 0 }
    }

    /// The next second that has ended. When is counted from the first: those that were waited for come several at once, and
    /// targets keep one figure of a moment and refuse what goes back in time, as a clock does that is set.
    pub(crate) fn take(&mut self, snapshot: &IntervalSnapshot, now: SystemTime) -> Second {
        let (number, time) = *self.first.get_or_insert((snapshot.second, now));
        let ended = time + Duration::from_secs(snapshot.second.saturating_sub(number));
        let mut cells: BTreeMap<&str, TallyCell> = BTreeMap::new();
        for (name, windows) in &snapshot.requests {
            let cell = cells.entry(name).or_default();
            for window in windows {
                cell.merge(window);
            }
            self.totals.entry(name.clone()).or_default().add(cell);
        }
        self.dropped += snapshot.dropped;
        let requests = self.totals.iter().map(|(name, total)| {
            let cell = cells.remove(name.as_str()).unwrap_or_default();
            (name.clone(), RequestSecond { cell, total: total.clone() })
        });
        Second {
            run: self.run.clone(),
            started: self.started,
            ended,
            requests: requests.collect(),
            users: snapshot.users_active,
            dropped: snapshot.dropped,
            dropped_in_all: self.dropped,
        }
    }
}

impl Total {
    fn add(&mut self, cell: &TallyCell) {
        for kind in OutcomeKind::ALL.into_iter().filter(|kind| cell.outcome(*kind) > 0) {
            *self.outcomes.entry(kind).or_default() += cell.outcome(kind);
        }
        self.bytes_sent += cell.bytes_sent;
        self.bytes_received += cell.bytes_received;
        self.times.add(&cell.response);
    }
}

impl Second {
    /// Requests that ended in it.
    pub(crate) fn count(&self) -> u64 {
        self.requests.values().map(|request| request.cell.requests()).sum()
    }
}

/// Since 1970.
pub(crate) fn unix_ns(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

/// As metrics have it: `success`, `connect_failed`.
pub(crate) fn outcome_word(kind: OutcomeKind) -> String {
    kind.label().to_ascii_lowercase().replace(|c: char| !c.is_ascii_alphanumeric(), "_")
}
