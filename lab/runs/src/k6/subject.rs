//! A k6 script that is run again and again, as searches and comparisons do: each run is a life of its own.

use super::{Given, LifeControl, ScriptWorkers, is_named, live_with};
use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, Payload};
use crate::subject::{Runner, Subject, SubjectError};
use prony_load::{RunError, RunOptions};
use prony_model::program::ProgramError;
use prony_model::{Plan, ResultFile};
use prony_script_k6::{Exit, GivenOptions, MeasureSettings, ScriptFile, Session, Wire};
use prony_workers::{Recruited, UserState};
use std::sync::Arc;

pub(crate) static KIND: Kind = Kind {
    name: "a k6 script",
    flags: Flags::K6,
    users: UserState::OfWorker,
    needs_url: false,
    is_named,
    open,
};

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Subject, OpenError> {
    let mut environment = settings.environment.clone();
    environment.extend(settings.settings.iter().map(|(name, value)| format!("{name}={value}")));
    if let Some(Payload { text, file }) = &settings.payload {
        let bytes = text.len();
        environment.push(format!("PAYLOAD={text}"));
        environment.push(format!("PAYLOAD_BYTES={bytes}"));
        environment.push(format!("PAYLOAD_FILE={}", file.display()));
    }
    let given = Given { script: argument.text.clone(), environment, ..Given::default() };
    let (options, file) = (given.options()?, given.file()?);
    let session = Session::open(&file, options.clone(), &MeasureSettings::default())?;
    let plan = session.plan()?;
    Ok(Subject::new(plan, K6Runner { _wire: session.wire, given, file, options }))
}

#[derive(Debug)]
struct K6Runner {
    given: Given,
    file: ScriptFile,
    options: GivenOptions,
    /// What the plan names is there while this is.
    _wire: Wire,
}

impl Runner for K6Runner {
    /// The script's own thresholds do not count, and do not end a run: what is searched has objectives of its own.
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        let settings = MeasureSettings { no_thresholds: true, ..MeasureSettings::default() };
        let session = Session::open(&self.file, self.options.clone(), &settings)
            .map_err(|error| failed(error.to_string()))?;
        let stop = options.stop.clone();
        let control = Arc::new(LifeControl::new(false));
        let workers =
            workers.map(|recruited| ScriptWorkers { recruited, given: &self.given, no_thresholds: true });
        let lived = live_with(&session, plan, options, &control, workers);
        session.measure.log().flush();
        match lived.result {
            Some(result) if lived.ended.exit == Exit::Done || stop.is_stopped() => Ok(result),
            _ => Err(lived.failure.unwrap_or_else(|| failed(lived.ended.message).into())),
        }
    }
}

const fn failed(message: String) -> RunError {
    RunError::Program(ProgramError::Script(message))
}
