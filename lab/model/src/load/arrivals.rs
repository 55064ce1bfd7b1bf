//! Starts at a rate: the due time of start *k* in closed form, exact over days.
//!
//! Between two bounds the rate is a straight line, so the number of starts up to a time is a parabola there, and the
//! time of the *k*-th start is the root of one. Counts are summed in integers, so nothing drifts; roots are taken in
//! `f64` from the nearer zero of the rate, where the formula loses no digits: over 24 h at 1,000,000/s the error is
//! below a nanosecond before rounding.

use super::level::Level;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Starts a second, at most: above it due times would be closer than the clock can tell apart.
pub const RATE_MAX_PER_S: f64 = 10_000_000.0;
/// Rates are held in this many parts of one start a second: `1e-9/s`.
const RATE_PARTS: f64 = 1e9;
/// One start in the unit of sums: parts of a rate, times nanoseconds, times two (a line's area is half a product).
pub(super) const START: u128 = 2_000_000_000_000_000_000;

/// A part of a run in which the rate moves in a straight line from where the stage before ended (0 before the first)
/// to `rate_per_s`. A duration of zero is a jump.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateStage {
    pub duration_ns: Nanos,
    pub rate_per_s: f64,
}

impl RateStage {
    pub const fn new(duration: Nanos, rate_per_s: f64) -> Self {
        Self { duration_ns: duration, rate_per_s }
    }
}

/// How starts lie around their rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spacing {
    /// Each at the same distance: the load of a metronome, the gentlest at its rate.
    Even,
    /// Independent of one another, as starts of many users who know nothing of each other are.
    Poisson,
}

/// When iterations of an open model are due, whether or not earlier ones have ended.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrivalSchedule {
    pub stages: Vec<RateStage>,
    pub spacing: Spacing,
    /// How long a start waits for a free user before it is dropped.
    pub wait_max: Nanos,
    /// Where it is a share of a larger schedule, with even spacing; results do not keep it.
    pub stripe: Option<Stripe>,
}

/// Which starts of a larger schedule a share of it has. The share's rates are the larger ones times what it has of each cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stripe {
    /// The numbers that it has of the first starts, ascending; never empty.
    pub numbers: Vec<u64>,
    /// After so many starts of the larger schedule they come again.
    pub cycle: u64,
}

impl Stripe {
    /// The sum of the share's rates at which its start of this number is due.
    pub(super) fn position(&self, number: u64) -> u128 {
        let count = self.numbers.len() as u64;
        let place = number / count * self.cycle + self.numbers[(number % count) as usize];
        u128::from(place) * u128::from(count) * START / u128::from(self.cycle)
    }
}

impl ArrivalSchedule {
    pub fn duration(&self) -> Nanos {
        self.stages.iter().fold(Nanos::ZERO, |sum, stage| sum.plus(stage.duration_ns))
    }

    /// The highest number of starts a second.
    pub fn rate_max(&self) -> f64 {
        self.stages.iter().map(|stage| stage.rate_per_s).fold(0.0, f64::max)
    }

    pub(super) fn fault(&self) -> Option<String> {
        let allowed = 0.0..=RATE_MAX_PER_S;
        if let Some(stage) = self.stages.iter().find(|stage| !allowed.contains(&stage.rate_per_s)) {
            return Some(format!(
                "a rate of {}/s is not between 0 and {RATE_MAX_PER_S} starts a second",
                stage.rate_per_s
            ));
        }
        (Rates::of(&self.stages).starts() == 0).then(|| "the rate is 0 throughout; ask for some".to_owned())
    }
}

/// The number of starts as a function of time, and the other way round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    /// Without those that last no time.
    segments: Vec<RateSegment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RateSegment {
    begin: Nanos,
    end: Nanos,
    /// In [`RATE_PARTS`], at the begin and just before the end.
    first: u64,
    last: u64,
    /// The sum of starts before it and up to its end, in units of [`START`].
    before: u128,
    up_to: u128,
}

impl Rates {
    /// Rates that are no number or below 0 count as 0, those above [`RATE_MAX_PER_S`] as that.
    pub fn of(stages: &[RateStage]) -> Self {
        let (mut begin, mut first, mut before) = (Nanos::ZERO, 0, 0);
        let mut segments = Vec::new();
        for stage in stages {
            let end = begin.plus(stage.duration_ns);
            let last = (stage.rate_per_s.clamp(0.0, RATE_MAX_PER_S) * RATE_PARTS).round() as u64;
            let up_to = before + (u128::from(first) + u128::from(last)) * u128::from(end.since(begin).0);
            if begin < end {
                segments.push(RateSegment { begin, end, first, last, before, up_to });
            }
            (begin, first, before) = (end, last, up_to);
        }
        Self { segments }
    }

    /// When start `number` (from 0) is due with even spacing; `None` past the last one. It is the last moment at which
    /// `number` starts are made by the rate, so the first start of a constant rate is due at once.
    pub fn due(&self, number: u64) -> Option<Nanos> {
        let position = u128::from(number) * START;
        let index = self.segments.partition_point(|segment| segment.up_to <= position);
        self.segments.get(index).map(|segment| segment.time_of(position))
    }

    /// How many starts even spacing makes.
    pub fn starts(&self) -> u64 {
        let total = self.segments.last().map_or(0, |segment| segment.up_to);
        u64::try_from(total.div_ceil(START)).unwrap_or(u64::MAX)
    }

    /// The integral of the rate from the start of the run to a time.
    pub fn starts_by(&self, time: Nanos) -> f64 {
        let begun = self.segments.iter().take_while(|segment| segment.begin < time);
        begun.last().map_or(0.0, |segment| segment.sum_by(time) / START as f64)
    }

    /// Starts a second at a time; 0 once the last stage has ended.
    pub fn rate_at(&self, time: Nanos) -> f64 {
        let found = self.segments.iter().find(|segment| segment.begin <= time && time < segment.end);
        found.map_or(0.0, |segment| segment.rate_at(time) / RATE_PARTS)
    }

    /// The time at which the sum of starts passes `position`, for positions that only rise: `cursor` remembers the
    /// segment of the one before.
    pub(super) fn time_of(&self, position: u128, cursor: &mut usize) -> Option<Nanos> {
        while self.segments.get(*cursor)?.up_to <= position {
            *cursor += 1;
        }
        Some(self.segments[*cursor].time_of(position))
    }

    pub(super) fn levels(&self) -> Vec<Level> {
        let level = |segment: &RateSegment| Level {
            from: segment.begin,
            to: segment.end,
            first: segment.first as f64 / RATE_PARTS,
            last: segment.last as f64 / RATE_PARTS,
        };
        self.segments.iter().map(level).collect()
    }
}

impl RateSegment {
    fn length(&self) -> f64 {
        self.end.since(self.begin).0 as f64
    }

    fn rate_at(&self, time: Nanos) -> f64 {
        let passed = time.since(self.begin).0 as f64 / self.length();
        self.first as f64 + (self.last as f64 - self.first as f64) * passed
    }

    fn sum_by(&self, time: Nanos) -> f64 {
        let passed = time.min(self.end).since(self.begin).0 as f64;
        let mean = f64::midpoint(self.first as f64, self.rate_at(time.min(self.end)));
        self.before as f64 + 2.0 * mean * passed
    }

    /// `position` lies in `before..up_to`.
    fn time_of(&self, position: u128) -> Nanos {
        let rises = self.last >= self.first;
        let offset = if rises {
            self.crossing(self.first, self.last, position - self.before)
        } else {
            self.length() - self.crossing(self.last, self.first, self.up_to - position)
        };
        self.begin.plus(Nanos(offset.round() as u64)).min(Nanos(self.end.0 - 1))
    }

    /// How far from the end with the lower rate the sum reaches `part`. Of the two ways to write the root of
    /// `low x + (high - low) x² / 2 length = part / 2`, the one without a difference of nearly equal numbers
    /// (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 1.8).
    fn crossing(&self, low: u64, high: u64, part: u128) -> f64 {
        if part == 0 {
            return 0.0;
        }
        let (area, low, high) = (part as f64 / 2.0, low as f64, high as f64);
        let root = (low * low + 2.0 * (high - low) * (area / self.length())).sqrt();
        2.0 * area / (low + root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Nanos = Nanos::from_secs(3_600);

    fn constant(rate: f64, duration: Nanos) -> Rates {
        Rates::of(&[RateStage::new(Nanos::ZERO, rate), RateStage::new(duration, rate)])
    }

    #[test]
    fn a_day_at_a_million_a_second_does_not_drift() {
        let rates = constant(1e6, Nanos(24 * HOUR.0));
        assert_eq!(rates.starts(), 86_400_000_000);
        for number in [0, 1, 999_999, 1_000_000, 43_200_000_001, 86_399_999_999] {
            assert_eq!(rates.due(number), Some(Nanos(number * 1_000)), "{number}");
        }
        assert_eq!(rates.due(86_400_000_000), None);
    }

    #[test]
    fn a_rate_that_divides_no_second_does_not_drift_either() {
        let rates = constant(3.0, HOUR);
        assert_eq!(rates.starts(), 10_800);
        assert_eq!(rates.due(1), Some(Nanos(333_333_333)));
        assert_eq!(rates.due(10_799), Some(Nanos(3_599_666_666_667)));
    }

    /// From 0 to r in D the k-th start is due at `sqrt(2 k D / r)`, and falling mirrors rising.
    #[test]
    fn ramps_start_where_the_parabola_says() {
        let up = Rates::of(&[RateStage::new(Nanos::from_secs(10), 100.0)]);
        assert_eq!(up.starts(), 500);
        assert_eq!(up.due(0), Some(Nanos::ZERO));
        assert_eq!(up.due(5), Some(Nanos::from_secs(1)));
        assert_eq!(up.due(125), Some(Nanos::from_secs(5)));
        let down =
            Rates::of(&[RateStage::new(Nanos::ZERO, 100.0), RateStage::new(Nanos::from_secs(10), 0.0)]);
        assert_eq!(down.starts(), 500);
        assert_eq!(down.due(375), Some(Nanos::from_secs(5)));
        assert_eq!(down.due(495), Some(Nanos::from_secs(9)));
    }

    #[test]
    fn nothing_is_due_while_the_rate_is_zero() {
        let stages = [(10, 0.0), (0, 2.0), (1, 2.0), (0, 0.0), (5, 0.0), (0, 1.0), (2, 1.0)];
        let rates = Rates::of(&stages.map(|(s, rate)| RateStage::new(Nanos::from_secs(s), rate)));
        let due: Vec<_> = (0..5).map(|number| rates.due(number).map(Nanos::as_secs_f64)).collect();
        assert_eq!(due, [Some(10.0), Some(10.5), Some(16.0), Some(17.0), None]);
        let at = [3_000, 10_500, 18_000].map(|ms| rates.rate_at(Nanos::from_millis(ms)).to_string());
        assert_eq!(at, ["0", "2", "0"]);
    }

    #[test]
    fn a_long_ramp_keeps_its_precision_to_the_last_start() {
        let day = Nanos(24 * HOUR.0);
        let rates = Rates::of(&[RateStage::new(day, 1e6), RateStage::new(day, 0.0)]);
        let total = rates.starts();
        assert_eq!(total, 86_400_000_000);
        // Symmetric: start k of the first half and the k-th before the end of the second.
        for number in [1_u64, 1_000, 123_456_789, 43_199_999_999] {
            let (early, late) = (rates.due(number).unwrap().0, rates.due(total - number).unwrap().0);
            let exact = (2.0 * number as f64 * 86_400.0 / 1e6).sqrt() * 1e9;
            assert!((early as f64 - exact).abs() < 1_000.0, "{number}: {early} {exact}");
            assert!((early + late).abs_diff(2 * day.0) <= 1, "{number}: {early} {late}");
        }
    }

    fn stages() -> impl Strategy<Value = Vec<RateStage>> {
        let stage = (0_u64..20_000_000_000, prop_oneof![Just(0.0), 0.01_f64..5_000.0]);
        let stages = prop::collection::vec(stage, 1..6);
        stages.prop_map(|list| list.into_iter().map(|(d, rate)| RateStage::new(Nanos(d), rate)).collect())
    }

    proptest! {
        #[test]
        fn due_times_rise_and_count_what_the_rate_sums_to(stages in stages(), share in 0.0_f64..1.0) {
            let rates = Rates::of(&stages);
            let end: u64 = stages.iter().map(|stage| stage.duration_ns.0).sum();
            let total = rates.starts();
            prop_assert!((total as f64 - rates.starts_by(Nanos(end))).abs() <= 1.0);
            prop_assert_eq!(rates.due(total), None);
            let number = (total as f64 * share) as u64;
            let around: Vec<_> = (number.saturating_sub(20)..(number + 20).min(total)).collect();
            let due: Vec<_> = around.iter().map(|number| rates.due(*number).unwrap()).collect();
            prop_assert!(due.is_sorted());
            for (number, due) in around.iter().zip(&due) {
                prop_assert!(due.0 < end);
                // Within a microsecond: the sum passes the number somewhere in between.
                prop_assert!(rates.starts_by(Nanos(due.0.saturating_sub(1_000))) <= *number as f64 + 1e-6);
                prop_assert!(rates.starts_by(due.plus(Nanos(1_000))) >= *number as f64 - 1e-6);
            }
        }

        #[test]
        fn as_many_are_due_by_a_time_as_the_rate_sums_to(stages in stages(), share in 0.0_f64..1.0) {
            let rates = Rates::of(&stages);
            let end: u64 = stages.iter().map(|stage| stage.duration_ns.0).sum();
            let time = Nanos((end as f64 * share) as u64);
            let total = rates.starts();
            // `due` rises, so the count is found by halving.
            let (mut low, mut high) = (0, total);
            while low < high {
                let middle = low.midpoint(high);
                if rates.due(middle).unwrap() <= time { low = middle + 1 } else { high = middle }
            }
            prop_assert!((low as f64 - rates.starts_by(time)).abs() <= 1.0, "{} {}", low, rates.starts_by(time));
        }
    }
}
