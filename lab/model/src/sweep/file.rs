//! The file that keeps account of a sweep: what was asked for, and how far each combination has come.

use super::Combination;
use crate::result::RunState;
use crate::units::Nanos;
use crate::verdict::conclusion::{Conclusion, RunVerdict};
use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "prony-sweep";
pub const SCHEMA_VERSION: u32 = 1;

/// Fields are only added within a version; a reader ignores unknown ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    pub schema_version: u32,
    pub state: RunState,
    /// Of the plan.
    pub name: String,
    pub target: String,
    pub asked: SweepAsked,
    /// In the order in which they are measured.
    pub steps: Vec<SweepStep>,
}

/// What every combination has in common. A sweep goes on with results of another only where this is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepAsked {
    /// What is run, as the user named it.
    pub given: String,
    pub ramp_ns: Nanos,
    pub warm_up_ns: Nanos,
    pub hold_ns: Nanos,
    pub seed: u64,
    /// What starts the target, and what stops it.
    pub target_start: Option<String>,
    pub target_stop: Option<String>,
    pub gc_log: Option<String>,
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SweepStep {
    #[serde(flatten)]
    pub combination: Combination,
    /// Its result, beside this file.
    pub file: String,
    pub state: SweepStepState,
    /// Why there is no result: the lab cannot make this load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Of its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<RunVerdict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepStepState {
    Waiting,
    Measured,
    /// The lab cannot make this load at all.
    LabLimited,
}

impl SweepAsked {
    /// What differs, by the names that a user knows, with both values.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
        let pairs = [
            ("what is run", self.given.clone(), other.given.clone()),
            ("--ramp", self.ramp_ns.to_string(), other.ramp_ns.to_string()),
            ("--warm-up", self.warm_up_ns.to_string(), other.warm_up_ns.to_string()),
            ("--hold", self.hold_ns.to_string(), other.hold_ns.to_string()),
            ("--seed", self.seed.to_string(), other.seed.to_string()),
            ("--target-start", text(&self.target_start), text(&other.target_start)),
            ("--target-stop", text(&self.target_stop), text(&other.target_stop)),
            ("--gc-log", text(&self.gc_log), text(&other.gc_log)),
        ];
        let differ = pairs.into_iter().filter(|(_, before, now)| before != now);
        differ.map(|(name, before, now)| format!("{name} was `{before}` and is `{now}`")).collect()
    }
}

impl SweepFile {
    pub fn measured(&self) -> impl Iterator<Item = &SweepStep> {
        self.steps.iter().filter(|step| step.state == SweepStepState::Measured)
    }

    /// Failed where one combination did, else void where one is or where combinations are missing.
    pub fn verdict(&self) -> RunVerdict {
        let of = |wanted: Conclusion| {
            let verdicts = self.steps.iter().filter_map(|step| Some((step, step.verdict.as_ref()?)));
            let with = verdicts.filter(move |(_, verdict)| verdict.conclusion == wanted);
            let said = with.map(|(step, verdict)| {
                let (label, reasons) = (step.combination.label(), verdict.reasons.join("; "));
                if reasons.is_empty() { label } else { format!("{label}: {reasons}") }
            });
            said.collect::<Vec<_>>()
        };
        let (failed, mut void) = (of(Conclusion::Failed), of(Conclusion::Void));
        let limited = self.steps.iter().filter(|step| step.state == SweepStepState::LabLimited);
        void.extend(limited.map(|step| {
            format!("{}: {}", step.combination.label(), step.note.as_deref().unwrap_or_default())
        }));
        let waiting = self.steps.iter().filter(|step| step.state == SweepStepState::Waiting).count();
        if waiting > 0 {
            void.push(format!("{waiting} of {} combinations were not measured", self.steps.len()));
        }
        match (failed.is_empty(), void.is_empty()) {
            (false, _) => RunVerdict { conclusion: Conclusion::Failed, reasons: failed },
            (true, false) => RunVerdict { conclusion: Conclusion::Void, reasons: void },
            (true, true) => RunVerdict { conclusion: Conclusion::Passed, reasons: Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> SweepAsked {
        let second = Nanos::from_secs(1);
        SweepAsked {
            given: "plan.toml".to_owned(),
            ramp_ns: second,
            warm_up_ns: second,
            hold_ns: second,
            seed: 1,
            target_start: None,
            target_stop: None,
            gc_log: None,
        }
    }

    fn step(users: u32, state: SweepStepState, conclusion: Option<Conclusion>) -> SweepStep {
        let combination = Combination { users: Some(users), ..Combination::default() };
        let verdict =
            conclusion.map(|conclusion| RunVerdict { conclusion, reasons: vec!["p95<1ms".to_owned()] });
        SweepStep { file: combination.file_stem(), combination, state, note: None, verdict }
    }

    fn file(steps: Vec<SweepStep>) -> SweepFile {
        SweepFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            state: RunState::Running,
            name: "p".to_owned(),
            target: String::new(),
            asked: asked(),
            steps,
        }
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let mut other = asked();
        assert_eq!(asked().differences(&other), Vec::<String>::new());
        other.hold_ns = Nanos::from_secs(2);
        other.gc_log = Some("gc.log".to_owned());
        let told = ["--hold was `1.00 s` and is `2.00 s`", "--gc-log was `none` and is `gc.log`"];
        assert_eq!(asked().differences(&other), told);
    }

    #[test]
    fn a_failure_counts_more_than_what_is_void_or_missing() {
        use SweepStepState::{LabLimited, Measured, Waiting};
        let good = || step(1, Measured, Some(Conclusion::Passed));
        let shown = |steps| {
            let verdict = file(steps).verdict();
            (verdict.conclusion, verdict.reasons.join(" | "))
        };
        assert_eq!(shown(vec![good()]), (Conclusion::Passed, String::new()));
        let missing = "1 of 2 combinations were not measured".to_owned();
        assert_eq!(shown(vec![good(), step(2, Waiting, None)]), (Conclusion::Void, missing));
        assert_eq!(shown(vec![good(), step(9, LabLimited, None)]).0, Conclusion::Void);
        let failed = step(2, Measured, Some(Conclusion::Failed));
        let all = vec![step(3, Measured, Some(Conclusion::Void)), failed, step(4, Waiting, None)];
        assert_eq!(shown(all), (Conclusion::Failed, "2 users: p95<1ms".to_owned()));
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let file = file(vec![step(1, SweepStepState::Measured, Some(Conclusion::Passed))]);
        let text = serde_json::to_string(&file).unwrap();
        assert_eq!(serde_json::from_str::<SweepFile>(&text).unwrap(), file);
    }
}
