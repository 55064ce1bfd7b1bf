//! What JMeter's dashboard says of samples: APDEX, statistics by label, errors, the five most frequent of each label.

use crate::errors::{ErrorCount, Errors, error_of};
use crate::sample::Sample;
use prony_model::Nanos;
use prony_model::measurement::histogram::Latencies;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The thresholds of JMeter's dashboard where nobody says others.
const SATISFIED_MS: u64 = 500;
const TOLERATED_MS: u64 = 1_500;
/// Labels of their own; samples with further ones are counted under [`OTHER_LABEL`].
const LABELS_MAX: usize = 10_000;
const OTHER_LABEL: &str = "(other)";
const TOTAL: &str = "Total";
/// The errors of a label that are shown.
const TOP: usize = 5;

/// All samples of a run or a file, counted; its size does not grow with them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    labels: BTreeMap<String, Counted>,
    /// Without transactions, whose samples are counted already.
    total: Counted,
}

/// What was counted under one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Counted {
    samples: u64,
    failures: u64,
    elapsed_ms: u64,
    least_ms: u64,
    most_ms: u64,
    times: Latencies,
    satisfied: u64,
    tolerated: u64,
    bytes: u64,
    sent_bytes: u64,
    /// Since 1970, of the first start and the last end.
    first_ms: i64,
    last_ms: i64,
    errors: Errors,
    is_transaction: bool,
}

impl Default for Counted {
    fn default() -> Self {
        Self {
            samples: 0,
            failures: 0,
            elapsed_ms: 0,
            least_ms: u64::MAX,
            most_ms: 0,
            times: Latencies::default(),
            satisfied: 0,
            tolerated: 0,
            bytes: 0,
            sent_bytes: 0,
            first_ms: i64::MAX,
            last_ms: i64::MIN,
            errors: Errors::default(),
            is_transaction: false,
        }
    }
}

/// One entry of `statistics.json`, in JMeter's names.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    pub transaction: String,
    pub sample_count: u64,
    pub error_count: u64,
    pub error_pct: f64,
    pub mean_res_time: f64,
    pub median_res_time: f64,
    pub min_res_time: f64,
    pub max_res_time: f64,
    /// The 90th percentile.
    pub pct1_res_time: f64,
    /// The 95th.
    pub pct2_res_time: f64,
    /// The 99th.
    pub pct3_res_time: f64,
    /// Samples a second.
    pub throughput: f64,
    pub received_k_bytes_per_sec: f64,
    pub sent_k_bytes_per_sec: f64,
}

/// How content users would be (apdex.org): 1 is the best.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Apdex {
    pub label: String,
    pub apdex: f64,
    pub satisfied_ms: u64,
    pub tolerated_ms: u64,
}

impl Statistics {
    pub fn add(&mut self, sample: &Sample<'_>) {
        let is_transaction = sample.is_transaction();
        if sample.is_empty_transaction() {
            return;
        }
        if !is_transaction {
            self.total.add(sample);
        }
        let label = self.label(&sample.label);
        label.is_transaction = is_transaction;
        label.add(sample);
    }

    fn label(&mut self, name: &str) -> &mut Counted {
        let is_new = !self.labels.contains_key(name);
        let name = if is_new && self.labels.len() >= LABELS_MAX { OTHER_LABEL } else { name };
        if is_new {
            self.labels.entry(name.to_owned()).or_default();
        }
        self.labels.get_mut(name).expect("a label that was not there was made above")
    }

    /// Adds what another part has counted.
    pub fn merge(&mut self, other: &Self) {
        self.total.merge(&other.total);
        for (name, counted) in &other.labels {
            self.label(name).merge(counted);
        }
    }

    /// All samples, transactions left out.
    pub const fn samples(&self) -> u64 {
        self.total.samples
    }

    pub const fn failures(&self) -> u64 {
        self.total.failures
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Of each label, and of all together under `Total` at the end.
    pub fn figures(&self) -> Vec<Figures> {
        let labels = self.labels.iter().map(|(name, counted)| counted.figures(name));
        labels.chain([self.total.figures(TOTAL)]).collect()
    }

    pub fn apdex(&self) -> Vec<Apdex> {
        let of = |(name, counted): (&str, &Counted)| Apdex {
            label: name.to_owned(),
            apdex: counted.apdex(),
            satisfied_ms: SATISFIED_MS,
            tolerated_ms: TOLERATED_MS,
        };
        let labels = self.labels.iter().map(|(name, counted)| (name.as_str(), counted));
        std::iter::once((TOTAL, &self.total)).chain(labels).map(of).collect()
    }

    /// Most frequent first; of transactions only their samples' errors are counted.
    pub fn errors(&self) -> Vec<ErrorCount> {
        self.total.errors.most(usize::MAX, self.total.failures, self.total.samples)
    }

    /// The five most frequent errors of each label that has any.
    pub fn top_errors(&self) -> Vec<(String, Vec<ErrorCount>)> {
        let failing =
            self.labels.iter().filter(|(_, counted)| counted.failures > 0 && !counted.is_transaction);
        failing
            .map(|(name, counted)| {
                (name.clone(), counted.errors.most(TOP, counted.failures, counted.samples))
            })
            .collect()
    }

    /// How many were good enough, by APDEX: satisfied, tolerated, too slow, failed; of all, transactions left out.
    pub const fn overview(&self) -> [u64; 4] {
        let Counted { samples, failures, satisfied, tolerated, .. } = self.total;
        [satisfied, tolerated, samples - failures - satisfied - tolerated, failures]
    }

    /// When the first sample began and the last one ended, since 1970, in milliseconds.
    pub const fn span_ms(&self) -> (i64, i64) {
        (self.total.first_ms, self.total.last_ms)
    }

    /// How long samples took, failed ones among them: of all together, and of the most frequent labels.
    pub fn times(&self, labels_max: usize) -> Vec<(&str, &Latencies)> {
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort_by_key(|(_, counted)| std::cmp::Reverse(counted.samples));
        let labels =
            labels.into_iter().take(labels_max).map(|(name, counted)| (name.as_str(), &counted.times));
        // A single label is all.
        let labels = labels.filter(|_| self.labels.len() > 1);
        std::iter::once((TOTAL, &self.total.times)).chain(labels).collect()
    }

    /// JMeter's `statistics.json`.
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let figures: BTreeMap<String, Figures> =
            self.figures().into_iter().map(|figures| (figures.transaction.clone(), figures)).collect();
        serde_json::to_string_pretty(&figures)
    }
}

impl Counted {
    fn add(&mut self, sample: &Sample<'_>) {
        let elapsed = sample.elapsed_ms;
        self.samples += 1;
        self.elapsed_ms += elapsed;
        self.least_ms = self.least_ms.min(elapsed);
        self.most_ms = self.most_ms.max(elapsed);
        self.times.record(Nanos::from_millis(elapsed));
        self.bytes += sample.bytes;
        self.sent_bytes += sample.sent_bytes;
        self.first_ms = self.first_ms.min(sample.timestamp_ms);
        self.last_ms = self.last_ms.max(sample.end_ms());
        if !sample.is_success {
            self.failures += 1;
            self.errors.add(&error_of(sample));
        } else if elapsed <= SATISFIED_MS {
            self.satisfied += 1;
        } else if elapsed <= TOLERATED_MS {
            self.tolerated += 1;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.samples += other.samples;
        self.failures += other.failures;
        self.elapsed_ms += other.elapsed_ms;
        self.least_ms = self.least_ms.min(other.least_ms);
        self.most_ms = self.most_ms.max(other.most_ms);
        self.times.merge(&other.times);
        self.satisfied += other.satisfied;
        self.tolerated += other.tolerated;
        self.bytes += other.bytes;
        self.sent_bytes += other.sent_bytes;
        self.first_ms = self.first_ms.min(other.first_ms);
        self.last_ms = self.last_ms.max(other.last_ms);
        self.errors.merge(&other.errors);
        self.is_transaction |= other.is_transaction;
    }

    fn apdex(&self) -> f64 {
        share(self.satisfied as f64 + self.tolerated as f64 / 2.0, self.samples as f64)
    }

    /// In milliseconds, between two samples where the percentile falls between them, as JMeter's dashboard estimates it: the place is
    /// `of / 100 * (n + 1)`, which is the `LEGACY` estimation of Commons Math.
    fn percentile(&self, of: f64) -> f64 {
        let least = self.least_ms.min(self.most_ms) as f64;
        // Whole milliseconds were recorded; a histogram gives the end of its bucket.
        let at = |rank: u64| {
            let value = self.times.at_rank(rank).map_or(0.0, Nanos::as_millis_f64);
            value.round().clamp(least, self.most_ms as f64)
        };
        let place = (of / 100.0 * (self.samples as f64 + 1.0)).clamp(1.0, self.samples.max(1) as f64);
        let (below, above) = (at(place.floor() as u64), at(place.ceil() as u64));
        below + (above - below) * place.fract()
    }

    fn figures(&self, name: &str) -> Figures {
        let percentile = |of: f64| self.percentile(of);
        let seconds = self.last_ms.saturating_sub(self.first_ms).max(1) as f64 / 1e3;
        let rate = |count: u64| if self.samples == 0 { 0.0 } else { count as f64 / seconds };
        Figures {
            transaction: name.to_owned(),
            sample_count: self.samples,
            error_count: self.failures,
            error_pct: 100.0 * share(self.failures as f64, self.samples as f64),
            mean_res_time: share(self.elapsed_ms as f64, self.samples as f64),
            median_res_time: percentile(50.0),
            min_res_time: self.least_ms.min(self.most_ms) as f64,
            max_res_time: self.most_ms as f64,
            pct1_res_time: percentile(90.0),
            pct2_res_time: percentile(95.0),
            pct3_res_time: percentile(99.0),
            throughput: rate(self.samples),
            received_k_bytes_per_sec: rate(self.bytes) / 1_024.0,
            sent_k_bytes_per_sec: rate(self.sent_bytes) / 1_024.0,
        }
    }
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_without_samples_count_for_nothing() {
        let mut statistics = Statistics::default();
        for (label, samples) in [("some", 10), ("some", 0), ("none", 0)] {
            let message =
                format!("Number of samples in transaction : {samples}, number of failing samples : 0");
            let response_message = message.into();
            statistics.add(&Sample { label: label.into(), response_message, ..Sample::default() });
        }
        let counts: Vec<_> =
            statistics.figures().into_iter().map(|row| (row.transaction, row.sample_count)).collect();
        assert_eq!(counts, [("some".to_owned(), 1), (TOTAL.to_owned(), 0)]);
    }
}
