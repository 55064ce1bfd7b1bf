//! Counts of times in buckets whose bounds grow by the same factor, as Prometheus' native histograms and OpenTelemetry's exponential
//! ones have them.

use prony_model::Nanos;
use prony_model::measurement::histogram::Latencies;
use std::collections::BTreeMap;

/// 2^(1/2^5): bounds are 2.2 % apart, and all times from 1 µs to 1 h take 1,016 buckets at most.
pub(crate) const SCALE: i32 = 5;

/// Times in seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Exponential {
    pub(crate) count: u64,
    pub(crate) sum_s: f64,
    /// By the exponent of the upper bound: times above 2^((i-1)/32) s and up to 2^(i/32) s.
    pub(crate) buckets: BTreeMap<i32, u64>,
}

impl Exponential {
    pub(crate) fn add(&mut self, times: &Latencies) {
        self.count += times.count();
        self.sum_s += times.mean().map_or(0.0, Nanos::as_secs_f64) * times.count() as f64;
        for (time, count) in times.recorded() {
            *self.buckets.entry(upper_exponent(time.as_secs_f64())).or_default() += count;
        }
    }
}

fn upper_exponent(seconds: f64) -> i32 {
    (seconds.max(1e-9).log2() * f64::from(1 << SCALE)).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stand_between_the_bounds_of_their_buckets() {
        for micros in [1, 7, 999, 1_000, 31_250, 1_000_000, 3_599_000_000] {
            let seconds = Nanos::from_micros(micros).as_secs_f64();
            let exponent = f64::from(upper_exponent(seconds)) / 32.0;
            assert!(seconds <= exponent.exp2() * (1.0 + 1e-12), "{micros}");
            assert!(seconds > (exponent - 1.0 / 32.0).exp2() * (1.0 - 1e-12), "{micros}");
        }
        assert_eq!((upper_exponent(1.0), upper_exponent(0.5), upper_exponent(2.0)), (0, -32, 32));
    }

    #[test]
    fn counts_and_sums_are_those_of_the_times() {
        let mut times = Latencies::default();
        for millis in [10, 10, 2_000] {
            times.record(Nanos::from_millis(millis));
        }
        let mut buckets = Exponential::default();
        buckets.add(&times);
        buckets.add(&times);
        assert_eq!((buckets.count, buckets.buckets.len()), (6, 2));
        assert_eq!(buckets.buckets.values().sum::<u64>(), 6);
        assert!((buckets.sum_s - 4.04).abs() < 1e-6, "{}", buckets.sum_s);
    }
}
