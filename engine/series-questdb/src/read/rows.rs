//! The rows of one series, read part by part as they are asked for. Series that are asked for together share what one statement can say of
//! all.

use super::asked::{Asked, micros};
use prony_series_database::{Column, Moment, list_of, push_row, quoted, summarize_rows, visit_pieces};
use prony_series_store::calendar::{Period, Periods};
use prony_series_store::{
    AttributeId, ExactFigures, Kind, ReadError, RowSource, Rows, Summary, TimeMs, TimeRange,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::{Error, Row};

/// Rows of one statement: what is in memory of a long read.
const ROWS_AT_A_TIME: u64 = 5000;

/// How many rows a series has, and from when to when.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Extent {
    pub(super) count: u64,
    bounds: Option<TimeRange>,
}

/// Series that were asked for together.
#[derive(Debug)]
pub(super) struct Together {
    pub(super) asked: Asked,
    extents: Mutex<Option<Arc<[Extent]>>>,
}

/// The rows of one series in a range of time.
#[derive(Debug)]
pub(super) struct DatabaseRows {
    together: Arc<Together>,
    /// Its place among those that were asked for.
    series: usize,
}

impl Together {
    pub(super) fn new(asked: Asked) -> Arc<Self> {
        Arc::new(Self { asked, extents: Mutex::default() })
    }

    /// Of each series, asked for once and kept.
    pub(super) fn extents(&self) -> Result<Arc<[Extent]>, ReadError> {
        let mut known = self.extents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let mut extents = vec![Extent::default(); self.asked.count];
        self.each("count(), min(time), max(time)", "", |place, row| {
            let (from, to): (Option<Moment>, Option<Moment>) = (row.try_get(3)?, row.try_get(4)?);
            let bounds = from.zip(to).map(|(from, to)| TimeRange { from_ms: from.0, to_ms: to.0 });
            extents[place] = Extent { count: row.try_get::<_, i64>(2)?.cast_unsigned(), bounds };
            Ok(())
        })?;
        Ok(Arc::clone(known.insert(extents.into())))
    }

    /// Of each series how many rows it has that are so.
    pub(super) fn counts(&self, condition: &str) -> Result<Vec<u64>, ReadError> {
        let mut counts = vec![0; self.asked.count];
        self.each("count()", condition, |place, row| {
            counts[place] = row.try_get::<_, i64>(2)?.cast_unsigned();
            Ok(())
        })?;
        Ok(counts)
    }

    /// Calls `take` with what is found out of each series that has rows, behind its entity and its path.
    fn each(
        &self,
        wanted: &str,
        condition: &str,
        mut take: impl FnMut(usize, &Row) -> Result<(), Error>,
    ) -> Result<(), ReadError> {
        let Some((table, conditions)) = self.asked.of_all() else { return Ok(()) };
        let places = self.asked.places();
        for base in conditions {
            let sql =
                format!("select entity, path, {wanted} from {} where {base}{condition}", quoted(&table));
            for row in &self.asked.query(&table, &sql)? {
                let mut taken = || {
                    let owner: (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
                    // Another may have come since.
                    places.get(&owner).map_or(Ok(()), |place| take(*place, row))
                };
                taken().map_err(|error| self.asked.unreadable(&error))?;
            }
        }
        Ok(())
    }
}

impl DatabaseRows {
    pub(super) fn all(asked: Asked) -> impl Iterator<Item = Self> {
        let together = Together::new(asked);
        (0..together.asked.count).map(move |series| Self { together: Arc::clone(&together), series })
    }

    pub(super) fn of(together: &Arc<Together>, series: usize) -> Self {
        Self { together: Arc::clone(together), series }
    }

    fn asked(&self) -> &Asked {
        &self.together.asked
    }

    fn extent(&self) -> Result<Extent, ReadError> {
        Ok(self.together.extents()?.get(self.series).copied().unwrap_or_default())
    }

    fn columns(&self, attributes: &[AttributeId]) -> Vec<(AttributeId, &Column)> {
        let all = self.asked().column_refs();
        all.into_iter().filter(|(id, _)| attributes.contains(id)).collect()
    }

    /// Some rows that are near the end, read from there.
    fn last_rows(
        &self,
        columns: &[(AttributeId, &Column)],
        behind: u64,
        count: u64,
    ) -> Result<Rows, ReadError> {
        let mut rows = Rows::default();
        let Some((table, condition)) = self.asked().of_one(self.series) else { return Ok(rows) };
        let sql = format!(
            "select time{} from {} where {condition} order by time desc, seq desc limit {behind}, {}",
            list_of(columns, ""),
            quoted(&table),
            behind.saturating_add(count)
        );
        let found = self.asked().query(&table, &sql)?;
        for row in found.iter().rev() {
            push_row(&mut rows, row, 0, 1, columns)?;
        }
        Ok(rows)
    }

    /// The rows of a part behind another, or from a place on; and where it ends.
    fn part(
        &self,
        columns: &[(AttributeId, &Column)],
        after: Option<(TimeMs, i64)>,
        (skipped, count): (u64, u64),
    ) -> Result<(Rows, Option<(TimeMs, i64)>), ReadError> {
        let mut rows = Rows::default();
        let Some((table, condition)) = self.asked().of_one(self.series) else { return Ok((rows, None)) };
        let list = list_of(columns, "");
        let (behind, limit) = match after {
            None => (String::new(), format!("{skipped}, {}", skipped.saturating_add(count))),
            Some((time, order)) => {
                let time = micros(time);
                (format!(" and time >= {time} and (time > {time} or seq > {order})"), count.to_string())
            }
        };
        let sql = format!(
            "select time, seq{list} from {} where {condition}{behind} order by time, seq limit {limit}",
            quoted(&table)
        );
        let found = self.asked().query(&table, &sql)?;
        for row in &found {
            push_row(&mut rows, row, 0, 2, columns)?;
        }
        let end = |row: &Row| Ok((row.try_get::<_, Moment>(0)?.0, row.try_get(1)?));
        let end = found.last().map(end).transpose().map_err(|error| self.asked().unreadable(&error))?;
        Ok((rows, end))
    }

    /// Summaries that QuestDB makes.
    fn grouped(&self, column: &Column, period: Option<Period>) -> Result<Vec<(TimeMs, Summary)>, ReadError> {
        let Some((table, condition)) = self.asked().of_one(self.series) else { return Ok(Vec::new()) };
        let name = &column.name;
        let number = match column.kind {
            Kind::Double => Some(name.clone()),
            Kind::Time => Some(format!("cast(cast({name} as long) as double) / 1000")),
            _ => None,
        };
        let figures = match number {
            // Its sum of longs has 64 bits and wraps around: the upper and the lower half are summed up apart.
            _ if column.kind == Kind::Integer => {
                format!("sum({name} / {HALF}), sum({name} % {HALF}), min({name}), max({name})")
            }
            Some(number) => format!("sum({number}), min({number}), max({number})"),
            None => "cast(null as double), cast(null as double), cast(null as double)".to_owned(),
        };
        let unit = match period {
            None => None,
            Some(Period::Year) => Some("y"),
            Some(Period::Month) => Some("M"),
            Some(Period::Day) => Some("d"),
            Some(Period::Hour) => Some("h"),
            Some(Period::Minute) => Some("m"),
            Some(Period::Second) => Some("s"),
        };
        let (moment, order) = match unit {
            Some(unit) => (format!("timestamp_floor('{unit}', time)"), " order by 1"),
            None => ("min(time)".to_owned(), ""),
        };
        let sql = format!(
            "select {moment}, count({name}), {figures} from {} where {condition}{order}",
            quoted(&table)
        );
        let mut summaries = Vec::new();
        for row in &self.asked().query(&table, &sql)? {
            let summary = || {
                let Some(time) = row.try_get::<_, Option<Moment>>(0)? else { return Ok(None) };
                let count = row.try_get::<_, i64>(1)?.cast_unsigned();
                let summary = if column.kind == Kind::Integer {
                    Summary::of_integers(count, exact_figures(row, 2)?)
                } else {
                    let figure = |at: usize| Ok(row.try_get::<_, Option<f64>>(at)?.unwrap_or_default());
                    Summary { count, sum: figure(2)?, min: figure(3)?, max: figure(4)?, exact: None }
                };
                Ok(Some((time.0, summary)))
            };
            summaries.extend(summary().map_err(|error| self.asked().unreadable(&error))?);
        }
        Ok(summaries)
    }
}

/// 2^32: what halves of longs are apart by.
const HALF: i64 = 1 << 32;

/// Sums of the upper and the lower halves, the least and the greatest, from a place on; nulls where there are no values.
fn exact_figures(row: &Row, place: usize) -> Result<ExactFigures, Error> {
    let figure = |at: usize| -> Result<i64, Error> {
        Ok(row.try_get::<_, Option<i64>>(place + at)?.unwrap_or_default())
    };
    let (upper, lower) = (i128::from(figure(0)?), i128::from(figure(1)?));
    Ok(ExactFigures { sum: upper * i128::from(HALF) + lower, min: figure(2)?, max: figure(3)? })
}

impl RowSource for DatabaseRows {
    fn block_count(&self) -> usize {
        1
    }

    fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError> {
        Ok(self.extent()?.bounds)
    }

    fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.bounds()?.map(|of| of.from_ms))
    }

    fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.bounds()?.map(|of| of.to_ms))
    }

    fn count(&mut self) -> Result<u64, ReadError> {
        Ok(self.extent()?.count)
    }

    fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError> {
        let Some((table, condition)) = self.asked().of_one(self.series) else { return Ok(0) };
        let sql = format!(
            "select count() from {} where {condition} and time < {}",
            quoted(&table),
            micros(time_ms)
        );
        let rows = self.asked().query(&table, &sql)?;
        let count = rows.first().map(|row| row.try_get::<_, i64>(0)).transpose();
        Ok(count.map_err(|error| self.asked().unreadable(&error))?.unwrap_or(0).cast_unsigned())
    }

    fn visit(
        &mut self,
        rows: Range<u64>,
        attributes: &[AttributeId],
        take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        let columns = self.columns(attributes);
        let length = rows.end.saturating_sub(rows.start);
        if rows.start > 0 && length > 0 && length <= ROWS_AT_A_TIME {
            let count = self.extent()?.count;
            let end = rows.end.min(count);
            if rows.start > count.saturating_sub(end) {
                let found = self.last_rows(&columns, count - end, end.saturating_sub(rows.start))?;
                if !found.is_empty() {
                    take(&found, 0..found.len());
                }
                return Ok(());
            }
        }
        visit_pieces(
            length,
            ROWS_AT_A_TIME,
            |after, wanted| self.part(&columns, after, (rows.start, wanted)),
            take,
        )
    }

    fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError> {
        let period = match periods {
            Periods::Whole => None,
            Periods::Calendar(period) => Some(period),
            Periods::EndsAt(_) => return summarize_rows(self, attribute, periods, take),
        };
        let Some(column) = self.asked().column(attribute) else {
            return summarize_rows(self, attribute, periods, take);
        };
        for (time, summary) in self.grouped(column, period)? {
            if !take(time, &summary) {
                break;
            }
        }
        Ok(())
    }
}
