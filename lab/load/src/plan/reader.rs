//! Takes values out of tables whose forms were checked before, and holds the mistakes found on the way.

use super::Found;
use prony_model::Nanos;
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

    /// True where something within this span was noted.
    pub(super) fn has_within(&self, span: &Range<usize>) -> bool {
        self.found.iter().any(|found| span.start <= found.span.start && found.span.end <= span.end)
    }

    pub(super) fn missing(&mut self, span: &Range<usize>, key: &str, example: &str) {
        self.add(span.clone(), format!("`{key}` is missing; write for example `{key} = {example}`"));
    }
}

/// A table, and where it stands. What has the wrong form was noted before and reads as absent here.
#[derive(Debug, Clone)]
pub(super) struct Section<'a> {
    table: &'a DeTable<'a>,
    pub(super) span: Range<usize>,
}

impl<'a> Section<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        Self { table, span }
    }

    pub(super) fn of(value: Value<'a>) -> Option<Self> {
        Some(Self::new(value.get_ref().as_table()?, value.span()))
    }

    pub(super) fn get(&self, key: &str) -> Option<Value<'a>> {
        self.table.get(key)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn span_of(&self, key: &str) -> Range<usize> {
        self.get(key).map_or(self.span.clone(), Spanned::span)
    }

    /// Those of these keys that are given.
    pub(super) fn given(&self, keys: &[&'static str]) -> Vec<&'static str> {
        keys.iter().copied().filter(|key| self.has(key)).collect()
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.get_ref().as_str()
    }

    pub(super) fn duration(&self, key: &str) -> Option<Nanos> {
        Nanos::parse(self.text(key)?).ok()
    }

    pub(super) fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.get_ref().as_integer().and_then(whole)?.try_into().ok()
    }

    /// A count whose form says that it fits.
    pub(super) fn small_count(&self, key: &str) -> Option<u32> {
        self.count(key)?.try_into().ok()
    }

    pub(super) fn decimal(&self, key: &str) -> Option<f64> {
        decimal(self.get(key)?.get_ref())
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.get_ref().as_bool()
    }

    pub(super) fn section(&self, key: &str) -> Option<Self> {
        Self::of(self.get(key)?)
    }

    /// The items of a list; a single value is a list of one.
    pub(super) fn items(&self, key: &str) -> Vec<Value<'a>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        value.get_ref().as_array().map_or_else(|| vec![value], |items| items.iter().collect())
    }

    /// A list of status codes, or a single one, of a key that is given.
    pub(super) fn statuses(&self, key: &str, notes: &mut Notes) -> Vec<u16> {
        let items = self.items(key);
        if items.is_empty() {
            let message = format!(
                "`{key}` names no status, so no response can have it; write for example `[200, 404]`"
            );
            notes.add(self.span_of(key), message);
        }
        let numbers = items.into_iter().filter_map(|item| item.get_ref().as_integer());
        numbers
            .filter_map(whole)
            .filter_map(|number| u16::try_from(number).ok())
            .filter(|status| *status < 600)
            .collect()
    }

    /// The names and values of a table whose names are the writer's.
    pub(super) fn entries(&self, key: &str) -> Vec<(&'a str, Value<'a>)> {
        let Some(table) = self.get(key).and_then(|value| value.get_ref().as_table()) else {
            return Vec::new();
        };
        table.iter().map(|(name, value)| (name.get_ref().as_ref(), value)).collect()
    }

    pub(super) fn texts(&self, key: &str) -> Vec<(String, String)> {
        let entries = self.entries(key).into_iter();
        entries
            .filter_map(|(name, value)| Some((name.to_owned(), value.get_ref().as_str()?.to_owned())))
            .collect()
    }

    /// What a word stands for; the first where the key is absent.
    pub(super) fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> T {
        let word = self.text(key);
        let found = words.iter().find(|(known, _)| word == Some(*known));
        found.unwrap_or(&words[0]).1
    }
}

pub(super) fn whole(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

pub(super) fn decimal(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => whole(number).map(|number| number as f64),
        DeValue::Float(number) => number.as_str().parse().ok(),
        _ => None,
    }
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
