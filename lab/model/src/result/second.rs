//! The requests of one second of a run.

use crate::measurement::histogram::Latencies;
use crate::measurement::tally::Tally;
use crate::result::series::table;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SecondRow {
    /// From the start of the run.
    pub second: u64,
    /// With something to do at its end: in an iteration, or (where users have waits) between two.
    pub users: u32,
    /// Requests.
    pub started: u64,
    /// Starts of open models that were due and for which no user became free in time.
    pub dropped: u64,
    pub successes: u64,
    pub failures: u64,
    pub timeouts: u64,
    pub bytes_received: u64,
    /// Of successes, however few there were; absent without any.
    pub p50_ns: Option<Nanos>,
    pub p95_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    pub max_ns: Option<Nanos>,
    /// How much of the second the run covers: less in the one in which it ended, nothing of those after it.
    pub covered_ns: Nanos,
    /// Load generators whose share of the second is not in it, because they were lost.
    pub workers_missing: u32,
    /// How late the lab itself was with its starts, 99 of 100 at most; absent without any, and in files of older versions.
    pub late_p99_ns: Option<Nanos>,
}

impl SecondRow {
    /// `times` are those of all successes in it, as [`Tally::response_times`] gathers them.
    pub fn of(second: u64, tally: &Tally, times: &Latencies) -> Self {
        Self {
            second,
            users: tally.users_active,
            started: tally.started,
            dropped: tally.interval_dropped,
            successes: times.count(),
            failures: tally.interval_failures,
            timeouts: tally.interval_timeouts,
            bytes_received: tally.interval_bytes_received,
            p50_ns: times.percentile_of_few(50.0),
            p95_ns: times.percentile_of_few(95.0),
            p99_ns: times.percentile_of_few(99.0),
            max_ns: times.max(),
            covered_ns: Nanos::from_secs(1),
            workers_missing: 0,
            late_p99_ns: late_p99(tally),
        }
    }

    /// Adds what came later of the same second; `times` are those of all its successes together, where they are still known.
    pub fn add(&mut self, late: &Tally, times: Option<&Latencies>) {
        self.users += late.users_active;
        self.started += late.started;
        self.dropped += late.interval_dropped;
        self.successes += late.response_times().count();
        self.failures += late.interval_failures;
        self.timeouts += late.interval_timeouts;
        self.bytes_received += late.interval_bytes_received;
        self.late_p99_ns = self.late_p99_ns.max(late_p99(late));
        if let Some(times) = times {
            self.p50_ns = times.percentile_of_few(50.0);
            self.p95_ns = times.percentile_of_few(95.0);
            self.p99_ns = times.percentile_of_few(99.0);
            self.max_ns = times.max();
        }
    }
}

/// In whole microseconds, as histograms have times but for their extremes: so that it is the same however a second was shared out.
fn late_p99(tally: &Tally) -> Option<Nanos> {
    tally.lateness.percentile_of_few(99.0).map(|late| Nanos(late.0 / 1_000 * 1_000))
}

table! {
    SecondColumns of SecondRow {
        second: u64,
        users: u32,
        started: u64,
        dropped: u64,
        successes: u64,
        failures: u64,
        timeouts: u64,
        bytes_received: u64,
        p50_ns: Option<Nanos>,
        p95_ns: Option<Nanos>,
        p99_ns: Option<Nanos>,
        max_ns: Option<Nanos>,
    } and {
        covered_ns: Nanos = Nanos::from_secs(1),
        workers_missing: u32 = 0,
        late_p99_ns: Option<Nanos> = None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "crate::result::series")]
        series: Vec<SecondRow>,
    }

    #[test]
    fn seconds_are_written_as_columns_and_read_back() {
        let row = |second, p50_ns| SecondRow { second, users: 7, p50_ns, ..SecondRow::default() };
        let holder = Holder { series: vec![row(0, None), row(1, Some(Nanos(5)))] };
        let text = serde_json::to_string(&holder).unwrap();
        assert!(text.contains(r#""second":[0,1],"users":[7,7],"started":[0,0]"#), "{text}");
        assert!(text.contains(r#""p50_ns":[null,5]"#), "{text}");
        assert_eq!(serde_json::from_str::<Holder>(&text).unwrap(), holder);
        let torn = text.replace("[7,7]", "[7]");
        let error = serde_json::from_str::<Holder>(&torn).unwrap_err().to_string();
        assert!(error.contains("`users` has 1 seconds, `second` 2"), "{error}");
    }
}
