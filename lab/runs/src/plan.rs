//! Plan files as arguments: what is no other kind.

use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, Payload};
use crate::subject::{Runner, Subject, SubjectError};
use prony_load::{RunOptions, read_plan};
use prony_model::plan::PlanChange;
use prony_model::{Plan, ResultFile, Variable};
use prony_workers::{Bundle, Recruited, RequestsAlone, UserState};
use serde_json::Value;
use std::path::PathBuf;

pub(crate) static KIND: Kind = Kind {
    name: "a plan",
    flags: Flags::Plan,
    users: UserState::OfPlan,
    needs_url: false,
    is_named: |_| true,
    open,
};

/// Variables that a message fills where a plan has them: its text, and how many bytes that is.
const PAYLOAD: &str = "payload";
const PAYLOAD_BYTES: &str = "payload_bytes";

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Subject, OpenError> {
    let path = PathBuf::from(&argument.text);
    let plan = read_plan(&path)?;
    if settings.payload.is_none() && settings.settings.is_empty() {
        return Ok(Subject::new(plan, PlanRunner { path, values: Vec::new() }));
    }
    let (mut draft, mut values) = (plan.into_draft(), Vec::new());
    let mut set = |name: &str, value: Value| {
        let is_known = draft.set_value(name, &value);
        values.extend(is_known.then(|| (name.to_owned(), value)));
        is_known
    };
    let mut unknown = None;
    for (name, value) in &settings.settings {
        // What looks like a number, true, false or null is one, as in a list of a plan.
        let number = serde_json::from_str::<Value>(value).ok().filter(|value| !value.is_string());
        if !set(name, number.unwrap_or_else(|| Value::String(value.clone()))) {
            unknown.get_or_insert_with(|| name.clone());
        }
    }
    let takes_payload = settings.payload.as_ref().is_none_or(|Payload { text, .. }| {
        let has_text = set(PAYLOAD, Value::String(text.clone()));
        let has_size = set(PAYLOAD_BYTES, Value::from(text.len()));
        has_text || has_size
    });
    if let Some(name) = unknown {
        return Err(OpenError::NoVariable { name, known: known(&draft.variables) });
    }
    if !takes_payload {
        return Err(OpenError::NoPayload);
    }
    Ok(Subject::new(draft.check()?, PlanRunner { path, values }))
}

/// A plan's file.
#[derive(Debug)]
struct PlanRunner {
    path: PathBuf,
    /// What is set of its variables.
    values: Vec<(String, Value)>,
}

impl Runner for PlanRunner {
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        let Some(workers) = workers else { return Ok(prony_load::run(plan, options)?) };
        let change = PlanChange { values: self.values.clone(), ..PlanChange::of(plan) };
        let bundle = Bundle::of_plan(&self.path)?;
        Ok(workers.run_changed(plan, &change, &bundle, &RequestsAlone, options)?)
    }
}

fn known(variables: &[Variable]) -> String {
    let names: Vec<_> = variables.iter().filter(|variable| !variable.is_captured()).collect();
    let names: Vec<_> = names.iter().map(|variable| format!("`{}`", variable.name)).collect();
    match names.as_slice() {
        [] => "it has none under [variables]".to_owned(),
        names => format!("it has {}", names.join(", ")),
    }
}
