//! The columns of a served table: which, under which field, of which kind; and the primary key.

use prony_source::dialect::names::{graphql_name, is_graphql_name};
use std::collections::HashSet;

use crate::model::{
    Column, ColumnId, Table, TableWrites,
    faults::{Faults, suggestion},
    naming::{described, invalid_name},
    served::ServedTable,
};
use crate::{
    catalog::{CatalogColumn, CatalogTable, ColumnKind, TableKind},
    settings::{ColumnSettings, ColumnTypeOverride, TableSettings},
};

/// The table without names and relations; tells `served` which column became which.
pub(super) fn table(served: &mut ServedTable<'_>, faults: &mut Faults, notes: &mut Vec<String>) -> Table {
    let source = served.source;
    if let Some((key, settings)) = served.overrides {
        check_column_names(source, key, settings, faults);
        check_column_types(source, key, settings, faults);
    }
    let fields = fields(served, faults, notes);
    let mut columns = Vec::with_capacity(source.columns.len());
    served.column_ids = fields
        .into_iter()
        .zip(&source.columns)
        .map(|(field, column)| {
            let field = field?;
            columns.push(served_column(field, column, is_strict(source), column_settings(served, column)));
            Some(ColumnId((columns.len() - 1) as u16))
        })
        .collect();
    note_text_columns(source, &columns, notes);
    note_hiding_columns(source, &columns, notes);
    let primary_key = primary_key(served, faults, notes);
    let unserved_key = if primary_key.is_empty() { key_names(source) } else { Vec::new() };
    Table {
        schema: source.schema.clone(),
        name: source.name.clone(),
        kind: source.kind,
        comment: source.comment.clone(),
        type_name: Box::default(),
        list_name: Box::default(),
        columns,
        primary_key,
        unserved_key,
        unique_keys: unique_keys(served),
        relations: Vec::new(),
        writes: writes(served, faults),
    }
}

/// Whether the database compares values of one type alone: PostgreSQL, whose tables have schemas.
fn is_strict(source: &CatalogTable) -> bool {
    source.schema.is_some()
}

/// All that the user has not switched off.
fn writes(served: &ServedTable<'_>, faults: &mut Faults) -> TableWrites {
    let Some((key, settings)) = served.overrides else {
        return TableWrites { insert: true, update: true, delete: true };
    };
    let mut is_served = |name: &str, given: Option<bool>| {
        if given.is_some() && served.source.kind == TableKind::View {
            let message = format!("{} has no mutations; leave it out", described(served.source));
            faults.add(&["tables", key, name], message);
        }
        given.unwrap_or(true)
    };
    TableWrites {
        insert: is_served("insert", settings.insert),
        update: is_served("update", settings.update),
        delete: is_served("delete", settings.delete),
    }
}

/// `is_strict` says that the database compares values of one type alone, as PostgreSQL does.
fn served_column(
    field: Box<str>,
    column: &CatalogColumn,
    is_strict: bool,
    settings: Option<&ColumnSettings>,
) -> Column {
    let kind = match settings.and_then(|s| s.r#type) {
        Some(ColumnTypeOverride::String) => string_kind(column, is_strict),
        Some(given) => given.kind(),
        None => column.kind.clone(),
    };
    Column {
        name: column.name.clone(),
        field,
        comment: column.comment.clone(),
        kind,
        database_type: column.database_type.clone(),
        collation: column.collation.clone(),
        operators: column.operators.clone(),
        nullable: column.nullable,
        has_default: column.has_default,
        writable: column.writable,
    }
}

/// Of a column that is served as a `String`: what the database can do with its values stays as it is.
fn string_kind(column: &CatalogColumn, is_strict: bool) -> ColumnKind {
    match &column.kind {
        ColumnKind::OrderedText | ColumnKind::UnorderedText => column.kind.clone(),
        ColumnKind::Json if is_strict && &*column.database_type == "json" => ColumnKind::UnorderedText,
        ColumnKind::Json | ColumnKind::Uuid | ColumnKind::Boolean | ColumnKind::Bytes if is_strict => {
            ColumnKind::OrderedText
        }
        ColumnKind::Enum(_) => ColumnKind::OtherText,
        _ => ColumnKind::Text,
    }
}

fn column_settings<'a>(served: &ServedTable<'a>, column: &CatalogColumn) -> Option<&'a ColumnSettings> {
    served.overrides.and_then(|(_, settings)| settings.columns.get(&*column.name))
}

/// Fields by the catalog's column index; names that the user gave come first, then names that are valid as
/// they are, then names that had to be changed.
fn fields(served: &ServedTable<'_>, faults: &mut Faults, notes: &mut Vec<String>) -> Vec<Option<Box<str>>> {
    let columns = &served.source.columns;
    let excluded = |column: &CatalogColumn| {
        served.overrides.is_some_and(|(_, s)| s.exclude_columns.iter().any(|name| **name == *column.name))
    };
    let mut taken: HashSet<Box<str>> = HashSet::with_capacity(columns.len());
    let mut fields: Vec<Option<Box<str>>> = vec![None; columns.len()];
    for (index, column) in columns.iter().enumerate() {
        let given = column_settings(served, column).and_then(|settings| settings.name.as_deref());
        let (Some(name), Some((key, _))) = (given, served.overrides) else { continue };
        let path = ["tables", key, "columns", &column.name, "name"];
        if !is_graphql_name(name) {
            faults.add(&path, invalid_name(name));
        } else if !taken.insert(name.into()) {
            faults.add(&path, format!("another column is already called `{name}`"));
        }
        fields[index] = Some(name.into());
    }
    for valid in [true, false] {
        for (index, column) in columns.iter().enumerate() {
            if fields[index].is_some() || excluded(column) || is_graphql_name(&column.name) != valid {
                continue;
            }
            let field = free_name(&graphql_name(&column.name), |name| !taken.contains(name));
            taken.insert(field.clone());
            if *field != *column.name {
                let table = described(served.source);
                notes.push(format!("column `{}` of {table} is served as `{field}`", column.name));
            }
            fields[index] = Some(field);
        }
    }
    for (index, column) in columns.iter().enumerate() {
        if excluded(column) {
            fields[index] = None;
        }
    }
    fields
}

/// `name`, or with the first number from 2 that makes it free.
pub(super) fn free_name(name: &str, is_free: impl Fn(&str) -> bool) -> Box<str> {
    if is_free(name) {
        return name.into();
    }
    let numbered = |number: u32| graphql_name(&format!("{name}_{number}"));
    (2..=u32::MAX).map(numbered).find(|name| is_free(name)).expect("numbers do not run out").into()
}

/// Every column that the settings speak of must exist.
fn check_column_names(source: &CatalogTable, key: &str, settings: &TableSettings, faults: &mut Faults) {
    let mut check = |path: &[&str], name: &str| {
        if !source.columns.iter().any(|column| *column.name == *name) {
            faults.add(path, unknown_column(source, name));
        }
    };
    for (index, name) in settings.exclude_columns.iter().enumerate() {
        check(&["tables", key, "exclude_columns", &index.to_string()], name);
    }
    for name in settings.columns.keys() {
        check(&["tables", key, "columns", name], name);
    }
    for (index, name) in settings.primary_key.iter().enumerate() {
        check(&["tables", key, "primary_key", &index.to_string()], name);
    }
}

/// No column may be given a type of which the database cannot make its values.
fn check_column_types(source: &CatalogTable, key: &str, settings: &TableSettings, faults: &mut Faults) {
    for column in source.columns.iter().filter(|_| is_strict(source)) {
        let given = settings.columns.get(&*column.name).and_then(|settings| settings.r#type);
        let Some(given) = given.filter(|given| !given.fits(&column.kind)) else { continue };
        let table = described(source);
        let (name, database_type) = (&*column.name, &column.database_type);
        let message = format!(
            "column `{name}` of {table} has the type `{database_type}`, which is never served as {given}"
        );
        faults.add(&["tables", key, "columns", name, "type"], message);
    }
}

pub(super) fn unknown_column(source: &CatalogTable, name: &str) -> String {
    let hint = suggestion(name, source.columns.iter().map(|column| &*column.name));
    format!("{} has no column `{name}`{hint}", described(source))
}

fn primary_key(served: &ServedTable<'_>, faults: &mut Faults, notes: &mut Vec<String>) -> Vec<ColumnId> {
    let source = served.source;
    let given = served.overrides.filter(|(_, settings)| !settings.primary_key.is_empty());
    let columns: Vec<usize> = match given {
        Some((key, _)) if !source.primary_key.is_empty() => {
            let message = format!("{} has a primary key of its own in the database", described(source));
            faults.add(&["tables", key, "primary_key"], message);
            return Vec::new();
        }
        Some((_, settings)) => {
            let position = |name: &String| source.columns.iter().position(|c| *c.name == **name);
            settings.primary_key.iter().filter_map(position).collect()
        }
        None => source.primary_key.clone(),
    };
    let key: Vec<ColumnId> = columns.iter().filter_map(|&column| served.column_ids[column]).collect();
    if key.len() < columns.len() {
        let table = described(source);
        notes.push(format!("a column of the primary key of {table} is left out: it is served without a key"));
        return Vec::new();
    }
    key
}

fn key_names(source: &CatalogTable) -> Vec<Box<str>> {
    source.primary_key.iter().map(|&column| source.columns[column].name.clone()).collect()
}

fn unique_keys(served: &ServedTable<'_>) -> Vec<Vec<ColumnId>> {
    let served_key = |key: &Vec<usize>| key.iter().map(|&column| served.column_ids[column]).collect();
    served.source.unique_keys.iter().filter_map(served_key).collect()
}

fn note_text_columns(source: &CatalogTable, columns: &[Column], notes: &mut Vec<String>) {
    for column in columns {
        // Columns of views that are no plain columns have no type in SQLite: nothing worth a word.
        let is_other = matches!(
            column.kind,
            ColumnKind::OtherText | ColumnKind::OrderedText | ColumnKind::UnorderedText
        );
        let expected = !is_other
            || (source.kind == TableKind::View && column.database_type.is_empty())
            || is_time(&column.database_type);
        if !expected {
            let declared = match &*column.database_type {
                "" => "no declared type and".to_owned(),
                declared => format!("the type `{declared}`, which"),
            };
            let table = described(source);
            notes.push(format!("column `{}` of {table} has {declared} is served as text", column.name));
        }
    }
}

/// Names that a table's inputs give a meaning of their own; a column hides them.
fn note_hiding_columns(source: &CatalogTable, columns: &[Column], notes: &mut Vec<String>) {
    for column in columns {
        let table = described(source);
        match &*column.field {
            operator @ ("and" | "or" | "not") => notes.push(format!(
                "column `{operator}` of {table} takes the place of the operator `{operator}` in its filter"
            )),
            "pk_columns" => notes.push(format!(
                "column `pk_columns` of {table} cannot be updated: the key's argument has that name"
            )),
            _ => {}
        }
    }
}

/// PostgreSQL's date and time types besides timestamps: served as text on purpose.
fn is_time(database_type: &str) -> bool {
    ["date", "time", "interval"].iter().any(|prefix| database_type.starts_with(prefix))
}
