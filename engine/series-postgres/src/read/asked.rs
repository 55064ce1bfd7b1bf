//! What is asked of one table.

use super::transaction::Transaction;
use crate::mapping::TableMap;
use prony_series_database::{Column, Moment};
use prony_series_store::{AttributeId, TimeRange};
use std::sync::Arc;

/// Series that one statement asks about, of each of which something is read.
pub(super) const SERIES_AT_A_TIME: usize = 256;

/// Series of one type, and what is asked for of them.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) transaction: Arc<Transaction>,
    /// None where nothing was ever written.
    pub(super) table: Option<Arc<TableMap>>,
    pub(super) series: Vec<i32>,
    pub(super) range: TimeRange,
}

impl Asked {
    pub(super) fn moments(&self) -> (Moment, Moment) {
        (Moment::nearest(self.range.from_ms), Moment::nearest(self.range.to_ms))
    }
}

/// The columns of attributes that the table has.
pub(crate) fn columns_of<'t>(
    table: &'t TableMap,
    attributes: &[AttributeId],
) -> Vec<(AttributeId, &'t Column)> {
    let mut known: Vec<AttributeId> = attributes.to_vec();
    known.sort_unstable();
    known.dedup();
    known.into_iter().filter_map(|id| Some((id, table.column(id)?))).collect()
}
