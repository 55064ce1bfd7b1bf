//! What a terminal shows of a result: findings first, the steady state beside the whole run, then names, failures,
//! thresholds, what observers saw, and what the lab says of itself.

use crate::describe;
use crate::page::data::TableData;
use crate::sparkline::{Gather, sparkline};
use crate::table::grouped;
use crate::tables;
use crate::text::table::{TextTable, judged};
use crate::text::{StyledText, TextLooks, Tone};
use prony_model::Nanos;
use prony_model::measurement::observation::Observation;
use prony_model::result::ResultFile;
use prony_model::verdict::Verdict;
use prony_model::verdict::finding::Finding;
use std::fmt::Write as _;

/// Bars of the small plots.
const PLOT_WIDTH: usize = 60;
/// What stands beside them.
const PLOT_NAMES_COLUMNS: usize = 34;

/// The whole summary, each line ended.
pub fn summary(result: &ResultFile, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    push_heading(&mut text, result, &result.plan.name);
    push_findings(&mut text, result);
    if result.plan.users() > 0 {
        text.push("\n");
        TextTable::of(&tables::figures(result)).write(&mut text);
        let room = looks.columns.map(|columns| columns.saturating_sub(PLOT_NAMES_COLUMNS).max(1));
        text.push(&plots(result, room.map_or(PLOT_WIDTH, |room| room.min(PLOT_WIDTH))));
    }
    for table in tables::beneath(result) {
        push_table(&mut text, &table);
    }
    push_thresholds(
        &mut text,
        result,
        &format!("({})", describe::window_name(result.headline().window.kind)),
    );
    for observer in &result.observers {
        push_observed(&mut text, observer);
    }
    text.push(&closing(result));
    if let Some(verdict) = describe::verdict(result) {
        text.push_verdict(&verdict);
    }
    text.into_string()
}

/// Several results, a column for each, beneath what was found on them.
pub fn side_by_side(runs: &[(String, &ResultFile)], looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    for (label, result) in runs {
        // Labels that nobody has chosen are the plans' names, with numbers.
        let is_named = label.starts_with(&result.plan.name);
        let name = if is_named { label.clone() } else { format!("{label}: {}", result.plan.name) };
        push_heading(&mut text, result, &name);
        push_findings(&mut text, result);
    }
    text.push("\n");
    TextTable::of(&tables::side_by_side(runs)).write(&mut text);
    for (label, result) in runs {
        push_thresholds(&mut text, result, &format!("of {label}"));
    }
    text.into_string()
}

fn push_heading(text: &mut StyledText, result: &ResultFile, name: &str) {
    let plan = &result.plan;
    let loads = match describe::scenario_lines(plan).as_slice() {
        [one] => format!("{one}, "),
        several => format!("\n  {}\n  ", several.join("\n  ")),
    };
    text.push_as(Tone::Name, name);
    // Of scripts that workers run, the targets are not known here.
    let mut targets = plan.targets.join(", ");
    if !targets.is_empty() {
        targets.push_str(", ");
    }
    let _ = writeln!(text, ": {targets}{loads}seed {}", plan.seed);
    if let Some(notice) = describe::state_notice(result.state) {
        text.push_as(Tone::Doubtful, notice);
        text.push("\n");
    }
}

/// What was found, and nothing else; empty where nothing was.
pub fn findings(result: &ResultFile, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    push_findings(&mut text, result);
    text.into_string()
}

/// What the run comes to in one line; empty where nothing was asked of it and nothing is wrong.
pub fn verdict(result: &ResultFile, looks: TextLooks) -> String {
    let mut text = StyledText::new(looks);
    if let Some(verdict) = describe::verdict(result) {
        text.push_as(Tone::of_judgement(&verdict), &verdict);
        text.push("\n");
    }
    text.into_string()
}

/// Each below an empty line.
pub(crate) fn push_findings(text: &mut StyledText, result: &ResultFile) {
    for finding in &result.findings {
        text.push("\n");
        push_finding(text, finding, &weight(finding));
    }
}

/// What a finding does to the figures, to stand behind its name.
pub(crate) fn weight(finding: &Finding) -> String {
    match finding.weight() {
        "" => String::new(),
        weight => format!(" ({weight})"),
    }
}

/// `weight`: what stands behind its name.
pub(crate) fn push_finding(text: &mut StyledText, finding: &Finding, weight: &str) {
    text.push_as(Tone::Doubtful, &format!("! {}{weight}", finding.kind.name()));
    let _ = writeln!(text, ": {}\n  cause: {}\n  try: {}", finding.seen, finding.cause, finding.try_next);
}

/// Below its title.
pub(crate) fn push_table(text: &mut StyledText, table: &TableData) {
    text.push_title(&table.title);
    TextTable::of(table).write(text);
}

/// Nothing where the plan has none. `whose`: of which window or run they are.
fn push_thresholds(text: &mut StyledText, result: &ResultFile, whose: &str) {
    if result.thresholds.is_empty() {
        return;
    }
    let rows: Vec<_> = result.thresholds.iter().map(verdict_row).collect();
    text.push_title(&format!("thresholds {whose}"));
    TextTable::without_head(&rows).with_tone(judged::<0>).write(text);
}

/// Rate and p99 over time; nothing for runs of a few seconds.
fn plots(result: &ResultFile, width: usize) -> String {
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
        sparkline(&rates, width, Gather::Mean),
        grouped(highest(&rates) as u64),
        sparkline(&slowest, width, Gather::Highest),
        Nanos(highest(&slowest) as u64)
    )
}

fn verdict_row(verdict: &Verdict) -> Vec<String> {
    let judgement = verdict.judgement.word();
    let measured = verdict.measured.clone().unwrap_or_else(|| "too few samples".to_owned());
    vec![format!("{judgement}  {}", verdict.threshold), measured]
}

/// One line of figures; beneath it what could not be seen. Of metrics nobody knows which figure sums them up.
pub(crate) fn push_observed(text: &mut StyledText, observer: &Observation) {
    let figure = |figure: &prony_model::measurement::observation::ObservedFigure| {
        format!("{} {}", figure.name, describe::observed(figure.value, figure.unit))
    };
    let figures: Vec<_> = observer.summary.iter().map(figure).collect();
    let figures = match (figures.is_empty(), observer.series.len()) {
        (true, 1) => "1 series, drawn by `prony report --html`".to_owned(),
        (true, count) => format!("{} series, drawn by `prony report --html`", grouped(count as u64)),
        (false, _) => figures.join(", "),
    };
    text.push("\n");
    text.push_as(Tone::Name, &observer.name);
    let _ = writeln!(text, ": {figures}");
    for (time, fault) in &observer.faults {
        text.push("  ");
        text.push_as(Tone::Doubtful, &format!("! after {time}: {fault}"));
        text.push("\n");
    }
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
