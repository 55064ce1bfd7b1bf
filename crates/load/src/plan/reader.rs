//! Takes values out of TOML tables and notes every mistake on the way, instead of stopping at the first.

use super::Found;
use prony_load_model::Nanos;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

pub(super) type Value<'a> = &'a Spanned<DeValue<'a>>;

/// The mistakes so far.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) found: Vec<Found>,
}

impl Notes {
    pub(super) fn add(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.found.push(Found { span, message: message.into() });
    }
}

/// A table of which only these keys are known.
#[derive(Debug)]
pub(super) struct Section<'a> {
    table: &'a DeTable<'a>,
    pub(super) span: Range<usize>,
}

impl<'a> Section<'a> {
    /// Notes unknown keys, each with the nearest known one.
    pub(super) fn new(table: &'a DeTable<'a>, span: Range<usize>, known: &[&str], notes: &mut Notes) -> Self {
        for key in table.keys() {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                notes.add(key.span(), format!("unknown key `{name}`; {}", nearest(name, known)));
            }
        }
        Self { table, span }
    }

    /// A value that must be a table.
    pub(super) fn of(value: Value<'a>, known: &[&str], notes: &mut Notes) -> Option<Self> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            notes.add(value.span(), format!("expected a table with {}", listed(known)));
        }
        Some(Self::new(table?, value.span(), known, notes))
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.table.get(key)
    }

    pub(super) fn span_of(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.span.clone(), Spanned::span)
    }

    /// Notes a missing key.
    pub(super) fn require(&self, key: &str, example: &str, notes: &mut Notes) -> Option<Value<'a>> {
        let value = self.get(key);
        if value.is_none() {
            // A table's span may reach over many lines; its beginning is what a reader looks for.
            notes
                .add(self.span.clone(), format!("`{key}` is missing; write for example `{key} = {example}`"));
        }
        value
    }

    pub(super) fn text(&self, key: &str, notes: &mut Notes) -> Option<String> {
        text(self.get(key)?, notes)
    }

    pub(super) fn duration(&self, key: &str, notes: &mut Notes) -> Option<Nanos> {
        duration(self.get(key)?, notes)
    }

    /// A whole number from 0 to `max`.
    pub(super) fn count(&self, key: &str, max: u64, notes: &mut Notes) -> Option<u64> {
        let value = self.get(key)?;
        let number = integer(value, notes)?;
        let count = u64::try_from(number).ok().filter(|count| *count <= max);
        if count.is_none() {
            notes.add(value.span(), format!("`{key}` must be from 0 to {max}, not {number}"));
        }
        count
    }
}

pub(super) fn text(value: Value<'_>, notes: &mut Notes) -> Option<String> {
    let text = value.get_ref().as_str().map(str::to_owned);
    if text.is_none() {
        notes.add(value.span(), format!("expected a text in quotes, not {}", kind(value)));
    }
    text
}

pub(super) fn duration(value: Value<'_>, notes: &mut Notes) -> Option<Nanos> {
    let Some(text) = value.get_ref().as_str() else {
        let message = format!("expected a duration such as `\"30s\"`, not {}", kind(value));
        notes.add(value.span(), message);
        return None;
    };
    Nanos::parse(text).map_err(|error| notes.add(value.span(), error.to_string())).ok()
}

pub(super) fn integer(value: Value<'_>, notes: &mut Notes) -> Option<i64> {
    let number = value.get_ref().as_integer().and_then(whole);
    if number.is_none() {
        notes.add(value.span(), format!("expected a whole number, not {}", kind(value)));
    }
    number
}

fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub(super) fn array<'a>(value: Value<'a>, what: &str, notes: &mut Notes) -> Vec<Value<'a>> {
    let Some(items) = value.get_ref().as_array() else {
        notes.add(value.span(), format!("expected {what}, not {}", kind(value)));
        return Vec::new();
    };
    items.iter().collect()
}

/// One of a few words; the first where the key is absent or its word unknown.
pub(super) fn choice<T: Copy>(section: &Section<'_>, key: &str, words: &[(&str, T)], notes: &mut Notes) -> T {
    let default = words[0].1;
    let Some(word) = section.text(key, notes) else { return default };
    let found = words.iter().find(|(known, _)| *known == word);
    found.map_or_else(
        || {
            let known: Vec<_> = words.iter().map(|(known, _)| *known).collect();
            notes.add(section.span_of(key), format!("unknown {key} `{word}`; {}", nearest(&word, &known)));
            default
        },
        |(_, value)| *value,
    )
}

/// The JSON value with the same content; dates become texts.
pub(super) fn json(value: &DeValue<'_>) -> serde_json::Value {
    use serde_json::Value as Json;
    match value {
        DeValue::String(text) => Json::from(text.as_ref()),
        DeValue::Integer(number) => whole(number).map_or(Json::Null, Json::from),
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Json::Null, Json::from),
        DeValue::Boolean(flag) => Json::from(*flag),
        DeValue::Datetime(time) => Json::from(time.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json(item.get_ref())).collect(),
        DeValue::Table(table) => Json::Object(json_object(table)),
    }
}

pub(super) fn json_object(table: &DeTable<'_>) -> serde_json::Map<String, serde_json::Value> {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), json(value.get_ref()))).collect()
}

pub(super) fn kind(value: Value<'_>) -> &'static str {
    match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with decimals",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// What was probably meant, or everything that is known.
pub(super) fn nearest(name: &str, known: &[&str]) -> String {
    /// Jaro-Winkler similarity below which a suggestion would only confuse.
    const SIMILAR: f64 = 0.75;
    let scored = known.iter().map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate));
    match scored.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((score, candidate)) if score >= SIMILAR => format!("did you mean `{candidate}`?"),
        _ => format!("known are {}", listed(known)),
    }
}

pub(super) fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
