//! Whether a run at a load meets the objectives, and why not. What can be believed is [`crate::verdict::rule`]'s business; a
//! search adds two objectives of its own, that starts are made and that errors do not dominate.

use super::Trial;
use crate::result::ResultFile;
use crate::verdict::finding::FindingKind;
use crate::verdict::rule::{Belief, believed, without_success};
use crate::verdict::threshold::{Metric, Threshold};
use crate::verdict::{Judgement, Verdict};

/// A load of which less than this share was started is not the load that was asked for.
const STARTED_SHARE_MIN: f64 = 0.99;

/// How a run went; and the reason where it did not pass, for people. The objectives take the place of its own thresholds.
pub fn judge(result: &ResultFile, objectives: &[Threshold]) -> (Trial, String) {
    let (belief, nothing) = (result.belief(), without_success(result));
    let is_failure = nothing.is_some();
    let failures = objectives.iter().filter_map(|objective| failure(objective, result, belief));
    let reasons: Vec<_> = nothing
        .into_iter()
        .chain(failures)
        .chain(not_started(result))
        .chain(errors_dominate(result))
        .collect();
    match lab_limit(result).filter(|_| !is_failure) {
        Some(limit) if belief == Belief::Nothing => (Trial::LabLimited, limit),
        Some(limit) if belief == Belief::UpperBounds && !reasons.is_empty() => (Trial::LabLimited, limit),
        _ if reasons.is_empty() => (Trial::Passed, String::new()),
        _ => (Trial::Failed, reasons.join("; ")),
    }
}

fn lab_limit(result: &ResultFile) -> Option<String> {
    let is_limit = |kind| kind != FindingKind::ErrorsDominate;
    let mut findings = result.findings.iter();
    let finding = findings
        .find(|finding| (finding.voids_claim || finding.is_upper_bound()) && is_limit(finding.kind))?;
    Some(format!("{}: {}", finding.kind.name(), finding.seen))
}

/// Of a percentile with too few samples the slowest response stands in: it is no faster.
fn failure(objective: &Threshold, result: &ResultFile, belief: Belief) -> Option<String> {
    let of = |objective: &Threshold| Verdict::of(objective, result.headline(), &result.subscribers);
    let Verdict { threshold: text, judgement, measured } = of(objective);
    if judgement != Judgement::Undecided {
        // What is short of the objective with the lab's lateness in it is the lab's limit, and a reason all the same.
        let belief = if belief == Belief::UpperBounds { Belief::Whole } else { belief };
        let is_failed = believed(judgement, objective.metric, belief) == Judgement::Failed;
        return is_failed.then(|| format!("{text}: {}", measured.as_deref().unwrap_or("-")));
    }
    if !matches!(objective.metric, Metric::Percentile(_)) {
        return Some(format!("{text}: too few samples"));
    }
    let slowest = of(&Threshold { metric: Metric::Max, ..objective.clone() });
    let took = slowest.measured.unwrap_or_else(|| "-".to_owned());
    let kept = slowest.judgement == Judgement::Kept;
    (!kept).then(|| format!("{text}: too few samples, and the slowest took {took}"))
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
