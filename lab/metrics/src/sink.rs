//! What a run's samples of one metric add up to, and the figures that thresholds and the summary take from it.

use crate::buckets::Buckets;
use crate::metric::Kind;
use crate::samples::Pending;
use prony_model::units::Nanos;

/// Up to so many samples of a trend are kept one by one, in 8 MB; beyond it they are counted in [`Buckets`].
pub const EXACT_SAMPLES_MAX: usize = 1_000_000;

/// All samples of one metric or submetric.
#[derive(Debug, Clone)]
pub enum Sink {
    Counter { count: u64, sum: f64 },
    Gauge(Gauge),
    Rate { passes: u64, total: u64 },
    Trend(Trend),
}

/// Zeros where there are no samples, and a maximum that starts at zero: both as in k6.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauge {
    count: u64,
    pub value: f64,
    value_at: Nanos,
    pub min: f64,
    pub max: f64,
}

/// Samples of a trend, exactly or in buckets.
#[derive(Debug, Clone, Default)]
pub struct Trend {
    values: Values,
    pub count: u64,
    sum: f64,
    pub min: f64,
    pub max: f64,
}

#[derive(Debug, Clone)]
enum Values {
    Exact { values: Vec<f64>, is_sorted: bool },
    Buckets(Buckets),
}

impl Default for Values {
    fn default() -> Self {
        Self::Exact { values: Vec::new(), is_sorted: true }
    }
}

/// A figure of a metric that can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    Value,
    Count,
    Rate,
    Avg,
    Min,
    Med,
    Max,
    /// From 0 to 100.
    Percentile(f64),
}

impl Sink {
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Counter => Self::Counter { count: 0, sum: 0.0 },
            Kind::Gauge => Self::Gauge(Gauge::default()),
            Kind::Rate => Self::Rate { passes: 0, total: 0 },
            Kind::Trend => Self::Trend(Trend::default()),
        }
    }

    pub fn is_empty(&self) -> bool {
        match self {
            Self::Counter { count, .. } => *count == 0,
            Self::Gauge(gauge) => gauge.count == 0,
            Self::Rate { total, .. } => *total == 0,
            Self::Trend(trend) => trend.count == 0,
        }
    }

    /// Adds what a thread recorded; both are of the same metric and so of the same kind.
    pub fn add(&mut self, pending: &Pending) {
        match (self, pending) {
            (Self::Counter { count, sum }, Pending::Counter { count: more, sum: added }) => {
                *count += more;
                *sum += added;
            }
            (Self::Rate { passes, total }, Pending::Rate { passes: passed, total: more }) => {
                *passes += passed;
                *total += more;
            }
            (Self::Gauge(gauge), &Pending::Gauge { count, last, last_at, min, max }) => {
                gauge.add(&Gauge { count, value: last, value_at: last_at, min, max });
            }
            (Self::Trend(trend), Pending::Trend(values)) => trend.add(values),
            (sink, pending) => unreachable!("{pending:?} is of another kind than {sink:?}"),
        }
    }

    /// A figure after so much of the run; nothing where this kind of metric does not have it, or has no sample to
    /// divide by.
    pub fn figure(&mut self, statistic: Statistic, elapsed: Nanos) -> Option<f64> {
        match (self, statistic) {
            (Self::Counter { sum, .. }, Statistic::Count) => Some(*sum),
            (Self::Counter { sum, .. }, Statistic::Rate) => Some(per_second(*sum, elapsed)),
            (Self::Gauge(gauge), Statistic::Value) => Some(gauge.value),
            (Self::Gauge(gauge), Statistic::Min) => Some(gauge.min),
            (Self::Gauge(gauge), Statistic::Max) => Some(gauge.max),
            (Self::Rate { passes, total }, Statistic::Rate) => {
                (*total > 0).then(|| *passes as f64 / *total as f64)
            }
            (Self::Trend(trend), statistic) => trend.figure(statistic),
            _ => None,
        }
    }
}

/// Zero where no time has passed.
pub fn per_second(count: f64, elapsed: Nanos) -> f64 {
    if elapsed == Nanos::ZERO { 0.0 } else { count / elapsed.as_secs_f64() }
}

impl Gauge {
    fn add(&mut self, later: &Self) {
        if later.count == 0 {
            return;
        }
        self.min = if self.count == 0 { later.min } else { self.min.min(later.min) };
        self.max = self.max.max(later.max);
        if self.count == 0 || later.value_at >= self.value_at {
            (self.value, self.value_at) = (later.value, later.value_at);
        }
        self.count += later.count;
    }
}

impl Trend {
    pub fn add(&mut self, added: &[f64]) {
        let Some(&first) = added.first() else { return };
        if self.count == 0 {
            (self.min, self.max) = (first, first);
        }
        for &value in added {
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            self.sum += value;
        }
        self.count += added.len() as u64;
        self.values.add(added);
    }

    /// True once samples are counted in buckets, and percentiles have an error of up to
    /// [`crate::buckets::ERROR_MAX`].
    pub const fn is_approximate(&self) -> bool {
        matches!(self.values, Values::Buckets(_))
    }

    fn figure(&mut self, statistic: Statistic) -> Option<f64> {
        match statistic {
            Statistic::Avg if self.count == 0 => Some(0.0),
            Statistic::Avg => Some(self.sum / self.count as f64),
            Statistic::Min => Some(self.min),
            Statistic::Max => Some(self.max),
            Statistic::Med => Some(self.percentile(50.0)),
            Statistic::Percentile(percentile) => Some(self.percentile(percentile)),
            Statistic::Count => Some(self.count as f64),
            Statistic::Value | Statistic::Rate => None,
        }
    }

    /// Interpolated at p·(n−1) between the sorted samples; zero without samples.
    pub fn percentile(&mut self, percentile: f64) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let position = (percentile / 100.0).clamp(0.0, 1.0) * (self.count - 1) as f64;
        let (rank, next_rank) = (position.floor() as u64, position.ceil() as u64);
        let (low, high) = self.values.at_ranks(rank, next_rank);
        // The extremes are known exactly, also where the rest is in buckets.
        let low = if rank == 0 { self.min } else { low };
        let high = if next_rank == self.count - 1 { self.max } else { high };
        let low = if rank == next_rank && rank > 0 { high } else { low };
        let between = low + (high - low) * (position - position.floor());
        // Between two infinite samples the difference is no number.
        if between.is_nan() { low } else { between.clamp(self.min, self.max) }
    }
}

impl Values {
    fn add(&mut self, added: &[f64]) {
        match self {
            Self::Exact { values, is_sorted } if values.len() + added.len() <= EXACT_SAMPLES_MAX => {
                values.extend_from_slice(added);
                *is_sorted = false;
            }
            Self::Exact { values, .. } => {
                let mut buckets = Buckets::default();
                values.iter().chain(added).for_each(|&value| buckets.add(value));
                *self = Self::Buckets(buckets);
            }
            Self::Buckets(buckets) => added.iter().for_each(|&value| buckets.add(value)),
        }
    }

    fn at_ranks(&mut self, rank: u64, next_rank: u64) -> (f64, f64) {
        match self {
            Self::Exact { values, is_sorted } => {
                if !*is_sorted {
                    // Not `sort_unstable`: the stable sort finds the part that is sorted already.
                    values.sort_by(f64::total_cmp);
                    *is_sorted = true;
                }
                (values[rank as usize], values[next_rank as usize])
            }
            Self::Buckets(buckets) => buckets.at_ranks(rank, next_rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buckets::ERROR_MAX;
    use proptest::prelude::*;

    /// k6's rule, written down again.
    fn interpolated(sorted: &[f64], percentile: f64) -> f64 {
        let position = percentile / 100.0 * (sorted.len() - 1) as f64;
        let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
        low + (high - low) * position.fract()
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_the_sorted_samples(
            batches in proptest::collection::vec(proptest::collection::vec(-1e3..1e6_f64, 0..50), 1..8),
            percentile in 0.0..=100.0_f64,
        ) {
            let mut trend = Trend::default();
            let mut sorted = Vec::new();
            for batch in &batches {
                trend.add(batch);
                sorted.extend_from_slice(batch);
                sorted.sort_by(f64::total_cmp);
                if sorted.is_empty() {
                    prop_assert!(trend.percentile(percentile).abs() < f64::EPSILON);
                    continue;
                }
                let expected = interpolated(&sorted, percentile);
                prop_assert!((trend.percentile(percentile) - expected).abs() <= 1e-9 * expected.abs());
                prop_assert_eq!((trend.min, trend.max), (sorted[0], sorted[sorted.len() - 1]));
            }
        }
    }

    #[test]
    fn beyond_a_million_samples_percentiles_stay_within_the_error_that_is_stated() {
        let mut trend = Trend::default();
        let samples: Vec<f64> = (0..600_000_u32).map(|number| f64::from(number % 9_973) * 0.37).collect();
        trend.add(&samples);
        assert!(!trend.is_approximate());
        trend.add(&samples);
        assert!(trend.is_approximate());
        let mut sorted = [samples.clone(), samples].concat();
        sorted.sort_by(f64::total_cmp);
        for percentile in [0.0, 1.0, 50.0, 90.0, 95.0, 99.9, 100.0] {
            let (found, expected) = (trend.percentile(percentile), interpolated(&sorted, percentile));
            assert!(
                (found - expected).abs() <= expected * ERROR_MAX,
                "p({percentile}): {found}, not {expected}"
            );
        }
        assert_eq!(trend.count, 1_200_000);
        assert_eq!(trend.figure(Statistic::Max), trend.figure(Statistic::Percentile(100.0)));
    }

    #[test]
    fn a_gauge_of_two_threads_has_the_value_that_was_recorded_last() {
        let gauge = |at: u64, last: f64, min: f64, max: f64| Pending::Gauge {
            count: 2,
            last,
            last_at: Nanos::from_secs(at),
            min,
            max,
        };
        let mut sink = Sink::new(Kind::Gauge);
        sink.add(&gauge(5, 3.0, 3.0, 7.0));
        sink.add(&gauge(4, 1.0, 1.0, 2.0));
        sink.add(&Pending::new(Kind::Gauge));
        let mut figure = |statistic| sink.figure(statistic, Nanos::from_secs(5));
        assert_eq!(figure(Statistic::Value), Some(3.0));
        assert_eq!(figure(Statistic::Min), Some(1.0));
        assert_eq!(figure(Statistic::Max), Some(7.0));
        assert_eq!(figure(Statistic::Avg), None);
    }

    #[test]
    fn counters_and_rates_are_divided_by_time_and_by_samples() {
        let mut counter = Sink::new(Kind::Counter);
        counter.add(&Pending::Counter { count: 2, sum: 9.0 });
        assert_eq!(counter.figure(Statistic::Rate, Nanos::from_secs(3)), Some(3.0));
        assert_eq!(counter.figure(Statistic::Rate, Nanos::ZERO), Some(0.0));
        let mut rate = Sink::new(Kind::Rate);
        assert_eq!(rate.figure(Statistic::Rate, Nanos::ZERO), None);
        rate.add(&Pending::Rate { passes: 1, total: 4 });
        assert_eq!(rate.figure(Statistic::Rate, Nanos::ZERO), Some(0.25));
    }
}
