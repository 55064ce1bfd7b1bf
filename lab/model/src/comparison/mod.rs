//! Whether B differs from A, from runs of both in the order A B B A A B B A …, for throughput and each percentile.
//!
//! The unit of evidence is the run, never the request: requests of one run share its luck (memory layout, placement,
//! neighbours), so a million of them say no more about the next run than one run does.
//!
//! The method: runs that stand next to each other are a pair; a pair gives the logarithm of B over A. The mean of
//! these is exact under a drift in a straight line (every other pair has B first), and the interval is Student's, which
//! is right for few runs where a percentile bootstrap is far too narrow (T. C. Hesterberg, What Teachers Should Know
//! About the Bootstrap, 2015, section 4). As several figures are compared at once, each interval has the confidence
//! that makes all of them hold together in 95 of 100 comparisons (O. J. Dunn, Multiple Comparisons Among Means, 1961).

mod fail_if;
mod file;
mod student;

pub use fail_if::{FailIf, FailIfError, FailVerdict, Failure};
pub use file::{ComparedRun, ComparisonFile, SCHEMA, SCHEMA_VERSION, Side, Subject};

use crate::measurement::figures::Figures;
use crate::result::ResultFile;
use crate::units::Nanos;
use crate::verdict::threshold::Metric;
use serde::{Deserialize, Serialize};

/// How often all intervals of a comparison hold, in the long run.
pub const CONFIDENCE: f64 = 0.95;
/// With fewer pairs an interval would be wider than anything it could show.
pub const PAIRS_MIN: usize = 3;
/// What histograms resolve: recorded to the nearest microsecond, in buckets of a thousandth.
const RESOLUTION_NS: f64 = 500.0;
const RESOLUTION_SHARE: f64 = 0.001;
/// Figures that every comparison looks at, as far as all runs have samples enough.
const METRICS: [Metric; 12] = [
    Metric::Rate,
    Metric::Errors,
    Metric::Mean,
    Metric::Percentile(50.0),
    Metric::Percentile(75.0),
    Metric::Percentile(90.0),
    Metric::Percentile(95.0),
    Metric::Percentile(99.0),
    Metric::Percentile(99.9),
    Metric::Percentile(99.99),
    Metric::Percentile(99.999),
    Metric::Percentile(100.0),
];

/// One run of each, next to each other in time.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    pub a: &'a Figures,
    pub b: &'a Figures,
    /// How much of a difference in throughput the windows' ends may be, as a share.
    pub ends_share: f64,
}

impl<'a> Pair<'a> {
    /// Of loads that ask as fast as they are answered.
    pub const fn new(a: &'a Figures, b: &'a Figures) -> Self {
        Self { a, b, ends_share: 0.0 }
    }

    /// Of the windows that count.
    pub fn of_results(a: &'a ResultFile, b: &'a ResultFile) -> Self {
        let share = |result: &ResultFile| {
            let headline = result.headline();
            if result.plan.is_open() { ends_share(&headline.all, headline.window.length()) } else { 0.0 }
        };
        Self { ends_share: share(a) + share(b), ..Self::new(&a.headline().all, &b.headline().all) }
    }
}

/// Of an open load, the share of a window's requests that are under way at its end: how long one takes from when it is sent, over the
/// window's length. They are successes that no second of the window counts, and more of them say nothing of the throughput. Starts that
/// wait to be sent are not among them: they wait because the target carries fewer.
fn ends_share(figures: &Figures, length: Nanos) -> f64 {
    if length == Nanos::ZERO {
        return 0.0;
    }
    let times = figures.service_time.as_ref().unwrap_or(&figures.response_time);
    times.mean_ns.unwrap_or_default().as_secs_f64() / length.as_secs_f64()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    pub pairs: usize,
    /// Of all intervals together.
    pub confidence: f64,
    pub figures: Vec<Compared>,
}

/// One figure of A and B.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// `throughput`, `errors`, `mean` or `p99`.
    pub name: String,
    pub unit: ComparedUnit,
    pub scale: Scale,
    /// Means over the runs; geometric ones of ratios, so that `change` is `b / a`.
    pub a: f64,
    pub b: f64,
    /// B over A, or B less A, as `scale` says.
    pub change: f64,
    /// `None` with fewer than [`PAIRS_MIN`] pairs.
    pub interval: Option<(f64, f64)>,
    pub difference: Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparedUnit {
    PerSecond,
    Nanoseconds,
    /// From 0 to 1.
    Share,
}

/// How B is held against A.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// B over A; 1 is no difference.
    Ratio,
    /// B less A, for shares, which are often 0; 0 is no difference.
    Difference,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// The interval holds no difference, or there are too few runs for one.
    NotShown,
    Better,
    Worse,
}

impl Comparison {
    /// Of the usual figures and `further` ones, as far as all runs have them.
    pub fn of(pairs: &[Pair<'_>], further: &[Metric]) -> Self {
        let mut metrics = METRICS.to_vec();
        for metric in further {
            if !metrics.contains(metric) {
                metrics.push(*metric);
            }
        }
        let samples: Vec<Samples> = metrics.iter().filter_map(|metric| Samples::of(*metric, pairs)).collect();
        let alpha = (1.0 - CONFIDENCE) / samples.len().max(1) as f64;
        let figures = samples.iter().map(|samples| samples.compare(alpha)).collect();
        Self { pairs: pairs.len(), confidence: CONFIDENCE, figures }
    }

    pub fn figure(&self, metric: Metric) -> Option<&Compared> {
        let name = name(metric);
        self.figures.iter().find(|figure| figure.name == name)
    }

    pub fn shows_difference(&self) -> bool {
        self.figures.iter().any(|figure| figure.difference != Difference::NotShown)
    }
}

/// As in results and in `--fail-if`.
pub fn name(metric: Metric) -> String {
    match metric {
        Metric::Rate => "throughput".to_owned(),
        Metric::Percentile(percentile) => format!("p{percentile}"),
        metric => format!("{metric:?}").to_lowercase(),
    }
}

/// The metric that [`name`] names; none for what is not compared by default.
pub fn metric(wanted: &str) -> Option<Metric> {
    METRICS.into_iter().find(|metric| name(*metric) == wanted).or_else(|| fail_if::parse_metric(wanted))
}

/// A metric's values in all pairs.
struct Samples {
    metric: Metric,
    values: Vec<(f64, f64)>,
    /// The largest of the pairs.
    ends_share: f64,
}

impl Samples {
    /// `None` where some run has too few samples for it.
    fn of(metric: Metric, pairs: &[Pair<'_>]) -> Option<Self> {
        let value = |pair: &Pair<'_>| Some((pair.a.metric(metric)?, pair.b.metric(metric)?));
        let values = pairs.iter().map(value).collect::<Option<Vec<_>>>()?;
        let is_usable =
            scale(metric) == Scale::Difference || values.iter().all(|(a, b)| *a > 0.0 && *b > 0.0);
        let ends_share = pairs.iter().map(|pair| pair.ends_share).fold(0.0, f64::max);
        (is_usable && !values.is_empty()).then_some(Self { metric, values, ends_share })
    }

    fn compare(&self, alpha: f64) -> Compared {
        let scale = scale(self.metric);
        let bend: fn(f64) -> f64 = if scale == Scale::Ratio { f64::ln } else { |value| value };
        let unbend: fn(f64) -> f64 = if scale == Scale::Ratio { f64::exp } else { |value| value };
        let side = |pick: fn(&(f64, f64)) -> f64| unbend(mean(self.values.iter().map(|v| bend(pick(v)))));
        let (a, b) = (side(|value| value.0), side(|value| value.1));
        let changes: Vec<f64> = self.values.iter().map(|(a, b)| bend(*b) - bend(*a)).collect();
        let middle = mean(changes.iter().copied());
        let margin = margin(&changes, alpha).map(|margin| margin + self.resolution(a, b));
        let bounds = margin.map(|margin| (middle - margin, middle + margin));
        Compared {
            name: name(self.metric),
            unit: unit(self.metric),
            scale,
            a,
            b,
            change: unbend(middle),
            interval: bounds.map(|(low, high)| (unbend(low), unbend(high))),
            difference: difference(self.metric, bounds),
        }
    }

    /// Steps of the histogram are no difference, however often they repeat, nor is what is under way as a window ends.
    fn resolution(&self, a: f64, b: f64) -> f64 {
        if self.metric == Metric::Rate {
            return self.ends_share.ln_1p();
        }
        if unit(self.metric) != ComparedUnit::Nanoseconds {
            return 0.0;
        }
        (RESOLUTION_NS / a + RESOLUTION_NS / b + 2.0 * RESOLUTION_SHARE).ln_1p()
    }
}

/// Half the width of Student's interval of a mean.
fn margin(values: &[f64], alpha: f64) -> Option<f64> {
    if values.len() < PAIRS_MIN {
        return None;
    }
    let (count, middle) = (values.len() as f64, mean(values.iter().copied()));
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let error_of_mean = (squares / (count - 1.0) / count).sqrt();
    Some(student::critical(alpha, values.len() - 1) * error_of_mean)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn difference(metric: Metric, bounds: Option<(f64, f64)>) -> Difference {
    let more_is_better = matches!(metric, Metric::Rate | Metric::Checks | Metric::Requests);
    match bounds {
        Some((low, _)) if low > 0.0 => {
            if more_is_better {
                Difference::Better
            } else {
                Difference::Worse
            }
        }
        Some((_, high)) if high < 0.0 => {
            if more_is_better {
                Difference::Worse
            } else {
                Difference::Better
            }
        }
        _ => Difference::NotShown,
    }
}

fn scale(metric: Metric) -> Scale {
    if unit(metric) == ComparedUnit::Share { Scale::Difference } else { Scale::Ratio }
}

fn unit(metric: Metric) -> ComparedUnit {
    match metric {
        Metric::Percentile(_) | Metric::Min | Metric::Mean | Metric::Max | Metric::FanOut(_) => {
            ComparedUnit::Nanoseconds
        }
        Metric::Errors | Metric::Checks | Metric::RateReached => ComparedUnit::Share,
        Metric::Rate
        | Metric::Requests
        | Metric::Events
        | Metric::Missed
        | Metric::Duplicated
        | Metric::OutOfOrder
        | Metric::Refused
        | Metric::Lost => ComparedUnit::PerSecond,
    }
}

#[cfg(test)]
mod tests;
