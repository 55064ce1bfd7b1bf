//! What a terminal shows of a result: findings first, the steady state beside the whole run, then names, failures,
//! thresholds, what observers saw, and what the lab says of itself.

use crate::describe;
use crate::page::data::TableData;
use crate::sparkline::{Gather, sparkline};
use crate::table::{aligned, grouped};
use crate::tables;
use prony_model::Nanos;
use prony_model::measurement::observation::Observation;
use prony_model::result::ResultFile;
use prony_model::verdict::Verdict;
use prony_model::verdict::finding::Finding;
use std::fmt::Write as _;

/// Bars of the small plots.
const PLOT_WIDTH: usize = 60;

/// The whole summary, each line ended.
pub fn summary(result: &ResultFile) -> String {
    let headline = result.headline();
    let mut text = heading(result, &result.plan.name);
    for finding in &result.findings {
        text.push_str(&shown_finding(finding));
    }
    if result.plan.users() > 0 {
        text.push('\n');
        text.push_str(&shown_table(&tables::figures(result)));
        text.push_str(&plots(result));
    }
    for table in tables::beneath(result) {
        let _ = write!(text, "\n{}\n{}", table.title, shown_table(&table));
    }
    if !result.thresholds.is_empty() {
        let rows: Vec<_> = result.thresholds.iter().map(verdict_row).collect();
        let name = describe::window_name(headline.window.kind);
        let _ = write!(text, "\nthresholds ({name})\n{}", aligned(&rows));
    }
    for observer in &result.observers {
        text.push_str(&observed(observer));
    }
    text.push_str(&closing(result));
    if let Some(verdict) = describe::verdict(result) {
        let _ = writeln!(text, "\n{verdict}");
    }
    harmless(&text)
}

/// Several results, a column for each, beneath what was found on them.
pub fn side_by_side(runs: &[(String, &ResultFile)]) -> String {
    let mut text = String::new();
    for (label, result) in runs {
        // Labels that nobody has chosen are the plans' names, with numbers.
        let is_named = label.starts_with(&result.plan.name);
        let name = if is_named { label.clone() } else { format!("{label}: {}", result.plan.name) };
        text.push_str(&heading(result, &name));
        for finding in &result.findings {
            text.push_str(&shown_finding(finding));
        }
    }
    let _ = write!(text, "\n{}", shown_table(&tables::side_by_side(runs)));
    let named = runs.iter().filter(|(_, result)| !result.thresholds.is_empty());
    for (label, result) in named {
        let rows: Vec<_> = result.thresholds.iter().map(verdict_row).collect();
        let _ = write!(text, "\nthresholds of {label}\n{}", aligned(&rows));
    }
    harmless(&text)
}

fn heading(result: &ResultFile, name: &str) -> String {
    let plan = &result.plan;
    let loads = match describe::scenario_lines(plan).as_slice() {
        [one] => format!("{one}, "),
        several => format!("\n  {}\n  ", several.join("\n  ")),
    };
    let state = describe::state_notice(result.state).map(|notice| format!("\n{notice}")).unwrap_or_default();
    format!("{name}: {}, {loads}seed {}{state}\n", plan.targets.join(", "), plan.seed)
}

/// What was found, and nothing else; empty where nothing was.
pub fn findings(result: &ResultFile) -> String {
    result.findings.iter().map(shown_finding).collect()
}

/// What the run comes to in one line; empty where nothing was asked of it and nothing is wrong.
pub fn verdict(result: &ResultFile) -> String {
    describe::verdict(result).map_or_else(String::new, |verdict| harmless(&format!("{verdict}\n")))
}

pub(crate) fn shown_finding(finding: &Finding) -> String {
    let weight = match finding.weight() {
        "" => String::new(),
        weight => format!(" ({weight})"),
    };
    let name = finding.kind.name();
    format!("\n! {name}{weight}: {}\n  cause: {}\n  try: {}\n", finding.seen, finding.cause, finding.try_next)
}

pub(crate) fn shown_table(table: &TableData) -> String {
    let head = table.head.iter().any(|cell| !cell.is_empty()).then(|| table.head.clone());
    let rows: Vec<_> = head.into_iter().chain(table.rows.iter().cloned()).collect();
    aligned(&rows)
}

/// Rate and p99 over time; nothing for runs of a few seconds.
fn plots(result: &ResultFile) -> String {
    const SECONDS_MIN: usize = 5;
    let seconds = result.whole_seconds();
    if seconds.len() < SECONDS_MIN {
        return String::new();
    }
    let rates: Vec<_> = seconds.iter().map(|row| Some(row.successes as f64)).collect();
    let slowest: Vec<_> = seconds.iter().map(|row| row.p99_ns.map(|time| time.0 as f64)).collect();
    let highest = |values: &[Option<f64>]| values.iter().flatten().copied().fold(0.0, f64::max);
    format!(
        "\n  successes/s {}  up to {}\n  p99         {}  up to {}\n",
        sparkline(&rates, PLOT_WIDTH, Gather::Mean),
        grouped(highest(&rates) as u64),
        sparkline(&slowest, PLOT_WIDTH, Gather::Highest),
        Nanos(highest(&slowest) as u64)
    )
}

fn verdict_row(verdict: &Verdict) -> Vec<String> {
    let judgement = verdict.judgement.word();
    let measured = verdict.measured.clone().unwrap_or_else(|| "too few samples".to_owned());
    vec![format!("{judgement}  {}", verdict.threshold), measured]
}

/// One line of figures; beneath it what could not be seen. Of metrics nobody knows which figure sums them up.
pub(crate) fn observed(observer: &Observation) -> String {
    let figure = |figure: &prony_model::measurement::observation::ObservedFigure| {
        format!("{} {}", figure.name, describe::observed(figure.value, figure.unit))
    };
    let figures: Vec<_> = observer.summary.iter().map(figure).collect();
    let figures = match (figures.is_empty(), observer.series.len()) {
        (true, 1) => "1 series, drawn by `prony report --html`".to_owned(),
        (true, count) => format!("{} series, drawn by `prony report --html`", grouped(count as u64)),
        (false, _) => figures.join(", "),
    };
    let mut text = format!("\n{}: {figures}\n", observer.name);
    for (time, fault) in &observer.faults {
        let _ = writeln!(text, "  ! after {time}: {fault}");
    }
    text
}

fn closing(result: &ResultFile) -> String {
    let lab = &result.lab;
    let busy = lab.busiest_thread_share * 100.0;
    let mut text = format!(
        "\nlab: {} threads, busiest {busy:.0} %, {} connections ({} again)",
        lab.threads,
        grouped(lab.connections.opened),
        grouped(lab.connections.reopened)
    );
    if let Some(spoken) = describe::spoken(result) {
        let _ = write!(text, ", {spoken}");
    }
    let (full, resumed) = (lab.connections.tls_full_handshakes, lab.connections.tls_resumed);
    if full + resumed > 0 {
        let _ = write!(text, ", TLS handshakes {} full and {} resumed", grouped(full), grouped(resumed));
        text.push_str(if result.plan.wire.tls.insecure { ", any certificate taken" } else { "" });
    }
    if let Some(late) = lab.lateness.percentile(99.0) {
        let _ = write!(text, ", sends late by p99 {late}");
    }
    if lab.unfinished > 0 {
        let _ = write!(text, ", {} requests unfinished", grouped(lab.unfinished));
    }
    for (term, what) in describe::counted(&result.counted) {
        let _ = write!(text, "\n{term}: {what}");
    }
    let silence = lab.longest_silence_ns;
    let _ = if result.plan.users() == 0 {
        writeln!(text)
    } else if result.plan.is_open() {
        writeln!(text, "\nthe longest wait without any answer was {silence}")
    } else {
        writeln!(
            text,
            "\na closed loop asks less while it waits, which hides stalls; the longest wait without any answer was {silence}"
        )
    };
    text
}

/// Names come from plans and scripts: what would steer a terminal is not passed on.
fn harmless(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\n' { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(safe).collect()
}
