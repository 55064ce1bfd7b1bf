//! The columns of tables of requests, which are Gatling's: counts, rate, and the times of what was answered as expected.

use prony_model::{
    Nanos,
    measurement::{figures::Figures, histogram::Latencies},
};
use serde::Serialize;

/// One run as a whole; times in milliseconds, absent where there are too few samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Statistics {
    pub requests: u64,
    pub ok: u64,
    pub ko: u64,
    /// Answered as expected, a second.
    pub requests_per_second: f64,
    pub min_ms: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p75_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub max_ms: Option<f64>,
    pub mean_ms: Option<f64>,
    pub deviation_ms: Option<f64>,
}

impl Statistics {
    pub(crate) fn of(figures: &Figures) -> Self {
        let times = &figures.response_time;
        let at = |percentile| times.percentile(percentile).map(Nanos::as_millis_f64);
        Self {
            requests: figures.requests,
            ok: figures.successes,
            ko: figures.failures,
            requests_per_second: figures.rate_per_s,
            min_ms: times.min_ns.map(Nanos::as_millis_f64),
            p50_ms: at(50.0),
            p75_ms: at(75.0),
            p95_ms: at(95.0),
            p99_ms: at(99.0),
            max_ms: times.max_ns.map(Nanos::as_millis_f64),
            mean_ms: times.mean_ns.map(Nanos::as_millis_f64),
            deviation_ms: deviation_ms(figures),
        }
    }
}

/// Of all times, to the histogram's resolution.
fn deviation_ms(figures: &Figures) -> Option<f64> {
    let times = Latencies::from_base64(&figures.histograms.response).ok()?;
    let mean = times.mean()?.as_millis_f64();
    let squares = |(time, count): (Nanos, u64)| (time.as_millis_f64() - mean).powi(2) * count as f64;
    Some((times.recorded().map(squares).sum::<f64>() / times.count() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use prony_model::measurement::figures::{Histograms, LatencyFigures};

    use super::*;

    #[test]
    fn the_deviation_is_that_of_the_times() {
        let mut times = Latencies::default();
        for ms in [2, 4, 4, 4, 5, 5, 7, 9] {
            times.record(Nanos::from_millis(ms));
        }
        let figures = Figures {
            requests: 10,
            successes: 8,
            failures: 2,
            answered: 10,
            rate_per_s: 4.0,
            outcomes: std::collections::BTreeMap::default(),
            statuses: std::collections::BTreeMap::default(),
            responses: prony_model::measurement::status_counts::StatusCounts::default(),
            bytes_sent: 0,
            bytes_received: 0,
            response_time: LatencyFigures::of(&times),
            service_time: None,
            first_byte_time: LatencyFigures::default(),
            histograms: Histograms { response: times.to_base64(), ..Histograms::default() },
        };
        let statistics = Statistics::of(&figures);
        assert!((statistics.deviation_ms.unwrap() - 2.0).abs() < 0.02, "{statistics:?}");
        assert_eq!((statistics.requests, statistics.ok, statistics.ko), (10, 8, 2));
        assert_eq!((statistics.min_ms, statistics.max_ms), (Some(2.0), Some(9.0)));
    }
}
