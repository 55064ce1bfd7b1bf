//! Latencies, failures and requests by interval, for the heat map, the percentiles of a chosen part of a run, and small
//! lines in the table of requests.

use super::data::{LineData, OverTimeData, PlotData, RequestOverTimeData, Unit};
use super::digits;
use crate::describe;
use prony_model::measurement::record::OutcomeKind;
use prony_model::result::over_time::{BUCKETS_MAX, RequestOverTime};
use prony_model::result::{OverTime, ResultFile};
use std::cmp::Reverse;

/// Lines of failures, and of statuses; more could not be told apart. The tables have all.
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
        end_s: end_s(result, length - 1),
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

/// When an interval ends, with the run at the latest: the last one has all that ended in it, also in a second that the run did
/// not end.
fn end_s(result: &ResultFile, index: usize) -> f64 {
    let run_end = result.windows.last().map_or(0.0, |whole| whole.window.to_ns.as_secs_f64());
    ((index + 1) as f64 * result.over_time.interval_ns.as_secs_f64()).min(run_end)
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

/// What the plot of failures counts.
const FAILURES_NOTE: &str = "requests that failed; those with an expected status are the successes";
/// What the plot of statuses counts.
const STATUSES_NOTE: &str = "each response by its status, expected or not";

/// Failures a second by kind, unexpected statuses one by one; nothing where none failed.
pub(super) fn failures_plot(result: &ResultFile) -> Option<PlotData> {
    let over_time = &result.over_time;
    let kinds = over_time.failures.iter().filter(|(kind, _)| **kind != OutcomeKind::Status);
    let kinds = kinds.map(|(kind, counts)| (kind.label().to_owned(), counts.clone()));
    let statuses = over_time.statuses.iter().map(|(status, counts)| (status_name(*status), counts.clone()));
    IntervalPlot {
        id: "failures",
        title: "Failures by status and kind",
        note: FAILURES_NOTE,
        axis: "failures a second",
        role: "kind",
        of: "kinds",
        is_by_name: false,
        counts: statuses.chain(kinds).collect(),
    }
    .plot(result)
}

/// Responses a second by status; nothing where all that were expected had one, which other plots show.
pub(super) fn statuses_plot(result: &ResultFile) -> Option<PlotData> {
    let OverTime { statuses, expected_statuses, .. } = &result.over_time;
    if expected_statuses.len() < 2 {
        return None;
    }
    let mut all = expected_statuses.clone();
    for (status, unexpected) in statuses {
        let counts = all.entry(*status).or_default();
        counts.resize(counts.len().max(unexpected.len()), 0);
        for (sum, count) in counts.iter_mut().zip(unexpected) {
            *sum += count;
        }
    }
    IntervalPlot {
        id: "statuses",
        title: "Responses by status",
        note: STATUSES_NOTE,
        axis: "responses a second",
        role: "status",
        of: "statuses",
        is_by_name: true,
        counts: all.into_iter().map(|(status, counts)| (status_name(status), counts)).collect(),
    }
    .plot(result)
}

fn status_name(status: u16) -> String {
    format!("status {status}")
}

/// A plot of what is counted by interval, a line each.
struct IntervalPlot {
    id: &'static str,
    title: &'static str,
    note: &'static str,
    axis: &'static str,
    role: &'static str,
    /// What the lines are, in words.
    of: &'static str,
    /// Lines stand in the order of their names; else the most frequent first.
    is_by_name: bool,
    /// By name.
    counts: Vec<(String, Vec<u64>)>,
}

impl IntervalPlot {
    /// The rates of the most frequent; nothing where nothing was counted.
    fn plot(self, result: &ResultFile) -> Option<PlotData> {
        let length = covered(result);
        let mut all = self.counts;
        // Files may have been changed by others.
        for (_, counts) in &mut all {
            counts.resize(length, 0);
        }
        all.retain(|(_, counts)| counts.iter().any(|count| *count > 0));
        all.sort_by_key(|(_, counts)| Reverse(counts.iter().sum::<u64>()));
        let left_out = all.len().saturating_sub(LINES_MAX);
        all.truncate(LINES_MAX);
        if self.is_by_name {
            all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        }
        let interval = result.over_time.interval_ns;
        let width_s = interval.as_secs_f64();
        let end = |index: usize| end_s(result, index);
        let rate = |(index, count): (usize, &u64)| {
            Some(digits(*count as f64 / (end(index) - index as f64 * width_s), 5))
        };
        let lines = all.into_iter().map(|(name, counts)| LineData {
            name,
            role: self.role,
            unit: Unit::PerSecond,
            values: counts.iter().enumerate().map(rate).collect(),
        });
        let lines: Vec<_> = lines.collect();
        let several = (width_s > 1.0).then(|| format!("means over {interval}"));
        let rest = (left_out > 0).then(|| format!("{left_out} rarer {} are in the table alone", self.of));
        (!lines.is_empty()).then(|| PlotData {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            unit: Unit::PerSecond,
            note: describe::joined([Some(self.note.to_owned()), several, rest]),
            may_be_log: false,
            axis: Some(self.axis),
            times: (0..length).map(end).collect(),
            lines,
        })
    }
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
