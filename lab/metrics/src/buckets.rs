//! A histogram of any finite numbers: HdrHistogram's layout (powers of two, each cut into equal steps) over the bits of a
//! floating-point number. Trends hold fractions, zeros and, where a script records them, negative numbers, which
//! HdrHistogram's whole numbers do not.

/// Each power of two is cut into 2^11 steps.
const STEP_BITS: u32 = 11;
const SHIFT: u32 = f64::MANTISSA_DIGITS - 1 - STEP_BITS;
/// How far a value read back may be from the one recorded, as a share of it: half a step.
pub const ERROR_MAX: f64 = 1.0 / (1 << (STEP_BITS + 1)) as f64;

/// Counts of numbers of one sign, by the upper bits of their absolute value, which grow as the value does.
#[derive(Debug, Clone, Default)]
struct Side {
    /// The key of the first count.
    first: usize,
    /// At most 2^22 of them if values spanned all that a number can be; 25,000 from a microsecond to an hour.
    counts: Vec<u64>,
}

impl Side {
    fn add(&mut self, value: f64) {
        let key = (value.abs().to_bits() >> SHIFT) as usize;
        if self.counts.is_empty() {
            self.first = key;
        } else if key < self.first {
            let missing = self.first - key;
            self.counts.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = key;
        }
        let at = key - self.first;
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
    }

    /// Middle of each step and how many are in it, rising.
    fn steps(&self) -> impl DoubleEndedIterator<Item = (f64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(at, &count)| (middle_of(self.first + at), count))
    }
}

fn middle_of(key: usize) -> f64 {
    f64::from_bits((key as u64) << SHIFT | 1 << (SHIFT - 1))
}

/// Finite numbers, to [`ERROR_MAX`].
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets {
    negative: Side,
    zeros: u64,
    positive: Side,
}

impl Buckets {
    pub(super) fn add(&mut self, value: f64) {
        if value == 0.0 {
            self.zeros += 1;
        } else if value < 0.0 {
            self.negative.add(value);
        } else {
            self.positive.add(value);
        }
    }

    /// The values at two neighbouring ranks, counted from 0 at the smallest.
    pub(super) fn at_ranks(&self, rank: u64, next_rank: u64) -> (f64, f64) {
        let negative = self.negative.steps().rev().map(|(value, count)| (-value, count));
        let steps = negative.chain([(0.0, self.zeros)]).chain(self.positive.steps());
        let (mut seen, mut low) = (0, None);
        let mut last = 0.0;
        for (value, count) in steps.filter(|(_, count)| *count > 0) {
            seen += count;
            last = value;
            if low.is_none() && rank < seen {
                low = Some(value);
            }
            if next_rank < seen {
                break;
            }
        }
        (low.unwrap_or(last), last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranks_are_those_of_the_sorted_numbers_within_the_error(
            values in proptest::collection::vec(prop_oneof![-1e6..1e6_f64, Just(0.0), 1e-6..1e-3_f64], 1..200),
            share in 0.0..1.0_f64,
        ) {
            let mut buckets = Buckets::default();
            for &value in &values {
                buckets.add(value);
            }
            let mut sorted = values;
            sorted.sort_by(f64::total_cmp);
            let rank = (share * (sorted.len() - 1) as f64) as usize;
            let next = (rank + 1).min(sorted.len() - 1);
            let (low, high) = buckets.at_ranks(rank as u64, next as u64);
            for (found, expected) in [(low, sorted[rank]), (high, sorted[next])] {
                prop_assert!((found - expected).abs() <= expected.abs() * ERROR_MAX, "{found} for {expected}");
            }
        }
    }

    #[test]
    fn common_times_take_little_memory() {
        let mut buckets = Buckets::default();
        buckets.add(3_600_000.0);
        buckets.add(0.001);
        assert!(buckets.positive.counts.len() < 70_000, "{}", buckets.positive.counts.len());
    }
}
