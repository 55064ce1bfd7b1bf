//! Reading. QuestDB has no transaction of several statements: each sees what is there when it is run.

mod asked;
mod page;
mod rows;

use self::asked::{Asked, Subject};
pub(crate) use self::asked::{TIMES, within};
use self::rows::DatabaseRows;
use crate::names::column;
use crate::shared::Shared;
use prony_series_database::now_ms;
use prony_series_store::{
    AttributeId, Catalog, Page, PagedRows, ReadError, Retention, SeriesId, SeriesRows, Snapshot, TimeMs,
    TimeRange,
};
use std::sync::Arc;

/// QuestDB as it is when it is asked.
#[derive(Debug)]
pub(crate) struct DatabaseSnapshot {
    pub(crate) shared: Arc<Shared>,
    pub(crate) retention: Arc<[Retention]>,
}

/// The first moment whose rows of a type are kept.
pub(crate) fn kept_from(retention: &[Retention], type_name: &str) -> Option<TimeMs> {
    let keep = TimeMs::try_from(Retention::of(retention, type_name)?.as_millis()).unwrap_or(TimeMs::MAX);
    Some(now_ms().saturating_sub(keep))
}

impl DatabaseSnapshot {
    fn asked(&self, series: &[SeriesId], range: TimeRange, attributes: &[AttributeId]) -> Asked {
        let mut asked = Asked::nothing(Arc::clone(&self.shared), series.len(), range);
        self.shared.writes.names(&mut |catalog| {
            let Some(first) = series.first() else { return };
            let table = catalog.table(catalog.series(*first).table);
            if table.is_dropped {
                return;
            }
            asked.table = Some(self.shared.registry.table_of(&table.tenant, &table.name));
            asked.is_all = series.len() == table.series.len();
            let subject = |id: &SeriesId| {
                let of = catalog.series(*id);
                Subject { entity: of.entity.clone(), path: of.path.clone() }
            };
            asked.subjects = series.iter().map(subject).collect();
            let mut known: Vec<AttributeId> = attributes.to_vec();
            known.sort_unstable();
            known.dedup();
            let named = |id: AttributeId| {
                let of = table.get(id);
                (id, column(&of.name, of.kind))
            };
            asked.columns = known.into_iter().map(named).collect();
            let kept = kept_from(&self.retention, &table.name).unwrap_or(TimeMs::MIN);
            asked.range.from_ms = asked.range.from_ms.max(kept);
        });
        asked
    }
}

impl Snapshot for DatabaseSnapshot {
    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.shared.writes.names(with);
    }

    fn series(&self, series: &[SeriesId], range: TimeRange, attributes: &[AttributeId]) -> Vec<SeriesRows> {
        DatabaseRows::all(self.asked(series, range, attributes)).map(SeriesRows::new).collect()
    }

    fn page(
        &self,
        series: &[SeriesId],
        range: TimeRange,
        attributes: &[AttributeId],
        page: Page,
        counts: bool,
    ) -> Result<PagedRows, ReadError> {
        page::page(self.asked(series, range, attributes), page, counts)
    }
}
