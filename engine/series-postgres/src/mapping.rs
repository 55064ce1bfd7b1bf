//! Where the database has what the engine has names for.

use prony_series_database::Column;
use prony_series_store::{AttributeId, SeriesId, TableId};
use std::collections::HashMap;
use std::sync::Arc;

/// An entity that the database does not have, as far as is known.
const NONE: i32 = 0;

/// An attribute's column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ColumnMap {
    pub(crate) column: Column,
    /// The attribute.
    pub(crate) attribute: String,
    pub(crate) declared: String,
}

/// A type's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableMap {
    /// Of the type in the database.
    pub(crate) id: i32,
    pub(crate) tenant: String,
    pub(crate) type_name: String,
    /// With its schema, quoted.
    pub(crate) name: String,
    /// By the places of the attributes; none where the database's has not been looked up.
    pub(crate) columns: Vec<Option<ColumnMap>>,
}

/// An entity that is in the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundEntity {
    pub(crate) table: TableId,
    /// Of the type in the database.
    pub(crate) type_id: i32,
    pub(crate) id: SeriesId,
    /// Of the entity in the database.
    pub(crate) number: i32,
}

/// What is durable.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    tables: Vec<Option<Arc<TableMap>>>,
    /// Entities of the database.
    series: Vec<i32>,
    /// The other way round.
    tables_by_id: HashMap<i32, TableId>,
    series_by_id: HashMap<i32, SeriesId>,
}

/// A mapping with what a transaction adds to it.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    tables: HashMap<TableId, Arc<TableMap>>,
    series: HashMap<SeriesId, i32>,
}

impl TableMap {
    pub(crate) fn column(&self, attribute: AttributeId) -> Option<&Column> {
        Some(&self.columns.get(attribute.place())?.as_ref()?.column)
    }
}

impl Mapping {
    pub(crate) fn table(&self, id: TableId) -> Option<Arc<TableMap>> {
        self.tables.get(id.place()).cloned().flatten()
    }

    pub(crate) fn series(&self, id: SeriesId) -> Option<i32> {
        self.series.get(id.place()).copied().filter(|known| *known != NONE)
    }

    /// The type that has this number in the database.
    pub(crate) fn table_of(&self, id: i32) -> Option<TableId> {
        self.tables_by_id.get(&id).copied()
    }

    /// The entity that has this number in the database.
    pub(crate) fn series_of(&self, id: i32) -> Option<SeriesId> {
        self.series_by_id.get(&id).copied()
    }

    /// Takes in entities that another server has added to types of the database, where they are not known.
    pub(crate) fn take_found(&mut self, found: &[FoundEntity]) {
        let mut draft = Draft::default();
        for of in found {
            let is_of_table = self.table(of.table).is_some_and(|table| table.id == of.type_id);
            if is_of_table && self.series(of.id).is_none() {
                draft.set_series(of.id, of.number);
            }
        }
        self.take(draft);
    }

    /// Takes in what a transaction has added, which is committed.
    pub(crate) fn take(&mut self, draft: Draft) {
        for (id, table) in draft.tables {
            if self.tables.len() <= id.place() {
                self.tables.resize(id.place() + 1, None);
            }
            self.tables_by_id.insert(table.id, id);
            self.tables[id.place()] = Some(table);
        }
        for (id, series) in draft.series {
            if self.series.len() <= id.place() {
                self.series.resize(id.place() + 1, NONE);
            }
            let before = std::mem::replace(&mut self.series[id.place()], series);
            if before != series {
                self.series_by_id.remove(&before);
            }
            if series != NONE {
                self.series_by_id.insert(series, id);
            }
        }
    }
}

impl Draft {
    pub(crate) fn table(&self, mapping: &Mapping, id: TableId) -> Option<Arc<TableMap>> {
        self.tables.get(&id).cloned().or_else(|| mapping.table(id))
    }

    pub(crate) fn series(&self, mapping: &Mapping, id: SeriesId) -> Option<i32> {
        match self.series.get(&id) {
            Some(known) => Some(*known).filter(|known| *known != NONE),
            None => mapping.series(id),
        }
    }

    pub(crate) fn set_table(&mut self, id: TableId, table: TableMap) {
        self.tables.insert(id, Arc::new(table));
    }

    pub(crate) fn set_series(&mut self, id: SeriesId, series: i32) {
        self.series.insert(id, series);
    }

    /// Its type was deleted, and with it what the database called the entity.
    pub(crate) fn forget_series(&mut self, id: SeriesId) {
        self.series.insert(id, NONE);
    }

    /// Whether it adds nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.series.is_empty()
    }
}
