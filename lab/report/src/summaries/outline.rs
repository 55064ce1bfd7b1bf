//! What a summary says of a document, whatever its form: what it comes to, each thing that was asked of it, its main figures.

use crate::comparison::{condition, header, headline, row};
use crate::describe;
use crate::read::Document;
use crate::search::{answer, steps_table};
use crate::tables;
use prony_model::comparison::{ComparisonFile, Failure};
use prony_model::result::{ResultFile, RunState};
use prony_model::search::SearchFile;
use prony_model::verdict::conclusion::{Conclusion, RunVerdict};
use prony_model::verdict::finding::Finding;
use prony_model::verdict::{Judgement, Verdict};

/// A document in short.
#[derive(Debug)]
pub(super) struct Outline {
    /// `run`, `search` or `comparison`.
    pub kind: &'static str,
    pub title: String,
    /// What was measured, or of which two.
    pub subject: String,
    /// One sentence; empty where there is nothing to say.
    pub claim: String,
    pub verdict: RunVerdict,
    pub checks: Vec<OutlineCheck>,
    /// The first row is its head.
    pub table: Vec<Vec<String>>,
    /// Each kind of finding once.
    pub findings: Vec<String>,
}

/// One threshold, objective or condition.
#[derive(Debug)]
pub(super) struct OutlineCheck {
    pub name: String,
    pub state: CheckState,
    /// The judgement's word, and the figure where there is one.
    pub detail: String,
}

/// What is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckState {
    Kept,
    Failed,
    /// Too little to judge by, which does not make a comparison fail.
    Open,
    /// It cannot be believed, or a run has too little to judge by.
    Void,
}

impl Outline {
    pub(super) fn of(document: &Document) -> Self {
        match document {
            Document::Run(result) => of_run(result),
            Document::Search(file) => of_search(file),
            Document::Comparison(file) => of_comparison(file),
        }
    }
}

fn of_run(result: &ResultFile) -> Outline {
    let claim = [describe::state_notice(result.state).map(str::to_owned), describe::verdict(result)];
    let figures = tables::figures(result);
    Outline {
        kind: "run",
        title: result.plan.name.clone(),
        subject: format!(
            "{}, {}",
            result.plan.targets.join(", "),
            describe::scenario_lines(&result.plan).join("; ")
        ),
        claim: claim.into_iter().flatten().collect::<Vec<_>>().join("; "),
        verdict: RunVerdict::of_kept(result),
        checks: result.thresholds.iter().map(of_threshold).collect(),
        table: [figures.head].into_iter().chain(figures.rows).collect(),
        findings: findings([result].into_iter()),
    }
}

fn of_threshold(verdict: &Verdict) -> OutlineCheck {
    let state = match verdict.judgement {
        Judgement::Kept => CheckState::Kept,
        Judgement::Failed => CheckState::Failed,
        Judgement::Undecided | Judgement::Void => CheckState::Void,
    };
    let measured = verdict.measured.as_deref().unwrap_or("too few samples");
    let detail = format!("{}: {measured}", verdict.judgement.word());
    OutlineCheck { name: verdict.threshold.clone(), state, detail }
}

fn of_search(file: &SearchFile) -> Outline {
    Outline {
        kind: "search",
        title: file.name.clone(),
        subject: describe::searched(file),
        claim: with_state(file.state, answer(file)),
        verdict: file.kept_verdict(),
        checks: Vec::new(),
        table: steps_table(file),
        findings: findings(file.steps.iter().flat_map(|step| &step.runs).map(|run| &run.result)),
    }
}

fn of_comparison(file: &ComparisonFile) -> Outline {
    let check = |verdict| {
        let [name, word] = condition(verdict);
        let state = match verdict.failure {
            Failure::Shown => CheckState::Failed,
            Failure::Excluded => CheckState::Kept,
            Failure::Open => CheckState::Open,
            Failure::Void => CheckState::Void,
        };
        OutlineCheck { name, state, detail: word }
    };
    let rows = file.comparison.figures.iter().map(|figure| row(figure, file.belief()));
    Outline {
        kind: "comparison",
        title: format!("{} against {}", file.b.given, file.a.given),
        subject: format!(
            "A: {}, B: {}, {} runs of each",
            describe::compared(&file.a),
            describe::compared(&file.b),
            file.comparison.pairs
        ),
        claim: with_state(file.state, headline(file)),
        verdict: file.kept_verdict(),
        checks: file.fail_if.iter().map(check).collect(),
        table: [header()].into_iter().chain(rows).collect(),
        findings: findings(file.runs.iter().map(|run| &run.result)),
    }
}

fn with_state(state: RunState, claim: String) -> String {
    match describe::state_notice(state) {
        None => claim,
        Some(notice) => format!("{notice}; {claim}"),
    }
}

/// What one run says for each kind.
fn findings<'a>(results: impl Iterator<Item = &'a ResultFile>) -> Vec<String> {
    let mut kinds: Vec<&Finding> = Vec::new();
    for finding in results.flat_map(|result| &result.findings) {
        if !kinds.iter().any(|known| known.kind == finding.kind) {
            kinds.push(finding);
        }
    }
    kinds.sort_by_key(|finding| (!finding.voids_claim, finding.kind));
    let line = |finding: &&Finding| {
        let weight = match finding.weight() {
            "" => String::new(),
            weight => format!(" ({weight})"),
        };
        format!("{}{weight}: {}; try: {}", finding.kind.name(), finding.seen, finding.try_next)
    };
    kinds.iter().map(line).collect()
}

/// What is said of the whole where nothing more is known of it.
pub(super) fn reasons(verdict: &RunVerdict) -> String {
    match verdict.conclusion {
        Conclusion::Passed => String::new(),
        Conclusion::Failed | Conclusion::Void => verdict.reasons.join("; "),
    }
}
