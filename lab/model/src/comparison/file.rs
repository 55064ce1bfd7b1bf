//! The file that a comparison leaves: every run whole, and what they say together.

use super::{Comparison, FailIf, FailVerdict, Failure, PAIRS_MIN, Pair};
use crate::result::{Origin, ResultFile, RunState};
use crate::verdict::conclusion::{Conclusion, RunVerdict};
use crate::verdict::rule::{Belief, without_success};
use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "prony-comparison";
pub const SCHEMA_VERSION: u32 = 1;

/// Fields are only added within a version; a reader ignores unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparisonFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    pub schema_version: u32,
    pub state: RunState,
    pub origin: Origin,
    pub a: Subject,
    pub b: Subject,
    /// False where the runs were made at other times: a drift between them counts as a difference.
    pub interleaved: bool,
    pub comparison: Comparison,
    pub fail_if: Vec<FailVerdict>,
    /// By the one rule; absent in files that were written before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// In the order in which they were made.
    pub runs: Vec<ComparedRun>,
}

/// What is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// As it was given: a plan, an address, or saved results.
    pub given: String,
    pub name: String,
    pub target: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    A,
    B,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    pub side: Side,
    pub result: ResultFile,
}

impl Side {
    /// Whose turn it is after `runs` runs: A B, B A, A B, …
    pub const fn of_run(runs: usize) -> Self {
        if matches!(runs % 4, 0 | 3) { Self::A } else { Self::B }
    }
}

impl ComparisonFile {
    pub fn new(origin: Origin, a: Subject, b: Subject, interleaved: bool) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            state: RunState::Running,
            origin,
            a,
            b,
            interleaved,
            comparison: Comparison::of(&[], &[]),
            fail_if: Vec::new(),
            verdict: None,
            runs: Vec::new(),
        }
    }

    /// Of results that were saved, paired in the order in which they were made; `None` where one side has none.
    pub fn of_saved(
        a: (&str, Vec<ResultFile>),
        b: (&str, Vec<ResultFile>),
        conditions: &[FailIf],
    ) -> Option<Self> {
        let subject = |(given, results): &(&str, Vec<ResultFile>)| {
            let first = results.first()?;
            let (name, target) = (first.plan.name.clone(), first.plan.targets.join(", "));
            Some(Subject { given: (*given).to_owned(), name, target })
        };
        let origin = a.1.first()?.origin.clone();
        let mut file = Self::new(origin, subject(&a)?, subject(&b)?, false);
        let of = |side, results: Vec<ResultFile>| {
            results.into_iter().map(move |result| ComparedRun { side, result })
        };
        file.runs = of(Side::A, a.1).chain(of(Side::B, b.1)).collect();
        file.runs.sort_by_key(|run| run.result.origin.started_at_unix_ms);
        file.state = RunState::Completed;
        file.interleaved = file.runs.iter().enumerate().all(|(index, run)| run.side == Side::of_run(index));
        file.judge(conditions);
        Some(file)
    }

    /// The n-th run of A beside the n-th of B, as far as both exist.
    pub fn pairs(&self) -> Vec<Pair<'_>> {
        let of = |side| self.runs.iter().filter(move |run| run.side == side);
        of(Side::A).zip(of(Side::B)).map(|(a, b)| Pair::of_results(&a.result, &b.result)).collect()
    }

    /// Compares the runs that there are.
    pub fn judge(&mut self, conditions: &[FailIf]) {
        let further: Vec<_> = conditions.iter().map(|condition| condition.metric).collect();
        let comparison = Comparison::of(&self.pairs(), &further);
        let belief = self.belief();
        self.fail_if = conditions.iter().map(|condition| condition.judge(&comparison, belief)).collect();
        self.comparison = comparison;
        self.conclude();
    }

    /// Says what it comes to, of a comparison whose conditions were judged.
    pub fn conclude(&mut self) {
        self.verdict = Some(self.verdict_of_runs());
    }

    /// That which the file holds, or what the rule makes of one that has none.
    pub fn kept_verdict(&self) -> RunVerdict {
        self.verdict.clone().unwrap_or_else(|| self.verdict_of_runs())
    }

    fn verdict_of_runs(&self) -> RunVerdict {
        let conclusion = self.conclusion();
        let reasons = match conclusion {
            Conclusion::Passed => Vec::new(),
            Conclusion::Failed => self.failures(),
            Conclusion::Void => self.doubts(),
        };
        RunVerdict { conclusion, reasons }
    }

    /// Runs that cannot be believed, that had not ended, or of which there are too few; else conditions that nothing can be said of.
    fn doubts(&self) -> Vec<String> {
        let void = self.void_runs();
        let void = (void > 0).then(|| format!("{void} of {} runs cannot be believed", self.runs.len()));
        let unended = self.unended_runs();
        let unended = (unended > 0)
            .then(|| format!("{unended} of {} runs had not ended when they were written", self.runs.len()));
        let few = self.has_few_pairs().then(|| format!("fewer than {PAIRS_MIN} runs of each"));
        let of_runs: Vec<String> = void.into_iter().chain(unended).chain(few).collect();
        if !of_runs.is_empty() {
            return of_runs;
        }
        let unknown = self.void_conditions();
        unknown.map(|verdict| format!("{}: runs have too few samples for it", verdict.condition)).collect()
    }

    fn void_conditions(&self) -> impl Iterator<Item = &FailVerdict> {
        self.fail_if.iter().filter(|verdict| verdict.failure == Failure::Void)
    }

    /// Too few for anything to be known of the noise.
    pub fn has_few_pairs(&self) -> bool {
        self.comparison.pairs < PAIRS_MIN
    }

    fn failures(&self) -> Vec<String> {
        let sides = self.without_success().into_iter().map(|(side, reason)| format!("{side:?}: {reason}"));
        let shown = self.fail_if.iter().filter(|verdict| verdict.failure == Failure::Shown);
        sides.chain(shown.map(|verdict| verdict.condition.clone())).collect()
    }

    /// That of the run that can be believed least.
    pub fn belief(&self) -> Belief {
        self.runs.iter().map(|run| run.result.belief()).max().unwrap_or(Belief::Whole)
    }

    /// Runs whose own findings say that their figures are not the target's, or not the target's alone.
    pub fn void_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.result.belief() != Belief::Whole).count()
    }

    /// Saved results of runs that were under way as they were written, and have not gone on: those of a program that was killed.
    fn unended_runs(&self) -> usize {
        self.runs.iter().filter(|run| run.result.state == RunState::Running).count()
    }

    /// Sides none of whose runs had a success, each with what one of them says.
    pub fn without_success(&self) -> Vec<(Side, String)> {
        let of = |side| {
            let mut runs = self.runs.iter().filter(|run| run.side == side).peekable();
            runs.peek()?;
            let reasons: Option<Vec<_>> = runs.map(|run| without_success(&run.result)).collect();
            Some((side, reasons?.pop()?))
        };
        [of(Side::A), of(Side::B)].into_iter().flatten().collect()
    }

    /// What it comes to: a condition that is shown and a side without one success are failures; whatever is [doubtful](Self::doubts)
    /// leaves no claim.
    pub fn conclusion(&self) -> Conclusion {
        let has_failed = self.fail_if.iter().any(|verdict| verdict.failure == Failure::Shown);
        if has_failed || !self.without_success().is_empty() {
            Conclusion::Failed
        } else if !self.doubts().is_empty() {
            Conclusion::Void
        } else {
            Conclusion::Passed
        }
    }
}
