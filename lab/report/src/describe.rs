//! Words for what was run: loads, pacing, states, windows, observed units.

use crate::table::{bytes, grouped};
use prony_model::comparison::Subject;
use prony_model::load::{IterationBudget, Pacing};
use prony_model::measurement::observation::ObservedUnit;
use prony_model::plan::wire::Protocol;
use prony_model::result::{Counted, PlanSummary, ResultFile, RunState, ScenarioSummary};
use prony_model::search::SearchFile;
use prony_model::units::percent;
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::{Conclusion, LoadModel, Nanos, Spacing, ThinkTime, WindowKind};

/// What a reader must know before any figure.
pub(crate) const fn state_notice(state: RunState) -> Option<&'static str> {
    match state {
        RunState::Completed => None,
        RunState::Stopped => Some("stopped early: the figures are of what ran until then"),
        RunState::Running => Some("the run had not ended when this was written"),
    }
}

/// What one of two things was: as it was given, and its address where that is known before it runs.
pub(crate) fn compared(one: &Subject) -> String {
    let Subject { given, target, .. } = one;
    if target.is_empty() { given.clone() } else { format!("{given} ({target})") }
}

/// The address of what was searched, where that is known before it runs, and what was asked of it.
pub(crate) fn searched(file: &SearchFile) -> String {
    let target = Some(&file.target).filter(|target| !target.is_empty());
    target.into_iter().chain(&file.objectives).map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// True where nothing was asked of a run, and nothing is wrong with it: that it has passed would say nothing.
fn is_without_verdict(result: &ResultFile, verdict: &RunVerdict) -> bool {
    verdict.conclusion == Conclusion::Passed && result.thresholds.is_empty()
}

/// What the run comes to in one sentence; nothing where there is nothing to say.
pub(crate) fn verdict(result: &ResultFile) -> Option<String> {
    let verdict = RunVerdict::of_kept(result);
    if is_without_verdict(result, &verdict) {
        return None;
    }
    Some(sentence(&verdict, "every threshold was kept"))
}

/// A verdict in one sentence, with what it means that something passed.
pub(crate) fn sentence(verdict: &RunVerdict, passed: &str) -> String {
    let reasons = verdict.reasons.join("; ");
    match verdict.conclusion {
        Conclusion::Passed => format!("passed: {passed}"),
        Conclusion::Failed => format!("FAILED: {reasons}"),
        Conclusion::Void => format!("VOID, neither passed nor failed: {reasons}"),
    }
}

/// For a cell of a table.
pub(crate) fn verdict_word(result: &ResultFile) -> &'static str {
    let verdict = RunVerdict::of_kept(result);
    if is_without_verdict(result, &verdict) { "-" } else { verdict.conclusion.word() }
}

/// Parts of a note, as far as there are any.
pub(crate) fn joined<const PARTS: usize>(parts: [Option<String>; PARTS]) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// What ended in no whole second, which plots leave out; empty where nothing did.
pub(crate) fn left_out(result: &ResultFile) -> String {
    let whole = result.whole_seconds();
    let rest = &result.series[whole.len()..];
    let ended: u64 = rest.iter().map(|row| row.successes + row.failures + row.timeouts).sum();
    let from = whole.last().map_or(0, |row| row.second + 1);
    match ended {
        0 => String::new(),
        1 => format!("1 request ended after {from} s, in no whole second, and is not drawn"),
        _ => {
            format!("{} requests ended after {from} s, in no whole second, and are not drawn", grouped(ended))
        }
    }
}

/// One line a scenario, each with its name and start where there are several.
pub(crate) fn scenario_lines(plan: &PlanSummary) -> Vec<String> {
    let scenario = |summary: &ScenarioSummary| scenario(summary, plan.is_script());
    match plan.scenarios.as_slice() {
        [one] => vec![scenario(one)],
        several => {
            let line = |s: &ScenarioSummary| format!("{}, from {}: {}", s.name, s.start_ns, scenario(s));
            several.iter().map(line).collect()
        }
    }
}

fn scenario(summary: &ScenarioSummary, is_script: bool) -> String {
    if summary.load.is_open() {
        load(&summary.load)
    } else if summary.load.users_max() == 0 {
        // Of subscribers alone, who have a table of their own.
        "no users".to_owned()
    } else {
        let pacing = match summary.pacing {
            Pacing::ThinkTime(ThinkTime::None) if is_script => "waits as its script says".to_owned(),
            pacing => self::pacing(pacing),
        };
        format!("{}, {pacing}", load(&summary.load))
    }
}

fn load(load: &LoadModel) -> String {
    let users = grouped(load.users_max().into());
    if let Some(arrivals) = &load.arrivals {
        let spacing = match arrivals.spacing {
            Spacing::Even => "even",
            Spacing::Poisson => "Poisson",
        };
        let rate = arrivals.rate_max();
        return format!("open, up to {rate} starts a second ({spacing}), served by {users} users");
    }
    match load.budget {
        IterationBudget::Unlimited => format!("closed loop, up to {users} users"),
        IterationBudget::EachUser(iterations) => {
            format!("{users} users, {} iterations each", grouped(iterations))
        }
        IterationBudget::Shared(iterations) => {
            format!("{users} users, {} iterations together", grouped(iterations))
        }
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
            ThinkTime::LogNormal { mean_ns, deviation_ns } => {
                format!("think time {mean_ns} ± {deviation_ns}, lognormal")
            }
        },
    }
}

pub(crate) const fn window_name(kind: WindowKind) -> &'static str {
    match kind {
        WindowKind::Ramp => "ramp",
        WindowKind::WarmUp => "warm-up",
        WindowKind::Steady => "steady state",
        WindowKind::After => "after",
        WindowKind::Whole => "whole run",
    }
}

/// What was spoken, where that is not simply HTTP/1.1 as asked for.
pub(crate) fn spoken(result: &ResultFile) -> Option<String> {
    let spoken = &result.lab.spoken;
    let first = spoken.first()?.label();
    if spoken.iter().all(|one| one.label() == first) {
        let is_plain = result.plan.wire.protocol == Protocol::Http1;
        return (!is_plain).then(|| first.to_owned());
    }
    let pairs = spoken.iter().zip(&result.plan.targets);
    Some(pairs.map(|(one, target)| format!("{} with {target}", one.label())).collect::<Vec<_>>().join(", "))
}

/// Terms and what was counted of them: rows of feeders, iterations that ended early.
pub(crate) fn counted(counted: &Counted) -> Vec<(String, String)> {
    let feeders = counted.feeders.iter().map(|feeder| {
        let (taken, rows) = (grouped(feeder.count.rows_taken), grouped(feeder.rows));
        let stopped = match feeder.count.users_stopped {
            0 => String::new(),
            users => format!(", {} users stopped for want of one", grouped(users)),
        };
        let term = format!("rows of {}", feeder.name);
        (term, format!("{taken} taken of {rows} in {}{stopped}", feeder.origin))
    });
    let cut = (counted.iterations_cut > 0).then(|| {
        let what =
            format!("{} ended early because a request in them failed", grouped(counted.iterations_cut));
        ("iterations".to_owned(), what)
    });
    feeders.chain(cut).collect()
}

/// A figure with its unit.
pub(crate) fn observed(value: f64, unit: ObservedUnit) -> String {
    match unit {
        ObservedUnit::Processors => format!("{value:.2} processors"),
        ObservedUnit::Bytes => bytes(value.max(0.0) as u64),
        ObservedUnit::Count => number(value),
        ObservedUnit::PerSecond => format!("{}/s", number(value)),
        ObservedUnit::BytesPerSecond => format!("{}/s", bytes(value.max(0.0) as u64)),
        ObservedUnit::Nanoseconds => Nanos(value.max(0.0) as u64).to_string(),
        ObservedUnit::Share => percent(value),
    }
}

/// With decimals only below a hundred, and only where there are any.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= 100.0 || (value - value.round()).abs() < 1e-9 {
        let digits = grouped(value.abs().round() as u64);
        return if value < -0.5 { format!("-{digits}") } else { digits };
    }
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observed_figures_have_their_units() {
        let shown = [
            observed(1.5, ObservedUnit::Processors),
            observed(2_500_000.0, ObservedUnit::Bytes),
            observed(12.0, ObservedUnit::Count),
            observed(1_234.5, ObservedUnit::PerSecond),
            observed(1.25e6, ObservedUnit::Nanoseconds),
            observed(0.987, ObservedUnit::Share),
            observed(-3.0, ObservedUnit::Count),
        ];
        assert_eq!(shown, ["1.50 processors", "2.5 MB", "12", "1 235/s", "1.25 ms", "98.70 %", "-3"]);
    }
}
