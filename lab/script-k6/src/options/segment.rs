//! The share of a test that one of several instances runs, divided as k6 divides it: users, iterations and starts are dealt out
//! one by one, so that all instances together have exactly those of the undivided test.

use std::cmp::Reverse;
use std::fmt;

/// Parts of a test; more are no division that anybody runs.
const PARTS_MAX: u64 = 1_000_000;

/// From 0 to 1, in lowest terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    const ZERO: Self = Self { numerator: 0, denominator: 1 };
    const ONE: Self = Self { numerator: 1, denominator: 1 };

    fn new(numerator: u64, denominator: u64) -> Self {
        let divisor = gcd(numerator, denominator).max(1);
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// `25%`, `1/4` or `0.25`.
    fn parse(text: &str) -> Result<Self, String> {
        let refused = || format!("'{text}' is not a valid percentage, decimal, fraction or interval value");
        let parts = if let Some(percent) = text.strip_suffix('%') {
            percent.parse().ok().map(|percent| (percent, 100))
        } else if let Some((numerator, denominator)) = text.split_once('/') {
            numerator.parse().ok().zip(denominator.parse().ok())
        } else {
            decimal(text)
        };
        let (numerator, denominator) = parts.ok_or_else(refused)?;
        if denominator == 0 || denominator > PARTS_MAX || numerator > denominator {
            return Err(format!("'{text}' is not between 0 and 1, in at most {PARTS_MAX} parts"));
        }
        Ok(Self::new(numerator, denominator))
    }

    fn is_below(self, other: Self) -> bool {
        self.product(other) < other.product(self)
    }

    fn product(self, other: Self) -> u128 {
        u128::from(self.numerator) * u128::from(other.denominator)
    }

    fn minus(self, other: Self) -> Self {
        let numerator = self.numerator * other.denominator - other.numerator * self.denominator;
        Self::new(numerator, self.denominator * other.denominator)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.denominator {
            1 => write!(f, "{}", self.numerator),
            denominator => write!(f, "{}/{denominator}", self.numerator),
        }
    }
}

fn decimal(text: &str) -> Option<(u64, u64)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = fraction.trim_end_matches('0');
    let scale = 10_u64.checked_pow(u32::try_from(digits.len()).ok()?)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let part: u64 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    Some((whole.checked_mul(scale)?.checked_add(part)?, scale))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SegmentPart {
    from: Ratio,
    to: Ratio,
}

impl SegmentPart {
    const WHOLE: Self = Self { from: Ratio::ZERO, to: Ratio::ONE };

    fn new(from: Ratio, to: Ratio) -> Result<Self, String> {
        if from.is_below(to) {
            return Ok(Self { from, to });
        }
        Err(format!("segment start({from}) must be less than its end({to})"))
    }

    fn length(self) -> Ratio {
        self.to.minus(self.from)
    }
}

impl fmt::Display for SegmentPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.from, self.to)
    }
}

/// One instance's share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Segment {
    /// Of all instances.
    lengths: Vec<Ratio>,
    own: usize,
    dealt: Dealt,
}

/// Which numbers of each cycle one instance has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dealt {
    /// Ascending, from 0.
    pub(super) numbers: Vec<u64>,
    pub(super) cycle: u64,
}

impl Segment {
    /// `segment` is `FROM:TO` or `TO`, `sequence` the bounds of all instances' segments. None where all is to be run.
    pub(super) fn parse(segment: &str, sequence: &str) -> Result<Option<Self>, String> {
        let own = parse_part(segment).map_err(|error| format!("`executionSegment`: {error}"))?;
        let parts =
            parse_sequence(sequence).map_err(|error| format!("`executionSegmentSequence`: {error}"))?;
        let given = parts.clone();
        let parts = filled(if parts.is_empty() { vec![own] } else { parts });
        let Some(index) = parts.iter().position(|part| *part == own) else {
            let bounds: Vec<_> =
                given.iter().map(|part| part.from).chain(given.last().map(|part| part.to)).collect();
            let bounds: Vec<_> = bounds.iter().map(ToString::to_string).collect();
            return Err(format!("couldn't find segment {own} in sequence {}", bounds.join(",")));
        };
        if parts.len() == 1 {
            return Ok(None);
        }
        Self::of(parts.into_iter().map(SegmentPart::length).collect(), index).map(Some)
    }

    fn of(lengths: Vec<Ratio>, own: usize) -> Result<Self, String> {
        let cycle = lengths.iter().try_fold(1_u64, |cycle, length| {
            let cycle = cycle / gcd(cycle, length.denominator) * length.denominator;
            (cycle <= PARTS_MAX).then_some(cycle)
        });
        let cycle =
            cycle.ok_or_else(|| format!("the segments divide a test into more than {PARTS_MAX} parts"))?;
        let dealt = deal(&lengths, own, cycle);
        Ok(Self { lengths, own, dealt })
    }

    pub(super) fn dealt(&self) -> &Dealt {
        &self.dealt
    }

    /// Of the test, up to 1.
    pub(super) fn length(&self) -> f64 {
        let Ratio { numerator, denominator } = self.lengths[self.own];
        numerator as f64 / denominator as f64
    }

    /// How many of so many are this instance's.
    pub(super) fn scale(&self, value: u64) -> u64 {
        self.dealt.scale(value)
    }

    /// How many of the iterations that `users` share are this instance's: they are dealt out among the instances that have any of
    /// the users, by how many they have.
    pub(super) fn scale_shared(&self, users: u64, iterations: u64) -> u64 {
        if users == 0 {
            return 0;
        }
        if users.is_multiple_of(self.dealt.cycle) {
            return self.scale(iterations);
        }
        let of = |index| deal(&self.lengths, index, self.dealt.cycle).scale(users);
        let counts: Vec<u64> = (0..self.lengths.len()).map(of).collect();
        let own = counts[self.own];
        if own == 0 {
            return 0;
        }
        let before = counts[..self.own].iter().filter(|count| **count > 0).count();
        let lengths =
            counts.into_iter().filter(|count| *count > 0).map(|count| Ratio::new(count, users)).collect();
        Self::of(lengths, before).map_or(0, |segment| segment.scale(iterations))
    }
}

impl Dealt {
    fn scale(&self, value: u64) -> u64 {
        let rest = self.numbers.partition_point(|number| *number < value % self.cycle) as u64;
        value / self.cycle * self.numbers.len() as u64 + rest
    }
}

/// Larger parts choose first, each as soon as its share of what is dealt out so far is due.
fn deal(lengths: &[Ratio], own: usize, cycle: u64) -> Dealt {
    let shares: Vec<u64> =
        lengths.iter().map(|length| length.numerator * (cycle / length.denominator)).collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|index| Reverse(shares[*index]));
    let mut chosen = vec![0_u64; lengths.len()];
    let mut numbers = Vec::new();
    for number in 0..cycle {
        let is_due = |index: &usize| number * shares[*index] >= chosen[*index] * cycle;
        if let Some(index) = order.iter().copied().find(|index| is_due(index)) {
            chosen[index] += 1;
            if index == own {
                numbers.push(number);
            }
        }
    }
    Dealt { numbers, cycle }
}

fn parse_part(text: &str) -> Result<SegmentPart, String> {
    let text = text.trim();
    let (from, to) = text.split_once(':').unwrap_or(("0", text));
    SegmentPart::new(Ratio::parse(from)?, Ratio::parse(if to.is_empty() { "1" } else { to })?)
}

fn parse_sequence(text: &str) -> Result<Vec<SegmentPart>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let points = text.split(',').map(|point| Ratio::parse(point.trim())).collect::<Result<Vec<_>, _>>()?;
    if points.len() < 2 {
        let given = points.len();
        return Err(format!("at least 2 points are needed for an execution segment sequence, {given} given"));
    }
    points.windows(2).map(|pair| SegmentPart::new(pair[0], pair[1])).collect()
}

/// With what is missing at both ends.
fn filled(mut parts: Vec<SegmentPart>) -> Vec<SegmentPart> {
    if let Some(first) = parts.first().filter(|first| first.from != Ratio::ZERO) {
        parts.insert(0, SegmentPart { from: Ratio::ZERO, to: first.from });
    }
    if let Some(last) = parts.last().filter(|last| last.to != Ratio::ONE) {
        parts.push(SegmentPart { from: last.to, to: Ratio::ONE });
    }
    if parts.is_empty() { vec![SegmentPart::WHOLE] } else { parts }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segment(segment: &str, sequence: &str) -> Segment {
        Segment::parse(segment, sequence).unwrap().unwrap()
    }

    /// As k6's own tests have them for `0,1/4,1/2,1` and others.
    #[test]
    fn numbers_are_dealt_as_k6_deals_them() {
        let numbers = |own, sequence| segment(own, sequence).dealt.numbers;
        assert_eq!(numbers("0:1/3", ""), [1]);
        assert_eq!(numbers("0:1/3", "0,1/3,2/3,1"), [0]);
        assert_eq!(numbers("1/3:2/3", "0,1/3,2/3,1"), [1]);
        assert_eq!(numbers("2/3:1", "0,1/3,2/3,1"), [2]);
        assert_eq!(numbers("1/4:1", ""), [0, 2, 3]);
        assert_eq!(numbers("0:1/4", ""), [1]);
        assert_eq!(numbers("0:1/6", "0,1/6,1/2,1"), [5]);
        assert_eq!(numbers("1/6:1/2", "0,1/6,1/2,1"), [1, 3]);
        assert_eq!(numbers("1/2:1", "0,1/6,1/2,1"), [0, 2, 4]);
        assert_eq!(Segment::parse("", ""), Ok(None));
        assert_eq!(Segment::parse("0:1", "0,1"), Ok(None));
    }

    #[test]
    fn ratios_may_be_percentages_and_decimals() {
        for text in ["25%:50%", "0.25:0.5", "1/4:2/4"] {
            assert_eq!(segment(text, "0,25%,.5,1"), segment("1/4:1/2", "0,1/4,1/2,1"));
        }
        let fault = |own, sequence| Segment::parse(own, sequence).unwrap_err();
        assert_eq!(
            fault("x", ""),
            "`executionSegment`: 'x' is not a valid percentage, decimal, fraction or interval value"
        );
        assert_eq!(
            fault("1/2:1/3", ""),
            "`executionSegment`: segment start(1/2) must be less than its end(1/3)"
        );
        assert_eq!(fault("0:1/2", "0,1/3,1"), "couldn't find segment 0:1/2 in sequence 0,1/3,1");
        assert!(fault("0:1/2", "0").contains("at least 2 points"));
        assert!(fault("0:3/2", "").contains("not between 0 and 1"));
    }

    proptest! {
        #[test]
        fn all_instances_together_have_what_the_whole_has(
            mut bounds in prop::collection::btree_set(1_u64..24, 1..5), users in 0_u64..200, iterations in 0_u64..500
        ) {
            bounds.extend([0, 24]);
            let bounds: Vec<_> = bounds.into_iter().collect();
            let sequence = bounds.iter().map(|bound| format!("{bound}/24")).collect::<Vec<_>>().join(",");
            let all: Vec<_> = bounds
                .windows(2)
                .map(|pair| segment(&format!("{}/24:{}/24", pair[0], pair[1]), &sequence))
                .collect();
            prop_assert_eq!(all.iter().map(|segment| segment.scale(users)).sum::<u64>(), users);
            let shared: u64 = all.iter().map(|segment| segment.scale_shared(users, iterations)).sum();
            prop_assert_eq!(shared, if users == 0 { 0 } else { iterations });
            let mut dealt: Vec<_> = all.iter().flat_map(|segment| segment.dealt.numbers.clone()).collect();
            dealt.sort_unstable();
            prop_assert_eq!(dealt, (0..all[0].dealt.cycle).collect::<Vec<_>>());
        }
    }
}
