//! What was counted over time: samples by interval, by label, by code and by group of threads, for the graphs of JMeter's dashboard.
//!
//! Intervals begin with a second and double as a file goes on, so that its size does not grow with the file.

use crate::sample::Sample;
use prony_model::Nanos;
use prony_model::measurement::histogram::Latencies;
use std::collections::{BTreeMap, HashMap};

/// From the first to the last; one more doubles all of them. A plot on a screen is a few hundred points wide.
const INTERVALS_MAX: i64 = 300;
/// Labels with lines of their own; samples of further ones are counted for all together alone.
const LABELS_MAX: usize = 50;
const CODES_MAX: usize = 50;
const GROUPS_MAX: usize = 50;

/// Samples over time, in the order of no file: rows may come in any order.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// When the first row's sample began; intervals are counted from here.
    base_ms: Option<i64>,
    /// Each interval is so many doublings of a second.
    doublings: u32,
    first_ms: i64,
    last_ms: i64,
    /// Ends from here on need more intervals than there may be.
    full_ms: i64,
    buckets: BTreeMap<i64, Bucket>,
    labels: Names,
    codes: Names,
    groups: Names,
}

/// What ended, or began, in one interval.
#[derive(Debug, Clone, Default)]
struct Bucket {
    /// Those that began in it.
    hits: u64,
    successes: u64,
    failures: u64,
    received_bytes: u64,
    sent_bytes: u64,
    /// Of successes.
    times: Latencies,
    labels: Vec<LabelSums>,
    codes: Vec<u64>,
    groups: Vec<ThreadSums>,
}

/// Of one label in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct LabelSums {
    successes: u64,
    failures: u64,
    elapsed_ms: u64,
    latency_ms: u64,
    connect_ms: u64,
}

/// Of one group of threads in one interval.
#[derive(Debug, Clone, Copy, Default)]
struct ThreadSums {
    samples: u64,
    threads: u64,
}

/// Names by number, as many as are kept apart.
#[derive(Debug, Clone, Default)]
struct Names {
    numbers: HashMap<String, usize>,
    samples: Vec<u64>,
}

/// One line over all whole intervals; a value is missing where nothing was counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    pub name: String,
    pub values: Vec<Option<f64>>,
}

/// The graphs of a file, each line with a value for each of `ends_s`.
#[derive(Debug, Clone, PartialEq)]
pub struct Graphs {
    pub interval_s: i64,
    /// Where the whole intervals end, in seconds from the first sample's start.
    pub ends_s: Vec<f64>,
    /// Samples that ended in no whole interval, and are in no line.
    pub left_out: u64,
    /// Means in milliseconds, by label, the most frequent first.
    pub elapsed_ms: Vec<Line>,
    pub latency_ms: Vec<Line>,
    pub connect_ms: Vec<Line>,
    /// p50 to p99 and the highest of successes, in milliseconds.
    pub percentiles_ms: Vec<Line>,
    /// Means by group of threads.
    pub threads: Vec<Line>,
    /// Samples begun a second.
    pub hits: Line,
    /// Received and sent, a second.
    pub bytes: Vec<Line>,
    /// A second, by response code.
    pub codes: Vec<Line>,
    /// A second, by label, successes and failures apart; transactions among them.
    pub by_label: Vec<Line>,
    /// A second, all together: successes and failures.
    pub totals: Vec<Line>,
}

impl Names {
    /// The number of a name; none where there are too many already.
    fn number(&mut self, name: &str, most: usize) -> Option<usize> {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.samples.len() >= most => return None,
            None => {
                self.numbers.insert(name.to_owned(), self.samples.len());
                self.samples.push(0);
                self.samples.len() - 1
            }
        };
        self.samples[number] += 1;
        Some(number)
    }

    /// Names with their numbers, the most frequent first.
    fn by_frequency(&self) -> Vec<(&str, usize)> {
        let mut names: Vec<_> = self.numbers.iter().map(|(name, number)| (name.as_str(), *number)).collect();
        names.sort_by_key(|(name, number)| (std::cmp::Reverse(self.samples[*number]), *name));
        names
    }
}

/// The place of a number, which is made where it is not there.
fn at<T: Clone + Default>(list: &mut Vec<T>, number: usize) -> &mut T {
    if list.len() <= number {
        list.resize(number + 1, T::default());
    }
    &mut list[number]
}

impl Timeline {
    pub fn add(&mut self, sample: &Sample<'_>) {
        let end_ms = sample.end_ms();
        let base_ms = *self.base_ms.get_or_insert_with(|| {
            (self.first_ms, self.last_ms, self.full_ms) = (sample.timestamp_ms, end_ms, i64::MIN);
            sample.timestamp_ms
        });
        self.last_ms = self.last_ms.max(end_ms);
        if sample.timestamp_ms < self.first_ms || end_ms >= self.full_ms {
            self.first_ms = self.first_ms.min(sample.timestamp_ms);
            self.widen(base_ms);
        }
        if sample.is_empty_transaction() {
            return;
        }
        let is_transaction = sample.is_transaction();
        if !is_transaction {
            self.bucket(sample.timestamp_ms.saturating_sub(base_ms)).hits += 1;
        }
        let label = self.labels.number(&sample.label, LABELS_MAX);
        let code = self.codes.number(&sample.response_code, CODES_MAX).filter(|_| !is_transaction);
        let group = self.groups.number(group_of(&sample.thread_name), GROUPS_MAX);
        let bucket = self.bucket(end_ms.saturating_sub(base_ms));
        if let Some(label) = label {
            at(&mut bucket.labels, label).add(sample);
        }
        if let Some(group) = group.filter(|_| sample.group_threads > 0) {
            let sums = at(&mut bucket.groups, group);
            sums.samples += 1;
            sums.threads += u64::from(sample.group_threads);
        }
        if is_transaction {
            return;
        }
        if let Some(code) = code {
            *at(&mut bucket.codes, code) += 1;
        }
        bucket.received_bytes += sample.bytes;
        bucket.sent_bytes += sample.sent_bytes;
        if sample.is_success {
            bucket.successes += 1;
            bucket.times.record(Nanos::from_millis(sample.elapsed_ms));
        } else {
            bucket.failures += 1;
        }
    }

    fn bucket(&mut self, since_base_ms: i64) -> &mut Bucket {
        let index = since_base_ms.div_euclid(self.interval_ms());
        self.buckets.entry(index).or_default()
    }

    const fn interval_ms(&self) -> i64 {
        1_000 << self.doublings
    }

    /// Doubles the intervals until all that is known fits into as many as there may be.
    fn widen(&mut self, base_ms: i64) {
        let reach = |interval_ms: i64| {
            let index = |ms: i64| ms.saturating_sub(base_ms).div_euclid(interval_ms);
            index(self.last_ms) - index(self.first_ms)
        };
        let before = self.doublings;
        let mut doublings = before;
        while reach(1_000 << doublings) >= INTERVALS_MAX {
            doublings += 1;
        }
        self.doublings = doublings;
        let first = self.first_ms.saturating_sub(base_ms).div_euclid(self.interval_ms());
        self.full_ms = base_ms.saturating_add((first + INTERVALS_MAX).saturating_mul(self.interval_ms()));
        if doublings == before {
            return;
        }
        let by = 1_i64 << (doublings - before);
        for (index, bucket) in std::mem::take(&mut self.buckets) {
            self.buckets.entry(index.div_euclid(by)).or_default().merge(&bucket);
        }
    }

    /// What is drawn; the first and the last interval are left out where samples do not cover them whole. `lines_max` is
    /// how many labels, codes and groups have lines.
    pub fn graphs(&self, lines_max: usize) -> Graphs {
        let base_ms = self.base_ms.unwrap_or_default();
        let interval_ms = self.interval_ms();
        let first = self.first_ms.saturating_sub(base_ms);
        let from = first.div_euclid(interval_ms) + i64::from(first.rem_euclid(interval_ms) > 0);
        let to = self.last_ms.saturating_sub(base_ms).div_euclid(interval_ms);
        let rows = Rows { timeline: self, indexes: (from..to).collect(), lines_max };
        let end = |index: &i64| ((index + 1) as f64 * interval_ms as f64 - first as f64) / 1e3;
        let ended = |bucket: &Bucket| bucket.successes + bucket.failures;
        let all: u64 = self.buckets.values().map(ended).sum();
        let drawn: u64 = self.buckets.range(from..to.max(from)).map(|(_, bucket)| ended(bucket)).sum();
        Graphs {
            interval_s: interval_ms / 1_000,
            ends_s: rows.indexes.iter().map(end).collect(),
            left_out: all - drawn,
            elapsed_ms: rows.means(|sums| sums.elapsed_ms),
            latency_ms: rows.means(|sums| sums.latency_ms),
            connect_ms: rows.means(|sums| sums.connect_ms),
            percentiles_ms: rows.percentiles(),
            threads: rows.threads(),
            hits: rows.rate("hits", |bucket| bucket.hits),
            bytes: vec![
                rows.rate("received", |bucket| bucket.received_bytes),
                rows.rate("sent", |bucket| bucket.sent_bytes),
            ],
            codes: rows.codes(),
            by_label: rows.by_label(),
            totals: vec![
                rows.rate("successes", |bucket| bucket.successes),
                rows.rate("failures", |bucket| bucket.failures),
            ],
        }
    }
}

impl Bucket {
    fn merge(&mut self, other: &Self) {
        self.hits += other.hits;
        self.successes += other.successes;
        self.failures += other.failures;
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.times.merge(&other.times);
        for (number, sums) in other.labels.iter().enumerate() {
            let known = at(&mut self.labels, number);
            known.successes += sums.successes;
            known.failures += sums.failures;
            known.elapsed_ms += sums.elapsed_ms;
            known.latency_ms += sums.latency_ms;
            known.connect_ms += sums.connect_ms;
        }
        for (number, count) in other.codes.iter().enumerate() {
            *at(&mut self.codes, number) += count;
        }
        for (number, sums) in other.groups.iter().enumerate() {
            let known = at(&mut self.groups, number);
            known.samples += sums.samples;
            known.threads += sums.threads;
        }
    }
}

impl LabelSums {
    fn add(&mut self, sample: &Sample<'_>) {
        if sample.is_success {
            self.successes += 1;
        } else {
            self.failures += 1;
        }
        self.elapsed_ms += sample.elapsed_ms;
        self.latency_ms += sample.latency_ms;
        self.connect_ms += sample.connect_ms;
    }

    const fn samples(&self) -> u64 {
        self.successes + self.failures
    }
}

/// The whole intervals, and how many names have lines.
struct Rows<'a> {
    timeline: &'a Timeline,
    indexes: Vec<i64>,
    lines_max: usize,
}

impl Rows<'_> {
    fn line(&self, name: &str, value: impl Fn(Option<&Bucket>) -> Option<f64>) -> Line {
        let values = self.indexes.iter().map(|index| value(self.timeline.buckets.get(index)));
        Line { name: name.to_owned(), values: values.collect() }
    }

    /// Counts a second; an interval without any has 0.
    fn rate(&self, name: &str, count: impl Fn(&Bucket) -> u64) -> Line {
        let seconds = self.timeline.interval_ms() as f64 / 1e3;
        self.line(name, |bucket| Some(bucket.map_or(0, &count) as f64 / seconds))
    }

    /// Of the most frequent, a line each.
    fn each<'n>(&self, names: &'n Names) -> impl Iterator<Item = (&'n str, usize)> + use<'n> {
        names.by_frequency().into_iter().take(self.lines_max)
    }

    fn means(&self, sum_ms: fn(&LabelSums) -> u64) -> Vec<Line> {
        let timeline = self.timeline;
        let mean = |number: usize| {
            move |bucket: Option<&Bucket>| {
                let sums = bucket?.labels.get(number).filter(|sums| sums.samples() > 0)?;
                Some(sum_ms(sums) as f64 / sums.samples() as f64)
            }
        };
        self.each(&timeline.labels).map(|(name, number)| self.line(name, mean(number))).collect()
    }

    fn percentiles(&self) -> Vec<Line> {
        let line = |name: &str, percentile: f64| {
            // Whole milliseconds were recorded; a histogram gives the end of its bucket.
            self.line(name, |bucket| Some(bucket?.times.percentile(percentile)?.as_millis_f64().round()))
        };
        vec![line("p50", 50.0), line("p90", 90.0), line("p95", 95.0), line("p99", 99.0), line("max", 100.0)]
    }

    fn threads(&self) -> Vec<Line> {
        let mean = |number: usize| {
            move |bucket: Option<&Bucket>| {
                let sums = bucket?.groups.get(number).filter(|sums| sums.samples > 0)?;
                Some(sums.threads as f64 / sums.samples as f64)
            }
        };
        let lines = self.each(&self.timeline.groups).map(|(name, number)| self.line(name, mean(number)));
        // A file without the column has no threads.
        lines.filter(|line| line.values.iter().any(Option::is_some)).collect()
    }

    fn codes(&self) -> Vec<Line> {
        let named = |name: &str| if name.is_empty() { "no code".to_owned() } else { name.to_owned() };
        let count =
            |number: usize| move |bucket: &Bucket| bucket.codes.get(number).copied().unwrap_or_default();
        let lines =
            self.each(&self.timeline.codes).map(|(name, number)| self.rate(&named(name), count(number)));
        lines.collect()
    }

    fn by_label(&self) -> Vec<Line> {
        let count = |number: usize, of: fn(&LabelSums) -> u64| {
            move |bucket: &Bucket| bucket.labels.get(number).map_or(0, of)
        };
        let lines = self.each(&self.timeline.labels).flat_map(|(name, number)| {
            let successes = self.rate(name, count(number, |sums| sums.successes));
            let failures = self.rate(&format!("{name}, failed"), count(number, |sums| sums.failures));
            [successes, failures]
        });
        // A label that never failed has no line of failures.
        let is_drawn = |line: &Line| line.values.iter().flatten().any(|value| *value > 0.0);
        lines.filter(is_drawn).collect()
    }
}

/// `Users` of `Users 3-17`; of another name all of it.
fn group_of(thread: &str) -> &str {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match thread.rsplit_once(' ') {
        Some((group, numbers)) if is_number(numbers) && !group.is_empty() => group,
        _ => thread,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(timestamp_ms: i64, elapsed_ms: u64, label: &str) -> Sample<'_> {
        Sample {
            timestamp_ms,
            elapsed_ms,
            label: label.into(),
            response_code: "200".into(),
            thread_name: "Users 1-2".into(),
            is_success: true,
            bytes: 1_000,
            group_threads: 4,
            ..Sample::default()
        }
    }

    fn of(samples: impl IntoIterator<Item = Sample<'static>>) -> Timeline {
        let mut timeline = Timeline::default();
        samples.into_iter().for_each(|sample| timeline.add(&sample));
        timeline
    }

    #[test]
    fn whole_seconds_are_drawn_and_the_rest_is_counted() {
        // Ten a second for 3.5 s, each of 20 ms.
        let timeline = of((0..35).map(|number| sample(1_000 + number * 100, 20, "a")));
        let graphs = timeline.graphs(8);
        assert_eq!((graphs.interval_s, graphs.left_out), (1, 5));
        assert_eq!(graphs.ends_s, [1.0, 2.0, 3.0]);
        assert_eq!(graphs.hits.values, [Some(10.0); 3]);
        assert_eq!(graphs.totals[0].values, [Some(10.0); 3]);
        assert_eq!(graphs.bytes[0].values, [Some(10_000.0); 3]);
        assert_eq!(graphs.elapsed_ms, [Line { name: "a".to_owned(), values: vec![Some(20.0); 3] }]);
        assert_eq!(graphs.threads, [Line { name: "Users".to_owned(), values: vec![Some(4.0); 3] }]);
        let names: Vec<_> = graphs.by_label.iter().map(|line| line.name.as_str()).collect();
        assert_eq!((names, graphs.codes[0].name.as_str()), (vec!["a"], "200"));
    }

    #[test]
    fn rows_in_any_order_make_the_same_graphs() {
        let times = (0..200).map(|number| (number * 7_919 % 200) * 37);
        let one: Vec<_> = times.clone().map(|at| sample(at, (at % 300) as u64, "a")).collect();
        let mut sorted = one.clone();
        sorted.sort_by_key(|sample| sample.timestamp_ms);
        assert_eq!(of(one).graphs(8), of(sorted).graphs(8));
    }

    #[test]
    fn intervals_double_and_lose_nothing() {
        let timeline = of((0..36_000).map(|second| sample(second * 1_000, 10, "a")));
        let graphs = timeline.graphs(8);
        assert_eq!(graphs.interval_s, 128);
        assert!(timeline.buckets.len() <= INTERVALS_MAX as usize);
        let drawn: f64 = graphs.totals[0].values.iter().flatten().map(|rate| rate * 128.0).sum();
        assert_eq!(drawn.round() as u64 + graphs.left_out, 36_000);
        // One wrong clock puts all into few intervals; no more memory than that.
        let far = of([sample(0, 1, "a"), sample(1_700_000_000_000, 1, "a"), sample(-5, 1, "a")]);
        assert!(far.buckets.len() <= 3 && far.graphs(8).interval_s > 86_400);
        for extremes in [[i64::MIN, i64::MAX], [i64::MAX, i64::MIN], [-5, i64::MIN]] {
            let timeline = of(extremes.map(|at| sample(at, 1, "a")));
            assert!(timeline.graphs(8).ends_s.len() <= INTERVALS_MAX as usize);
        }
    }

    #[test]
    fn names_are_bounded_and_the_most_frequent_have_lines() {
        let names: Vec<String> = (0..100).map(|number| format!("label {number}")).collect();
        let mut timeline = Timeline::default();
        for (number, name) in names.iter().enumerate() {
            for _ in 0..=number {
                timeline.add(&sample(0, 2_000, name));
            }
        }
        timeline.add(&sample(0, 4_500, "label 7"));
        assert_eq!(timeline.labels.samples.len(), LABELS_MAX);
        let lines = timeline.graphs(2).elapsed_ms;
        let shown: Vec<_> = lines.iter().map(|line| line.name.as_str()).collect();
        assert_eq!(shown, ["label 49", "label 48"]);
    }

    #[test]
    fn groups_are_named_without_their_numbers() {
        let groups = ["Users 1-17", "Users", "a b 2-1", "setUp 1", "", "x-1"].map(group_of);
        assert_eq!(groups, ["Users", "Users", "a b", "setUp", "", "x-1"]);
    }

    #[test]
    fn transactions_are_lines_and_in_no_total() {
        let transaction = Sample {
            response_message: "Number of samples in transaction : 2, number of failing samples : 0".into(),
            ..sample(0, 900, "tx")
        };
        let graphs = of([transaction, sample(0, 400, "a"), sample(0, 2_500, "b")]).graphs(8);
        assert_eq!(graphs.totals[0].values, [Some(1.0), Some(0.0)]);
        assert_eq!(graphs.hits.values, [Some(2.0), Some(0.0)]);
        assert!(graphs.by_label.iter().any(|line| line.name == "tx"));
    }

    #[test]
    fn transactions_without_samples_are_in_no_graph() {
        let empty = Sample {
            response_message: "Number of samples in transaction : 0, number of failing samples : 0".into(),
            ..sample(0, 900, "empty")
        };
        let with = of([empty, sample(0, 400, "a"), sample(0, 2_500, "b")]);
        assert_eq!(with.graphs(8), of([sample(0, 400, "a"), sample(0, 2_500, "b")]).graphs(8));
    }
}
