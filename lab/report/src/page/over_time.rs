//! Latencies, failures and requests by interval, for the heat map, the percentiles of a chosen part of a run, and small
//! lines in the table of requests.

use super::data::{LineData, OverTimeData, PlotData, RequestOverTimeData, Unit};
use super::digits;
use crate::describe;
use prony_model::measurement::record::OutcomeKind;
use prony_model::result::over_time::{BUCKETS_MAX, RequestOverTime};
use prony_model::result::{OverTime, ResultFile};

/// Lines of failures; more could not be told apart. The table has all.
const LINES_MAX: usize = 8;

/// The intervals that the run covers as a whole, at most so many: neighbours are put together. None of files that were
/// written before there were any.
pub(super) fn data(result: &ResultFile, intervals_max: usize) -> Option<OverTimeData> {
    let over_time = &result.over_time;
    let length = covered(result);
    if length == 0 || result.plan.users() == 0 {
        return None;
    }
    let together = length.div_ceil(intervals_max.max(1));
    let requests = over_time.requests.iter().filter(|request| is_whole(request, length));
    let requests = requests.map(|request| RequestOverTimeData {
        name: request.name.clone(),
        ended: summed(&request.ended[..length], together),
        failures: summed(&request.failures[..length], together),
        // Of several, the highest: it cannot be told from percentiles what that of all is.
        p95_ms: request.p95_ns[..length]
            .chunks(together)
            .map(|part| part.iter().flatten().max().map(|time| digits(time.as_millis_f64(), 4)))
            .collect(),
    });
    Some(OverTimeData {
        interval_s: over_time.interval_ns.as_secs_f64() * together as f64,
        latencies: over_time.latencies[..length].chunks(together).map(added).collect(),
        failures: summed(&all_failures(over_time)[..length], together),
        requests: requests.collect(),
    })
}

/// Whole intervals alone: what ended after the load is no rate.
fn covered(result: &ResultFile) -> usize {
    let (over_time, seconds) = (&result.over_time, result.whole_seconds().len() as f64);
    let interval_s = over_time.interval_ns.as_secs_f64();
    if over_time.is_empty() || interval_s <= 0.0 {
        return 0;
    }
    ((seconds / interval_s).ceil() as usize).min(over_time.latencies.len())
}

/// Files may have been changed by others.
fn is_whole(request: &RequestOverTime, length: usize) -> bool {
    request.ended.len().min(request.failures.len()).min(request.p95_ns.len()) >= length
}

fn all_failures(over_time: &OverTime) -> Vec<u64> {
    let sum = |index: usize| over_time.failures.values().filter_map(|counts| counts.get(index)).sum();
    (0..over_time.latencies.len()).map(sum).collect()
}

fn summed(counts: &[u64], together: usize) -> Vec<u64> {
    counts.chunks(together).map(|part| part.iter().sum()).collect()
}

/// Each holds its first bucket and the counts from there.
fn added(parts: &[Vec<u64>]) -> Vec<u64> {
    let is_known =
        |(first, counts): &(&u64, &[u64])| first.saturating_add(counts.len() as u64) <= BUCKETS_MAX;
    let parts = || parts.iter().filter_map(|part| part.split_first()).filter(is_known);
    let Some(first) = parts().map(|(first, _)| *first).min() else { return Vec::new() };
    let end = parts().map(|(first, counts)| first + counts.len() as u64).max().unwrap_or(first);
    let mut sum = vec![0; (end - first + 1) as usize];
    sum[0] = first;
    for (from, counts) in parts() {
        for (index, count) in counts.iter().enumerate() {
            sum[1 + (from - first) as usize + index] += count;
        }
    }
    sum
}

/// What the plot of failures counts: by second there are counts of failures alone.
const FAILURES_NOTE: &str = "requests that failed; those with an expected status are the successes";

/// Failures a second by kind, unexpected statuses one by one; nothing where none failed.
pub(super) fn failures_plot(result: &ResultFile) -> Option<PlotData> {
    let length = covered(result);
    let over_time = &result.over_time;
    let kinds = over_time.failures.iter().filter(|(kind, _)| **kind != OutcomeKind::Status);
    let kinds = kinds.map(|(kind, counts)| (kind.label().to_owned(), counts));
    let statuses = over_time.statuses.iter().map(|(status, counts)| (format!("status {status}"), counts));
    let mut all: Vec<(String, &[u64])> =
        statuses.chain(kinds).map(|(name, counts)| (name, &counts[..length.min(counts.len())])).collect();
    all.retain(|(_, counts)| counts.iter().any(|count| *count > 0));
    all.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<u64>()));
    let left_out = all.len().saturating_sub(LINES_MAX);
    let interval_s = over_time.interval_ns.as_secs_f64();
    let seconds = result.whole_seconds().len() as f64;
    let end = |index: usize| ((index + 1) as f64 * interval_s).min(seconds);
    let lines = all.into_iter().take(LINES_MAX).map(|(name, counts)| {
        let rate = |(index, count): (usize, &u64)| {
            Some(digits(*count as f64 / (end(index) - index as f64 * interval_s), 5))
        };
        LineData {
            name,
            role: "kind",
            unit: Unit::PerSecond,
            values: counts.iter().enumerate().map(rate).collect(),
        }
    });
    let lines: Vec<_> = lines.collect();
    let several = (interval_s > 1.0).then(|| format!("means over {}", over_time.interval_ns));
    let rest = (left_out > 0).then(|| format!("{left_out} rarer kinds are in the table alone"));
    (!lines.is_empty()).then(|| PlotData {
        id: "failures".to_owned(),
        title: "Failures by status and kind".to_owned(),
        unit: Unit::PerSecond,
        note: describe::joined([Some(FAILURES_NOTE.to_owned()), several, rest]),
        may_be_log: false,
        axis: Some("failures a second"),
        times: (0..length).map(end).collect(),
        lines,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_added_bucket_by_bucket() {
        assert_eq!(added(&[vec![5, 1, 2], vec![], vec![3, 7]]), [3, 7, 0, 1, 2]);
        assert_eq!(added(&[vec![], vec![]]), Vec::<u64>::new());
        assert_eq!(added(&[vec![9, 4]]), [9, 4]);
        assert_eq!(added(&[vec![9, 4], vec![u64::MAX, 1]]), [9, 4], "there is no such bucket");
    }
}
