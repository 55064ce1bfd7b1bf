//! Reading `[source.tables.NAME]`: each key by itself, so that one fault does not hide the next.

use std::collections::BTreeMap;

use prony_source::config::{Faults, FileEntry};

use crate::settings::{ColumnSettings, TableSettings};

const TABLE_KEYS: &[&str] = &[
    "type_name",
    "list_name",
    "exclude_columns",
    "columns",
    "primary_key",
    "relations",
    "exclude_relations",
    "insert",
    "update",
    "delete",
];
const COLUMN_KEYS: &[&str] = &["name", "type"];

/// Reads the value of `tables`.
pub(crate) fn read(tables: FileEntry<'_, '_>, faults: &mut Faults) -> BTreeMap<String, TableSettings> {
    tables
        .table(faults)
        .into_iter()
        .map(|table| (table.name().to_owned(), read_table(table, faults)))
        .collect()
}

fn read_table(table: FileEntry<'_, '_>, faults: &mut Faults) -> TableSettings {
    let mut settings = TableSettings::default();
    for entry in table.table(faults) {
        match entry.name() {
            "type_name" => settings.type_name = entry.read(faults),
            "list_name" => settings.list_name = entry.read(faults),
            "exclude_columns" => settings.exclude_columns = entry.read(faults).unwrap_or_default(),
            "primary_key" => settings.primary_key = entry.read(faults).unwrap_or_default(),
            "exclude_relations" => settings.exclude_relations = entry.read(faults).unwrap_or_default(),
            "insert" => settings.insert = entry.read(faults),
            "update" => settings.update = entry.read(faults),
            "delete" => settings.delete = entry.read(faults),
            "columns" => settings.columns = read_columns(entry, faults),
            "relations" => settings.relations = entry.read_tables(faults),
            _ => entry.unknown("a table", TABLE_KEYS.iter().copied(), faults),
        }
    }
    settings
}

fn read_columns(columns: FileEntry<'_, '_>, faults: &mut Faults) -> BTreeMap<String, ColumnSettings> {
    columns
        .table(faults)
        .into_iter()
        .map(|column| (column.name().to_owned(), read_column(column, faults)))
        .collect()
}

fn read_column(column: FileEntry<'_, '_>, faults: &mut Faults) -> ColumnSettings {
    let mut settings = ColumnSettings::default();
    for entry in column.table(faults) {
        match entry.name() {
            "name" => settings.name = entry.read(faults),
            "type" => settings.r#type = entry.read(faults),
            _ => entry.unknown("a column", COLUMN_KEYS.iter().copied(), faults),
        }
    }
    settings
}
