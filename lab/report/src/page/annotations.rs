//! What plots over time are marked with: stages of the load, pauses and compactions that observers saw, faults, steps of the
//! clock and lost workers, findings of a part of the run, and the lines of objectives.

use super::data::{AnnotationData, ObjectiveData};
use super::digits;
use crate::describe;
use prony_model::Nanos;
use prony_model::measurement::clock::ClockEventKind;
use prony_model::measurement::observation::{Observation, ObservedSeries, ObservedUnit, PAUSE};
use prony_model::result::{ResultFile, SecondRow};
use prony_model::verdict::finding::{Finding, TimeSpan};
use prony_model::verdict::threshold::{Metric, Scope, Threshold};

/// Of one kind, the longest or first; more would cover the plot.
const OF_A_KIND_MAX: usize = 60;

/// In the order of time.
pub(super) fn annotations(result: &ResultFile) -> Vec<AnnotationData> {
    let mut all = Vec::new();
    all.extend(stages(result).into_iter().take(OF_A_KIND_MAX));
    all.extend(result.observers.iter().flat_map(pauses));
    all.extend(result.observers.iter().flat_map(compactions).take(OF_A_KIND_MAX));
    let faults = result.observers.iter().flat_map(|observer| {
        let fault =
            |(time, text): &(Nanos, String)| annotation(*time, "fault", format!("{}: {text}", observer.name));
        observer.faults.iter().map(fault)
    });
    all.extend(faults.take(OF_A_KIND_MAX));
    all.extend(result.lab.clock.iter().map(|event| {
        let by = Nanos(event.by_ns.unsigned_abs());
        let text = match event.kind {
            ClockEventKind::WallStep => format!("the wall clock was set by {by}"),
            ClockEventKind::Suspension => format!("the machine slept for {by}"),
        };
        annotation(event.at_ns, "clock", text)
    }));
    all.extend(lost_workers(&result.series).into_iter().take(OF_A_KIND_MAX));
    all.extend(result.findings.iter().filter_map(finding));
    all.sort_by(|left, right| left.at_s.total_cmp(&right.at_s));
    all
}

fn annotation(at: Nanos, kind: &'static str, text: String) -> AnnotationData {
    AnnotationData { at_s: digits(at.as_secs_f64(), 7), to_s: None, kind, text }
}

/// In seconds, as far as they are drawn.
pub(super) fn span_s(span: TimeSpan) -> (f64, f64) {
    (digits(span.from_ns.as_secs_f64(), 7), digits(span.to_ns.as_secs_f64(), 7))
}

/// In its own words; those of the whole run are no event in it.
fn finding(finding: &Finding) -> Option<AnnotationData> {
    let (at_s, to_s) = span_s(finding.span?);
    let text = format!("{}: {}", finding.kind.name(), finding.seen);
    Some(AnnotationData { at_s, to_s: (to_s > at_s).then_some(to_s), kind: "finding", text })
}

/// Where the load begins to move otherwise than before.
fn stages(result: &ResultFile) -> Vec<AnnotationData> {
    let several = result.plan.scenarios.len() > 1;
    let of_all = result.plan.scenarios.iter().flat_map(|scenario| {
        let whose = if several { format!("{}: ", scenario.name) } else { String::new() };
        let unit = if scenario.load.is_open() { "starts a second" } else { "users" };
        let levels = scenario.load.levels().into_iter().filter(|level| level.to > level.from);
        levels.enumerate().filter(move |(index, _)| *index > 0 || several).map(move |(_, level)| {
            let [first, last] = [level.first, level.last].map(|load| digits(load, 4).to_string());
            let what =
                if first == last { format!("{last} {unit}") } else { format!("{first} to {last} {unit}") };
            annotation(scenario.start_ns.plus(level.from), "stage", format!("{whose}{what}"))
        })
    });
    of_all.collect()
}

/// Events that took time, such as those of a garbage collector; the longest ones.
fn pauses(observer: &Observation) -> Vec<AnnotationData> {
    let is_of_events =
        |series: &&ObservedSeries| series.unit == ObservedUnit::Nanoseconds && series.name.starts_with(PAUSE);
    let series = observer.series.iter().filter(is_of_events);
    let mut events: Vec<_> = series
        .flat_map(|series| series.points.iter().map(move |(at, took)| (*at, *took, &series.name)))
        .collect();
    events.sort_by(|left, right| right.1.total_cmp(&left.1));
    let shown = events.into_iter().take(OF_A_KIND_MAX).map(|(at, took, name)| {
        let took = describe::observed(took, ObservedUnit::Nanoseconds);
        annotation(at, "pause", format!("{}: {name} {took}", observer.name))
    });
    shown.collect()
}

/// Moments at which a figure that counts compactions was above zero after it was not.
fn compactions(observer: &Observation) -> Vec<AnnotationData> {
    let counts = observer.series.iter().filter(|series| {
        let is_rate = matches!(series.unit, ObservedUnit::PerSecond | ObservedUnit::Count);
        is_rate && series.name.to_lowercase().contains("compaction")
    });
    let begun = counts.flat_map(|series| {
        let pairs = series.points.windows(2).filter(|pair| pair[0].1 <= 0.0 && pair[1].1 > 0.0);
        pairs.map(|pair| annotation(pair[1].0, "compaction", format!("{}: {}", observer.name, series.name)))
    });
    begun.collect()
}

/// For as long as the same number of them is missing: others may have taken a share over, or more were lost later.
fn lost_workers(series: &[SecondRow]) -> Vec<AnnotationData> {
    let last = series.last().map(|row| row.second);
    let spans = series.chunk_by(|left, right| left.workers_missing == right.workers_missing);
    let missing = spans.filter_map(|rows| {
        let (first, end) = (rows.first()?, rows.last()?);
        let who = match first.workers_missing {
            0 => return None,
            1 => "1 worker is missing".to_owned(),
            count => format!("{count} workers are missing"),
        };
        let at = Nanos::from_secs(first.second);
        if Some(end.second) == last {
            return Some(annotation(at, "worker", format!("{who} from here on")));
        }
        let to_s = Some(digits((end.second + 1) as f64, 7));
        Some(AnnotationData { to_s, ..annotation(at, "worker", who) })
    });
    missing.collect()
}

/// Of thresholds on all requests that have a line in a plot.
pub(super) fn objectives(result: &ResultFile) -> Vec<ObjectiveData> {
    let kept = result.thresholds.iter().filter_map(|verdict| {
        let threshold = Threshold::parse_list(&verdict.threshold).ok()?.into_iter().next()?;
        let (plot, value) = match threshold.metric {
            Metric::Percentile(_) | Metric::Max => ("percentiles", threshold.bound / 1e6),
            Metric::Rate => ("throughput", threshold.bound),
            _ => return None,
        };
        (threshold.scope == Scope::All).then(|| ObjectiveData {
            plot,
            value: digits(value, 6),
            text: threshold.text,
        })
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Metrics have times as well, each second one.
    #[test]
    fn a_time_that_was_sampled_is_no_pause() {
        let series = |name: &str| ObservedSeries {
            name: name.to_owned(),
            unit: ObservedUnit::Nanoseconds,
            points: (0..5).map(|second| (Nanos::from_secs(second), 2e6)).collect(),
        };
        let observed = |name: &str| Observation { series: vec![series(name)], ..Observation::default() };
        assert_eq!(pauses(&observed("http_request_duration_seconds mean")).len(), 0);
        assert_eq!(pauses(&observed("pause")).len(), 5);
    }

    /// A share that others have taken over is not missing to the end.
    #[test]
    fn workers_are_missing_for_as_long_as_they_were() {
        let row = |(second, workers_missing)| SecondRow { second, workers_missing, ..SecondRow::default() };
        let series: Vec<_> = (0..).zip([0, 1, 1, 2, 0, 1, 1]).map(row).collect();
        let marks = lost_workers(&series);
        let marks: Vec<_> = marks.iter().map(|mark| (mark.at_s, mark.to_s, mark.text.as_str())).collect();
        assert_eq!(
            marks,
            [
                (1.0, Some(3.0), "1 worker is missing"),
                (3.0, Some(4.0), "2 workers are missing"),
                (5.0, None, "1 worker is missing from here on"),
            ]
        );
    }
}
