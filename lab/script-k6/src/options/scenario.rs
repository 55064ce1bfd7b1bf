//! Scenarios, checked.

use super::duration::Span;
use super::executors::Executor;
use super::notes::Notes;
use super::value::Value;
use super::written::{Faults, WrittenScenario};
use prony_model::Nanos;
use prony_model::load::Stripe;
use std::collections::BTreeMap;

/// The function that a scenario runs where it names none.
pub(super) const DEFAULT_FUNCTION: &str = "default";
/// Iterations may end in this time once nothing is started any more.
const GRACEFUL_STOP: Span = Span::from_secs(30);

impl WrittenScenario {
    /// The scenario, or its faults noted.
    pub(super) fn check(&self, is_exported: &dyn Fn(&str) -> bool, notes: &mut Notes) -> Option<Scenario> {
        let mut faults = Faults::new(&self.name, notes);
        if self.name.is_empty() || !self.name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            faults.add("a scenario's name is made of letters, digits, `_` and `-`");
        }
        let start = faults.span("startTime", self.span("startTime").unwrap_or_default());
        let graceful_stop = faults.span("gracefulStop", self.span("gracefulStop").unwrap_or(GRACEFUL_STOP));
        let exec = match self.values.get("exec") {
            Some(Value::Text(exec)) => exec.as_str(),
            _ => DEFAULT_FUNCTION,
        };
        if !is_exported(exec) {
            faults.add(&format!("the script exports no function `{exec}`{}", hint(exec)));
        }
        let executor = Executor::check(self, &mut faults);
        if faults.count > 0 {
            return None;
        }
        Some(Scenario {
            name: self.name.clone(),
            start,
            graceful_stop,
            exec: exec.to_owned(),
            env: self.text_map("env"),
            tags: self.text_map("tags"),
            executor: executor?,
            stripe: None,
        })
    }
}

fn hint(exec: &str) -> &'static str {
    if exec == DEFAULT_FUNCTION {
        "; write `export default function () { … }`, or name one with `exec`"
    } else {
        ""
    }
}

/// A checked scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub name: String,
    /// From the start of the run.
    pub start: Nanos,
    pub graceful_stop: Nanos,
    /// The exported function that its users run.
    pub exec: String,
    pub env: BTreeMap<String, String>,
    pub tags: BTreeMap<String, String>,
    pub executor: Executor,
    /// Which of the starts of an arrival rate are this instance's, where it runs a segment of the test.
    pub stripe: Option<Stripe>,
}
