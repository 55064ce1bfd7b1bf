//! Every combination of users, message sizes and settings, one after the other: the target is started for it, warmed up and
//! measured, and its result is kept in a file of its own. A sweep that was cut off goes on with what is there.

mod account;
mod error;
mod payload;
mod settings;
mod target;

pub use error::SweepError;
pub use payload::{PayloadError, payload};
pub use settings::{ACCOUNT_FILE, SweepSettings, WARM_UP};
pub use target::{TargetCommands, TargetError};

use crate::many::{Event, ManyOptions, Runs};
use account::Account;
use payload::Files;
use prony_load::{Output, replace_file};
use prony_model::sweep::{SweepFile, SweepStep, SweepStepState};
use prony_model::verdict::conclusion::RunVerdict;
use prony_model::verdict::littles_law::{payload_not_carried, users_differ};
use prony_model::{Nanos, ResultFile, result::RunState};
use std::path::Path;
use target::filled;

/// Measures what is not measured yet. Everything that can be known to be wrong is told before the first run. A stop ends it
/// with what was measured until then; so does an error, which is returned once the account is written. Blocks the calling
/// thread.
pub fn sweep(settings: &SweepSettings, options: ManyOptions) -> Result<SweepFile, SweepError> {
    settings.demand_sense()?;
    let payloads = Files::write(&settings.folder, &settings.payloads)?;
    let files = &payloads;
    let checked = settings.check_all(files).inspect_err(|_| files.remove_where_new())?;
    let account = Account::open(settings, &checked)?;
    let options = ManyOptions { output: Output::File(settings.folder.join(ACCOUNT_FILE)), ..options };
    Sweep { settings, payloads: files, runs: Runs::new(options), account }.measure()
}

/// A sweep under way.
struct Sweep<'a> {
    settings: &'a SweepSettings,
    payloads: &'a Files,
    runs: Runs,
    account: Account,
}

/// How a combination went.
enum Measured {
    Whole(Box<ResultFile>),
    /// By the user.
    Stopped,
    /// The lab cannot make this load at all.
    LabLimited(String),
}

impl Sweep<'_> {
    fn measure(mut self) -> Result<SweepFile, SweepError> {
        self.runs.keep(&self.account.file, self.account.file.state);
        let count = self.account.file.steps.len();
        for index in 0..count {
            let step = self.account.file.steps[index].clone();
            let label = step.combination.label();
            let (label, number) = (label.as_str(), index + 1);
            if step.state != SweepStepState::Waiting {
                self.runs.tell(&Event::CombinationKept { label, number, count });
                continue;
            }
            if self.runs.stop.is_stopped() {
                break;
            }
            let left = Nanos(self.account.left(index).iter().map(|length| length.0).sum());
            self.runs.tell(&Event::CombinationBegins { label, number, count, left });
            match self.combination(&step) {
                Ok(Measured::Stopped) => break,
                Ok(Measured::Whole(result)) => {
                    self.runs.tell(&Event::CombinationEnds { label, result: &result });
                    self.account.measured(index, RunVerdict::of_kept(&result));
                }
                Ok(Measured::LabLimited(why)) => {
                    self.runs.tell(&Event::Warning(&format!("{label}: {why}")));
                    self.account.limited(index, why);
                }
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
            // What follows the last combination writes the file as a whole.
            if number < count {
                self.runs.keep(&self.account.file, self.account.file.state);
            }
        }
        Ok(self.end())
    }

    fn end(mut self) -> SweepFile {
        self.account.conclude();
        self.runs.keep(&self.account.file, self.account.file.state);
        self.account.file
    }

    fn combination(&self, step: &SweepStep) -> Result<Measured, SweepError> {
        let settings = self.settings;
        let (subject, plan) = settings.ready(&step.combination, self.payloads)?;
        let target = match settings.start(&step.combination, &plan, &self.runs) {
            Ok(target) => target,
            Err(TargetError::Stopped) => return Ok(Measured::Stopped),
            Err(error) => return Err(error.into()),
        };
        let path = settings.folder.join(&step.file);
        let ran = self.runs.run_into(&subject, &plan, Output::File(path.clone()));
        self.keep_gc_log(step);
        if let Some(target) = target
            && let Some(warning) = target.stop()?
        {
            self.runs.tell(&Event::Warning(&warning));
        }
        match ran {
            Ok(result) if result.state == RunState::Stopped => Ok(Measured::Stopped),
            Ok(result) => Ok(Measured::Whole(Box::new(self.judged(step, &path, result)))),
            Err(error) if error.is_limit() => Ok(Measured::LabLimited(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// With what only a sweep knows to look for.
    fn judged(&self, step: &SweepStep, path: &Path, mut result: ResultFile) -> ResultFile {
        let users = step.combination.users.and_then(|users| users_differ(&result, users));
        let payload = step.combination.payload.as_ref();
        let payload = payload.and_then(|payload| payload_not_carried(&result, payload.bytes));
        let found: Vec<_> = users.into_iter().chain(payload).collect();
        if !found.is_empty() {
            result.findings.extend(found);
            if let Err(cause) = replace_file(path, &result) {
                let text = format!("cannot write the findings to {}: {cause}", path.display());
                self.runs.tell(&Event::Warning(&text));
            }
        }
        result
    }

    /// The next start of the target writes over it.
    fn keep_gc_log(&self, step: &SweepStep) {
        let Some(log) = &self.settings.gc_log else { return };
        let log = filled(log, &step.combination);
        let copy = self.settings.folder.join(format!("{}.gc.log", step.combination.file_stem()));
        if let Err(cause) = std::fs::copy(&log, &copy) {
            self.runs.tell(&Event::Warning(&format!("cannot keep a copy of {log}: {cause}")));
        }
    }
}
