//! Histograms of durations that one thread writes and any thread reads, without a lock.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bucket `n` counts durations below `2^(FIRST_EXPONENT + n)` ns and not below the previous bucket's bound:
/// from 1 µs to 17 s, so that the error of a percentile stays below a factor of two at no cost.
const BUCKETS: usize = 25;
const FIRST_EXPONENT: u32 = 10;

/// Only its owner's thread records; increments are plain stores.
#[derive(Debug)]
pub(super) struct Histogram {
    counts: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [const { AtomicU64::new(0) }; BUCKETS], sum_ns: AtomicU64::new(0) }
    }
}

/// Adds where there is only one writer.
pub(super) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}

impl Histogram {
    pub(super) fn record(&self, ns: u64) {
        let bits = u64::BITS - ns.leading_zeros();
        let bucket = (bits.saturating_sub(FIRST_EXPONENT) as usize).min(BUCKETS - 1);
        add(&self.counts[bucket], 1);
        add(&self.sum_ns, ns);
    }

    pub(super) fn add_to(&self, total: &mut Total) {
        for (count, into) in self.counts.iter().zip(&mut total.counts) {
            *into += count.load(Relaxed);
        }
        total.sum_ns += self.sum_ns.load(Relaxed);
    }
}

/// The sum of several histograms.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Total {
    counts: [u64; BUCKETS],
    sum_ns: u64,
}

impl Total {
    pub(super) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub(super) fn sum_seconds(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// Upper bounds in seconds and counts; the exporter makes them cumulative.
    pub(super) fn buckets(&self) -> Vec<(f64, u64)> {
        let bound = |index: usize| {
            if index + 1 == BUCKETS {
                f64::INFINITY
            } else {
                (1_u64 << (FIRST_EXPONENT + index as u32)) as f64 / 1e9
            }
        };
        self.counts.iter().enumerate().map(|(index, &count)| (bound(index), count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prometheus estimates nothing of a histogram without such a bucket.
    #[test]
    fn the_last_bucket_has_no_bound() {
        let bounds: Vec<f64> = Total::default().buckets().into_iter().map(|(bound, _)| bound).collect();
        assert!(bounds.is_sorted(), "{bounds:?}");
        assert_eq!(bounds.iter().position(|bound| bound.is_infinite()), Some(BUCKETS - 1), "{bounds:?}");
    }

    #[test]
    fn durations_fall_below_their_bucket_bound() {
        for ns in [0, 1, 1023, 1024, 1025, 5_000, 1_000_000, 999_999_999, 16_000_000_000, u64::MAX >> 1] {
            let histogram = Histogram::default();
            histogram.record(ns);
            let mut total = Total::default();
            histogram.add_to(&mut total);
            let buckets = total.buckets();
            let index = buckets.iter().position(|&(_, count)| count == 1).unwrap();
            let seconds = ns as f64 / 1e9;
            assert!(seconds < buckets[index].0, "{ns}");
            assert!(index == 0 || seconds >= buckets[index - 1].0, "{ns}");
            assert_eq!(total.count(), 1);
        }
    }
}
