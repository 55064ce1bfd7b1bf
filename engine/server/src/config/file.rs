//! Reading `prony.toml`: walks the parsed tree beside the table of options, so that every fault is found, not
//! only the first one.

use std::{path::Path, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    Given, Typed, TypedSource,
    fault::{Faults, Text, suggestion},
    options::{self, Section},
    tables,
    value::described,
};

/// A key with its place and its value with its place, as the parser gives them.
pub(super) type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

const SECTIONS: [Section; 4] = [Section::Server, Section::Graphql, Section::Subscriptions, Section::Log];

/// Reads the text of the file at `path`, which is only for messages. What is faulty is left out of the answer, so
/// that the rest can be checked too.
pub(super) fn read(path: &Path, text: &str) -> (Typed, Faults) {
    let path: Arc<Path> = Arc::from(path);
    let text = Text { path: &path, text };
    let mut faults = Faults::default();
    let (table, syntax) = DeTable::parse_recoverable(text.text);
    for error in syntax {
        faults.push(text.place(&error.span().unwrap_or_default()), error.message());
    }
    let mut typed = Typed::default();
    for (key, value) in table.get_ref() {
        read_top(text, (key, value), &mut typed, &mut faults);
    }
    (typed, faults)
}

fn read_top(text: Text<'_>, (key, value): Entry<'_, '_>, typed: &mut Typed, faults: &mut Faults) {
    let name = key.get_ref().as_ref();
    if name == Section::Source.key() {
        read_sources(text, value, typed, faults);
        return;
    }
    let Some(section) = SECTIONS.into_iter().find(|section| section.key() == name) else {
        let known = SECTIONS.iter().map(|section| section.key()).chain([Section::Source.key()]);
        let near = suggestion(name, known);
        faults.push(text.place(&key.span()), format!("`{name}` is no section{near}"));
        return;
    };
    let DeValue::Table(table) = value.get_ref() else {
        let found = described(value.get_ref());
        faults.push(text.place(&value.span()), format!("`{name}` is a section: write [{name}], not {found}"));
        return;
    };
    for entry in table {
        if !read_option(text, section, entry, &mut typed.values, faults) {
            unknown_key(text, section, entry, &[], faults);
        }
    }
}

fn read_sources(text: Text<'_>, value: &Spanned<DeValue<'_>>, typed: &mut Typed, faults: &mut Faults) {
    typed.names_sources = true;
    let DeValue::Array(items) = value.get_ref() else {
        faults.push(text.place(&value.span()), "sources are a list: write [[source]]");
        return;
    };
    for item in items {
        let DeValue::Table(table) = item.get_ref() else {
            faults.push(text.place(&item.span()), "a source is a table: write [[source]]");
            continue;
        };
        if let Some(source) = read_source(text, item, table, faults) {
            typed.sources.push(source);
        }
    }
}

const SOURCE_KEYS: &[&str] = &["url", "name", "tables"];

fn read_source(
    text: Text<'_>,
    item: &Spanned<DeValue<'_>>,
    table: &DeTable<'_>,
    faults: &mut Faults,
) -> Option<TypedSource> {
    let mut values = Vec::new();
    let mut url = None;
    let mut name = None;
    let mut overrides = std::collections::BTreeMap::new();
    for entry in table {
        match entry.0.get_ref().as_ref() {
            "url" => url = read_text(text, entry, faults).map(|url| (url, text.place(&entry.1.span()))),
            "name" => name = read_text(text, entry, faults),
            "tables" => overrides = tables::read(text, entry.1, faults),
            _ if read_option(text, Section::Source, entry, &mut values, faults) => {}
            _ => unknown_key(text, Section::Source, entry, SOURCE_KEYS, faults),
        }
    }
    if !table.contains_key("url") {
        faults.push(text.place(&item.span()), "a source needs its `url`, such as \"sqlite:shop.db\"");
    }
    let (url, url_origin) = url?;
    Some(TypedSource { url, url_origin, name, values, tables: overrides })
}

fn read_text(text: Text<'_>, (key, value): Entry<'_, '_>, faults: &mut Faults) -> Option<String> {
    if let DeValue::String(found) = value.get_ref() {
        return Some(found.to_string());
    }
    let message = format!("`{}`: write a text in quotes, not {}", key.get_ref(), described(value.get_ref()));
    faults.push(text.place(&value.span()), message);
    None
}

/// Reads one option of a section; false when the section has no such option.
fn read_option(
    text: Text<'_>,
    section: Section,
    (key, value): Entry<'_, '_>,
    values: &mut Vec<Given>,
    faults: &mut Faults,
) -> bool {
    let name = key.get_ref().as_ref();
    let Some(option) = options::of(section).find(|option| option.key == name) else { return false };
    let origin = text.place(&value.span());
    match option.kind.read_toml(value.get_ref()) {
        Ok(value) => values.push(Given { option, value, origin }),
        Err(message) => faults.push(origin, format!("`{name}`: {message}")),
    }
    true
}

fn unknown_key(
    text: Text<'_>,
    section: Section,
    (key, _): Entry<'_, '_>,
    others: &[&'static str],
    faults: &mut Faults,
) {
    let name = key.get_ref().as_ref();
    let known = options::of(section).map(|option| option.key).chain(others.iter().copied());
    let message = format!("`{name}` is no option of [{}]{}", section.key(), suggestion(name, known));
    faults.push(text.place(&key.span()), message);
}
