//! What a terminal shows of a result: findings first, the steady state beside the whole run, then names,
//! failures and thresholds.

use crate::table::{aligned, bytes, grouped};
use prony_load_model::figures::{Figures, PERCENTILES};
use prony_load_model::findings::Finding;
use prony_load_model::record::OutcomeKind;
use prony_load_model::result::{ResultFile, RunState, ScenarioSummary, WindowResult};
use prony_load_model::verdict::{Judgement, Verdict};
use prony_load_model::{LoadModel, Nanos, Pacing, Spacing, ThinkTime, WindowKind};
use std::fmt::Write as _;

/// The whole summary, each line ended.
pub fn summary(result: &ResultFile) -> String {
    let headline = result.headline();
    let mut text = heading(result);
    for finding in &result.findings {
        text.push_str(&shown_finding(finding));
    }
    let mut windows = vec![headline];
    windows.extend(result.window(WindowKind::Whole).filter(|_| headline.window.kind == WindowKind::Steady));
    let _ = write!(text, "\n{}", aligned(&figures_table(&windows)));
    if headline.by_request.len() > 1 {
        let _ =
            write!(text, "\nby request ({})\n{}", window_name(headline), aligned(&requests_table(headline)));
    }
    if headline.all.failures > 0 {
        let _ = write!(
            text,
            "\nfailures ({})\n{}",
            window_name(headline),
            aligned(&failures_table(&headline.all))
        );
    }
    if !result.thresholds.is_empty() {
        let rows: Vec<_> = result.thresholds.iter().map(verdict_row).collect();
        let _ = write!(text, "\nthresholds ({})\n{}", window_name(headline), aligned(&rows));
    }
    text.push_str(&closing(result));
    text
}

fn heading(result: &ResultFile) -> String {
    let plan = &result.plan;
    let state = match result.state {
        RunState::Completed => "",
        RunState::Stopped => "\nstopped early: the figures are of what ran until then",
        RunState::Running => "\nthe run had not ended when this was written",
    };
    let loads: Vec<_> = plan.scenarios.iter().map(load_line).collect();
    let loads = match loads.as_slice() {
        [one] => format!("{one}, "),
        several => {
            several.iter().zip(&plan.scenarios).fold(String::new(), |text, (line, scenario)| {
                format!("{text}\n  {}, from {}: {line}", scenario.name, scenario.start_ns)
            }) + "\n  "
        }
    };
    format!("{}: {}, {loads}seed {}{state}\n", plan.name, plan.targets.join(", "), plan.seed)
}

fn load_line(scenario: &ScenarioSummary) -> String {
    match scenario.load {
        LoadModel::Open { .. } => load(&scenario.load),
        _ => format!("{}, {}", load(&scenario.load), pacing(scenario.pacing)),
    }
}

fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::Fixed { interval_ns } => format!("an iteration each {interval_ns}"),
        Pacing::ThinkTime(think_time) => match think_time {
            ThinkTime::None => "no think time".to_owned(),
            ThinkTime::Constant { time_ns } => format!("think time {time_ns}"),
            ThinkTime::Uniform { min_ns, max_ns } => format!("think time {min_ns} to {max_ns}"),
            ThinkTime::Exponential { mean_ns } => format!("think time {mean_ns} in the mean, exponential"),
            ThinkTime::Normal { mean_ns, deviation_ns } => {
                format!("think time {mean_ns} ± {deviation_ns}, normal")
            }
        },
    }
}

fn load(load: &LoadModel) -> String {
    let users = grouped(load.users_max().into());
    match load {
        LoadModel::Closed { .. } => format!("closed loop, up to {users} users"),
        LoadModel::PerUserIterations { iterations, .. } => {
            format!("{users} users, {} iterations each", grouped(*iterations))
        }
        LoadModel::SharedIterations { iterations, .. } => {
            format!("{users} users, {} iterations together", grouped(*iterations))
        }
        LoadModel::Open { spacing, .. } => {
            let spacing = match spacing {
                Spacing::Even => "even",
                Spacing::Poisson => "Poisson",
            };
            let rate = load.rate_max().unwrap_or(0.0);
            format!("open, up to {rate} starts a second ({spacing}), served by {users} users")
        }
    }
}

pub(crate) fn shown_finding(finding: &Finding) -> String {
    let weight = if finding.voids_claim { " (the figures are not about the target)" } else { "" };
    let name = finding.kind.name();
    format!("\n! {name}{weight}: {}\n  cause: {}\n  try: {}\n", finding.seen, finding.cause, finding.try_next)
}

fn window_name(window: &WindowResult) -> &'static str {
    match window.window.kind {
        WindowKind::Ramp => "ramp",
        WindowKind::WarmUp => "warm-up",
        WindowKind::Steady => "steady state",
        WindowKind::After => "after",
        WindowKind::Whole => "whole run",
    }
}

/// One row for each window and figure; a figure without samples enough is a dash.
fn figures_table(windows: &[&WindowResult]) -> Vec<Vec<String>> {
    let row = |name: &str, cell: &dyn Fn(&WindowResult) -> String| {
        let cells = windows.iter().map(|window| cell(window));
        [name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
    };
    let mut rows = vec![
        row("", &|window| window_name(window).to_owned()),
        row("from, to", &|window| format!("{} – {}", window.window.from_ns, window.window.to_ns)),
        row("requests", &|window| grouped(window.all.requests)),
        row("successes a second", &|window| format!("{:.1}", window.all.rate_per_s)),
        row("errors", &|window| format!("{:.2} %", window.all.error_share() * 100.0)),
        row("received", &|window| bytes(window.all.bytes_received)),
        row("response time min", &|window| time(window.all.response_time.min_ns)),
        row("mean", &|window| time(window.all.response_time.mean_ns)),
    ];
    for percentile in PERCENTILES.into_iter().filter(|percentile| *percentile < 100.0) {
        let cells = |window: &WindowResult| time(window.all.response_time.percentile(percentile));
        // Rare percentiles that no window has samples for are left out as a whole.
        if windows.iter().any(|window| window.all.response_time.percentile(percentile).is_some()) {
            rows.push(row(&format!("p{percentile}"), &cells));
        }
    }
    rows.push(row("max", &|window| time(window.all.response_time.max_ns)));
    rows
}

fn time(time: Option<Nanos>) -> String {
    time.map_or("-".to_owned(), |time| time.to_string())
}

fn requests_table(window: &WindowResult) -> Vec<Vec<String>> {
    let head = ["", "requests", "a second", "errors", "p50", "p95", "p99", "max"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for request in &window.by_request {
        let (figures, times) = (&request.figures, &request.figures.response_time);
        rows.push(vec![
            request.name.clone(),
            grouped(figures.requests),
            format!("{:.1}", figures.rate_per_s),
            format!("{:.2} %", figures.error_share() * 100.0),
            time(times.percentile(50.0)),
            time(times.percentile(95.0)),
            time(times.percentile(99.0)),
            time(times.max_ns),
        ]);
    }
    rows
}

fn failures_table(figures: &Figures) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for (kind, count) in figures.outcomes.iter().filter(|(kind, _)| **kind != OutcomeKind::Success) {
        if *kind == OutcomeKind::Status {
            let statuses = figures.statuses.iter();
            rows.extend(statuses.map(|(status, count)| vec![format!("status {status}"), grouped(*count)]));
        } else {
            rows.push(vec![kind.label().to_owned(), grouped(*count)]);
        }
    }
    rows
}

fn verdict_row(verdict: &Verdict) -> Vec<String> {
    let judgement = match verdict.judgement {
        Judgement::Kept => "kept",
        Judgement::Failed => "FAILED",
        Judgement::Undecided => "UNDECIDED",
    };
    let measured = verdict.measured.clone().unwrap_or_else(|| "too few samples".to_owned());
    vec![format!("{judgement}  {}", verdict.threshold), measured]
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
    if let Some(late) = lab.lateness.percentile(99.0) {
        let _ = write!(text, ", sends late by p99 {late}");
    }
    if lab.unfinished > 0 {
        let _ = write!(text, ", {} requests unfinished", grouped(lab.unfinished));
    }
    let silence = lab.longest_silence_ns;
    let _ = writeln!(
        text,
        "\na closed loop asks less while it waits, which hides stalls; the longest wait without any answer was {silence}"
    );
    text
}
