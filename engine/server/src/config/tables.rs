//! Reading `[source.tables.NAME]`: each key by itself, so that one fault does not hide the next.

use std::collections::BTreeMap;

use prony_sql::settings::{ColumnSettings, RelationSettings, TableSettings};
use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

use super::{
    fault::{Faults, Text, suggestion},
    file::Entry,
    value::described,
};

const TABLE_KEYS: &[&str] = &[
    "type_name",
    "list_name",
    "exclude_columns",
    "columns",
    "primary_key",
    "relations",
    "exclude_relations",
];
const COLUMN_KEYS: &[&str] = &["name", "type"];

/// Reads the value of `tables`.
pub(super) fn read(
    text: Text<'_>,
    value: &Spanned<DeValue<'_>>,
    faults: &mut Faults,
) -> BTreeMap<String, TableSettings> {
    let mut tables = BTreeMap::new();
    let Some(table) = as_table(text, value, "tables", faults) else { return tables };
    for (key, value) in table {
        let name = key.get_ref().to_string();
        if let Some(entries) = as_table(text, value, &name, faults) {
            tables.insert(name, read_table(text, entries, faults));
        }
    }
    tables
}

fn read_table(text: Text<'_>, entries: &DeTable<'_>, faults: &mut Faults) -> TableSettings {
    let mut table = TableSettings::default();
    for entry in entries {
        match entry.0.get_ref().as_ref() {
            "type_name" => table.type_name = value(text, entry, faults),
            "list_name" => table.list_name = value(text, entry, faults),
            "exclude_columns" => table.exclude_columns = value(text, entry, faults).unwrap_or_default(),
            "primary_key" => table.primary_key = value(text, entry, faults).unwrap_or_default(),
            "exclude_relations" => table.exclude_relations = value(text, entry, faults).unwrap_or_default(),
            "columns" => table.columns = read_columns(text, entry.1, faults),
            "relations" => table.relations = read_relations(text, entry, faults),
            unknown => unknown_key(text, entry, unknown, TABLE_KEYS, "a table", faults),
        }
    }
    table
}

fn read_columns(
    text: Text<'_>,
    columns: &Spanned<DeValue<'_>>,
    faults: &mut Faults,
) -> BTreeMap<String, ColumnSettings> {
    let mut read = BTreeMap::new();
    let Some(columns) = as_table(text, columns, "columns", faults) else { return read };
    for (key, column) in columns {
        let name = key.get_ref().to_string();
        let Some(entries) = as_table(text, column, &name, faults) else { continue };
        let mut settings = ColumnSettings::default();
        for entry in entries {
            match entry.0.get_ref().as_ref() {
                "name" => settings.name = value(text, entry, faults),
                "type" => settings.r#type = value(text, entry, faults),
                unknown => unknown_key(text, entry, unknown, COLUMN_KEYS, "a column", faults),
            }
        }
        read.insert(name, settings);
    }
    read
}

fn read_relations(text: Text<'_>, (key, list): Entry<'_, '_>, faults: &mut Faults) -> Vec<RelationSettings> {
    let DeValue::Array(items) = list.get_ref() else {
        faults.push(text.place(&list.span()), "`relations` is a list of tables");
        return Vec::new();
    };
    items.iter().filter_map(|item| value(text, (key, item), faults)).collect()
}

/// One value, by the type that its field has.
fn value<T: for<'de> Deserialize<'de>>(
    text: Text<'_>,
    (key, value): Entry<'_, '_>,
    faults: &mut Faults,
) -> Option<T> {
    T::deserialize(ValueDeserializer::from(value.clone()))
        .map_err(|error| {
            let span = error.span().unwrap_or_else(|| value.span());
            faults.push(text.place(&span), format!("`{}`: {}", key.get_ref(), error.message()));
        })
        .ok()
}

fn as_table<'a, 'i>(
    text: Text<'_>,
    value: &'a Spanned<DeValue<'i>>,
    name: &str,
    faults: &mut Faults,
) -> Option<&'a DeTable<'i>> {
    if let DeValue::Table(table) = value.get_ref() {
        return Some(table);
    }
    let message = format!("`{name}` is a table, not {}", described(value.get_ref()));
    faults.push(text.place(&value.span()), message);
    None
}

fn unknown_key(
    text: Text<'_>,
    entry: Entry<'_, '_>,
    name: &str,
    known: &[&'static str],
    what: &str,
    faults: &mut Faults,
) {
    let near = suggestion(name, known.iter().copied());
    faults.push(text.place(&entry.0.span()), format!("`{name}` is no option of {what}{near}"));
}
