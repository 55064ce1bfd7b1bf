//! A sweep as text: Markdown for `summary.md`, and a table for the terminal.

use super::columns::{Columns, gc_throughput, ms, percent, percentile_ms};
use super::runs::{SweepReport, SweepRun};
use crate::describe;
use crate::search::push_findings_of;
use crate::summaries::markdown::{plain, table};
use crate::summary::weight;
use crate::table::decimal;
use crate::text::table::TextTable;
use crate::text::{StyledText, TextLooks, Tone};
use prony_model::Nanos;
use prony_model::sweep::SweepStepState;
use prony_model::units;
use prony_model::verdict::littles_law::average_users;
use std::fmt::Write as _;

/// Columns of which not everybody knows what they are.
const MEANINGS: [(&str, &str); 6] = [
    ("# Samples, Error Count, Error %", "all requests of the steady state, and those that failed in any way"),
    ("Throughput (Requests/sec)", "requests that succeeded, a second"),
    (
        "Response Time",
        "of requests that succeeded, from when they were due; a percentile is left out (N/A) where there are too few of them",
    ),
    (
        "Average Users in the System",
        "by Little's law: the time that all requests took, failed ones too, over the time that was measured",
    ),
    ("GC Throughput (%)", "the share of the whole run that was not in stop-the-world pauses"),
    (
        "Memory Footprint (M)",
        "the largest heap that the JVM had of the system; after full collections: what was in use then",
    ),
];

/// What the terminal's table loses where it is too wide: users, mean, requests, GC, p95, errors.
const LOST: [usize; 6] = [7, 4, 1, 8, 5, 2];

pub(super) fn markdown(report: &SweepReport<'_>) -> String {
    let (file, columns) = (report.file, Columns::of(report));
    let mut text = format!("# {}\n\n", plain(report.scenario));
    let of = if file.target.is_empty() { String::new() } else { format!(" against {}", plain(&file.target)) };
    let _ = writeln!(
        text,
        "{} of {} combinations of {}{of}. Each was warmed up for {} and measured for {}.\n",
        report.runs.len(),
        file.steps.len(),
        plain(&file.asked.given),
        file.asked.warm_up_ns,
        file.asked.hold_ns
    );
    let _ = writeln!(text, "**{}**", plain(&sentence(report)));
    let meanings = MEANINGS.map(|(name, meaning)| vec![name.to_owned(), meaning.to_owned()]);
    text.push_str(&table(
        &[vec!["Column".to_owned(), "What it is".to_owned()]].into_iter().chain(meanings).collect::<Vec<_>>(),
    ));
    let (head, rows) = columns.table();
    let last = columns.heads_of_requests().len() + columns.heads_of_collector(0).len();
    let cells = |row: Vec<String>| row.iter().take(last).map(|cell| plain(cell)).collect::<Vec<_>>();
    text.push_str(&table(&[head].into_iter().chain(rows).map(cells).collect::<Vec<_>>()));
    let notes = notes(report);
    if !notes.is_empty() {
        text.push_str("\n## Findings\n\n");
        for note in notes {
            let _ = writeln!(text, "* {}", plain(&note));
        }
    }
    text
}

pub(super) fn terminal(report: &SweepReport<'_>, looks: TextLooks) -> String {
    let head = ["", "requests", "errors", "a second", "mean", "p95", "p99", "users", "GC"];
    let rows: Vec<Vec<String>> =
        [head.map(str::to_owned).into()].into_iter().chain(report.runs.iter().map(row)).collect();
    let mut text = StyledText::new(looks);
    text.push_as(Tone::Name, report.scenario);
    let _ = writeln!(text, ": {}\n", report.file.target);
    TextTable::with_head(&rows).losing(&LOST).write(&mut text);
    push_findings_of(&mut text, report.runs.iter().map(|run| run.result));
    text.push_verdict(&sentence(report));
    text.into_string()
}

fn row(run: &SweepRun<'_>) -> Vec<String> {
    let window = run.result.headline();
    let all = &window.all;
    let time = |ms_of: Option<f64>| ms_of.map_or("-".to_owned(), |value| format!("{} ms", ms(value)));
    let users = average_users(all, window.window.length());
    vec![
        run.step.combination.label(),
        units::grouped(all.requests),
        units::percent(all.error_share()),
        decimal(all.rate_per_s),
        time(all.response_time.mean_ns.map(Nanos::as_millis_f64)),
        time(percentile_ms(all, 95.0)),
        time(percentile_ms(all, 99.0)),
        users.map_or("-".to_owned(), |users| format!("{users:.1}")),
        percent(gc_throughput(run.result)),
    ]
}

fn sentence(report: &SweepReport<'_>) -> String {
    let passed = match report.runs.len() {
        1 => "the one combination was measured".to_owned(),
        count => format!("all {count} combinations were measured"),
    };
    describe::sentence(&report.file.verdict(), &passed)
}

/// What must be known to read the figures: findings by combination, and combinations without a result.
pub(super) fn notes(report: &SweepReport<'_>) -> Vec<String> {
    let of_runs = report.runs.iter().flat_map(|run| {
        let label = run.step.combination.label();
        run.result.findings.iter().map(move |finding| {
            format!("{label}: {}{}: {}", finding.kind.name(), weight(finding), finding.seen)
        })
    });
    let without = report.file.steps.iter().filter_map(|step| {
        let label = step.combination.label();
        match step.state {
            SweepStepState::Measured => None,
            SweepStepState::Waiting => Some(format!("{label}: not measured")),
            SweepStepState::LabLimited => {
                Some(format!("{label}: not measured: {}", step.note.as_deref().unwrap_or_default()))
            }
        }
    });
    of_runs.chain(without).collect()
}
