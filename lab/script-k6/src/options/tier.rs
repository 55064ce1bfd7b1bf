//! One source of options (a file, the script, variables or flags), read by the table of all options.

use super::duration::Span;
use super::notes::Notes;
use super::table::{CONFIGURATION_ONLY, EXECUTION, Form, OPTIONS, Row, Support, find, suggestion};
use super::value::{self, Value};
use super::written::WrittenScenario;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// What one source says; options that it does not name are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tier {
    /// By the name in scripts; all but `scenarios`.
    pub(super) values: BTreeMap<&'static str, Value>,
    pub(super) scenarios: Option<Vec<WrittenScenario>>,
}

impl Tier {
    /// The script's exported `options`, as JSON.
    pub fn of_script(options: &Json, notes: &mut Notes) -> Self {
        Self::of_json("", options, &[], notes)
    }

    /// What `config.json` holds.
    pub fn of_configuration(path: &str, json: &Json, notes: &mut Notes) -> Self {
        Self::of_json(&format!("{path}: "), json, &CONFIGURATION_ONLY, notes)
    }

    fn of_json(place: &str, json: &Json, known: &[&str], notes: &mut Notes) -> Self {
        let mut tier = Self::default();
        let table = match json {
            Json::Null => return tier,
            Json::Object(table) => table,
            _ => {
                notes.fault(format!("{place}`options` must be a table of options"));
                return tier;
            }
        };
        for (name, json) in table {
            match find(name) {
                Some(row) => tier.read(place, row, json, notes),
                None if known.contains(&name.as_str()) => {}
                None => notes.warn(format!(
                    "{place}unknown option `{name}` is not taken into account{}",
                    suggestion(name)
                )),
            }
        }
        tier
    }

    fn read(&mut self, place: &str, row: &'static Row, json: &Json, notes: &mut Notes) {
        match value::from_json(row.form, json) {
            Err(fault) => notes.fault(format!("{place}`{}` {fault}", row.name)),
            Ok(None) => {}
            Ok(Some(Value::Json(Json::Object(scenarios)))) if row.form == Form::Scenarios => {
                let read =
                    scenarios.iter().filter_map(|(name, json)| WrittenScenario::read(name, json, notes));
                self.scenarios = Some(read.collect());
            }
            Ok(Some(value)) => self.set(place, row, value, notes),
        }
    }

    fn set(&mut self, place: &str, row: &'static Row, value: Value, notes: &mut Notes) {
        if row.support == Support::Missing {
            notes.warn(format!("{place}the option `{}` is not supported and has no effect", row.name));
        }
        self.values.insert(row.name, value);
    }

    /// `K6_*` variables.
    pub fn of_variables<'a>(
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
        notes: &mut Notes,
    ) -> Self {
        let mut tier = Self::default();
        for (name, text) in variables {
            let Some(row) = OPTIONS.iter().find(|row| row.variable == Some(name)) else { continue };
            match value::from_text(row.form, text) {
                Ok(Some(value)) => tier.set("", row, value, notes),
                Ok(None) => {}
                Err(fault) => notes.fault(format!("{name} {fault}")),
            }
        }
        tier
    }

    /// Flags by the names of their options, each with all that it was given; a switch with nothing.
    pub fn of_flags<'a>(given: impl IntoIterator<Item = (&'a str, Vec<String>)>, notes: &mut Notes) -> Self {
        let mut tier = Self::default();
        for (name, texts) in given {
            let Some((row, flag)) = find(name).and_then(|row| Some((row, row.flag.as_ref()?))) else {
                continue;
            };
            match of_flag(row.form, &texts) {
                Ok(Some(value)) => tier.set("", row, value, notes),
                Ok(None) => {}
                Err(fault) => notes.fault(format!("--{} {fault}", flag.long)),
            }
        }
        tier
    }

    /// True where it sets any of the options that go together.
    pub(super) fn has_execution(&self) -> bool {
        EXECUTION.iter().any(|name| self.values.contains_key(name)) || self.scenarios.is_some()
    }

    /// The same options with those of a higher tier laid over them.
    #[must_use]
    pub(super) fn under(mut self, higher: Self) -> Self {
        if higher.has_execution() {
            self.values.retain(|name, _| !EXECUTION.contains(name));
            self.scenarios = higher.scenarios;
        }
        for (name, value) in higher.values {
            match (self.values.get_mut(name), value) {
                // Each of its settings is an option of its own.
                (Some(Value::Json(Json::Object(lower))), Value::Json(Json::Object(higher)))
                    if name == "dns" =>
                {
                    lower.extend(higher);
                }
                (Some(_), Value::TextMap(tags)) if name == "tags" && tags.is_empty() => {}
                (_, value) => _ = self.values.insert(name, value),
            }
        }
        self
    }
}

/// Flags are stricter than variables: times have units. Tags are `name=value`, and stages may be given one by one.
fn of_flag(form: Form, texts: &[String]) -> value::Read {
    let last = texts.last().map_or("true", String::as_str);
    match form {
        Form::Duration => Span::parse_with_unit(last)
            .map(|span| Some(Value::Duration(span)))
            .ok_or_else(|| format!("must be a duration with a unit such as 30s or 1m30s, and is `{last}`")),
        Form::TextMap => value::pairs(texts.iter().map(String::as_str), '=')
            .map(|tags| Some(Value::TextMap(tags)))
            .ok_or_else(|| format!("must be NAME=VALUE, and is `{}`", texts.join(" "))),
        Form::Stages | Form::TextList => value::from_text(form, &texts.join(",")),
        _ => value::from_text(form, last),
    }
}
