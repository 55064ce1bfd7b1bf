//! What of a sweep is done and what is not, in the file that says it, which a later sweep goes on with.

use super::error::SweepError;
use super::settings::{ACCOUNT_FILE, Checked, RESULT_SUFFIX, SweepSettings};
use prony_model::Nanos;
use prony_model::result::RunState;
use prony_model::sweep::{SCHEMA, SCHEMA_VERSION, SweepFile, SweepStep, SweepStepState};
use prony_model::verdict::conclusion::RunVerdict;
use std::fs;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Account {
    pub(super) file: SweepFile,
    /// Of the steps, as far as they are of this sweep.
    lengths: Vec<Nanos>,
}

impl Account {
    /// With the steps of an earlier sweep in the same folder that have a result.
    pub(super) fn open(settings: &SweepSettings, checked: &Checked) -> Result<Self, SweepError> {
        let asked = settings.asked(checked);
        let steps = settings.combinations.iter().map(|combination| SweepStep {
            file: format!("{}{RESULT_SUFFIX}", combination.file_stem()),
            combination: combination.clone(),
            state: SweepStepState::Waiting,
            note: None,
            verdict: None,
        });
        let mut file = SweepFile {
            schema: SCHEMA.to_owned(),
            schema_version: SCHEMA_VERSION,
            state: RunState::Running,
            name: checked.name.clone(),
            target: checked.plan.target().map(ToString::to_string).unwrap_or_default(),
            asked,
            steps: steps.collect(),
        };
        if let Some(before) = read(&settings.folder.join(ACCOUNT_FILE))? {
            let differences = before.asked.differences(&file.asked);
            if !differences.is_empty() {
                return Err(SweepError::Different {
                    folder: settings.folder.clone(),
                    differences: differences.join("; "),
                });
            }
            take_over(&mut file, before, &settings.folder);
        }
        Ok(Self { file, lengths: checked.lengths.clone() })
    }

    /// How long the steps from this one on take that are not measured.
    pub(super) fn left(&self, index: usize) -> Vec<Nanos> {
        let steps = self.file.steps.iter().zip(&self.lengths).skip(index);
        let waiting = steps.filter(|(step, _)| step.state == SweepStepState::Waiting);
        waiting.map(|(_, length)| *length).collect()
    }

    pub(super) fn measured(&mut self, index: usize, verdict: RunVerdict) {
        let step = &mut self.file.steps[index];
        step.state = SweepStepState::Measured;
        step.verdict = Some(verdict);
    }

    pub(super) fn limited(&mut self, index: usize, why: String) {
        let step = &mut self.file.steps[index];
        step.state = SweepStepState::LabLimited;
        step.note = Some(why);
    }

    pub(super) fn conclude(&mut self) {
        let is_whole = self.file.steps.iter().all(|step| step.state != SweepStepState::Waiting);
        self.file.state = if is_whole { RunState::Completed } else { RunState::Stopped };
    }
}

/// Nothing where there is no such file.
fn read(path: &Path) -> Result<Option<SweepFile>, SweepError> {
    let unreadable = |cause: String| SweepError::Account { path: path.to_owned(), cause };
    match fs::read(path) {
        Ok(bytes) => {
            let file: SweepFile =
                serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
            if file.schema_version > SCHEMA_VERSION {
                let version = file.schema_version;
                return Err(unreadable(format!("it has version {version}, made by a later Prony")));
            }
            Ok(Some(file))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(error.to_string())),
    }
}

/// What has a result stays, also where it is not asked for any more; what the lab could not make is tried again.
fn take_over(file: &mut SweepFile, before: SweepFile, folder: &Path) {
    let has_result =
        |step: &SweepStep| step.state == SweepStepState::Measured && folder.join(&step.file).is_file();
    for step in before.steps.into_iter().filter(has_result) {
        match file.steps.iter_mut().find(|known| known.combination == step.combination) {
            Some(known) => *known = step,
            None => file.steps.push(step),
        }
    }
}
