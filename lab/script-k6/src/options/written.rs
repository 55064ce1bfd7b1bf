//! Scenarios as options write them, each with the keys of its executor.

use super::duration::Span;
use super::kind::{Key, Kind};
use super::notes::{Notes, nearest};
use super::table::Form;
use super::value::{self, Stage, Value};
use prony_model::Nanos;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Keys of all executors.
pub(super) const COMMON: [Key; 7] = [
    ("executor", Form::Text),
    ("startTime", Form::Duration),
    ("gracefulStop", Form::Duration),
    ("env", Form::TextMap),
    ("exec", Form::Text),
    ("tags", Form::TextMap),
    ("options", Form::Table),
];

/// A scenario as it was written, its keys and their forms checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WrittenScenario {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) values: BTreeMap<&'static str, Value>,
}

impl WrittenScenario {
    /// One that shortcuts such as `duration` stand for.
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        Self { name: name.to_owned(), kind, values: BTreeMap::new() }
    }

    pub(super) fn with(mut self, key: &'static str, value: Option<Value>) -> Self {
        if let Some(value) = value {
            self.values.insert(key, value);
        }
        self
    }

    /// Nothing where its executor is not known, which is noted as every other fault is.
    pub(super) fn read(name: &str, json: &Json, notes: &mut Notes) -> Option<Self> {
        let Json::Object(table) = json else {
            notes.fault(format!("scenario `{name}` must be a table with an `executor`"));
            return None;
        };
        let executor = table.iter().find(|(key, _)| key.eq_ignore_ascii_case("executor"));
        let Some(text) = executor.and_then(|(_, executor)| executor.as_str()).filter(|text| !text.is_empty())
        else {
            notes.fault(format!("scenario `{name}` has no `executor`; executors are: {}", Kind::names()));
            return None;
        };
        let kind = Kind::find(text).map_err(|why| notes.fault(format!("scenario `{name}`: {why}"))).ok()?;
        let mut scenario = Self::new(name, kind);
        for (key, json) in table {
            scenario.read_key(key, json, notes);
        }
        Some(scenario)
    }

    fn read_key(&mut self, key: &str, json: &Json, notes: &mut Notes) {
        let (name, kind) = (&self.name, self.kind.name());
        let keys = || COMMON.iter().chain(self.kind.keys());
        let found = keys().find(|(known, _)| *known == key);
        let Some((known, form)) = found.or_else(|| keys().find(|(known, _)| known.eq_ignore_ascii_case(key)))
        else {
            let near = nearest(key, keys().map(|(known, _)| *known));
            notes.fault(format!("scenario `{name}` ({kind}) has an unknown key `{key}`{near}"));
            return;
        };
        match value::from_json(*form, json) {
            Ok(Some(value)) => _ = self.values.insert(known, value),
            Ok(None) => {}
            Err(fault) => notes.fault(format!("scenario `{name}`: `{known}` {fault}")),
        }
    }

    pub(super) fn integer(&self, key: &str) -> Option<i64> {
        let Some(Value::Integer(number)) = self.values.get(key) else { return None };
        Some(*number)
    }

    pub(super) fn span(&self, key: &str) -> Option<Span> {
        let Some(Value::Duration(span)) = self.values.get(key) else { return None };
        Some(*span)
    }

    pub(super) fn stages(&self) -> &[Stage] {
        let Some(Value::Stages(stages)) = self.values.get("stages") else { return &[] };
        stages
    }

    pub(super) fn text_map(&self, key: &str) -> BTreeMap<String, String> {
        let Some(Value::TextMap(map)) = self.values.get(key) else { return BTreeMap::new() };
        map.clone()
    }
}

/// Notes the faults of one scenario.
pub(super) struct Faults<'a> {
    scenario: &'a str,
    notes: &'a mut Notes,
    pub(super) count: usize,
}

impl<'a> Faults<'a> {
    pub(super) fn new(scenario: &'a str, notes: &'a mut Notes) -> Self {
        Self { scenario, notes, count: 0 }
    }

    pub(super) fn add(&mut self, message: &str) {
        self.count += 1;
        self.notes.fault(format!("scenario `{}`: {message}", self.scenario));
    }

    /// A time that is not negative.
    pub(super) fn span(&mut self, key: &str, span: Span) -> Nanos {
        span.nanos().unwrap_or_else(|| {
            self.add(&format!("`{key}` cannot be negative, and is {span}"));
            Nanos::ZERO
        })
    }
}
