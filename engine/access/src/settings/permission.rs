//! Reading what a role may do with one table: `select`, `insert`, `update` and `delete`.

use std::collections::BTreeMap;

use prony_graphql::selection::Value;
use prony_source::{
    config::{Faults, FileEntry},
    permissions::{
        Columns, DeletePermission, InsertPermission, SelectPermission, TablePermissions, UpdatePermission,
    },
};
use toml::de::DeValue;

use super::{
    condition::Conditions,
    fields::{Fields, texts},
    interceptors,
    types::always,
};
use crate::interceptors::TableInterceptors;

/// What stands for all columns.
const ALL_COLUMNS: &str = "*";
/// More rows than any list holds.
const MAX_LIMIT: u64 = u32::MAX as u64;

/// What is written of one operation of a table.
enum Written<'a, 't> {
    /// `true`: everything, of all rows.
    Everything,
    /// `false`, or what is no permission.
    Nothing,
    Table(Fields<'a, 't>),
}

/// What a role says of one table.
#[derive(Debug, Clone, Default)]
pub(super) struct OwnPermissions {
    pub(super) given: TablePermissions,
    /// Operations that it says it may not do, whatever it inherits.
    pub(super) denied: Vec<&'static str>,
    /// None where it says nothing of them.
    pub(super) interceptors: Option<TableInterceptors>,
}

pub(super) fn read(
    entry: FileEntry<'_, '_>,
    conditions: &mut Conditions,
    faults: &mut Faults,
) -> OwnPermissions {
    let mut fields = Fields::of(entry, format!("the permissions of `{}`", entry.name()), faults);
    let [select, insert, update, delete] = OPERATIONS.map(|operation| fields.take(operation));
    let interceptors = fields.take("interceptors").map(|entry| interceptors::read(entry, faults));
    fields.end(faults);
    let written = [select, insert, update, delete].into_iter().zip(OPERATIONS);
    let is_denied = |entry: FileEntry<'_, '_>| matches!(entry.value().get_ref(), DeValue::Boolean(false));
    let denied = written.filter(|(entry, _)| entry.is_some_and(is_denied)).map(|(_, operation)| operation);
    let mut reader = Reader { conditions, faults };
    OwnPermissions {
        denied: denied.collect(),
        interceptors,
        given: TablePermissions {
            select: select.and_then(|entry| reader.select(entry)),
            insert: insert.and_then(|entry| reader.insert(entry)),
            update: update.and_then(|entry| reader.update(entry)),
            delete: delete.and_then(|entry| reader.delete(entry)),
        },
    }
}

pub(super) const OPERATIONS: [&str; 4] = ["select", "insert", "update", "delete"];

struct Reader<'r> {
    conditions: &'r mut Conditions,
    faults: &'r mut Faults,
}

impl Reader<'_> {
    fn written<'a, 't>(&mut self, entry: FileEntry<'a, 't>) -> Written<'a, 't> {
        match entry.value().get_ref() {
            DeValue::Boolean(true) => Written::Everything,
            DeValue::Boolean(false) => Written::Nothing,
            DeValue::Table(_) => {
                Written::Table(Fields::of(entry, format!("`{}`", entry.name()), self.faults))
            }
            _ => {
                let message = format!("`{}`: write true for everything, or a table", entry.name());
                self.faults.push(entry.value_origin(), message);
                Written::Nothing
            }
        }
    }

    fn select(&mut self, entry: FileEntry<'_, '_>) -> Option<SelectPermission> {
        let mut fields = match self.written(entry) {
            Written::Everything => return Some(SelectPermission::of_rows(always())),
            Written::Nothing => return None,
            Written::Table(fields) => fields,
        };
        let columns = self.columns(&mut fields);
        let permission = SelectPermission {
            rows: self.condition(&mut fields, "rows").unwrap_or_else(always),
            columns,
            filter: fields.take("filter_columns").map(|entry| self.column_list(entry)),
            sort: fields.take("sort_columns").map(|entry| self.column_list(entry)),
            aggregate: fields.take("aggregate_columns").map(|entry| self.column_list(entry)),
            aggregates: fields.boolean("aggregates", false, self.faults),
            limit: fields.number("limit", (1, MAX_LIMIT), self.faults),
        };
        fields.end(self.faults);
        Some(permission)
    }

    fn insert(&mut self, entry: FileEntry<'_, '_>) -> Option<InsertPermission> {
        let mut fields = match self.written(entry) {
            Written::Everything => return Some(InsertPermission::checked(always())),
            Written::Nothing => return None,
            Written::Table(fields) => fields,
        };
        let columns = self.columns(&mut fields);
        let set = self.presets(&mut fields, &columns);
        let check = self.condition(&mut fields, "check").unwrap_or_else(always);
        fields.end(self.faults);
        Some(InsertPermission { columns, set, check })
    }

    /// Without a `check`, rows must still be among those that can be updated, as with PostgreSQL's policies.
    fn update(&mut self, entry: FileEntry<'_, '_>) -> Option<UpdatePermission> {
        let mut fields = match self.written(entry) {
            Written::Everything => return Some(UpdatePermission::of_rows(always(), always())),
            Written::Nothing => return None,
            Written::Table(fields) => fields,
        };
        let rows = self.condition(&mut fields, "rows").unwrap_or_else(always);
        let columns = self.columns(&mut fields);
        let set = self.presets(&mut fields, &columns);
        let check = self.condition(&mut fields, "check").unwrap_or_else(|| rows.clone());
        fields.end(self.faults);
        Some(UpdatePermission { rows, columns, set, check })
    }

    fn delete(&mut self, entry: FileEntry<'_, '_>) -> Option<DeletePermission> {
        let mut fields = match self.written(entry) {
            Written::Everything => return Some(DeletePermission { rows: always() }),
            Written::Nothing => return None,
            Written::Table(fields) => fields,
        };
        let rows = self.condition(&mut fields, "rows").unwrap_or_else(always);
        fields.end(self.faults);
        Some(DeletePermission { rows })
    }

    fn condition(&mut self, fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Value> {
        let entry = fields.take(key)?;
        self.conditions.condition(entry, self.faults)
    }

    /// The columns that are named; all only where that is said.
    fn columns(&mut self, fields: &mut Fields<'_, '_>) -> Columns {
        let Some(entry) = fields.take("columns") else {
            fields.missing("needs `columns`: a list of names, or \"*\" for all", self.faults);
            return Columns::default();
        };
        self.column_list(entry)
    }

    fn column_list(&mut self, entry: FileEntry<'_, '_>) -> Columns {
        if let DeValue::String(text) = entry.value().get_ref() {
            if text != ALL_COLUMNS {
                let message = format!("`{}`: write a list of names, or \"*\" for all", entry.name());
                self.faults.push(entry.value_origin(), message);
            }
            return Columns::All;
        }
        Columns::Only(texts(entry, self.faults).into_iter().map(|(name, _)| name).collect())
    }

    /// Presets; their columns cannot be given.
    fn presets(&mut self, fields: &mut Fields<'_, '_>, columns: &Columns) -> BTreeMap<String, Value> {
        let Some(entry) = fields.take("set") else { return BTreeMap::new() };
        let mut presets = BTreeMap::new();
        for entry in entry.table(self.faults) {
            let is_given = matches!(columns, Columns::Only(names) if names.contains(entry.name()));
            if is_given {
                let message = format!("`{}` is set and cannot be among `columns`", entry.name());
                self.faults.push(entry.key_origin(), message);
            }
            if let Some(value) = self.conditions.value(entry, self.faults) {
                presets.insert(entry.name().to_owned(), value);
            }
        }
        presets
    }
}
