//! A JMeter plan that is run again and again, as searches and comparisons do: each run is a life of its own.

use super::{Given, LifeError, PlanOutcome, is_named, live};
use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, Payload};
use crate::subject::{Runner, Subject, SubjectError};
use prony_load::{RunError, RunOptions};
use prony_model::program::ProgramError;
use prony_model::result::RunState;
use prony_model::{Nanos, Plan, ResultFile};
use prony_script_jmeter::JmeterPlan;
use prony_workers::{Recruited, UserState};
use std::fs;
use std::sync::Arc;

pub(crate) static KIND: Kind = Kind {
    name: "a JMeter plan",
    flags: Flags::Jmeter,
    users: UserState::OfWorker,
    needs_url: false,
    is_named,
    open,
};

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Subject, OpenError> {
    let mut properties = settings.properties.clone();
    properties.extend(settings.settings.iter().cloned());
    if let Some(Payload { text, file }) = &settings.payload {
        properties.push(("payload".to_owned(), file.display().to_string()));
        properties.push(("payload_bytes".to_owned(), text.len().to_string()));
    }
    demand_read(argument, settings)?;
    let given = Given { path: argument.text.clone().into(), properties, ..Given::default() };
    let jmeter = JmeterPlan::open(given)?;
    let plan = jmeter.plan()?;
    Ok(Subject::new(plan, JmeterRunner(Arc::new(jmeter))))
}

/// An error where neither the plan nor a part that it includes can read what is set.
fn demand_read(argument: &Argument, settings: &OpenSettings) -> Result<(), OpenError> {
    let Ok(text) = fs::read_to_string(&argument.text) else { return Ok(()) };
    let payload = settings.payload.iter().map(|_| "payload");
    let mut names = settings.settings.iter().map(|(name, _)| name.as_str()).chain(payload);
    match names.find(|name| !text.contains(name) && !text.contains("IncludeController")) {
        Some(name) => Err(OpenError::NeverRead {
            kind: KIND.name,
            path: argument.text.clone(),
            name: name.to_owned(),
            example: format!("write ${{__P({name})}} where it belongs"),
        }),
        None => Ok(()),
    }
}

#[derive(Debug)]
struct JmeterRunner(Arc<JmeterPlan>);

impl Runner for JmeterRunner {
    /// Files of listeners are not written: each run would begin them anew.
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        match live(&self.0, plan, options, false, workers, None) {
            Ok(outcome) => Ok(result_of(outcome, plan)),
            Err(LifeError::Run(error)) => Err(error.into()),
            Err(LifeError::Workers(error)) => Err(error.into()),
            Err(error) => Err(RunError::Program(ProgramError::Script(error.to_string())).into()),
        }
    }
}

/// Where an element has ended the test, at once or in order, the load that was asked for was not made.
fn result_of(outcome: PlanOutcome, plan: &Plan) -> ResultFile {
    let PlanOutcome { mut result, is_ended, .. } = outcome;
    let until = result.windows.last().map_or(Nanos::ZERO, |whole| whole.window.to_ns);
    if is_ended && until < plan.duration() {
        result.state = RunState::Stopped;
    }
    result
}
