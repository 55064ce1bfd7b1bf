//! How latencies are spread: time by percentile on HdrHistogram's axis, and counts in ranges that grow by a factor.

use super::data::{HistogramData, SpectrumData};
use super::digits;
use prony_model::Nanos;
use prony_model::measurement::figures::Figures;
use prony_model::measurement::histogram::{Latencies, SAMPLES_BEYOND_MIN};
use prony_model::subscription::figures::Subscribers;

/// Points for each factor of ten of 1/(1 - quantile).
const POINTS_A_DECADE: i32 = 24;
/// Ranges of a histogram at most.
const RANGES_MAX: usize = 60;
/// A range is at least this much wider than the one before: the histogram's own resolution is a thousandth.
const FACTOR_MIN: f64 = 1.02;

pub(super) fn spectra(figures: &Figures) -> Vec<SpectrumData> {
    let histograms = &figures.histograms;
    let parts = [
        ("response time", "response", &histograms.response, figures.response_time.max_ns),
        (
            "service time",
            "service",
            &histograms.service,
            figures.service_time.as_ref().and_then(|times| times.max_ns),
        ),
    ];
    let drawn = parts.into_iter().filter_map(|(name, role, text, max)| {
        // A histogram that cannot be read is left out; the figures beside it stand on their own.
        let latencies = Latencies::from_base64(text).ok().filter(|latencies| !latencies.is_empty())?;
        Some(spectrum(name, role, &latencies, max))
    });
    drawn.collect()
}

/// Of each group of subscribers whose events are matched with mutations.
pub(super) fn fan_out_spectra(subscribers: &Subscribers) -> Vec<SpectrumData> {
    let drawn = subscribers.groups.iter().filter_map(|group| {
        let window = group.headline()?;
        let times = Latencies::from_base64(&window.histogram).ok().filter(|times| !times.is_empty())?;
        let name = format!("fan-out latency of {}", group.name);
        Some(spectrum(&name, "service", &times, window.fan_out_latency.max_ns))
    });
    drawn.collect()
}

fn spectrum(name: &str, role: &'static str, latencies: &Latencies, max: Option<Nanos>) -> SpectrumData {
    let samples = latencies.count();
    let highest = samples as f64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for step in 0.. {
        let inverse = 10_f64.powf(f64::from(step) / f64::from(POINTS_A_DECADE)).min(highest);
        let quantile = 1.0 - 1.0 / inverse;
        let found = if inverse >= highest { max } else { None };
        let value = found.or_else(|| latencies.percentile_of_few(quantile * 100.0));
        points.extend(value.map(|value| (digits(inverse, 6), digits(value.as_millis_f64(), 5))));
        if inverse >= highest {
            break;
        }
    }
    let known_to = (highest / SAMPLES_BEYOND_MIN).max(1.0);
    SpectrumData { name: name.to_owned(), role, samples, points, known_to }
}

pub(super) fn histograms(figures: &Figures) -> Vec<HistogramData> {
    let texts = &figures.histograms;
    let parts = [
        ("response time of successes", "response", &texts.response),
        ("service time of successes", "service", &texts.service),
        ("time to the first byte", "first_byte", &texts.first_byte),
        ("time to a failure", "failure", &texts.errors),
        ("time to a timeout", "timeout", &texts.timeouts),
    ];
    let drawn = parts.into_iter().filter_map(|(name, role, text)| {
        let latencies = Latencies::from_base64(text).ok().filter(|latencies| !latencies.is_empty())?;
        histogram(name, role, &latencies)
    });
    drawn.collect()
}

/// Of all samples with one label, successes and failures together.
pub(super) fn spectrum_of_all(label: &str, times: &Latencies) -> Option<SpectrumData> {
    (!times.is_empty()).then(|| spectrum(label, "response", times, times.max()))
}

pub(super) fn histogram(name: &str, role: &'static str, latencies: &Latencies) -> Option<HistogramData> {
    let Ranges { bounds_ns, counts } = ranges(latencies, RANGES_MAX)?;
    let bounds_ms = bounds_ns.iter().map(|bound| digits(bound / 1e6, 5)).collect();
    Some(HistogramData { name: name.to_owned(), role, samples: latencies.count(), bounds_ms, counts })
}

/// Counts in ranges that grow by the same factor.
pub(crate) struct Ranges {
    /// One more than there are counts.
    pub(crate) bounds_ns: Vec<f64>,
    pub(crate) counts: Vec<u64>,
}

/// So many ranges at most; nothing without samples.
pub(crate) fn ranges(latencies: &Latencies, ranges_max: usize) -> Option<Ranges> {
    let low = (latencies.min()?.0 as f64).max(1_000.0);
    let high = (latencies.max()?.0 as f64 * 1.001).max(low * FACTOR_MIN);
    let ranges = (((high / low).ln() / FACTOR_MIN.ln()).ceil() as usize).clamp(1, ranges_max);
    let factor = (high / low).powf(1.0 / ranges as f64);
    let bounds_ns: Vec<f64> = (0..=ranges).map(|index| low * factor.powf(index as f64)).collect();
    let mut below = 0;
    let counts = bounds_ns.iter().skip(1).enumerate().map(|(index, bound)| {
        let bound = if index + 1 == ranges { Nanos::MAX } else { Nanos(*bound as u64) };
        let up_to = latencies.count_up_to(bound);
        let count = up_to.saturating_sub(below);
        below = up_to.max(below);
        count
    });
    let counts = counts.collect();
    Some(Ranges { bounds_ns, counts })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        // Each looks through a whole histogram some hundred times.
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn no_sample_is_lost_and_the_spectrum_rises(times in prop::collection::vec(0_u64..1 << 42, 1..300)) {
            let mut latencies = Latencies::default();
            for time in &times {
                latencies.record(Nanos(*time));
            }
            let histogram = histogram("h", "response", &latencies).unwrap();
            prop_assert_eq!(histogram.counts.iter().sum::<u64>(), times.len() as u64);
            prop_assert_eq!(histogram.bounds_ms.len(), histogram.counts.len() + 1);
            let spectrum = spectrum("s", "response", &latencies, latencies.max());
            prop_assert!(spectrum.points.is_sorted_by(|left, right| left.0 <= right.0 && left.1 <= right.1));
            let last = spectrum.points.last().unwrap();
            let highest = digits(latencies.max().unwrap().as_millis_f64(), 5);
            prop_assert_eq!(last.1.to_bits(), highest.to_bits());
        }
    }
}
