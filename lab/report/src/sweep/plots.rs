//! A sweep on the page: throughput, average, percentiles and what collections left of the time, by users, a line for each message
//! size; percentiles as bars; the table.

use super::columns::{Columns, gc_throughput, percentile_ms};
use super::runs::{SweepReport, SweepRun};
use super::text::notes;
use crate::page::data::{
    BarData, BarGroupData, BarsData, StudyData, StudyLineData, StudyPlotData, TableData, Unit,
};
use prony_model::measurement::figures::Figures;
use prony_model::{Nanos, ResultFile};

/// What a plot shows of a run.
struct Shown {
    title: &'static str,
    unit: Unit,
    value: fn(&ResultFile) -> Option<f64>,
}

const SHOWN: [Shown; 8] = [
    Shown { title: "Throughput", unit: Unit::PerSecond, value: |run| Some(all(run).rate_per_s) },
    Shown {
        title: "Average response time",
        unit: Unit::Milliseconds,
        value: |run| all(run).response_time.mean_ns.map(Nanos::as_millis_f64),
    },
    Shown { title: "75th percentile of response time", unit: Unit::Milliseconds, value: |run| at(run, 75.0) },
    Shown { title: "90th percentile of response time", unit: Unit::Milliseconds, value: |run| at(run, 90.0) },
    Shown { title: "95th percentile of response time", unit: Unit::Milliseconds, value: |run| at(run, 95.0) },
    Shown { title: "99th percentile of response time", unit: Unit::Milliseconds, value: |run| at(run, 99.0) },
    Shown {
        title: "99.9th percentile of response time",
        unit: Unit::Milliseconds,
        value: |run| at(run, 99.9),
    },
    Shown { title: "GC throughput", unit: Unit::Share, value: gc_throughput },
];

fn all(result: &ResultFile) -> &Figures {
    &result.headline().all
}

fn at(result: &ResultFile, percentile: f64) -> Option<f64> {
    percentile_ms(all(result), percentile)
}

pub(super) fn study(report: &SweepReport<'_>) -> StudyData {
    let mut users: Vec<u32> = report.runs.iter().map(users_of).collect();
    users.sort_unstable();
    users.dedup();
    let lines = lines(report);
    let plots = SHOWN.iter().map(|shown| plot(shown, &lines, &users));
    let plots = plots.filter(|plot| !plot.lines.is_empty()).collect();
    let columns = Columns::of(report);
    let rows = report.runs.iter().flat_map(|run| columns.rows_of_requests(*run)).collect();
    let note = "the steady state of each combination; summary.csv has more columns";
    let table = TableData {
        id: "study",
        title: "Each combination".to_owned(),
        note: note.to_owned(),
        head: columns.heads_of_requests(),
        rows,
    };
    let file = report.file;
    let of = if report.file.target.is_empty() { String::new() } else { format!(" against {}", file.target) };
    StudyData {
        title: format!("{}: a sweep", report.scenario),
        setting: format!(
            "{} of {} combinations of {}{of}; each was warmed up for {} and measured for {}.",
            report.runs.len(),
            file.steps.len(),
            file.asked.given,
            file.asked.warm_up_ns,
            file.asked.hold_ns
        ),
        differs: String::new(),
        users,
        plots,
        bars: lines.iter().map(bars).collect(),
        tables: vec![table],
        notes: notes(report),
    }
}

/// Combinations that differ by their users alone.
struct Line<'a> {
    name: String,
    runs: Vec<SweepRun<'a>>,
}

fn lines<'a>(report: &'a SweepReport<'a>) -> Vec<Line<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for run in &report.runs {
        let mut combination = run.step.combination.clone();
        combination.users = None;
        let name = combination.label();
        let name = if name.is_empty() { report.scenario.to_owned() } else { name };
        match lines.iter_mut().find(|line| line.name == name) {
            Some(line) => line.runs.push(*run),
            None => lines.push(Line { name, runs: vec![*run] }),
        }
    }
    for line in &mut lines {
        line.runs.sort_by_key(users_of);
    }
    lines
}

fn users_of(run: &SweepRun<'_>) -> u32 {
    run.step.combination.users.unwrap_or_else(|| run.result.plan.users())
}

/// Lines without a value are left out.
fn plot(shown: &Shown, lines: &[Line<'_>], users: &[u32]) -> StudyPlotData {
    let drawn = lines.iter().enumerate().map(|(place, line)| {
        let value = |users: &u32| {
            let run = line.runs.iter().find(|run| users_of(run) == *users)?;
            (shown.value)(run.result)
        };
        let values = users.iter().map(value).collect();
        StudyLineData { name: line.name.clone(), place, is_published: false, values }
    });
    let drawn = drawn.filter(|line| line.values.iter().any(Option::is_some)).collect();
    StudyPlotData { title: shown.title.to_owned(), unit: shown.unit, lines: drawn }
}

fn bars(line: &Line<'_>) -> BarsData {
    let groups = line.runs.iter().map(|run| {
        let bar = |name, percentile| BarData { name, ms: at(run.result, percentile) };
        let bars = vec![bar("p90", 90.0), bar("p95", 95.0), bar("p99", 99.0)];
        BarGroupData { name: crate::table::grouped(users_of(run).into()), bars }
    });
    BarsData { title: line.name.clone(), note: "by users".to_owned(), groups: groups.collect() }
}
