//! Whether a run at a load meets the objectives, and why not.

use super::Trial;
use crate::result::ResultFile;
use crate::verdict::finding::FindingKind;
use crate::verdict::threshold::{Metric, Threshold};
use crate::verdict::{Judgement, Verdict};

/// A load of which less than this share was started is not the load that was asked for.
const STARTED_SHARE_MIN: f64 = 0.99;

/// How a run went whose plan has the objectives as its thresholds; and the reason where it did not pass, for people.
pub fn judge(result: &ResultFile, objectives: &[Threshold]) -> (Trial, String) {
    let reasons: Vec<_> = objectives
        .iter()
        .zip(&result.thresholds)
        .filter_map(|(objective, verdict)| failure(objective, verdict, result))
        .chain(not_started(result))
        .chain(errors_dominate(result))
        .collect();
    match lab_limit(result) {
        Some(limit) if !reasons.is_empty() || !sets_its_load(result) => (Trial::LabLimited, limit),
        _ if reasons.is_empty() => (Trial::Passed, String::new()),
        _ => (Trial::Failed, reasons.join("; ")),
    }
}

fn lab_limit(result: &ResultFile) -> Option<String> {
    let lab = |kind| matches!(kind, FindingKind::GeneratorBound | FindingKind::PortsExhausted);
    let finding = result.findings.iter().find(|finding| lab(finding.kind))?;
    Some(format!("{}: {}", finding.kind.name(), finding.seen))
}

/// True where starts come when the plan says, however busy the lab is: its own lateness is then part of each response
/// time, so a run that passes would have passed with a faster lab too. Users without waits ask less of a busy lab.
fn sets_its_load(result: &ResultFile) -> bool {
    result.plan.is_open() || result.plan.rate_cap_per_s.is_some()
}

/// Of a percentile with too few samples the slowest answer stands in: it is no faster.
fn failure(objective: &Threshold, verdict: &Verdict, result: &ResultFile) -> Option<String> {
    let text = &verdict.threshold;
    match (verdict.judgement, &verdict.measured) {
        (Judgement::Kept, _) => None,
        (Judgement::Failed, Some(measured)) => Some(format!("{text}: {measured}")),
        (Judgement::Undecided, _) if !matches!(objective.metric, Metric::Percentile(_)) => {
            Some(format!("{text}: too few samples"))
        }
        _ => {
            let slowest = Threshold { metric: Metric::Max, ..objective.clone() };
            let slowest = Verdict::of(&slowest, result.headline(), &result.subscribers);
            let took = slowest.measured.unwrap_or_else(|| "-".to_owned());
            let kept = slowest.judgement == Judgement::Kept;
            (!kept).then(|| format!("{text}: too few samples, and the slowest took {took}"))
        }
    }
}

fn not_started(result: &ResultFile) -> Option<String> {
    let scenarios = &result.headline().by_scenario;
    let sum = |count: fn(&crate::measurement::tally::StartCounts) -> u64| {
        scenarios.iter().map(|scenario| count(&scenario.starts)).sum::<u64>()
    };
    let (due, dropped) = (sum(|starts| starts.due), sum(|starts| starts.dropped));
    let share = 1.0 - dropped as f64 / due.max(1) as f64;
    (share < STARTED_SHARE_MIN)
        .then(|| format!("{dropped} of {due} starts found no free user and were dropped"))
}

fn errors_dominate(result: &ResultFile) -> Option<String> {
    let finding = result.findings.iter().find(|finding| finding.kind == FindingKind::ErrorsDominate);
    finding.map(|finding| finding.seen.clone())
}
