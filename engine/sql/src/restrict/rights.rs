//! What a role may do with one table: with which rows, in which columns.

use std::collections::BTreeMap;

use prony_graphql::selection::Value;
use prony_source::permissions::{
    Columns, InsertPermission, SelectPermission, TablePermissions, UpdatePermission,
};

use super::condition;
use crate::{
    lower_filter,
    model::{ColumnId, Model, Table, suggestion},
    plan::{Filter, Visibility},
};

/// What may be done with the rows and columns of a table; nothing by default.
#[derive(Debug, Clone)]
pub(crate) struct TableRights {
    /// Rows that can be seen, also by filters through relations, aggregates and relations that lead to one row.
    pub(super) read: Filter,
    /// What a row must pass once it is inserted.
    pub(super) insert_check: Filter,
    /// Rows that can be updated.
    pub(super) update: Filter,
    /// What a row must pass once it is updated.
    pub(super) update_check: Filter,
    /// Rows that can be deleted.
    pub(super) delete: Filter,
    pub(super) insert_set: Presets,
    pub(super) update_set: Presets,
    /// The most rows of a list.
    pub(crate) limit: Option<u32>,
    /// By [`Verb`].
    verbs: [bool; Verb::COUNT],
    /// By [`ColumnUse`].
    columns: [ColumnSet; ColumnUse::COUNT],
}

/// What is done with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Select,
    Aggregate,
    Insert,
    Update,
    Delete,
}

impl Verb {
    const COUNT: usize = 5;
}

/// What a column is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnUse {
    Read,
    Filter,
    Sort,
    Aggregate,
    Insert,
    Update,
}

impl ColumnUse {
    const COUNT: usize = 6;
}

#[derive(Debug, Clone)]
enum ColumnSet {
    All,
    /// Sorted.
    Only(Box<[ColumnId]>),
}

/// Values that are written whatever is asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Presets(Box<[(ColumnId, Value)]>);

impl Presets {
    pub(super) fn apply(&self, values: &mut Vec<(ColumnId, Value)>) {
        values.retain(|(column, _)| self.0.iter().all(|(preset, _)| preset != column));
        values.extend(self.0.iter().cloned());
    }
}

impl Default for TableRights {
    fn default() -> Self {
        Self {
            read: Filter::nothing(),
            insert_check: Filter::nothing(),
            update: Filter::nothing(),
            update_check: Filter::nothing(),
            delete: Filter::nothing(),
            insert_set: Presets::default(),
            update_set: Presets::default(),
            limit: None,
            verbs: [false; Verb::COUNT],
            columns: std::array::from_fn(|_| ColumnSet::Only(Box::default())),
        }
    }
}

impl ColumnSet {
    fn contains(&self, column: ColumnId) -> bool {
        match self {
            Self::All => true,
            Self::Only(columns) => columns.binary_search(&column).is_ok(),
        }
    }
}

impl TableRights {
    /// All faults at once.
    pub(super) fn of(model: &Model, table: &Table, granted: &TablePermissions) -> Result<Self, Vec<String>> {
        let mut reader = RightsReader { model, table, faults: Vec::new() };
        let mut rights = Self::default();
        if let Some(select) = &granted.select {
            reader.select(&mut rights, select);
        }
        if let Some(insert) = &granted.insert {
            reader.insert(&mut rights, insert);
        }
        if let Some(update) = &granted.update {
            reader.update(&mut rights, update);
        }
        if let Some(delete) = &granted.delete {
            rights.verbs[Verb::Delete as usize] = true;
            rights.delete = reader.filter("delete", "rows", &delete.rows);
        }
        if reader.faults.is_empty() { Ok(rights) } else { Err(reader.faults) }
    }

    pub(crate) fn can(&self, verb: Verb) -> bool {
        self.verbs[verb as usize]
    }

    pub(crate) fn allows(&self, column_use: ColumnUse, column: ColumnId) -> bool {
        self.columns[column_use as usize].contains(column)
    }

    /// Of the table whose rights these are.
    pub(super) fn visibility(&self, table: &Table) -> Visibility {
        let columns = (0..table.columns.len()).map(|index| ColumnId(index as u16));
        let is_read = |column: &ColumnId| self.allows(ColumnUse::Read, *column);
        let keys = [&table.primary_key].into_iter().chain(&table.unique_keys);
        Visibility {
            rows: self.read.clone(),
            keys: keys.filter(|key| !key.is_empty() && key.iter().all(is_read)).cloned().collect(),
            is_whole: self.read.is_everything() && columns.clone().all(|column| is_read(&column)),
            columns: columns.filter(|column| self.mentions(*column)).collect(),
        }
    }

    /// Whether a column is used for anything.
    pub(crate) fn mentions(&self, column: ColumnId) -> bool {
        self.columns.iter().any(|set| set.contains(column))
    }
}

/// Reads what is granted of one table.
struct RightsReader<'m> {
    model: &'m Model,
    table: &'m Table,
    faults: Vec<String>,
}

impl RightsReader<'_> {
    fn select(&mut self, rights: &mut TableRights, select: &SelectPermission) {
        rights.verbs[Verb::Select as usize] = true;
        rights.verbs[Verb::Aggregate as usize] = select.aggregates;
        rights.limit = select.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        rights.read = self.filter("select", "rows", &select.rows);
        let or_columns = |given: &Option<Columns>| given.as_ref().unwrap_or(&select.columns).clone();
        for (column_use, key, columns) in [
            (ColumnUse::Read, "columns", select.columns.clone()),
            (ColumnUse::Filter, "filter_columns", or_columns(&select.filter)),
            (ColumnUse::Sort, "sort_columns", or_columns(&select.sort)),
            (ColumnUse::Aggregate, "aggregate_columns", or_columns(&select.aggregate)),
        ] {
            let is_own = column_use == ColumnUse::Read || columns != select.columns;
            let set = self.columns("select", key, &columns, &Presets::default(), is_own);
            if column_use == ColumnUse::Read && matches!(&columns, Columns::Only(names) if names.is_empty()) {
                self.faults.push(
                    "`select` names no column that can be read; name one in `columns`, or leave `select` out"
                        .to_owned(),
                );
            }
            rights.columns[column_use as usize] = set;
        }
    }

    fn insert(&mut self, rights: &mut TableRights, insert: &InsertPermission) {
        rights.verbs[Verb::Insert as usize] = true;
        rights.insert_check = self.filter("insert", "check", &insert.check);
        rights.insert_set = self.presets("insert", &insert.set);
        rights.columns[ColumnUse::Insert as usize] =
            self.columns("insert", "columns", &insert.columns, &rights.insert_set, true);
    }

    fn update(&mut self, rights: &mut TableRights, update: &UpdatePermission) {
        rights.verbs[Verb::Update as usize] = true;
        rights.update = self.filter("update", "rows", &update.rows);
        rights.update_check = self.filter("update", "check", &update.check);
        rights.update_set = self.presets("update", &update.set);
        rights.columns[ColumnUse::Update as usize] =
            self.columns("update", "columns", &update.columns, &rights.update_set, true);
    }

    fn filter(&mut self, verb: &str, key: &str, written: &Value) -> Filter {
        let checked = condition::check(self.model, self.table, written);
        let lowered = checked.and_then(|()| {
            lower_filter::clauses_value(self.model, self.table, written).map_err(|error| error.message)
        });
        lowered.unwrap_or_else(|message| {
            self.faults.push(format!("`{key}` of `{verb}`: {message}"));
            Filter::nothing()
        })
    }

    /// Without those that are preset. `tells` where faults have not been told.
    fn columns(
        &mut self,
        verb: &str,
        key: &str,
        given: &Columns,
        presets: &Presets,
        tells: bool,
    ) -> ColumnSet {
        let is_preset = |id: ColumnId| presets.0.iter().any(|(preset, _)| *preset == id);
        let mut ids: Vec<ColumnId> = match given {
            Columns::All if presets.0.is_empty() => return ColumnSet::All,
            Columns::All => (0..self.table.columns.len()).map(|index| ColumnId(index as u16)).collect(),
            Columns::Only(names) => {
                let found = names.iter().map(|name| self.column(name)).collect::<Vec<_>>();
                let mut ids = Vec::with_capacity(found.len());
                for found in found {
                    match found {
                        Ok(id) => ids.push(id),
                        Err(message) if tells => self.faults.push(format!("`{key}` of `{verb}`: {message}")),
                        Err(_) => {}
                    }
                }
                ids
            }
        };
        ids.retain(|id| !is_preset(*id));
        ids.sort_unstable();
        ids.dedup();
        ColumnSet::Only(ids.into())
    }

    /// By the name of its field or, where no column has it, by that in the database.
    fn column(&self, name: &str) -> Result<ColumnId, String> {
        let by_name = || self.table.columns.iter().position(|column| &*column.name == name);
        let found =
            self.table.column_by_field(name).or_else(|| by_name().map(|index| ColumnId(index as u16)));
        found.ok_or_else(|| {
            let known = self.table.columns.iter().map(|column| &*column.field);
            format!("there is no column `{name}`{}", suggestion(name, known))
        })
    }

    fn presets(&mut self, verb: &str, set: &BTreeMap<String, Value>) -> Presets {
        let mut presets = Vec::with_capacity(set.len());
        for (name, value) in set {
            let preset = self.column(name).and_then(|id| {
                let column = self.table.column(id);
                if !column.writable {
                    return Err(format!("column `{name}` is made by the database and cannot be written"));
                }
                condition::check_operand(column, value)?;
                Ok((id, lower_filter::operand(value)))
            });
            match preset {
                Ok(preset) => presets.push(preset),
                Err(message) => self.faults.push(format!("`set` of `{verb}`: {message}")),
            }
        }
        Presets(presets.into())
    }
}
