//! Values with their counts, and the figures that wrk prints and hands to scripts: mean, deviation, percentiles.
//!
//! Latencies come from a window's histogram, rates from the seconds of the run.

use crate::measurement::figures::Figures;
use crate::measurement::histogram::{HistogramError, Latencies, rank_at};
use crate::measurement::record::OutcomeKind;
use crate::result::{OverTime, ResultFile, SecondRow};

/// Above this an answer's status counts as an error in wrk.
const STATUS_GOOD_MAX: u16 = 399;
const NANOS_PER_S: u64 = 1_000_000_000;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Statistics {
    /// Pairs of value and count, the values rising and different.
    values: Vec<(u64, u64)>,
    count: u64,
    min: u64,
    max: u64,
    mean: f64,
}

impl Statistics {
    pub fn of(mut values: Vec<(u64, u64)>) -> Self {
        values.sort_unstable();
        values.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += if same { later.1 } else { 0 };
            same
        });
        values.retain(|(_, count)| *count > 0);
        let count: u64 = values.iter().map(|(_, count)| count).sum();
        let sum: f64 = values.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let (min, max) =
            (values.first().map_or(0, |(value, _)| *value), values.last().map_or(0, |(value, _)| *value));
        Self { values, count, min, max, mean }
    }

    /// Times in microseconds. Extremes and mean are exact, the rest is to the histogram's resolution.
    pub fn of_times(times: &Latencies) -> Self {
        let values = times.recorded().map(|(time, count)| (time.as_micros(), count)).collect();
        Self::of(values)
    }

    /// Response times of a window in microseconds; extremes and mean as they were before they were put into buckets.
    pub fn of_response(figures: &Figures) -> Result<Self, HistogramError> {
        let times = Latencies::from_base64(&figures.histograms.response)?;
        let exact = &figures.response_time;
        let mut statistics = Self::of_times(&times);
        let micros = |time: crate::Nanos| time.0 as f64 / 1e3;
        statistics.mean = exact.mean_ns.map_or(statistics.mean, micros);
        statistics.min = exact.min_ns.map_or(statistics.min, |time| micros(time).round() as u64);
        statistics.max = exact.max_ns.map_or(statistics.max, |time| micros(time).round() as u64);
        Ok(statistics)
    }

    /// Answers a second and thread: one value for each whole second of the run, the threads taken as equal.
    pub fn of_rates(result: &ResultFile) -> Self {
        let threads = u64::from(result.lab.threads.max(1));
        let answered = |row: &SecondRow| {
            (row.successes + row.failures).saturating_sub(unanswered_a_second(&result.over_time, row.second))
        };
        Self::of(result.whole_seconds().iter().map(|row| (answered(row) / threads, 1)).collect())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min(&self) -> u64 {
        self.min
    }

    pub fn max(&self) -> u64 {
        self.max
    }

    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The standard deviation of a sample; 0 with fewer than two values.
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let squares =
            self.values.iter().map(|(value, count)| (*value as f64 - self.mean).powi(2) * *count as f64);
        (squares.sum::<f64>() / (self.count - 1) as f64).sqrt()
    }

    /// The standard deviation of these values themselves, as `HdrHistogram`'s programs have it; 0 without any.
    pub fn population_deviation(&self) -> f64 {
        let freedom = self.count.saturating_sub(1) as f64 / self.count.max(1) as f64;
        self.deviation() * freedom.sqrt()
    }

    /// The share of values within one standard deviation of the mean, from 0 to 100.
    pub fn within_deviation_percent(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (mean, deviation) = (self.mean, self.deviation());
        let inside = self.values.iter().filter(|(value, _)| (*value as f64 - mean).abs() <= deviation);
        let inside: u64 = inside.map(|(_, count)| count).sum();
        100.0 * inside as f64 / self.count as f64
    }

    /// The value that `percentile` per cent did not exceed, however few values there are; 0 without any.
    pub fn percentile(&self, percentile: f64) -> u64 {
        if percentile >= 100.0 {
            return self.max;
        }
        let rank = rank_at(percentile, self.count);
        let mut seen = 0;
        let at = self.values.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        at.map_or(0, |(value, _)| *value).clamp(self.min, self.max)
    }

    /// Different values, rising, each with its count.
    pub fn values(&self) -> &[(u64, u64)] {
        &self.values
    }
}

/// Requests that ended in a second without a whole answer; in a long run the mean of the interval that the second is in.
fn unanswered_a_second(over_time: &OverTime, second: u64) -> u64 {
    let interval_s = (over_time.interval_ns.0 / NANOS_PER_S).max(1);
    let interval = (second / interval_s) as usize;
    let unanswered = over_time.failures.iter().filter(|(kind, _)| !kind.is_answered());
    unanswered.filter_map(|(_, counts)| counts.get(interval)).sum::<u64>() / interval_s
}

/// What wrk counts of a run, as its scripts and its users know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrkTotals {
    pub duration_us: u64,
    /// Those that were answered, whatever the answer.
    pub requests: u64,
    pub bytes: u64,
    pub connect_errors: u64,
    pub read_errors: u64,
    pub write_errors: u64,
    /// Answers with a status above 399.
    pub status_errors: u64,
    pub timeouts: u64,
}

impl WrkTotals {
    /// Of the whole run. TLS counts as connecting, an answer that is no HTTP as reading.
    pub fn of(result: &ResultFile) -> Self {
        let Some(whole) = result.windows.last() else { return Self::default() };
        let all = &whole.all;
        let count =
            |kinds: &[OutcomeKind]| kinds.iter().filter_map(|kind| all.outcomes.get(kind)).sum::<u64>();
        let bad_statuses = all.statuses.iter().filter(|(status, _)| **status > STATUS_GOOD_MAX);
        Self {
            duration_us: whole.window.length().as_micros(),
            requests: all.answered,
            bytes: all.bytes_received,
            connect_errors: count(&[OutcomeKind::Connect, OutcomeKind::Tls]),
            read_errors: count(&[OutcomeKind::Read, OutcomeKind::Protocol]),
            write_errors: count(&[OutcomeKind::Write]),
            status_errors: bad_statuses.map(|(_, count)| count).sum(),
            timeouts: count(&[OutcomeKind::Timeout]),
        }
    }

    pub fn socket_errors(&self) -> u64 {
        self.connect_errors + self.read_errors + self.write_errors + self.timeouts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Nanos;

    #[test]
    fn figures_are_those_of_the_list() {
        let list = [4_u64, 2, 4, 4, 5, 5, 7, 9];
        let statistics = Statistics::of(list.iter().map(|value| (*value, 1)).collect());
        assert_eq!(statistics.values(), [(2, 1), (4, 3), (5, 2), (7, 1), (9, 1)]);
        assert_eq!((statistics.count(), statistics.min(), statistics.max()), (8, 2, 9));
        assert!((statistics.mean() - 5.0).abs() < 1e-12);
        assert!((statistics.deviation() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!((statistics.within_deviation_percent() - 75.0).abs() < 1e-12);
        let percentiles = [0.0, 12.5, 12.6, 50.0, 75.0, 99.0, 100.0].map(|p| statistics.percentile(p));
        assert_eq!(percentiles, [2, 2, 4, 4, 5, 9, 9]);
    }

    #[test]
    fn nothing_has_no_figures() {
        let statistics = Statistics::of(Vec::new());
        assert_eq!(statistics, Statistics::default());
        assert_eq!(statistics.percentile(99.0), 0);
        assert!(statistics.deviation().abs() + statistics.within_deviation_percent() < 1e-12);
    }

    #[test]
    fn times_are_in_microseconds() {
        let mut times = Latencies::default();
        for micros in [100, 100, 2_000] {
            times.record(Nanos::from_micros(micros));
        }
        assert_eq!(Statistics::of_times(&times).values(), [(100, 2), (2_000, 1)]);
    }
}
