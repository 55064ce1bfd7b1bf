//! Reading: the database at one moment, which is a transaction that sees nothing later. It begins with the first statement, and ends with the
//! last who reads.

mod asked;
mod page;
mod rows;
mod transaction;

pub(crate) use self::asked::columns_of;
pub(crate) use self::transaction::Transaction;
use self::{
    asked::{Asked, SERIES_AT_A_TIME},
    rows::DatabaseRows,
};
use crate::mapping::Mapping;
use prony_series_store::{
    AttributeId, Catalog, Page, PagedRows, ReadError, SeriesId, SeriesRows, Snapshot, TableId, TimeRange,
    WritesElsewhere,
};
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

/// The database at one moment, with the names that are known here.
#[derive(Debug)]
pub(crate) struct DatabaseSnapshot {
    pub(crate) transaction: Arc<Transaction>,
    pub(crate) writes: Arc<WritesElsewhere>,
    pub(crate) mapping: Arc<RwLock<Mapping>>,
}

impl DatabaseSnapshot {
    fn asked(&self, series: &[SeriesId], range: TimeRange) -> Asked {
        let mut table: Option<TableId> = None;
        // Of a type that was deleted the table may be there for a while.
        self.writes.names(&mut |catalog| {
            let of_first = series.first().map(|id| catalog.series(*id).table);
            table = of_first.filter(|id| !catalog.table(*id).is_dropped);
        });
        let mapping = self.mapping.read().unwrap_or_else(PoisonError::into_inner);
        Asked {
            transaction: Arc::clone(&self.transaction),
            table: table.and_then(|id| mapping.table(id)),
            series: series.iter().map(|id| mapping.series(*id).unwrap_or(0)).collect(),
            range,
        }
    }
}

impl Snapshot for DatabaseSnapshot {
    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.writes.names(with);
    }

    fn series(&self, series: &[SeriesId], range: TimeRange, _: &[AttributeId]) -> Vec<SeriesRows> {
        DatabaseRows::all(self.asked(series, range)).map(SeriesRows::new).collect()
    }

    fn page(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
        counts: bool,
    ) -> Result<PagedRows, ReadError> {
        page::page(self.asked(series, range), attributes, page, counts)
    }

    fn series_at_a_time(&self) -> usize {
        SERIES_AT_A_TIME
    }

    fn page_of_each(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
    ) -> Result<Vec<(SeriesRows, Range<u64>)>, ReadError> {
        page::page_of_each(&self.asked(series, range), attributes, page)
    }
}
