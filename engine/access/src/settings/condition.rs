//! Conditions, presets and values of sessions as they are written: TOML to JSON, and the session's variables that they use.

use prony_graphql::{Name, selection::Value};
use prony_source::{
    config::{Faults, FileEntry, Origin},
    permissions::SessionNames,
};
use serde_json::{Map, Number, Value as Json};
use toml::de::DeValue;

/// Makes values of what is written, and remembers which variables of the session are used where.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    pub(super) names: SessionNames,
    pub(super) used: Vec<(String, Origin)>,
}

impl Conditions {
    /// A condition in the words of `where`.
    pub(super) fn condition(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<Value> {
        if !matches!(entry.value().get_ref(), DeValue::Table(_)) {
            entry.table(faults);
            return None;
        }
        self.value(entry, faults)
    }

    /// The value of a preset.
    pub(super) fn value(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<Value> {
        let before = faults.0.len();
        let written = self.written(entry, faults)?;
        if faults.0.len() > before {
            return None;
        }
        let made = self.names.condition(&written);
        made.map_err(|message| faults.push(entry.value_origin(), message)).ok()
    }

    /// What is written as JSON, each key of which must be a field's name.
    fn written(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<Json> {
        match entry.value().get_ref() {
            DeValue::Table(_) => {
                let mut object = Map::new();
                for inner in entry.table(faults) {
                    if Name::new(inner.name()).is_err() {
                        faults.push(inner.key_origin(), format!("`{}` is no field's name", inner.name()));
                    } else if let Some(value) = self.written(inner, faults) {
                        object.insert(inner.name().to_owned(), value);
                    }
                }
                Some(Json::Object(object))
            }
            DeValue::Array(_) => {
                let items = entry.items(faults).into_iter();
                Some(items.filter_map(|item| self.written(item, faults)).collect())
            }
            DeValue::String(text) => {
                if let Some(name) = text.strip_prefix('$').filter(|name| !name.starts_with('$')) {
                    self.used.push((name.to_owned(), entry.value_origin()));
                }
                Some(Json::from(text.as_ref()))
            }
            _ => json(entry, faults),
        }
    }
}

/// What is written as JSON: dates are texts, numbers must be finite.
pub(super) fn json(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<Json> {
    match entry.value().get_ref() {
        DeValue::String(text) => Some(Json::from(text.as_ref())),
        DeValue::Boolean(truth) => Some(Json::Bool(*truth)),
        DeValue::Datetime(time) => Some(Json::from(time.to_string())),
        DeValue::Integer(number) => {
            let digits = number.as_str().replace('_', "");
            let signed = i64::from_str_radix(&digits, number.radix()).map(Json::from);
            let read = signed.or_else(|_| u64::from_str_radix(&digits, number.radix()).map(Json::from));
            read.map_err(|_| faults.push(entry.value_origin(), format!("{number} is out of range"))).ok()
        }
        DeValue::Float(number) => {
            let read = number.as_str().replace('_', "").parse().ok().and_then(Number::from_f64);
            if read.is_none() {
                faults.push(entry.value_origin(), format!("{number} is no finite number"));
            }
            read.map(Json::Number)
        }
        DeValue::Array(_) => {
            let items = entry.items(faults).into_iter();
            Some(items.filter_map(|item| json(item, faults)).collect())
        }
        DeValue::Table(_) => {
            let entries = entry.table(faults).into_iter();
            let object: Map<_, _> =
                entries.filter_map(|inner| Some((inner.name().to_owned(), json(inner, faults)?))).collect();
            Some(Json::Object(object))
        }
    }
}
