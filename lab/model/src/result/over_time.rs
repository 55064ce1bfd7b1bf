//! What ended in each interval of a run: latencies in buckets, failures by kind, responses by status, and each request by itself.
//! Heat maps, percentiles of any part of a run and lines for each request are made of it. Long runs have longer
//! intervals, so that it stays small.

use crate::measurement::histogram::Latencies;
use crate::measurement::record::OutcomeKind;
use crate::measurement::tally::Tally;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// More columns of a heat map than these could not be told apart on a screen.
pub const INTERVALS_MAX: usize = 480;
/// Requests that are counted by themselves, the first ones: a script may name thousands.
pub const REQUESTS_MAX: usize = 32;
/// Lengths of intervals in seconds, each a multiple of the one before; beyond the last they double.
const LENGTHS_S: [u64; 9] = [1, 2, 10, 30, 60, 300, 600, 1_800, 3_600];
/// Buckets of equal width in each doubling of time, so that none is wider than a sixteenth of where it begins.
const BUCKETS_A_DOUBLING: u64 = 16;
/// No time lies in one beyond these.
pub const BUCKETS_MAX: u64 = 64 * BUCKETS_A_DOUBLING;

/// As a result file holds it. Lists by interval are all equally long; the first interval begins with the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OverTime {
    pub interval_ns: Nanos,
    /// Response times of the successes that ended in each interval: the first bucket, then the counts of it and those
    /// that follow; empty without successes. [`bucket_from_us`] tells where a bucket begins.
    pub latencies: Vec<Vec<u64>>,
    /// Requests that failed, by kind and by interval; kinds that did not occur are left out.
    pub failures: BTreeMap<OutcomeKind, Vec<u64>>,
    /// Of those whose status was not expected, by status.
    pub statuses: BTreeMap<u16, Vec<u64>>,
    /// Responses whose status was expected, by status, also those that failed for what they said. Empty where all had one, as of
    /// most runs, and in files that were written before they were counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expected_statuses: BTreeMap<u16, Vec<u64>>,
    /// In the order of the plan, or in that in which a script named them; at most [`REQUESTS_MAX`].
    pub requests: Vec<RequestOverTime>,
}

/// Requests of one name, by interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestOverTime {
    pub name: String,
    pub ended: Vec<u64>,
    pub failures: Vec<u64>,
    /// Of successes, however few, to the resolution of a bucket.
    pub p95_ns: Vec<Option<Nanos>>,
}

impl OverTime {
    /// True of files that were written before there was any of it.
    pub fn is_empty(&self) -> bool {
        self.latencies.is_empty()
    }
}

/// Where a bucket begins, in whole microseconds; it ends where the next one does.
pub const fn bucket_from_us(bucket: u64) -> u64 {
    if bucket < BUCKETS_A_DOUBLING {
        return bucket;
    }
    let doublings = bucket / BUCKETS_A_DOUBLING - 1;
    (BUCKETS_A_DOUBLING + bucket % BUCKETS_A_DOUBLING) << doublings
}

/// The bucket that holds a time.
const fn bucket_of(time: Nanos) -> u64 {
    let us = time.as_micros();
    if us < BUCKETS_A_DOUBLING {
        return us;
    }
    let doublings = us.ilog2() as u64 - BUCKETS_A_DOUBLING.ilog2() as u64;
    doublings * BUCKETS_A_DOUBLING + (us >> doublings)
}

/// Counts by bucket, those that are not zero.
#[derive(Debug, Clone, Default, PartialEq)]
struct Buckets(BTreeMap<u64, u64>);

impl Buckets {
    fn add(&mut self, times: &Latencies) {
        for (time, count) in times.recorded() {
            *self.0.entry(bucket_of(time)).or_default() += count;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (bucket, count) in &other.0 {
            *self.0.entry(*bucket).or_default() += count;
        }
    }

    /// The first bucket, then the counts.
    fn counts(&self) -> Vec<u64> {
        let (Some((first, _)), Some((last, _))) = (self.0.first_key_value(), self.0.last_key_value()) else {
            return Vec::new();
        };
        let count = |bucket| self.0.get(&bucket).copied().unwrap_or_default();
        [*first].into_iter().chain((*first..=*last).map(count)).collect()
    }

    /// The middle of the bucket in which it lies.
    fn percentile(&self, percentile: f64) -> Option<Nanos> {
        let all: u64 = self.0.values().sum();
        let rank = ((all as f64 * percentile / 100.0).ceil() as u64).max(1);
        let mut up_to = 0;
        let found = self.0.iter().find(|(_, count)| {
            up_to += **count;
            up_to >= rank
        });
        let (bucket, _) = found?;
        let (from, to) = (bucket_from_us(*bucket), bucket_from_us(bucket + 1));
        Some(Nanos((from + to) * 500))
    }
}

/// One interval.
#[derive(Debug, Clone, Default, PartialEq)]
struct IntervalCounts {
    latencies: Buckets,
    failures: BTreeMap<OutcomeKind, u64>,
    statuses: BTreeMap<u16, u64>,
    expected_statuses: BTreeMap<u16, u64>,
    requests: Vec<RequestInterval>,
}

/// Requests of one name in one interval.
#[derive(Debug, Clone, Default, PartialEq)]
struct RequestInterval {
    ended: u64,
    failures: u64,
    latencies: Buckets,
}

impl IntervalCounts {
    fn add(&mut self, tally: &Tally) {
        for request in 0..tally.requests() {
            let mut own = RequestInterval::default();
            for cell in (0..tally.windows()).map(|window| tally.cell(window, request)) {
                own.ended += cell.requests();
                own.failures += cell.failures();
                own.latencies.add(&cell.response);
                for kind in OutcomeKind::ALL.into_iter().filter(|kind| *kind != OutcomeKind::Success) {
                    add(&mut self.failures, kind, cell.outcome(kind));
                }
                for (status, count) in &cell.statuses {
                    add(&mut self.statuses, *status, *count);
                }
                for (status, count) in cell.responses.all() {
                    let unexpected = cell.statuses.get(&status).copied().unwrap_or_default();
                    add(&mut self.expected_statuses, status, count.saturating_sub(unexpected));
                }
            }
            self.latencies.merge(&own.latencies);
            if request < REQUESTS_MAX && own.ended > 0 {
                self.request(request).merge(&own);
            }
        }
    }

    fn request(&mut self, index: usize) -> &mut RequestInterval {
        if self.requests.len() <= index {
            self.requests.resize_with(index + 1, RequestInterval::default);
        }
        &mut self.requests[index]
    }

    fn merge(&mut self, other: &Self) {
        self.latencies.merge(&other.latencies);
        for (kind, count) in &other.failures {
            add(&mut self.failures, *kind, *count);
        }
        for (status, count) in &other.statuses {
            add(&mut self.statuses, *status, *count);
        }
        for (status, count) in &other.expected_statuses {
            add(&mut self.expected_statuses, *status, *count);
        }
        for (index, request) in other.requests.iter().enumerate() {
            self.request(index).merge(request);
        }
    }
}

impl RequestInterval {
    fn merge(&mut self, other: &Self) {
        self.ended += other.ended;
        self.failures += other.failures;
        self.latencies.merge(&other.latencies);
    }
}

fn add<K: Ord>(counts: &mut BTreeMap<K, u64>, key: K, count: u64) {
    if count > 0 {
        *counts.entry(key).or_default() += count;
    }
}

/// Counts seconds as they come, in whatever order.
#[derive(Debug, Clone, PartialEq)]
pub struct OverTimeTally {
    length_s: u64,
    intervals: Vec<IntervalCounts>,
}

impl Default for OverTimeTally {
    fn default() -> Self {
        Self { length_s: LENGTHS_S[0], intervals: Vec::new() }
    }
}

impl OverTimeTally {
    /// Adds what ended in a second of the run.
    pub fn add(&mut self, second: u64, tally: &Tally) {
        while second / self.length_s >= INTERVALS_MAX as u64 {
            self.lengthen();
        }
        let index = (second / self.length_s) as usize;
        if self.intervals.len() <= index {
            self.intervals.resize_with(index + 1, IntervalCounts::default);
        }
        self.intervals[index].add(tally);
    }

    fn lengthen(&mut self) {
        let length_s = LENGTHS_S.into_iter().find(|length_s| *length_s > self.length_s);
        let length_s = length_s.unwrap_or(self.length_s * 2);
        let together = self.intervals.chunks((length_s / self.length_s) as usize).map(|parts| {
            let mut whole = IntervalCounts::default();
            for part in parts {
                whole.merge(part);
            }
            whole
        });
        self.intervals = together.collect();
        self.length_s = length_s;
    }

    /// `names`: the requests with the places at which they are counted.
    pub fn saved(&self, names: &[(usize, String)]) -> OverTime {
        let counted = names.iter().filter(|(index, _)| *index < REQUESTS_MAX);
        OverTime {
            interval_ns: Nanos::from_secs(self.length_s),
            latencies: self.intervals.iter().map(|interval| interval.latencies.counts()).collect(),
            failures: self.by_key(|interval| &interval.failures),
            statuses: self.by_key(|interval| &interval.statuses),
            expected_statuses: self.expected_statuses(),
            requests: counted.map(|(index, name)| self.request(*index, name)).collect(),
        }
    }

    /// One alone says no more than how many there were.
    fn expected_statuses(&self) -> BTreeMap<u16, Vec<u64>> {
        let all = self.by_key(|interval| &interval.expected_statuses);
        if all.len() > 1 { all } else { BTreeMap::new() }
    }

    fn by_key<K: Ord + Copy>(
        &self,
        counts: fn(&IntervalCounts) -> &BTreeMap<K, u64>,
    ) -> BTreeMap<K, Vec<u64>> {
        let mut all: BTreeMap<K, Vec<u64>> = BTreeMap::new();
        for (index, interval) in self.intervals.iter().enumerate() {
            for (key, count) in counts(interval) {
                all.entry(*key).or_insert_with(|| vec![0; self.intervals.len()])[index] = *count;
            }
        }
        all
    }

    fn request(&self, index: usize, name: &str) -> RequestOverTime {
        let none = RequestInterval::default();
        let own = || self.intervals.iter().map(|interval| interval.requests.get(index).unwrap_or(&none));
        RequestOverTime {
            name: name.to_owned(),
            ended: own().map(|request| request.ended).collect(),
            failures: own().map(|request| request.failures).collect(),
            p95_ns: own().map(|request| request.latencies.percentile(95.0)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadModel;
    use crate::load::windows::Windows;
    use crate::measurement::record::{Outcome, Record};
    use crate::measurement::tally::TallyShape;
    use proptest::prelude::*;

    const SHAPE: TallyShape = TallyShape {
        requests: 2,
        scenarios: 1,
        subscriptions: 0,
        keeps_service: false,
        keeps_records: false,
    };

    /// A second with requests of these names, times in microseconds, and ends.
    fn second(requests: &[(usize, u64, Outcome)]) -> Tally {
        let requests: Vec<_> =
            requests.iter().map(|(request, took_us, outcome)| (*request, *took_us, *outcome, None)).collect();
        counted(&requests)
    }

    /// The same, with the statuses of responses.
    fn counted(requests: &[(usize, u64, Outcome, Option<u16>)]) -> Tally {
        let load = LoadModel::ramp_and_hold(1, Nanos::from_secs(1), Nanos::from_secs(1));
        let windows = Windows::of(&[(Nanos::ZERO, &load)], Nanos::ZERO);
        let mut tally = Tally::new(&windows, SHAPE);
        for (index, (request, took_us, outcome, status)) in requests.iter().enumerate() {
            let scheduled = Nanos::from_millis(index as u64 * 700);
            let ended = scheduled.plus(Nanos::from_micros(*took_us));
            tally.record(
                &windows,
                &Record {
                    request: *request,
                    scheduled,
                    started: scheduled,
                    first_byte: None,
                    ended,
                    outcome: *outcome,
                    status: *status,
                    bytes_sent: 0,
                    bytes_received: 0,
                },
            );
        }
        tally
    }

    fn names() -> Vec<(usize, String)> {
        vec![(0, "list".to_owned()), (1, "kaufen – größer".to_owned())]
    }

    #[test]
    fn what_ended_is_counted_by_interval_kind_status_and_request() {
        let mut tally = OverTimeTally::default();
        tally.add(
            0,
            &second(&[(0, 10, Outcome::Success), (0, 11, Outcome::Success), (1, 9, Outcome::Status(503))]),
        );
        tally.add(2, &second(&[(1, 1_000, Outcome::Success), (1, 5, Outcome::GraphQlErrors)]));
        // What comes late of a second is counted in it.
        tally.add(0, &second(&[(0, 10, Outcome::Success)]));
        let saved = tally.saved(&names());
        assert_eq!(saved.interval_ns, Nanos::from_secs(1));
        assert_eq!(saved.latencies, [vec![10, 2, 1], vec![], vec![bucket_of(Nanos::from_millis(1)), 1]]);
        assert_eq!(saved.failures[&OutcomeKind::Status], [1, 0, 0]);
        assert_eq!(saved.failures[&OutcomeKind::GraphQlErrors], [0, 0, 1]);
        assert_eq!((saved.failures.len(), &saved.statuses[&503]), (2, &vec![1, 0, 0]));
        let [list, buy] = saved.requests.as_slice() else { panic!("{:?}", saved.requests) };
        assert_eq!(
            (list.name.as_str(), &list.ended, &list.failures),
            ("list", &vec![3, 0, 0], &vec![0, 0, 0])
        );
        assert_eq!((&buy.ended, &buy.failures), (&vec![1, 0, 2], &vec![1, 0, 1]));
        assert_eq!(buy.p95_ns.iter().map(Option::is_some).collect::<Vec<_>>(), [false, false, true]);
        let text = serde_json::to_string(&saved).unwrap();
        assert_eq!(serde_json::from_str::<OverTime>(&text).unwrap(), saved, "{text}");
    }

    #[test]
    fn expected_statuses_are_counted_by_interval_where_there_are_several() {
        let (ok, bad) = (Outcome::Success, Outcome::Status);
        let mut tally = OverTimeTally::default();
        tally.add(0, &counted(&[(0, 10, ok, Some(200)), (1, 9, bad(503), Some(503)), (0, 10, ok, None)]));
        tally.add(1, &counted(&[(1, 7, Outcome::GraphQlErrors, Some(200)), (1, 7, ok, Some(200))]));
        let one = tally.saved(&names());
        assert_eq!((one.expected_statuses.len(), &one.statuses[&503]), (0, &vec![1, 0]));
        let text = serde_json::to_string(&one).unwrap();
        assert!(!text.contains("expected_statuses"), "a file is no longer than before: {text}");
        assert_eq!(serde_json::from_str::<OverTime>(&text).unwrap(), one);

        // A status that one request expects and another does not, and one that comes late of a second.
        tally.add(3, &counted(&[(0, 3, ok, Some(404)), (1, 3, bad(404), Some(404)), (0, 3, ok, Some(204))]));
        tally.add(0, &counted(&[(0, 11, ok, Some(204)), (1, 11, ok, Some(204))]));
        let saved = tally.saved(&names());
        let expected = [(200, vec![1, 2, 0, 0]), (204, vec![2, 0, 0, 1]), (404, vec![0, 0, 0, 1])];
        assert_eq!(saved.expected_statuses, BTreeMap::from(expected));
        assert_eq!(saved.statuses, BTreeMap::from([(404, vec![0, 0, 0, 1]), (503, vec![1, 0, 0, 0])]));
        let text = serde_json::to_string(&saved).unwrap();
        assert_eq!(serde_json::from_str::<OverTime>(&text).unwrap(), saved, "{text}");
    }

    #[test]
    fn expected_statuses_stay_whole_where_intervals_grow() {
        let mut tally = OverTimeTally::default();
        for at in 0..=INTERVALS_MAX as u64 {
            let status = if at % 3 == 0 { 201 } else { 200 };
            tally.add(at, &counted(&[(0, 5, Outcome::Success, Some(status))]));
        }
        let saved = tally.saved(&names());
        assert_eq!(saved.interval_ns, Nanos::from_secs(2));
        let sums =
            saved.expected_statuses.iter().map(|(status, counts)| (*status, counts.iter().sum::<u64>()));
        assert_eq!(sums.collect::<Vec<(u16, u64)>>(), [(200, 320), (201, 161)]);
        assert_eq!(saved.expected_statuses[&201][..4], [1, 1, 0, 1]);
    }

    #[test]
    fn a_run_that_measured_nothing_is_empty() {
        assert!(OverTimeTally::default().saved(&names()).is_empty());
    }

    #[test]
    fn intervals_grow_with_the_run_and_nothing_is_lost() {
        let requests = [(0, 40, Outcome::Success), (1, 3, Outcome::Status(429))];
        for (seconds, length_s, intervals) in
            [(480, 1, 480), (481, 2, 241), (86_400, 300, 288), (40 * 86_400, 7_200, 480)]
        {
            let mut tally = OverTimeTally::default();
            // Some seconds of each interval are enough.
            let some: Vec<u64> =
                (0..seconds).step_by(seconds as usize / 400 + 1).chain([seconds - 1]).collect();
            for at in &some {
                tally.add(*at, &second(&requests));
            }
            let saved = tally.saved(&names());
            assert_eq!((saved.interval_ns, saved.latencies.len()), (Nanos::from_secs(length_s), intervals));
            let counted: u64 = saved.latencies.iter().flat_map(|counts| counts.iter().skip(1)).sum();
            assert_eq!(counted, some.len() as u64);
            assert_eq!(saved.statuses[&429].iter().sum::<u64>(), some.len() as u64);
            assert_eq!(saved.requests[1].failures.iter().sum::<u64>(), some.len() as u64);
        }
    }

    #[test]
    fn requests_beyond_the_limit_are_in_the_sums_alone() {
        let mut tally = OverTimeTally::default();
        tally.add(0, &second(&[(REQUESTS_MAX, 10, Outcome::Success)]));
        let saved = tally.saved(&[(REQUESTS_MAX, "late".to_owned())]);
        assert_eq!((saved.requests.len(), &saved.latencies[0]), (0, &vec![10, 1]));
    }

    proptest! {
        #[test]
        fn a_time_lies_in_its_bucket_which_is_narrow(us in 0_u64..3_600_000_000) {
            let bucket = bucket_of(Nanos::from_micros(us));
            let (from, to) = (bucket_from_us(bucket), bucket_from_us(bucket + 1));
            prop_assert!(from <= us && us < to, "{us} in {from} to {to}");
            prop_assert!(to - from <= (from / BUCKETS_A_DOUBLING).max(1));
        }
    }
}
