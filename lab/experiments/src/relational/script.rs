//! The experiment's questions as k6 scripts: embedded, written beside the results, and run instead of plans.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use prony_load::{RunError, RunOptions};
use prony_model::{Nanos, Plan, ResultFile, program::ProgramError};
use prony_runs::k6::{Lived, handle_summary, live};
use prony_script_k6::{Exit, GivenOptions, Main, MeasureSettings, ScriptFile, Session};

use super::study::{Operation, RelationalPace, Workload};

/// What all of them import.
const SHARED: (&str, &str) = ("study.js", include_str!("../../scripts/study.js"));

const fn text(operation: Operation) -> &'static str {
    match operation {
        Operation::NoNest => include_str!("../../scripts/no-nest.js"),
        Operation::OneNest => include_str!("../../scripts/one-nest.js"),
        Operation::TwoNests => include_str!("../../scripts/two-nests.js"),
        Operation::Create => include_str!("../../scripts/create.js"),
    }
}

fn file_name(operation: Operation) -> String {
    format!("{}.js", operation.name())
}

/// The scripts as files.
#[derive(Debug)]
pub(super) struct Scripts {
    folder: PathBuf,
}

impl Scripts {
    /// Writes them into a folder, which is made.
    pub(super) fn write(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(SHARED.0), SHARED.1)?;
        for operation in Operation::QUERIES.into_iter().chain([Operation::Create]) {
            fs::write(folder.join(file_name(operation)), text(operation))?;
        }
        Ok(Self { folder })
    }

    /// A step's script. What it says at its end goes to `summary`, as `.json` and as `.txt`.
    pub(super) fn open(
        &self,
        workload: &Workload,
        target: &str,
        users: u32,
        pace: &RelationalPace,
        summary: &Path,
    ) -> Result<Script, RunError> {
        let milliseconds = |time: Nanos| format!("{}ms", time.0 / 1_000_000);
        let environment = BTreeMap::from(
            [
                ("TARGET", target.to_owned()),
                ("USERS", users.to_string()),
                ("RAMP", milliseconds(pace.ramp)),
                ("HOLD", milliseconds(pace.hold)),
                ("LIMIT", workload.limit.to_string()),
                ("ROWS", workload.rows.to_string()),
                ("SUMMARY", summary.with_extension("json").display().to_string()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        let name = workload.operation.name();
        let main = Main::read(Path::new(&file_name(workload.operation)), &self.folder);
        let file = main.and_then(|main| ScriptFile::load(name, main, environment));
        let file = file.map_err(|error| failed(&error.to_string()))?;
        let session = Session::open(&file, GivenOptions::default(), &MeasureSettings::default())
            .map_err(|error| failed(&error.to_string()))?;
        let plan = session.plan().map_err(|error| failed(&error.to_string()))?;
        Ok(Script { session, plan, text: summary.with_extension("txt") })
    }
}

fn failed(message: &str) -> RunError {
    RunError::Program(ProgramError::Script(message.to_owned()))
}

/// One that is ready to run, once.
#[derive(Debug)]
pub(super) struct Script {
    session: Session,
    plan: Plan,
    /// Where its standard output goes.
    text: PathBuf,
}

impl Script {
    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// With what its thresholds say against it, be it that they have ended it or that they do not hold at its end.
    pub(super) fn run(&self, options: RunOptions) -> Result<(ResultFile, Option<String>), RunError> {
        let lived = live(&self.session, &self.plan, options);
        self.session.measure.log().flush();
        self.keep_summary(&lived);
        let Lived { result: Some(result), ended, .. } = lived else {
            return Err(failed(&lived.ended.message));
        };
        match ended.exit {
            Exit::Done | Exit::Interrupted => Ok((result, None)),
            Exit::Thresholds => Ok((result, Some(ended.message))),
            _ => Err(failed(&ended.message)),
        }
    }

    /// A summary that cannot be made or written is said in its place where that is possible, and no reason to end.
    fn keep_summary(&self, lived: &Lived) {
        let contents = handle_summary(&self.session, &lived.summary.data())
            .unwrap_or_else(|message| Some(vec![("stdout".to_owned(), message.into_bytes())]));
        for (place, content) in contents.unwrap_or_default() {
            let path = if place == "stdout" { &self.text } else { Path::new(&place) };
            let _ = fs::write(path, content);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_ask_what_plans_ask() {
        for operation in Operation::QUERIES.into_iter().chain([Operation::Create]) {
            let text = text(operation);
            assert!(text.contains(operation.text()), "{text}");
            let think = format!("}}, {});", operation.think_time().as_secs_f64());
            assert!(text.contains(&think), "{think} is missing in {text}");
        }
    }
}
