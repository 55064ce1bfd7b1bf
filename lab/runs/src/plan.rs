//! Plan files as arguments: what is no other kind.

use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, Payload};
use crate::subject::Subject;
use prony_load::read_plan;
use prony_model::Variable;
use prony_model::data::variable::Order;
use serde_json::Value;
use std::path::Path;

pub(crate) static KIND: Kind =
    Kind { name: "a plan", flags: Flags::Plan, needs_url: false, is_named: |_| true, open };

/// Variables that a message fills where a plan has them: its text, and how many bytes that is.
const PAYLOAD: &str = "payload";
const PAYLOAD_BYTES: &str = "payload_bytes";

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Box<dyn Subject>, OpenError> {
    let plan = read_plan(Path::new(&argument.text))?;
    if settings.payload.is_none() && settings.settings.is_empty() {
        return Ok(Box::new(plan));
    }
    let mut draft = plan.into_draft();
    for (name, value) in &settings.settings {
        // What looks like a number, true, false or null is one, as in a list of a plan.
        let number = serde_json::from_str::<Value>(value).ok().filter(|value| !value.is_string());
        let value = number.unwrap_or_else(|| Value::String(value.clone()));
        if !set(&mut draft.variables, name, &value) {
            return Err(OpenError::NoVariable { name: name.clone(), known: known(&draft.variables) });
        }
    }
    if let Some(Payload { text, .. }) = &settings.payload {
        let has_text = set(&mut draft.variables, PAYLOAD, &Value::String(text.clone()));
        let has_size = set(&mut draft.variables, PAYLOAD_BYTES, &Value::from(text.len()));
        if !has_text && !has_size {
            return Err(OpenError::NoPayload);
        }
    }
    Ok(Box::new(draft.check()?))
}

/// False where there is no such variable.
fn set(variables: &mut [Variable], name: &str, value: &Value) -> bool {
    let found = variables.iter_mut().find(|variable| variable.name == name && !variable.is_captured());
    found.is_some_and(|variable| {
        *variable = Variable::list(name, std::slice::from_ref(value), Order::Sequential);
        true
    })
}

fn known(variables: &[Variable]) -> String {
    let names: Vec<_> = variables.iter().filter(|variable| !variable.is_captured()).collect();
    let names: Vec<_> = names.iter().map(|variable| format!("`{}`", variable.name)).collect();
    match names.as_slice() {
        [] => "it has none under [variables]".to_owned(),
        names => format!("it has {}", names.join(", ")),
    }
}
