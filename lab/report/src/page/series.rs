//! Lines over time: what was asked and answered each second, its percentiles, and what observers saw.

use super::data::{LineData, PlotData, Unit};
use super::{digits, over_time};
use crate::{describe, downsample};
use prony_model::Nanos;
use prony_model::measurement::observation::{Observation, ObservedSeries, ObservedUnit};
use prony_model::result::{ResultFile, SecondRow};
use prony_model::subscription::figures::SubscriberRow;
use std::collections::BTreeSet;

/// The run's own plots: throughput and percentiles, and of subscribers events and fan-out latency.
pub(super) fn plots(result: &ResultFile, points_max: usize) -> Vec<PlotData> {
    let rows = result.whole_seconds();
    if rows.is_empty() {
        return Vec::new();
    }
    let bucket = downsample::bucket_length(rows.len(), points_max);
    let seconds: Vec<_> = rows.iter().map(|row| end_of(row.second)).collect();
    let note = note(bucket, describe::left_out(result));
    let draw = Draw { rows, bucket, times: downsample::times(&seconds, bucket), note };
    let mut plots = Vec::new();
    if result.plan.users() > 0 {
        plots.extend([throughput(result, &draw), percentiles(&draw)]);
        plots.extend(over_time::failures_plot(result));
        plots.extend(over_time::statuses_plot(result));
        plots.push(received(&draw));
    }
    if !result.subscribers.is_empty() {
        // One for each second of the run.
        let series = &result.subscribers.series;
        plots.extend(subscribers(&series[..rows.len().min(series.len())], points_max));
    }
    plots
}

/// Events a second, and how long they took from their mutations.
fn subscribers(rows: &[SubscriberRow], points_max: usize) -> [PlotData; 2] {
    let bucket = downsample::bucket_length(rows.len(), points_max);
    let seconds: Vec<_> = rows.iter().map(|row| end_of(row.second)).collect();
    let times = downsample::times(&seconds, bucket);
    let line = |name: &str, role, unit, value: fn(&SubscriberRow) -> Option<f64>| {
        let values: Vec<_> = rows.iter().map(|row| value(row).map(|value| digits(value, 5))).collect();
        LineData { name: name.to_owned(), role, unit, values: downsample::values(&values, bucket) }
    };
    let ms = Unit::Milliseconds;
    let plot = |id: &str, title: &str, unit, may_be_log, lines| PlotData {
        id: id.to_owned(),
        title: title.to_owned(),
        unit,
        note: note(bucket, String::new()),
        may_be_log,
        axis: None,
        times: times.clone(),
        lines,
    };
    [
        plot(
            "events",
            "Events to subscribers",
            Unit::PerSecond,
            false,
            vec![
                line("events", "success", Unit::PerSecond, |row| Some(row.events as f64)),
                line("missed", "failure", Unit::PerSecond, |row| Some(row.missed as f64)),
                line("subscriptions", "users", Unit::Count, |row| Some(row.active as f64)),
            ],
        ),
        plot(
            "fan-out",
            "Fan-out latency by percentile, each second",
            ms,
            true,
            vec![
                line("p50", "p50", ms, |row| row.p50_ns.map(Nanos::as_millis_f64)),
                line("p99", "p99", ms, |row| row.p99_ns.map(Nanos::as_millis_f64)),
                line("max", "max", ms, |row| row.max_ns.map(Nanos::as_millis_f64)),
            ],
        ),
    ]
}

/// The rows of a run and how many of them become one bucket.
struct Draw<'a> {
    rows: &'a [SecondRow],
    bucket: usize,
    times: Vec<f64>,
    note: String,
}

impl Draw<'_> {
    fn line(
        &self,
        name: &str,
        role: &'static str,
        unit: Unit,
        value: impl Fn(&SecondRow) -> Option<f64>,
    ) -> LineData {
        let values: Vec<_> = self.rows.iter().map(|row| value(row).map(|value| digits(value, 5))).collect();
        LineData { name: name.to_owned(), role, unit, values: downsample::values(&values, self.bucket) }
    }
}

/// Where a second is drawn: what happened in it was done by then, and so many users were there then.
fn end_of(second: u64) -> f64 {
    second as f64 + 1.0
}

fn note(bucket: usize, left_out: String) -> String {
    let reduced = (bucket > 1).then(|| format!("lowest and highest of each {bucket} seconds"));
    describe::joined([reduced, (!left_out.is_empty()).then_some(left_out)])
}

fn throughput(result: &ResultFile, draw: &Draw<'_>) -> PlotData {
    let count = |value: u64| Some(value as f64);
    let mut lines = Vec::new();
    if result.plan.is_open() {
        let asked = |row: &SecondRow| result.plan.asked_per_s(row.second);
        lines.push(draw.line("starts asked", "asked", Unit::PerSecond, asked));
    }
    lines.push(draw.line("requests started", "started", Unit::PerSecond, |row| count(row.started)));
    lines.push(draw.line("successes", "success", Unit::PerSecond, |row| count(row.successes)));
    lines.push(draw.line("failures", "failure", Unit::PerSecond, |row| count(row.failures + row.timeouts)));
    if result.series.iter().any(|row| row.dropped > 0) {
        lines.push(draw.line("starts dropped", "dropped", Unit::PerSecond, |row| count(row.dropped)));
    }
    lines.push(draw.line("users", "users", Unit::Count, |row| count(row.users.into())));
    PlotData {
        id: "throughput".to_owned(),
        title: "Throughput".to_owned(),
        unit: Unit::PerSecond,
        note: draw.note.clone(),
        may_be_log: false,
        axis: None,
        times: draw.times.clone(),
        lines,
    }
}

fn percentiles(draw: &Draw<'_>) -> PlotData {
    let ms = |time: Option<Nanos>| time.map(Nanos::as_millis_f64);
    PlotData {
        id: "percentiles".to_owned(),
        title: "Response time by percentile, each second".to_owned(),
        unit: Unit::Milliseconds,
        note: draw.note.clone(),
        may_be_log: true,
        axis: None,
        times: draw.times.clone(),
        lines: vec![
            draw.line("p50", "p50", Unit::Milliseconds, |row| ms(row.p50_ns)),
            draw.line("p95", "p95", Unit::Milliseconds, |row| ms(row.p95_ns)),
            draw.line("p99", "p99", Unit::Milliseconds, |row| ms(row.p99_ns)),
            draw.line("max", "max", Unit::Milliseconds, |row| ms(row.max_ns)),
        ],
    }
}

fn received(draw: &Draw<'_>) -> PlotData {
    let bytes = draw.line("received", "success", Unit::BytesPerSecond, |row| Some(row.bytes_received as f64));
    PlotData {
        id: "received".to_owned(),
        title: "Received".to_owned(),
        unit: Unit::BytesPerSecond,
        note: draw.note.clone(),
        may_be_log: false,
        axis: None,
        times: draw.times.clone(),
        lines: vec![bytes],
    }
}

/// One plot for each figure that some observer saw, with a line for each observer that saw it.
pub(super) fn observed_plots(observers: &[Observation], points_max: usize) -> Vec<PlotData> {
    let all =
        observers.iter().flat_map(|observer| &observer.series).filter(|series| !series.points.is_empty());
    let mut figures: Vec<(&str, ObservedUnit)> = Vec::new();
    for series in all {
        if !figures.contains(&(series.name.as_str(), series.unit)) {
            figures.push((&series.name, series.unit));
        }
    }
    let plots = figures.iter().enumerate().map(|(index, (name, unit))| {
        let same = |series: &&ObservedSeries| {
            series.name == *name && series.unit == *unit && !series.points.is_empty()
        };
        let seen: Vec<_> = observers
            .iter()
            .filter_map(|observer| Some((observer.name.as_str(), observer.series.iter().find(same)?)))
            .collect();
        observed_plot(index, name, *unit, &seen, points_max)
    });
    plots.collect()
}

/// Observers look at times of their own: the plot's times are all of them.
fn observed_plot(
    index: usize,
    name: &str,
    unit: ObservedUnit,
    seen: &[(&str, &ObservedSeries)],
    points_max: usize,
) -> PlotData {
    let times: BTreeSet<Nanos> =
        seen.iter().flat_map(|(_, series)| series.points.iter().map(|(time, _)| *time)).collect();
    let times: Vec<Nanos> = times.into_iter().collect();
    let bucket = downsample::bucket_length(times.len(), points_max);
    let (unit, factor) = drawn_unit(unit);
    let lines = seen.iter().map(|(observer, series)| {
        let mut values = vec![None; times.len()];
        for (time, value) in &series.points {
            if let Ok(place) = times.binary_search(time) {
                values[place] = value.is_finite().then(|| digits(value * factor, 5));
            }
        }
        LineData {
            name: (*observer).to_owned(),
            role: "observed",
            unit,
            values: downsample::values(&values, bucket),
        }
    });
    let lines = lines.collect();
    let seconds: Vec<_> = times.iter().map(|time| digits(time.as_secs_f64(), 9)).collect();
    PlotData {
        id: format!("observed-{index}"),
        title: name.to_owned(),
        unit,
        note: if bucket > 1 { format!("lowest and highest of each {bucket} samples") } else { String::new() },
        may_be_log: false,
        axis: None,
        times: downsample::times(&seconds, bucket),
        lines,
    }
}

/// With the factor to it.
const fn drawn_unit(unit: ObservedUnit) -> (Unit, f64) {
    match unit {
        ObservedUnit::Processors => (Unit::Processors, 1.0),
        ObservedUnit::Bytes => (Unit::Bytes, 1.0),
        ObservedUnit::BytesPerSecond => (Unit::BytesPerSecond, 1.0),
        ObservedUnit::Count => (Unit::Count, 1.0),
        ObservedUnit::PerSecond => (Unit::PerSecond, 1.0),
        ObservedUnit::Nanoseconds => (Unit::Milliseconds, 1e-6),
        ObservedUnit::Share => (Unit::Share, 1.0),
    }
}
