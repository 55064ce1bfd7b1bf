//! A table that was chosen to be served, while a model is made of it.

use crate::{catalog::CatalogTable, model::ColumnId, settings::TableSettings};

/// A table that will be served, beside the [`Table`] of the same index.
pub(super) struct ServedTable<'a> {
    pub(super) source: &'a CatalogTable,
    /// Index into `Catalog::tables`.
    pub(super) catalog_index: usize,
    /// The user's overrides and the key under which they stand.
    pub(super) overrides: Option<(&'a str, &'a TableSettings)>,
    /// By the catalog's column index; `None` for columns that are left out.
    pub(super) column_ids: Vec<Option<ColumnId>>,
}
