//! Reading one table of the configuration key by key: what a key may hold, which keys are left over, what is missing.

use std::collections::BTreeSet;

use http::{Uri, uri::Authority};
use prony_source::config::{Faults, FileEntry, Origin, described, suggestion};
use toml::de::DeValue;

/// The keys of one table. Each is taken once; what is left at the [end](Self::end) is unknown.
pub(super) struct Fields<'a, 't> {
    /// For messages, such as `[auth]`.
    what: String,
    origin: Origin,
    left: Vec<FileEntry<'a, 't>>,
    known: Vec<&'static str>,
    /// Of what is none nothing is missed.
    is_table: bool,
}

impl<'a, 't> Fields<'a, 't> {
    /// Of a value that should be a table.
    pub(super) fn of(entry: FileEntry<'a, 't>, what: impl Into<String>, faults: &mut Faults) -> Self {
        let left = entry.table(faults);
        let is_table = matches!(entry.value().get_ref(), DeValue::Table(_));
        Self { what: what.into(), origin: entry.value_origin(), left, known: Vec::new(), is_table }
    }

    /// Of keys that are no part of another table.
    pub(super) fn of_entries(left: Vec<FileEntry<'a, 't>>, what: &str, origin: Origin) -> Self {
        Self { what: what.to_owned(), origin, left, known: Vec::new(), is_table: true }
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<FileEntry<'a, 't>> {
        self.known.push(key);
        let index = self.left.iter().position(|entry| entry.name() == key)?;
        Some(self.left.remove(index))
    }

    pub(super) fn text(&mut self, key: &'static str, faults: &mut Faults) -> Option<String> {
        self.take(key)?.text(faults)
    }

    pub(super) fn boolean(&mut self, key: &'static str, default: bool, faults: &mut Faults) -> bool {
        let Some(entry) = self.take(key) else { return default };
        boolean(entry, faults).unwrap_or(default)
    }

    /// A whole number between two, both included.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        (least, most): (u64, u64),
        faults: &mut Faults,
    ) -> Option<u64> {
        let entry = self.take(key)?;
        let wanted = format!("`{key}`: write a whole number from {least} to {most}");
        let number = match entry.value().get_ref() {
            DeValue::Integer(number) => {
                u64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
            }
            other => {
                faults.push(entry.value_origin(), format!("{wanted}, not {}", described(other)));
                return None;
            }
        };
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            faults.push(entry.value_origin(), wanted);
        }
        number
    }

    /// A text, or a list of texts, each with its place.
    pub(super) fn texts(&mut self, key: &'static str, faults: &mut Faults) -> Vec<(String, Origin)> {
        self.take(key).map_or_else(Vec::new, |entry| texts(entry, faults))
    }

    /// Says which keys are missing of those that must be there.
    pub(super) fn missing(&self, message: &str, faults: &mut Faults) {
        if self.is_table {
            faults.push(self.origin.clone(), format!("{} {message}", self.what));
        }
    }

    /// Says which keys are unknown.
    pub(super) fn end(self, faults: &mut Faults) {
        for entry in &self.left {
            entry.unknown(&self.what, self.known.iter().copied(), faults);
        }
    }
}

/// What is wrong with an address that is asked by HTTP. A port that is none is left out by who asks, and another server would hear of
/// credentials.
pub(super) fn address_fault(text: &str) -> Option<&'static str> {
    let uri = text.parse::<Uri>().ok();
    let Some(uri) = uri.filter(|uri| matches!(uri.scheme_str(), Some("http" | "https"))) else {
        return Some("is an http or https URL");
    };
    let is_faulty = |of: &Authority| of.port_u16().is_none() && !of.as_str().ends_with(of.host());
    uri.authority().is_none_or(is_faulty).then_some("has a port that is none")
}

pub(super) fn boolean(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<bool> {
    if let DeValue::Boolean(value) = entry.value().get_ref() {
        return Some(*value);
    }
    let found = described(entry.value().get_ref());
    faults.push(entry.value_origin(), format!("`{}`: write true or false, not {found}", entry.name()));
    None
}

/// A text, or a list of texts, each with its place.
pub(super) fn texts(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Vec<(String, Origin)> {
    if matches!(entry.value().get_ref(), DeValue::String(_)) {
        return entry.text(faults).map(|text| (text, entry.value_origin())).into_iter().collect();
    }
    let items = entry.items(faults).into_iter();
    items.filter_map(|item| Some((item.text(faults)?, item.value_origin()))).collect()
}

/// The entries of a table whose names have dots: `{ user.id = … }` is `{ "user.id" = … }`.
pub(super) fn dotted<'a, 't>(
    entry: FileEntry<'a, 't>,
    faults: &mut Faults,
) -> Vec<(String, FileEntry<'a, 't>)> {
    let mut found = Vec::new();
    for inner in entry.table(faults) {
        if matches!(inner.value().get_ref(), DeValue::Table(_)) {
            let below = dotted(inner, faults).into_iter();
            found.extend(below.map(|(name, entry)| (format!("{}.{name}", inner.name()), entry)));
        } else {
            found.push((inner.name().to_owned(), inner));
        }
    }
    let mut names = BTreeSet::new();
    found.retain(|(name, entry)| {
        let is_first = names.insert(name.clone());
        if !is_first {
            faults.push(entry.key_origin(), format!("`{name}` is given twice"));
        }
        is_first
    });
    found
}

/// Says that a name is unknown, and which of the known ones is like it.
pub(super) fn unknown<'k>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'k str>,
    origin: Origin,
    faults: &mut Faults,
) {
    faults.push(origin, format!("{what} `{name}` is unknown{}", suggestion(name, known)));
}
