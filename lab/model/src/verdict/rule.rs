//! The one rule by which successes, findings and thresholds of a run become a conclusion, and a conclusion an exit code.
//!
//! `docs/verdicts.md` says it for people. Whatever prints, draws or exits asks here and decides nothing of its own.

use crate::result::{ResultFile, RunState};
use crate::subscription::figures::SubscriberGroup;
use crate::units::Nanos;
use crate::verdict::conclusion::{Conclusion, RunVerdict};
use crate::verdict::finding::{Finding, FindingKind};
use crate::verdict::threshold::{Metric, Threshold};
use crate::verdict::{Judgement, Verdict};

impl RunVerdict {
    /// That which the result holds, or what the rule makes of one that has none.
    pub fn of_kept(result: &ResultFile) -> Self {
        result.verdict.clone().unwrap_or_else(|| Self::of(result))
    }

    /// Of a result whose thresholds were judged by [`believed`]. Failures that can be believed come before doubts.
    pub fn of(result: &ResultFile) -> Self {
        let failed: Vec<String> = without_success(result).into_iter().chain(failures(result)).collect();
        if !failed.is_empty() {
            return Self { conclusion: Conclusion::Failed, reasons: failed };
        }
        let doubts = doubts(result);
        let conclusion = if doubts.is_empty() { Conclusion::Passed } else { Conclusion::Void };
        Self { conclusion, reasons: doubts }
    }
}

impl ResultFile {
    /// How far its figures can be believed.
    pub fn belief(&self) -> Belief {
        Belief::of(&self.findings)
    }

    /// Of a result whose findings, figures and series are complete: judges thresholds by what can be believed, concludes,
    /// and says of each second how much of it the run covers.
    pub fn judge(&mut self) {
        let belief = self.belief();
        judge_thresholds(&mut self.thresholds, belief);
        self.verdict = Some(RunVerdict::of(self));
        let end = self.end();
        for row in &mut self.series {
            row.covered_ns = end.since(Nanos::from_secs(row.second)).min(Nanos::from_secs(1));
        }
    }

    /// As [`ResultFile::judge`] where that was not done when it was written.
    pub fn judge_once(&mut self) {
        if self.verdict.is_none() {
            self.judge();
        }
    }
}

/// How far the figures of a run can be believed; the less, the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Belief {
    Whole,
    /// Times are the target's and the lab's together, so that they are too long if anything.
    UpperBounds,
    /// Rates and times are not those of the work; how many requests failed is.
    FailuresOnly,
    /// Nothing is about the target.
    Nothing,
}

impl Belief {
    pub fn of(findings: &[Finding]) -> Self {
        let voids = |finding: &&Finding| finding.voids_claim;
        if findings.iter().filter(voids).any(|finding| finding.kind != FindingKind::ErrorsDominate) {
            Self::Nothing
        } else if findings.iter().any(|finding| finding.voids_claim) {
            Self::FailuresOnly
        } else if findings.iter().any(Finding::is_upper_bound) {
            Self::UpperBounds
        } else {
            Self::Whole
        }
    }

    /// True where a figure stands for what the target did.
    const fn covers(self, metric: Metric) -> bool {
        match self {
            Self::Whole | Self::UpperBounds => true,
            Self::FailuresOnly => !is_of_work(metric),
            Self::Nothing => false,
        }
    }

    /// True where a difference between such figures is one of what was measured: what the lab adds to a time differs too.
    pub const fn compares(self, metric: Metric) -> bool {
        match self {
            Self::Whole => true,
            Self::UpperBounds | Self::FailuresOnly => !is_of_work(metric),
            Self::Nothing => false,
        }
    }
}

/// Rates and times, which are those of the work only where it is done.
const fn is_of_work(metric: Metric) -> bool {
    matches!(metric, Metric::Percentile(_) | Metric::Min | Metric::Mean | Metric::Max | Metric::Rate)
}

/// What remains of a judgement where its figure may not be believed. A limit that was kept with the lab's own lateness in
/// the figure is kept; one that was not may be the lab's doing.
pub fn believed(judgement: Judgement, metric: Metric, belief: Belief) -> Judgement {
    match judgement {
        Judgement::Kept if belief.covers(metric) => Judgement::Kept,
        Judgement::Failed if belief.covers(metric) && belief != Belief::UpperBounds => Judgement::Failed,
        Judgement::Kept | Judgement::Failed | Judgement::Void => Judgement::Void,
        Judgement::Undecided => Judgement::Undecided,
    }
}

/// Of thresholds as they are kept in results. One whose text cannot be read has no figure that could be believed.
fn judge_thresholds(thresholds: &mut [Verdict], belief: Belief) {
    if belief == Belief::Whole {
        return;
    }
    for verdict in thresholds {
        let parsed = Threshold::parse_list(&verdict.threshold);
        let metric = parsed.ok().and_then(|list| list.first().map(|threshold| threshold.metric));
        verdict.judgement =
            metric.map_or(Judgement::Void, |metric| believed(verdict.judgement, metric, belief));
    }
}

/// Something where nothing that was asked for succeeded.
pub(crate) fn without_success(result: &ResultFile) -> Option<String> {
    let whole = &result.windows.last()?.all;
    if result.plan.users() == 0 {
        let groups = &result.subscribers.groups;
        let asked: u64 = groups.iter().map(SubscriberGroup::subscriptions).sum();
        let made: u64 = groups.iter().map(|group| group.links.subscribed).sum();
        return (asked > 0 && made == 0).then(|| format!("not one of {asked} subscriptions came into force"));
    }
    if whole.successes > 0 {
        return None;
    }
    if whole.requests == 0 {
        // A script, of whose requests only names are known, may have other work than these.
        let asks = result.plan.requests.iter().any(|request| !request.method.is_empty());
        return asks.then(|| "no request came to its end".to_owned());
    }
    let worst = whole.worst_failure();
    Some(match whole.requests {
        1 => format!("the only request failed: {worst}"),
        requests => format!("not one of {requests} requests succeeded, most of them: {worst}"),
    })
}

fn failures(result: &ResultFile) -> impl Iterator<Item = String> {
    let failed = result.thresholds.iter().filter(|verdict| verdict.judgement == Judgement::Failed);
    failed.map(|verdict| format!("{}: {}", verdict.threshold, verdict.measured.as_deref().unwrap_or("-")))
}

/// Why it can be called neither passed nor failed.
fn doubts(result: &ResultFile) -> Vec<String> {
    let void = result.findings.iter().filter(|finding| finding.voids_claim);
    let void = void.map(|finding| format!("{}: {}", finding.kind.name(), finding.seen));
    let running =
        (result.state == RunState::Running).then(|| "the run had not ended when this was written".to_owned());
    let thresholds = result.thresholds.iter().filter_map(|verdict| match verdict.judgement {
        Judgement::Undecided => Some(format!("{}: too few samples", verdict.threshold)),
        Judgement::Void => Some(format!("{}: its figure cannot be believed", verdict.threshold)),
        Judgement::Kept | Judgement::Failed => None,
    });
    void.chain(running).chain(thresholds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(kind: FindingKind, is_bound: bool) -> Finding {
        let finding = Finding::new(kind, "seen".to_owned(), "cause", "remedy");
        if is_bound { finding.with_bounds() } else { finding }
    }

    fn judged(belief: Belief) -> [[Judgement; 2]; 3] {
        let metrics = [Metric::Percentile(95.0), Metric::Rate, Metric::Errors];
        metrics.map(|metric| {
            [Judgement::Kept, Judgement::Failed].map(|judgement| believed(judgement, metric, belief))
        })
    }

    #[test]
    fn judgements_stand_as_far_as_their_figures_are_believed() {
        use Judgement::{Failed, Kept, Void};
        let (kind, busy) = (FindingKind::ErrorsDominate, FindingKind::GeneratorBound);
        let of = |findings: &[Finding]| judged(Belief::of(findings));
        let whole = [[Kept, Failed]; 3];
        assert_eq!(of(&[]), whole);
        assert_eq!(of(&[finding(FindingKind::TooShort, false)]), whole);
        assert_eq!(of(&[finding(busy, true)]), [[Kept, Void]; 3]);
        assert_eq!(of(&[finding(busy, false)]), [[Void, Void]; 3]);
        assert_eq!(of(&[finding(FindingKind::PortsExhausted, true)]), [[Void, Void]; 3]);
        assert_eq!(of(&[finding(kind, false)]), [[Void, Void], [Void, Void], [Kept, Failed]]);
        // A target that fails is not excused by a lab that is late, and a lab that is the limit excuses everything.
        assert_eq!(of(&[finding(kind, false), finding(busy, true)])[2], [Kept, Failed]);
        assert_eq!(of(&[finding(kind, false), finding(busy, false)]), [[Void, Void]; 3]);
    }

    #[test]
    fn what_was_undecided_stays_so() {
        for belief in [Belief::Whole, Belief::UpperBounds, Belief::FailuresOnly, Belief::Nothing] {
            assert_eq!(believed(Judgement::Undecided, Metric::Errors, belief), Judgement::Undecided);
        }
    }

    #[test]
    fn exit_codes_are_no_others() {
        let codes = [Conclusion::Passed, Conclusion::Failed, Conclusion::Void].map(Conclusion::exit_code);
        assert_eq!(codes, [0, 1, 3]);
        let strict = [Conclusion::Passed, Conclusion::Failed, Conclusion::Void].map(Conclusion::strict);
        assert_eq!(strict.map(Conclusion::exit_code), [0, 1, 1]);
        // 2 could not run; k6 has 97 to 110, shells those from 126 on.
        assert!(codes.iter().all(|code| *code != 2 && *code < 97));
    }

    #[test]
    fn times_that_the_lab_was_late_with_are_not_compared() {
        let compared = |belief: Belief| {
            [Metric::Mean, Metric::Rate, Metric::Errors].map(|metric| belief.compares(metric))
        };
        assert_eq!(compared(Belief::Whole), [true; 3]);
        assert_eq!(compared(Belief::UpperBounds), [false, false, true]);
        assert_eq!(compared(Belief::FailuresOnly), [false, false, true]);
        assert_eq!(compared(Belief::Nothing), [false; 3]);
    }
}
