//! The rows of one series, read part by part as they are asked for. Series that are asked for together share what one statement can say of
//! all.

use super::asked::{Asked, columns_of};
use crate::mapping::TableMap;
use prony_series_database::{Column, Moment, list_of, push_row, summarize_rows, visit_pieces};
use prony_series_store::calendar::{Period, Periods};
use prony_series_store::{AttributeId, Kind, ReadError, RowSource, Rows, Summary, TimeMs, TimeRange};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::Row;

/// Rows of one statement: what is in memory of a long read.
const ROWS_AT_A_TIME: u64 = 5000;

/// Series that were asked for together.
#[derive(Debug)]
pub(super) struct Together {
    asked: Asked,
    /// Of each series the first and the last time, once it was asked for.
    bounds: Mutex<Option<HashMap<i32, TimeRange>>>,
    counts: Mutex<Option<HashMap<i32, u64>>>,
}

/// The rows of one series in a range of time.
#[derive(Debug)]
pub(super) struct DatabaseRows {
    together: Arc<Together>,
    series: i32,
}

/// What is asked for once of all series, and kept.
fn once_of<T: Copy>(
    place: &Mutex<Option<HashMap<i32, T>>>,
    series: i32,
    ask: impl FnOnce() -> Result<HashMap<i32, T>, ReadError>,
) -> Result<Option<T>, ReadError> {
    let mut known = place.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = &*known {
        return Ok(known.get(&series).copied());
    }
    Ok(known.insert(ask()?).get(&series).copied())
}

impl Together {
    pub(super) fn new(asked: Asked) -> Arc<Self> {
        Arc::new(Self { asked, bounds: Mutex::default(), counts: Mutex::default() })
    }

    fn bounds(&self, series: i32) -> Result<Option<TimeRange>, ReadError> {
        once_of(&self.bounds, series, || {
            let Some(table) = &self.asked.table else { return Ok(HashMap::new()) };
            let (from, to) = self.asked.moments();
            let name = &table.name;
            let sql = format!(
                "select s.id, f.time, l.time from unnest($1::integer[]) as s(id) \
                 cross join lateral (select time from {name} where series = s.id and time >= $2 and time <= $3 \
                 order by time, seq limit 1) as f \
                 cross join lateral (select time from {name} where series = s.id and time >= $2 and time <= $3 \
                 order by time desc, seq desc limit 1) as l"
            );
            let rows = self.asked.transaction.query(&sql, &[&self.asked.series, &from, &to])?;
            let bounds = |row: &Row| {
                let (from, to): (Moment, Moment) = (row.get(1), row.get(2));
                (row.get(0), TimeRange { from_ms: from.0, to_ms: to.0 })
            };
            Ok(rows.iter().map(bounds).collect())
        })
    }

    pub(super) fn asked(&self) -> &Asked {
        &self.asked
    }

    pub(super) fn count(&self, series: i32) -> Result<u64, ReadError> {
        let count = once_of(&self.counts, series, || {
            let Some(table) = &self.asked.table else { return Ok(HashMap::new()) };
            let (from, to) = self.asked.moments();
            let sql = format!(
                "select series, count(*) from {} where series = any($1::integer[]) and time >= $2 and time <= $3 \
                 group by series",
                table.name
            );
            let rows = self.asked.transaction.query(&sql, &[&self.asked.series, &from, &to])?;
            Ok(rows.iter().map(|row| (row.get(0), row.get::<_, i64>(1).cast_unsigned())).collect())
        });
        Ok(count?.unwrap_or(0))
    }
}

impl DatabaseRows {
    pub(super) fn all(asked: Asked) -> impl Iterator<Item = Self> {
        let together = Together::new(asked);
        let all = together.asked.series.clone();
        all.into_iter().map(move |series| Self { together: Arc::clone(&together), series })
    }

    pub(super) fn of(together: &Arc<Together>, series: i32) -> Self {
        Self { together: Arc::clone(together), series }
    }

    fn asked(&self) -> &Asked {
        &self.together.asked
    }

    /// Some rows that are near the end, read from there.
    fn last_rows(
        &self,
        table: &TableMap,
        columns: &[(AttributeId, &Column)],
        behind: u64,
        count: u64,
    ) -> Result<Rows, ReadError> {
        let (from, to) = self.asked().moments();
        let sql = format!(
            "select time{} from {} where series = $1 and time >= $2 and time <= $3 \
             order by time desc, seq desc limit $4 offset $5",
            list_of(columns, ""),
            table.name
        );
        let (count, behind) = (count.cast_signed(), behind.cast_signed());
        let found = self.asked().transaction.query(&sql, &[&self.series, &from, &to, &count, &behind])?;
        let mut rows = Rows::default();
        for row in found.iter().rev() {
            push_row(&mut rows, row, 0, 1, columns)?;
        }
        Ok(rows)
    }

    /// The rows of a part behind another, or from a place on; and where it ends.
    fn part(
        &self,
        table: &TableMap,
        columns: &[(AttributeId, &Column)],
        after: Option<(Moment, i64)>,
        (skipped, count): (u64, u64),
    ) -> Result<(Rows, Option<(Moment, i64)>), ReadError> {
        let (from, to) = self.asked().moments();
        let (list, name, transaction) = (list_of(columns, ""), &table.name, &self.asked().transaction);
        let (count, skipped) = (count.cast_signed(), skipped.min(i64::MAX as u64).cast_signed());
        let found = match after {
            None => {
                let sql = format!(
                    "select time, seq{list} from {name} where series = $1 and time >= $2 and time <= $3 \
                     order by time, seq limit $4 offset $5"
                );
                transaction.query(&sql, &[&self.series, &from, &to, &count, &skipped])?
            }
            Some((time, order)) => {
                let sql = format!(
                    "select time, seq{list} from {name} where series = $1 and time >= $2 and time <= $3 \
                     and (time, seq) > ($2, $4) order by time, seq limit $5"
                );
                transaction.query(&sql, &[&self.series, &time, &to, &order, &count])?
            }
        };
        let mut rows = Rows::default();
        for row in &found {
            push_row(&mut rows, row, 0, 2, columns)?;
        }
        Ok((rows, found.last().map(|row| (row.get(0), row.get(1)))))
    }

    /// Summaries that the database makes.
    fn grouped(
        &self,
        table: &TableMap,
        column: &Column,
        period: Option<Period>,
    ) -> Result<Vec<(TimeMs, Summary)>, ReadError> {
        let (from, to) = self.asked().moments();
        let name = &column.name;
        let number = match column.kind {
            Kind::Double | Kind::Integer => Some(format!("{name}::double precision")),
            Kind::Time => Some(format!("(extract(epoch from {name}) * 1000)::double precision")),
            _ => None,
        };
        let figures = match number {
            Some(number) => format!("sum({number}), min({number}), max({number})"),
            None => "null::double precision, null::double precision, null::double precision".to_owned(),
        };
        let unit = match period {
            None => None,
            Some(Period::Year) => Some("year"),
            Some(Period::Month) => Some("month"),
            Some(Period::Day) => Some("day"),
            Some(Period::Hour) => Some("hour"),
            Some(Period::Minute) => Some("minute"),
            Some(Period::Second) => Some("second"),
        };
        // Sessions have the time zone UTC.
        let group = unit.map_or_else(
            || "having count(*) > 0".to_owned(),
            |unit| format!("group by date_trunc('{unit}', time) order by 1"),
        );
        let sql = format!(
            "select min(time), count({name}), {figures} from {} where series = $1 and time >= $2 and time <= $3 {group}",
            table.name
        );
        let rows = self.asked().transaction.query(&sql, &[&self.series, &from, &to])?;
        let summary = |row: &Row| {
            let figure = |at: usize| row.get::<_, Option<f64>>(at).unwrap_or_default();
            let count = row.get::<_, i64>(1).cast_unsigned();
            (row.get::<_, Moment>(0).0, Summary { count, sum: figure(2), min: figure(3), max: figure(4) })
        };
        Ok(rows.iter().map(summary).collect())
    }
}

impl RowSource for DatabaseRows {
    fn block_count(&self) -> usize {
        1
    }

    fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError> {
        self.together.bounds(self.series)
    }

    fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.bounds()?.map(|of| of.from_ms))
    }

    fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.bounds()?.map(|of| of.to_ms))
    }

    fn count(&mut self) -> Result<u64, ReadError> {
        self.together.count(self.series)
    }

    fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError> {
        let Some(table) = &self.asked().table else { return Ok(0) };
        let ((from, to), before) = (self.asked().moments(), Moment::nearest(time_ms));
        let sql = format!(
            "select count(*) from {} where series = $1 and time >= $2 and time <= $3 and time < $4",
            table.name
        );
        let rows = self.asked().transaction.query(&sql, &[&self.series, &from, &to, &before])?;
        Ok(rows.first().map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
    }

    fn visit(
        &mut self,
        rows: Range<u64>,
        attributes: &[AttributeId],
        take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        let Some(table) = self.asked().table.clone() else { return Ok(()) };
        let columns = columns_of(&table, attributes);
        let length = rows.end.saturating_sub(rows.start);
        if rows.start > 0 && length > 0 && length <= ROWS_AT_A_TIME {
            let count = self.count()?;
            let end = rows.end.min(count);
            if rows.start > count.saturating_sub(end) {
                let found = self.last_rows(&table, &columns, count - end, end.saturating_sub(rows.start))?;
                if !found.is_empty() {
                    take(&found, 0..found.len());
                }
                return Ok(());
            }
        }
        let part = |after, wanted| self.part(&table, &columns, after, (rows.start, wanted));
        visit_pieces(length, ROWS_AT_A_TIME, part, take)
    }

    fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError> {
        let Some(table) = self.asked().table.clone() else { return Ok(()) };
        let period = match periods {
            Periods::Whole => None,
            Periods::Calendar(period) => Some(period),
            Periods::EndsAt(_) => return summarize_rows(self, attribute, periods, take),
        };
        let Some(column) = table.column(attribute) else {
            return summarize_rows(self, attribute, periods, take);
        };
        for (time, summary) in self.grouped(&table, column, period)? {
            if !take(time, &summary) {
                break;
            }
        }
        Ok(())
    }
}
