//! A JMeter plan that is run again and again, as searches and comparisons do: each run is a life of its own.

use super::{Given, LifeError, is_named, live};
use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, Payload};
use crate::subject::{SharedRunError, Subject};
use prony_load::{RunError, RunOptions};
use prony_model::program::ProgramError;
use prony_model::{Plan, ResultFile};
use prony_script_jmeter::JmeterPlan;
use prony_workers::Recruited;
use std::fs;
use std::sync::Arc;

pub(crate) static KIND: Kind =
    Kind { name: "a JMeter plan", flags: Flags::Jmeter, needs_url: false, is_named, open };

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Box<dyn Subject>, OpenError> {
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
    Ok(Box::new(JmeterSubject { jmeter: Arc::new(jmeter), plan }))
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
struct JmeterSubject {
    jmeter: Arc<JmeterPlan>,
    plan: Plan,
}

impl Subject for JmeterSubject {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn with_plan(self: Box<Self>, plan: Plan) -> Box<dyn Subject> {
        Box::new(Self { plan, ..*self })
    }

    /// Files of listeners are not written: each run would begin them anew.
    fn run(&self, plan: &Plan, options: RunOptions) -> Result<ResultFile, RunError> {
        match self.live(plan, options, None) {
            Ok(result) => Ok(result),
            Err(LifeError::Run(error)) => Err(error),
            Err(error) => Err(other(&error)),
        }
    }

    fn run_shared(
        &self,
        plan: &Plan,
        workers: &mut Recruited,
        options: RunOptions,
    ) -> Result<ResultFile, SharedRunError> {
        match self.live(plan, options, Some(workers)) {
            Ok(result) => Ok(result),
            Err(LifeError::Run(error)) => Err(error.into()),
            Err(LifeError::Workers(error)) => Err(error.into()),
            Err(error) => Err(other(&error).into()),
        }
    }
}

impl JmeterSubject {
    fn live(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, LifeError> {
        Ok(live(&self.jmeter, plan, options, false, workers, |_| {})?.result)
    }
}

fn other(error: &LifeError) -> RunError {
    RunError::Program(ProgramError::Script(error.to_string()))
}
