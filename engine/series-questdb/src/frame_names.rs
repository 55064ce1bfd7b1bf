//! The names that rows of a frame have: those that the frame brings, and those that were there before.

use crate::names::column;
use crate::registry::Registry;
use prony_series_database::Column;
use prony_series_store::{AttributeId, Catalog, Kind, SeriesId, TableId};
use std::collections::HashMap;

/// The names of a frame, and those that are durable.
#[derive(Debug)]
pub(crate) struct Names<'f> {
    catalog: &'f Catalog,
    registry: &'f Registry,
    tables: HashMap<TableId, (&'f str, &'f str)>,
    attributes: HashMap<TableId, Vec<(AttributeId, &'f str, Kind)>>,
    series: HashMap<SeriesId, (TableId, &'f str, &'f str)>,
}

impl<'f> Names<'f> {
    pub(crate) fn new(catalog: &'f Catalog, registry: &'f Registry) -> Self {
        let (tables, attributes, series) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { catalog, registry, tables, attributes, series }
    }

    pub(crate) fn add_table(&mut self, id: TableId, tenant: &'f str, name: &'f str) {
        self.tables.insert(id, (tenant, name));
    }

    pub(crate) fn add_attribute(&mut self, table: TableId, id: AttributeId, name: &'f str, kind: Kind) {
        self.attributes.entry(table).or_default().push((id, name, kind));
    }

    pub(crate) fn add_series(&mut self, id: SeriesId, table: TableId, entity: &'f str, path: &'f str) {
        self.series.insert(id, (table, entity, path));
    }

    /// Tenant and name.
    pub(crate) fn of_table(&self, id: TableId) -> (&'f str, &'f str) {
        self.tables.get(&id).copied().unwrap_or_else(|| {
            let table = self.catalog.table(id);
            (&*table.tenant, &*table.name)
        })
    }

    pub(crate) fn table(&self, id: TableId) -> String {
        let (tenant, name) = self.of_table(id);
        self.registry.table_of(tenant, name)
    }

    /// The columns of all attributes of a table, in the order of their numbers.
    pub(crate) fn columns(&self, id: TableId) -> Vec<(AttributeId, Column)> {
        let mut columns = Vec::new();
        if id.place() < self.catalog.table_count() {
            columns.extend(self.catalog.table(id).ids().map(|(id, of)| (id, column(&of.name, of.kind))));
        }
        let new = self.attributes.get(&id).into_iter().flatten();
        columns.extend(new.map(|(id, name, kind)| (*id, column(name, *kind))));
        columns
    }

    /// The table, the entity and the service path.
    pub(crate) fn of_series(&self, id: SeriesId) -> (TableId, &'f str, &'f str) {
        self.series.get(&id).copied().unwrap_or_else(|| {
            let series = self.catalog.series(id);
            (series.table, &*series.entity, &*series.path)
        })
    }
}
