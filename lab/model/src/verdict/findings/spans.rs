//! When what was found was so, where that is a moment or a part of the run and not all of it.

use crate::measurement::record::OutcomeKind;
use crate::result::{ResultFile, SecondRow};
use crate::units::Nanos;
use crate::verdict::finding::TimeSpan;

const SECOND: Nanos = Nanos::from_secs(1);

pub(super) const fn moment(at: Nanos) -> TimeSpan {
    TimeSpan { from_ns: at, to_ns: at }
}

/// What of it lies within the run; nothing where none does, or where it is as good as the whole run.
pub(super) fn part(result: &ResultFile, from_ns: Nanos, to_ns: Nanos) -> Option<TimeSpan> {
    let end = result.end();
    let to_ns = to_ns.min(end);
    let is_all = from_ns == Nanos::ZERO && to_ns.plus(SECOND) > end;
    (from_ns < to_ns && !is_all).then_some(TimeSpan { from_ns, to_ns })
}

/// From the first to the last second in which something was so.
pub(super) fn seconds(result: &ResultFile, is_so: impl Fn(&SecondRow) -> bool) -> Option<TimeSpan> {
    let mut found = result.whole_seconds().iter().filter(|row| is_so(row)).map(|row| row.second);
    let first = found.next()?;
    let last = found.next_back().unwrap_or(first);
    part(result, Nanos::from_secs(first), Nanos::from_secs(last).plus(SECOND))
}

/// From the first to the last interval in which a request failed so.
pub(super) fn failures(result: &ResultFile, kind: OutcomeKind) -> Option<TimeSpan> {
    let counts = result.over_time.failures.get(&kind)?;
    let first = counts.iter().position(|count| *count > 0)?;
    let last = counts.iter().rposition(|count| *count > 0)?;
    let begins = |index: usize| Nanos(result.over_time.interval_ns.0.saturating_mul(index as u64));
    part(result, begins(first), begins(last + 1))
}

/// From the first to the last second at whose end fewer subscriptions were in force than before. At the end of the run all are given up.
pub(super) fn lost_subscriptions(result: &ResultFile) -> Option<TimeSpan> {
    let end = result.end();
    let pairs = result.subscribers.series.windows(2).filter(|pair| pair[1].active < pair[0].active);
    let ends = pairs.map(|pair| Nanos::from_secs(pair[1].second).plus(SECOND));
    let mut lost = ends.filter(|to| *to < end);
    let begin = lost.next()?;
    let end_of_last = lost.next_back().unwrap_or(begin);
    part(result, begin.since(SECOND), end_of_last)
}
