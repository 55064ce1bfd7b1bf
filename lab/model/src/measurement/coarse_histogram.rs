//! A histogram of few buckets for drawing: a kilobyte, where [`Latencies`] take up to two hundred.

use super::histogram::Latencies;
use crate::units::Nanos;

/// Of each doubling of the time, so many buckets.
const PER_OCTAVE: u32 = 4;
/// From 1 µs to an hour, which is what [`Latencies`] hold.
const OCTAVES: u32 = 32;
const BUCKETS: usize = (PER_OCTAVE * OCTAVES) as usize;

/// Counts of times in buckets of equal width on a logarithmic scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoarseHistogram {
    counts: [u64; BUCKETS],
}

impl Default for CoarseHistogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS] }
    }
}

impl CoarseHistogram {
    pub fn of(times: &Latencies) -> Self {
        let mut coarse = Self::default();
        for (time, count) in times.recorded() {
            coarse.counts[bucket_of(time)] += count;
        }
        coarse
    }

    /// The buckets from the first to the last that hold anything; empty without times.
    pub fn counts(&self) -> &[u64] {
        let (from, to) = self.range();
        &self.counts[from..to]
    }

    /// Where the first of [`Self::counts`] begins, and where the last one ends.
    pub fn bounds(&self) -> Option<(Nanos, Nanos)> {
        let (from, to) = self.range();
        (from < to).then(|| (lower_bound(from), lower_bound(to)))
    }

    fn range(&self) -> (usize, usize) {
        let from = self.counts.iter().position(|count| *count > 0).unwrap_or(0);
        let to = self.counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        (from, to)
    }
}

fn bucket_of(time: Nanos) -> usize {
    let octaves = (time.0.max(1_000) as f64 / 1e3).log2();
    ((octaves * f64::from(PER_OCTAVE)) as usize).min(BUCKETS - 1)
}

fn lower_bound(bucket: usize) -> Nanos {
    Nanos(((bucket as f64 / f64::from(PER_OCTAVE)).exp2() * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_is_between_the_bounds_of_its_bucket() {
        for micros in [1, 2, 3, 5, 999, 1_000, 123_456, 3_600_000_000] {
            let mut times = Latencies::default();
            times.record(Nanos::from_micros(micros));
            let coarse = CoarseHistogram::of(&times);
            let (from, to) = coarse.bounds().unwrap();
            assert_eq!(coarse.counts(), [1], "{micros} µs");
            // The histogram it is made of has three significant digits.
            let time = Nanos::from_micros(micros).0 as f64;
            assert!(
                from.0 as f64 <= time * 1.001 && time <= to.0 as f64 * 1.001,
                "{micros} µs: {from} to {to}"
            );
            assert!(to.0 as f64 / from.0 as f64 <= 1.2, "{micros} µs: a bucket is a quarter of a doubling");
        }
    }

    #[test]
    fn empty_buckets_stand_only_between_others() {
        let mut times = Latencies::default();
        (0..7).for_each(|_| times.record(Nanos::from_millis(1)));
        times.record(Nanos::from_millis(4));
        assert_eq!(CoarseHistogram::of(&times).counts(), [7, 0, 0, 0, 0, 0, 0, 0, 1]);
        let empty = CoarseHistogram::default();
        assert_eq!((empty.counts(), empty.bounds()), (&[][..], None));
    }
}
