//! Watches an endpoint with metrics in Prometheus' text format: counters as rates, gauges as they are, histograms and
//! summaries as rate and mean. Which selection and URL are asked for is read in `spec`.

mod client;
mod text;

use crate::book::Notes;
use crate::clock::RunClock;
use crate::counters::{Added, Counters};
use crate::error::Problem;
use crate::observer::Observer;
use crate::secret::without_password;
use client::Client;
use prony_model::Nanos;
use prony_model::measurement::observation::ObservedUnit::{
    self, Bytes, BytesPerSecond, Count, Nanoseconds, PerSecond, Processors, Share,
};
use std::collections::{BTreeMap, BTreeSet};
use text::{Exposition, Kind};

/// Series of one endpoint; more are read by nobody, and each takes memory for the whole run.
const SERIES_MAX: usize = 200;

#[derive(Debug)]
pub(crate) struct PrometheusObserver {
    name: String,
    client: Client,
    /// Names of metrics or of their families; all where it is empty.
    selected: Vec<String>,
    counters: Counters,
    /// Those that have been noted.
    series: BTreeSet<String>,
}

/// What one answer holds, by the series' names.
#[derive(Debug, Default, PartialEq)]
struct ScrapeReading {
    levels: BTreeMap<String, (ObservedUnit, f64)>,
    rates: BTreeMap<String, (ObservedUnit, f64)>,
    /// Sum and count of histograms and summaries.
    means: BTreeMap<String, Mean>,
}

#[derive(Debug, Default, PartialEq)]
struct Mean {
    unit: Option<ObservedUnit>,
    sum: f64,
    count: f64,
}

impl PrometheusObserver {
    pub(crate) fn of(url: &str, selected: Vec<String>) -> Result<Self, Problem> {
        let shown = without_password(url);
        let client = Client::new(url).map_err(Problem::NoMetrics)?;
        let text = client.get().map_err(|cause| Problem::NoMetrics(format!("{shown}: {cause}")))?;
        let exposition = Exposition::parse(&text);
        if exposition.samples.is_empty() {
            return Err(Problem::NoMetrics(format!(
                "{shown}: the answer holds no metric in Prometheus' text format"
            )));
        }
        let is_there =
            |name: &String| exposition.samples.iter().any(|sample| is_of(&exposition, sample.name, name));
        if !selected.is_empty() && !selected.iter().any(is_there) {
            return Err(Problem::NoSuchMetric(selected.join(", ")));
        }
        let name = format!("metrics {shown}");
        Ok(Self { name, client, selected, counters: Counters::default(), series: BTreeSet::new() })
    }

    fn note(&mut self, reading: &ScrapeReading, added: Option<&Added>, at: Nanos, notes: &mut Notes) {
        let Some(added) = added else { return };
        let mut points = Vec::new();
        for (series, (unit, value)) in &reading.levels {
            points.push((series.clone(), *unit, *value));
        }
        for (series, (unit, _)) in &reading.rates {
            points.extend(added.rate(series).map(|rate| (format!("{series} a second"), *unit, rate)));
        }
        for (series, mean) in &reading.means {
            let (sum, count) = (added.count(&sum_key(series)), added.count(&count_key(series)));
            let rate = count.map(|count| count / added.seconds);
            points.extend(rate.map(|rate| (format!("{series} a second"), PerSecond, rate)));
            if let (Some(sum), Some(count)) = (sum, count.filter(|count| *count > 0.0)) {
                let (unit, factor) = scale(mean.unit.unwrap_or(Count));
                points.push((format!("{series} mean"), unit, sum / count * factor));
            }
        }
        for (series, unit, value) in points {
            if !self.series.contains(&series) {
                if self.series.len() >= SERIES_MAX {
                    let text = format!(
                        "it has more than {SERIES_MAX} series; further ones are left out, select with #METRIC,METRIC"
                    );
                    notes.fault(&self.name, at, text);
                    continue;
                }
                self.series.insert(series.clone());
            }
            notes.sample(&self.name, series, unit, at, value);
        }
    }
}

impl Observer for PrometheusObserver {
    fn look(&mut self, clock: &RunClock, notes: &mut Notes) {
        let text = match self.client.get() {
            Ok(text) => text,
            Err(cause) => return notes.fault(&self.name, clock.now(), cause),
        };
        // After the answer: what it holds was counted until shortly before.
        let at = clock.now();
        let exposition = Exposition::parse(&text);
        if let Some((_, first)) = exposition.unread {
            let first: String = first.chars().take(80).collect();
            notes.fault(&self.name, at, format!("not a line of Prometheus' text format: `{first}`"));
        }
        let reading = ScrapeReading::of(&exposition, &self.selected);
        let added = self.counters.look(at, reading.counters());
        self.note(&reading, added.as_ref(), at, notes);
    }
}

fn is_of(exposition: &Exposition<'_>, sample: &str, selected: &str) -> bool {
    sample == selected || exposition.family_of(sample).0 == selected
}

impl ScrapeReading {
    fn of(exposition: &Exposition<'_>, selected: &[String]) -> Self {
        let mut reading = Self::default();
        for sample in &exposition.samples {
            let is_wanted = |name: &String| is_of(exposition, sample.name, name);
            if !selected.is_empty() && !selected.iter().any(is_wanted) {
                continue;
            }
            let (family, kind) = exposition.family_of(sample.name);
            let (series, family_series) = (series(sample.name, sample.labels), series(family, sample.labels));
            match kind {
                Some(Kind::Histogram | Kind::Summary) => {
                    let mean = |reading: &mut Self, set: fn(&mut Mean, f64)| {
                        let mean = reading.means.entry(family_series).or_default();
                        mean.unit = Some(unit_of_level(family));
                        set(mean, sample.value);
                    };
                    // Buckets and quantiles are left out: rate and mean tell when something changed.
                    match sample.name.strip_prefix(family) {
                        Some("_sum") => mean(&mut reading, |mean, value| mean.sum = value),
                        Some("_count") => mean(&mut reading, |mean, value| mean.count = value),
                        _ => {}
                    }
                }
                Some(Kind::Counter) if sample.name.ends_with("_created") => {}
                Some(Kind::Counter) => {
                    reading.rates.insert(series, (unit_of_rate(sample.name), sample.value));
                }
                Some(Kind::Gauge) | None => {
                    let (unit, factor) = scale(unit_of_level(sample.name));
                    reading.levels.insert(series, (unit, sample.value * factor));
                }
            }
        }
        reading
    }

    fn counters(&self) -> BTreeMap<String, f64> {
        let rates = self.rates.iter().map(|(series, (_, value))| (series.clone(), *value));
        let means = self.means.iter();
        let means =
            means.flat_map(|(series, mean)| [(sum_key(series), mean.sum), (count_key(series), mean.count)]);
        rates.chain(means).collect()
    }
}

fn sum_key(series: &str) -> String {
    format!("{series} sum")
}

fn count_key(series: &str) -> String {
    format!("{series} count")
}

fn series(name: &str, labels: &str) -> String {
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{labels}}}") }
}

/// Names of metrics end in their unit, by Prometheus' own rules.
fn unit_of_level(name: &str) -> ObservedUnit {
    // A moment since 1970 is no length of time.
    let is_moment = name.ends_with("time_seconds") || name.ends_with("timestamp_seconds");
    match name {
        _ if name.ends_with("_bytes") => Bytes,
        _ if name.ends_with("_ratio") => Share,
        _ if name.ends_with("_seconds") && !is_moment => Nanoseconds,
        _ => Count,
    }
}

fn unit_of_rate(name: &str) -> ObservedUnit {
    match name.strip_suffix("_total").unwrap_or(name) {
        name if name.ends_with("_bytes") => BytesPerSecond,
        name if name.ends_with("cpu_seconds") => Processors,
        _ => PerSecond,
    }
}

fn scale(unit: ObservedUnit) -> (ObservedUnit, f64) {
    (unit, if unit == Nanoseconds { 1e9 } else { 1.0 })
}
