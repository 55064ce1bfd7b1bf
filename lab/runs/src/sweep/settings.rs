//! What a sweep is asked for, and what follows of it for each combination: its plan, its users, its target.

use super::error::SweepError;
use super::payload::Files;
use super::target::{Target, TargetCommands, TargetError, filled};
use crate::k6::STANDARD_INPUT;
use crate::kind::{Argument, OpenSettings};
use crate::many::Runs;
use crate::subject::Subject;
use prony_model::search::{ShapeError, StepShape, Vary};
use prony_model::sweep::{Combination, PayloadSize, SweepAsked, TARGET_PREFIX};
use prony_model::{Nanos, Plan};
use std::path::PathBuf;

/// In the folder of a sweep.
pub const ACCOUNT_FILE: &str = "sweep.json";
/// What results end with.
pub(super) const RESULT_SUFFIX: &str = ".prony.json";
/// Where the load is the target's: on this machine, which is watched as a whole.
const HOST_OBSERVER: &str = "host:local";

/// What is swept, and how each combination is measured.
#[derive(Debug)]
pub struct SweepSettings {
    pub argument: Argument,
    /// As the user named it.
    pub given: String,
    /// Of each combination before its own settings.
    pub open: OpenSettings,
    pub combinations: Vec<Combination>,
    /// The texts of all message sizes.
    pub payloads: Vec<(PayloadSize, String)>,
    /// Of combinations with users; without them the load is the plan's own.
    pub ramp: Nanos,
    pub hold: Nanos,
    /// In place of the plan's.
    pub warm_up: Option<Nanos>,
    pub seed: Option<u64>,
    pub target: Option<TargetCommands>,
    /// The target's garbage-collection log.
    pub gc_log: Option<String>,
    /// All files go there.
    pub folder: PathBuf,
}

/// Of a plan that has none, where its load is set here.
pub const WARM_UP: Nanos = Nanos::from_secs(5);

impl SweepSettings {
    /// What is run can be read again and again, and every setting of the target changes something of its commands.
    pub(super) fn demand_sense(&self) -> Result<(), SweepError> {
        if self.argument.text == STANDARD_INPUT {
            return Err(SweepError::StandardInput);
        }
        let texts = self.target.iter().flat_map(|target| [Some(&target.start), target.stop.as_ref()]);
        let texts: Vec<&String> = texts.flatten().chain(&self.gc_log).collect();
        let names = self.combinations.iter().flat_map(|combination| &combination.settings);
        for (name, _) in names {
            let Some(place) = name.strip_prefix(TARGET_PREFIX) else { continue };
            if self.target.is_none() {
                return Err(SweepError::NoTargetCommand { name: name.clone(), place: place.to_owned() });
            }
            if !texts.iter().any(|text| text.contains(&format!("{{{place}}}"))) {
                return Err(SweepError::NoPlace { name: name.clone(), place: place.to_owned() });
            }
        }
        Ok(())
    }

    /// The plans of all combinations are whole; the first one's is returned, with the length of each.
    pub(super) fn check_all(&self, payloads: &Files) -> Result<Checked, SweepError> {
        let mut first = None;
        let mut lengths = Vec::new();
        for combination in &self.combinations {
            let (_, plan) = self.ready(combination, payloads)?;
            lengths.push(plan.duration());
            first.get_or_insert(plan);
        }
        let plan = first.ok_or(SweepError::NoCombinations)?;
        let base = self.argument.open(&self.open_settings(&self.combinations[0], payloads))?;
        let (name, warm_up) = (base.plan().name().to_owned(), plan.warm_up());
        Ok(Checked { plan, name, warm_up, lengths })
    }

    fn open_settings(&self, combination: &Combination, payloads: &Files) -> OpenSettings {
        let is_own = |(name, _): &&(String, String)| !name.starts_with(TARGET_PREFIX);
        let settings = combination.settings.iter().filter(is_own).cloned().collect();
        let payload = combination.payload.as_ref().and_then(|size| payloads.of(size));
        OpenSettings { payload: payload.cloned(), settings, ..self.open.clone() }
    }

    /// The users of a combination, and the plan that they follow in it.
    pub(super) fn ready(
        &self,
        combination: &Combination,
        payloads: &Files,
    ) -> Result<(Subject, Plan), SweepError> {
        let subject = self.argument.open(&self.open_settings(combination, payloads))?;
        let mut draft = subject.plan().clone().into_draft();
        draft.name = format!("{}: {}", draft.name, combination.label());
        draft.seed = self.seed.unwrap_or(draft.seed);
        draft.observe.push(HOST_OBSERVER.to_owned());
        draft.observe.extend(self.gc_log.iter().map(|log| format!("gc:{}", filled(log, combination))));
        if let Some(warm_up) = self.warm_up {
            draft.warm_up = warm_up;
        }
        if let Some(users) = combination.users {
            if self.warm_up.is_none() && draft.warm_up == Nanos::ZERO {
                draft.warm_up = WARM_UP;
            }
            let shape = StepShape { vary: Vary::Users, ramp: self.ramp, hold: self.hold, pool: None };
            draft = shape.apply(&draft, users).map_err(|error| match error {
                ShapeError::UsersOfARate(scenario) => SweepError::UsersOfARate { scenario },
                ShapeError::TooFew { load, scenarios } => SweepError::TooFew { users: load, scenarios },
            })?;
        }
        let plan = draft.check()?;
        Ok((subject, plan))
    }

    pub(super) fn start(
        &self,
        combination: &Combination,
        plan: &Plan,
        runs: &Runs,
    ) -> Result<Option<Target>, TargetError> {
        let Some(commands) = &self.target else { return Ok(None) };
        let log = self.folder.join(format!("{}.target.log", combination.file_stem()));
        Target::start(&commands.filled(combination), &log, plan, &runs.stop).map(Some)
    }

    pub(super) fn asked(&self, checked: &Checked) -> SweepAsked {
        SweepAsked {
            given: self.given.clone(),
            ramp_ns: self.ramp,
            warm_up_ns: checked.warm_up,
            hold_ns: self.hold,
            seed: checked.plan.seed(),
            target_start: self.target.as_ref().map(|target| target.start.clone()),
            target_stop: self.target.as_ref().and_then(|target| target.stop.clone()),
            gc_log: self.gc_log.clone(),
        }
    }
}

/// What was looked at before the first run.
#[derive(Debug)]
pub(super) struct Checked {
    /// Of the first combination.
    pub(super) plan: Plan,
    /// Of what is run, without a combination.
    pub(super) name: String,
    pub(super) warm_up: Nanos,
    /// Of the combinations, in their order.
    pub(super) lengths: Vec<Nanos>,
}
