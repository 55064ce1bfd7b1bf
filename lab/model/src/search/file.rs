//! The file that a search leaves: every run of every step whole, and the answer.

use super::{Interval, SearchAnswer, SearchPlan, StepVerdict, Trial};
use crate::result::{Origin, ResultFile, RunState};
use crate::verdict::conclusion::RunVerdict;
use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "prony-search";
pub const SCHEMA_VERSION: u32 = 1;

/// Fields are only added within a version; a reader ignores unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    pub schema_version: u32,
    pub state: RunState,
    pub origin: Origin,
    /// Of the plan.
    pub name: String,
    pub target: String,
    pub vary: Vary,
    /// What a load must keep to pass.
    pub objectives: Vec<String>,
    pub plan: SearchPlan,
    pub interval: Interval,
    #[serde(flatten)]
    pub answer: SearchAnswer,
    /// By the one rule; absent in files that were written before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
    /// In the order in which they were measured.
    pub steps: Vec<SearchStep>,
}

/// What a search changes from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Vary {
    Users,
    /// Starts a second.
    Rate,
}

/// One load and all its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchStep {
    pub load: u32,
    /// Absent while it is repeated, and where the search was stopped in it.
    pub verdict: Option<StepVerdict>,
    /// Why there are no runs, or no more of them: the lab cannot make this load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub runs: Vec<SearchRun>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SearchRun {
    pub trial: Trial,
    /// Why it did not pass, for people; empty where it did.
    pub reason: String,
    pub result: ResultFile,
}

impl SearchFile {
    /// What is known by now, and what it comes to.
    pub fn conclude(&mut self, interval: Interval) {
        self.interval = interval;
        self.answer = interval.answer();
        self.verdict = Some(self.verdict_of_answer());
    }

    /// That which the file holds, or what the rule makes of one that has none.
    pub fn kept_verdict(&self) -> RunVerdict {
        self.verdict.clone().unwrap_or_else(|| self.verdict_of_answer())
    }

    fn verdict_of_answer(&self) -> RunVerdict {
        let show = |load| self.vary.show(load);
        let reason = match self.answer {
            SearchAnswer::Between { .. } | SearchAnswer::AtLeast { .. } => None,
            SearchAnswer::Below { failed } => Some(format!("no load passed, down to {}", show(failed))),
            SearchAnswer::LabLimited { lab_limited, .. } => {
                Some(format!("the lab itself was the limit at {}", show(lab_limited)))
            }
            SearchAnswer::Unknown => Some(self.why_unknown().to_owned()),
        };
        RunVerdict { conclusion: self.answer.conclusion(), reasons: reason.into_iter().collect() }
    }

    /// Why no load is known to pass or to fail, where that is so.
    pub fn why_unknown(&self) -> &'static str {
        match self.interval.undecided {
            Some(_) => "runs of the same load disagreed, at each load that was measured to the end",
            None => "no load was measured to the end",
        }
    }

    /// The steps by rising load, for tables and plots.
    pub fn steps_by_load(&self) -> Vec<&SearchStep> {
        let mut steps: Vec<_> = self.steps.iter().collect();
        steps.sort_by_key(|step| step.load);
        steps
    }
}

impl Vary {
    /// For people: `120 users`, `500/s`.
    pub fn show(self, load: u32) -> String {
        match self {
            Self::Users if load == 1 => "1 user".to_owned(),
            Self::Users => format!("{load} users"),
            Self::Rate => format!("{load}/s"),
        }
    }
}
