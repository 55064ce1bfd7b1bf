//! Latency histograms: 1 µs to 1 h at three significant digits, with exact extremes and sum beside them.

use crate::units::Nanos;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize, Serializer};

const HIGHEST_US: u64 = 3_600_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;
/// A percentile is shown only where at least this many samples lie beyond it: with fewer it is luck.
pub const SAMPLES_BEYOND_MIN: f64 = 5.0;
/// Of buckets in a snapshot: up to so many bytes stay as they are, for which no compressor has to be made. A second of a few thousand
/// requests is below it.
const PLAIN_BYTES_MAX: usize = 4 << 10;

/// Times of one kind. Takes no memory for buckets until the first is recorded, and never more than 200 kB.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "Whole")]
pub struct Latencies {
    buckets: Option<Box<Histogram<u64>>>,
    min: Nanos,
    max: Nanos,
    sum_ns: u128,
}

impl Latencies {
    pub fn record(&mut self, time: Nanos) {
        let first = self.is_empty();
        self.min = if first { time } else { self.min.min(time) };
        self.max = self.max.max(time);
        self.sum_ns += u128::from(time.0);
        let value_us = (time.0.saturating_add(500) / 1_000).clamp(1, HIGHEST_US);
        let buckets = self.buckets.get_or_insert_with(|| Box::new(new_buckets()));
        buckets.record(value_us).expect("the histogram grows to any value up to its clamp");
    }

    pub fn merge(&mut self, other: &Self) {
        let Self { buckets: Some(others), min, max, sum_ns } = other else { return };
        self.min = if self.is_empty() { *min } else { self.min.min(*min) };
        self.max = self.max.max(*max);
        self.sum_ns += sum_ns;
        // Also into one that is empty: a copy would have the range of the other, which is written with the counts.
        let buckets = self.buckets.get_or_insert_with(|| Box::new(new_buckets()));
        buckets.add(&**others).expect("the histogram grows to any value up to its clamp");
    }

    pub fn count(&self) -> u64 {
        self.buckets.as_ref().map_or(0, |buckets| buckets.len())
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_none()
    }

    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.min)
    }

    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then_some(self.max)
    }

    pub fn mean(&self) -> Option<Nanos> {
        let count = u128::from(self.count());
        (count > 0).then(|| Nanos((self.sum_ns / count) as u64))
    }

    /// The time that `percentile` per cent did not exceed; nothing where too few samples lie beyond it.
    /// The hundredth is the maximum and needs one sample.
    pub fn percentile(&self, percentile: f64) -> Option<Nanos> {
        if percentile >= 100.0 {
            return self.max();
        }
        let beyond = self.count() as f64 * (100.0 - percentile) / 100.0;
        // The product of a count and a decimal fraction may fall short of a whole number by a rounding.
        (beyond + 1e-9 >= SAMPLES_BEYOND_MIN).then(|| self.percentile_of_few(percentile)).flatten()
    }

    /// As [`Self::percentile`], however few samples there are.
    pub fn percentile_of_few(&self, percentile: f64) -> Option<Nanos> {
        if percentile <= 0.0 { self.min() } else { self.at_rank(rank_at(percentile, self.count())) }
    }

    /// The `rank`th of the times that were recorded, from 1, to the histogram's resolution.
    pub fn at_rank(&self, rank: u64) -> Option<Nanos> {
        let buckets = self.buckets.as_ref()?;
        // Half a place below the rank's share, so that no rounding reaches the next one.
        let share = (rank.clamp(1, self.count()) as f64 - 0.5) / self.count() as f64;
        let value = Nanos::from_micros(buckets.value_at_quantile(share));
        Some(value.clamp(self.min, self.max))
    }

    /// How many were at or below a time, to the histogram's resolution.
    pub fn count_up_to(&self, time: Nanos) -> u64 {
        self.buckets.as_ref().map_or(0, |buckets| buckets.count_between(0, time.as_micros().max(1)))
    }

    /// Each value that was recorded, to the histogram's resolution, with how often; rising.
    pub fn recorded(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        let buckets = self.buckets.iter();
        buckets.flat_map(|buckets| {
            buckets.iter_recorded().map(|step| {
                let middle = buckets.median_equivalent(step.value_iterated_to());
                (Nanos::from_micros(middle), step.count_at_value())
            })
        })
    }

    /// Rows of a percentile spectrum, denser towards 100 %: `ticks` each time the distance to it halves.
    pub fn spectrum(&self, ticks: u32) -> Vec<SpectrumRow> {
        let Some(buckets) = &self.buckets else { return Vec::new() };
        let (total, mut count_up_to) = (buckets.len(), 0);
        let mut level = SpectrumLevel::first(ticks);
        let mut rows = Vec::new();
        for step in buckets.iter_recorded() {
            count_up_to += step.count_at_value();
            let value = Nanos::from_micros(step.value_iterated_to());
            while level.is_reached(total - count_up_to, total) {
                rows.push(SpectrumRow { value, quantile: level.quantile(), count_up_to });
                level = level.following();
                if count_up_to == total {
                    rows.push(SpectrumRow { value, quantile: 1.0, count_up_to });
                    return rows;
                }
            }
        }
        rows
    }

    /// `HdrHistogram`'s V2 compressed form in base64, values in microseconds; empty without samples.
    pub fn to_base64(&self) -> String {
        let Some(buckets) = &self.buckets else { return String::new() };
        let mut bytes = Vec::new();
        let written = V2DeflateSerializer::new().serialize(buckets, &mut bytes);
        written.expect("counts fit their encoding and memory can be written");
        STANDARD.encode(bytes)
    }

    /// Reads back [`Self::to_base64`]; extremes and sum are then those of the buckets.
    pub fn from_base64(text: &str) -> Result<Self, HistogramError> {
        let Some(buckets) = buckets_of(text)? else { return Ok(Self::default()) };
        Ok(Self {
            min: Nanos::from_micros(buckets.min()),
            max: Nanos::from_micros(buckets.max()),
            sum_ns: (buckets.mean() * buckets.len() as f64 * 1e3) as u128,
            buckets: Some(buckets),
        })
    }
}

/// Nothing where the text is empty, or where another program has written buckets without a count.
fn buckets_of(text: &str) -> Result<Option<Box<Histogram<u64>>>, HistogramError> {
    if text.is_empty() {
        return Ok(None);
    }
    let bytes = STANDARD.decode(text).map_err(|error| HistogramError(error.to_string()))?;
    let mut buckets: Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(|error| HistogramError(error.to_string()))?;
    // As one that was not written: longer times may be added.
    buckets.auto(true);
    Ok((!buckets.is_empty()).then(|| Box::new(buckets)))
}

impl Latencies {
    /// As [`Self::to_base64`], and without compression where there is little to compress; both are read.
    fn to_base64_quickly(&self) -> String {
        let Some(buckets) = &self.buckets else { return String::new() };
        let mut bytes = Vec::new();
        let written = V2Serializer::new().serialize(buckets, &mut bytes);
        written.expect("counts fit their encoding and memory can be written");
        if bytes.len() <= PLAIN_BYTES_MAX { STANDARD.encode(bytes) } else { self.to_base64() }
    }
}

impl Serialize for Latencies {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { min, max, sum_ns, .. } = self;
        let (buckets, sum_ns) = (self.to_base64_quickly(), sum_ns.to_string());
        Whole { buckets, min_ns: *min, max_ns: *max, sum_ns }.serialize(to)
    }
}

/// Latencies as snapshots carry them: the buckets as [`Latencies::to_base64_quickly`] writes them, and what they do not keep.
#[derive(Serialize, Deserialize)]
struct Whole {
    buckets: String,
    min_ns: Nanos,
    max_ns: Nanos,
    /// In decimal digits: the sum of a long run has more of them than numbers in JSON keep.
    sum_ns: String,
}

impl TryFrom<Whole> for Latencies {
    type Error = HistogramError;

    fn try_from(whole: Whole) -> Result<Self, HistogramError> {
        let sum_ns = whole.sum_ns.parse().map_err(|_| HistogramError(format!("sum `{}`", whole.sum_ns)))?;
        let buckets = buckets_of(&whole.buckets)?;
        if buckets.is_none() {
            return Ok(Self::default());
        }
        // They are exact; to find them in the buckets would take longer than all else.
        Ok(Self { buckets, min: whole.min_ns, max: whole.max_ns, sum_ns })
    }
}

/// One row of a percentile spectrum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumRow {
    pub value: Nanos,
    /// From 0 to 1; the last row is at 1.
    pub quantile: f64,
    /// How many were at or below the value.
    pub count_up_to: u64,
}

/// A share of all samples at which a spectrum has a row: the distance to 100 % halves `halvings` times, and then `tick` of `ticks`
/// steps lead to the next half. In whole numbers: sums of fractions drift past shares that are reached exactly.
#[derive(Debug, Clone, Copy)]
struct SpectrumLevel {
    ticks: u32,
    tick: u32,
    halvings: u32,
}

impl SpectrumLevel {
    fn first(ticks: u32) -> Self {
        Self { ticks, tick: 0, halvings: 0 }
    }

    fn following(self) -> Self {
        let tick = self.tick + 1;
        if tick < self.ticks {
            Self { tick, ..self }
        } else {
            Self { tick: 0, halvings: self.halvings + 1, ..self }
        }
    }

    /// The distance to 100 %, in parts of [`Self::whole`].
    fn distance(self) -> u128 {
        u128::from(2 * self.ticks - self.tick)
    }

    fn whole(self) -> u128 {
        u128::from(self.ticks) << (self.halvings + 1)
    }

    /// Whether no more than `beyond` of `total` lie beyond it. A level is asked for after the one before it was reached, so that
    /// `beyond` is small where `whole` is large.
    fn is_reached(self, beyond: u64, total: u64) -> bool {
        u128::from(beyond) * self.whole() <= self.distance() * u128::from(total)
    }

    fn quantile(self) -> f64 {
        (self.whole() - self.distance()) as f64 / self.whole() as f64
    }
}

/// The rank, from 1, of the value that `percentile` per cent of `count` values did not exceed. What lies above a whole number by no
/// more than a rounding is that number: 99.9 % of 1,000 are 999, where the product of floats says a little more.
pub(crate) fn rank_at(percentile: f64, count: u64) -> u64 {
    let product = percentile / 100.0 * count as f64;
    let rank = (product - product * 4.0 * f64::EPSILON).ceil() as u64;
    rank.clamp(1, count.max(1))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a compressed HdrHistogram: {0}")]
pub struct HistogramError(String);

fn new_buckets() -> Histogram<u64> {
    Histogram::new(SIGNIFICANT_DIGITS).expect("three digits are allowed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_that_was_read_takes_longer_times() {
        let of = |time| {
            let mut latencies = Latencies::default();
            latencies.record(time);
            latencies
        };
        let (short, long) = (of(Nanos::from_micros(3)), of(Nanos::from_secs(40)));
        let mut read: Latencies = serde_json::from_str(&serde_json::to_string(&short).unwrap()).unwrap();
        read.merge(&long);
        let mut both = short;
        both.merge(&long);
        assert_eq!((read.max(), &read), (Some(Nanos::from_secs(40)), &both));
        read.record(Nanos::from_secs(3_000));
        assert_eq!(read.count(), 3);
    }

    fn of(times: &[u64]) -> Latencies {
        let mut latencies = Latencies::default();
        for time in times {
            latencies.record(Nanos(*time));
        }
        latencies
    }

    #[test]
    fn percentiles_need_samples_beyond_them() {
        let hundred: Vec<_> = (1..=100).map(|ms| ms * 1_000_000).collect();
        let latencies = of(&hundred);
        assert_eq!(latencies.percentile(95.0).map(|p| p.0 / 1_000_000), Some(95));
        assert_eq!(latencies.percentile(95.1), None);
        assert_eq!(latencies.percentile(100.0), Some(Nanos::from_millis(100)));
        assert_eq!(of(&[]).percentile(100.0), None);
    }

    /// A thousand is where 0.999 times the count is a little more than 999 in floats.
    #[test]
    fn percentiles_of_round_counts_are_no_rank_too_high() {
        let times: Vec<_> = (1..=1_000).map(Nanos::from_micros).map(|time| time.0).collect();
        let latencies = of(&times);
        for (percentile, micros) in [(50.0, 500), (75.0, 750), (95.0, 950), (99.0, 990), (99.9, 999)] {
            assert_eq!(latencies.percentile_of_few(percentile), Some(Nanos::from_micros(micros)));
        }
        assert_eq!(latencies.percentile_of_few(0.0), Some(Nanos::from_micros(1)));
    }

    #[test]
    fn a_spectrum_has_the_lowest_value_that_reaches_each_share() {
        let times: Vec<_> = (1..=300).map(Nanos::from_micros).map(|time| time.0).collect();
        for row in of(&times).spectrum(5) {
            let rank = (row.quantile * 300.0 - 1e-6).ceil().max(1.0) as u64;
            assert_eq!((row.value, row.count_up_to), (Nanos::from_micros(rank), rank), "{}", row.quantile);
        }
        let alike = of(&[5_000; 7]).spectrum(5);
        let quantiles: Vec<_> = alike.iter().map(|row| (row.quantile, row.count_up_to)).collect();
        assert_eq!(quantiles, [(0.0, 7), (1.0, 7)]);
    }

    #[test]
    fn buckets_without_a_count_are_none() {
        let empty = Latencies { buckets: Some(Box::new(new_buckets())), ..Latencies::default() };
        let again = Latencies::from_base64(&empty.to_base64()).unwrap();
        assert!(again.is_empty() && again.percentile_of_few(50.0).is_none());
    }

    #[test]
    fn extremes_are_exact_and_beyond_an_hour_too() {
        let latencies = of(&[123, 7_200_000_000_000]);
        assert_eq!((latencies.min(), latencies.max()), (Some(Nanos(123)), Some(Nanos(7_200_000_000_000))));
    }

    proptest! {
        #[test]
        fn percentiles_equal_those_of_the_sorted_list(
            mut times in prop::collection::vec(1_000_u64..10_000_000_000, 1..400), percentile in 1.0_f64..99.9
        ) {
            let latencies = of(&times);
            times.sort_unstable();
            let rank = ((percentile / 100.0 * times.len() as f64).ceil() as usize).max(1);
            let expected = times[rank - 1] as f64;
            let found = latencies.percentile_of_few(percentile).unwrap().0 as f64;
            prop_assert!((found - expected).abs() <= expected * 0.001 + 1_000.0, "{} {}", found, expected);
        }

        #[test]
        fn merging_equals_recording_all(left in prop::collection::vec(0_u64..1 << 45, 0..50), right in prop::collection::vec(0_u64..1 << 45, 0..50)) {
            let mut merged = of(&left);
            merged.merge(&of(&right));
            let all = of(&[left, right].concat());
            for percentile in [1.0, 50.0, 90.0, 99.0] {
                prop_assert_eq!(merged.percentile_of_few(percentile), all.percentile_of_few(percentile));
            }
            prop_assert_eq!(merged.count(), all.count());
            prop_assert_eq!((merged.min(), merged.max(), merged.mean()), (all.min(), all.max(), all.mean()));
        }

        #[test]
        fn the_whole_form_keeps_extremes_and_sum_exactly(times in prop::collection::vec(0_u64..1 << 45, 0..50)) {
            let latencies = of(&times);
            let text = serde_json::to_string(&latencies).unwrap();
            let again: Latencies = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(&again, &latencies);
            prop_assert_eq!(again.mean(), latencies.mean());
        }

        /// Also those that were written by earlier builds, which compressed all of them.
        #[test]
        fn the_whole_form_is_read_with_and_without_compression(
            times in prop::collection::vec(0_u64..1 << 45, 1..50), spread in prop::sample::select(vec![1_u64, 1 << 20])
        ) {
            let mut latencies = of(&times);
            // So many different times that they are compressed.
            (0..9_000_u64).for_each(|time| latencies.record(Nanos(time * spread)));
            let read = |buckets: String| {
                let (min_ns, max_ns, sum_ns) = (latencies.min, latencies.max, latencies.sum_ns.to_string());
                Latencies::try_from(Whole { buckets, min_ns, max_ns, sum_ns }).unwrap()
            };
            let written = latencies.to_base64_quickly();
            prop_assert_eq!(written == latencies.to_base64(), spread > 1, "{} bytes", written.len());
            prop_assert_eq!(&read(written), &latencies);
            prop_assert_eq!(&read(latencies.to_base64()), &latencies);
        }

        #[test]
        fn the_compressed_form_reads_back(times in prop::collection::vec(0_u64..1 << 45, 0..50)) {
            let latencies = of(&times);
            let again = Latencies::from_base64(&latencies.to_base64()).unwrap();
            prop_assert_eq!(again.to_base64(), latencies.to_base64());
            prop_assert_eq!(again.count(), times.len() as u64);
        }
    }
}
