//! The rows of one series, read part by part as they are asked for. Series that are asked for together share what one statement can say of
//! all.

use super::asked::{Asked, SERIES_AT_A_TIME, columns_of};
use crate::mapping::TableMap;
use prony_series_database::{Column, Moment, list_of, push_row, summarize_rows, visit_pieces};
use prony_series_store::calendar::{Period, Periods};
use prony_series_store::{
    AttributeId, ExactFigures, Kind, ReadError, RowSource, Rows, Summary, TimeMs, TimeRange,
};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::Row;

/// Rows of one statement: what is in memory of a long read.
const ROWS_AT_A_TIME: u64 = 5000;

/// For each series the first time and the summary of all values of an attribute.
type SummariesOfSeries = HashMap<i32, (TimeMs, Summary)>;

/// Series that were asked for together.
#[derive(Debug)]
pub(super) struct Together {
    asked: Asked,
    /// Of each series the first and the last time, once it was asked for.
    bounds: Mutex<Option<HashMap<i32, TimeRange>>>,
    counts: Mutex<Option<HashMap<i32, u64>>>,
    /// Of all rows of a series the summary of an attribute, with the first time, once it was asked for.
    summaries: Mutex<HashMap<AttributeId, SummariesOfSeries>>,
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
        Arc::new(Self {
            asked,
            bounds: Mutex::default(),
            counts: Mutex::default(),
            summaries: Mutex::default(),
        })
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

    /// Of all rows of a series the summary of an attribute, with the first time: of few series one statement makes those of all.
    fn summary(
        &self,
        table: &TableMap,
        (attribute, column): (AttributeId, &Column),
        series: i32,
    ) -> Result<Option<(TimeMs, Summary)>, ReadError> {
        let mut known = self.summaries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&attribute) {
            return Ok(known.get(&series).copied());
        }
        let is_few = self.asked.series.len() <= SERIES_AT_A_TIME;
        let asked = if is_few { self.asked.series.clone() } else { vec![series] };
        let (from, to) = self.asked.moments();
        let sql = format!(
            "select series, {} from {} where series = any($1::integer[]) and time >= $2 and time <= $3 group by series",
            figures_of(column),
            table.name
        );
        let rows = self.asked.transaction.query(&sql, &[&asked, &from, &to])?;
        let summaries: SummariesOfSeries =
            rows.iter().map(|row| (row.get(0), summary_of(row, 1, column.kind))).collect();
        let summary = summaries.get(&series).copied();
        if is_few {
            known.insert(attribute, summaries);
        }
        Ok(summary)
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

    /// Summaries by period that the database makes.
    fn grouped(
        &self,
        table: &TableMap,
        column: &Column,
        period: Period,
    ) -> Result<Vec<(TimeMs, Summary)>, ReadError> {
        let (from, to) = self.asked().moments();
        let unit = match period {
            Period::Year => "year",
            Period::Month => "month",
            Period::Day => "day",
            Period::Hour => "hour",
            Period::Minute => "minute",
            Period::Second => "second",
        };
        // Sessions have the time zone UTC.
        let sql = format!(
            "select {} from {} where series = $1 and time >= $2 and time <= $3 \
             group by date_trunc('{unit}', time) order by 1",
            figures_of(column),
            table.name
        );
        let rows = self.asked().transaction.query(&sql, &[&self.series, &from, &to])?;
        Ok(rows.iter().map(|row| summary_of(row, 0, column.kind)).collect())
    }
}

/// Numbers from here on are summed up apart, each by its share: PostgreSQL has an error where a sum is more than a double can be. No numbers
/// of rows that there can be make one of smaller ones, or of such shares.
const LARGE: f64 = 1e290;
/// 2^64, by which numbers are divided without a loss.
const SHARE: f64 = 18_446_744_073_709_551_616.0;

/// The first time, how many values a column has, their sum, the least and the greatest; of doubles the sum is that of all but large ones,
/// and the shares of these are the last figure.
fn figures_of(column: &Column) -> String {
    let name = &column.name;
    let number = match column.kind {
        Kind::Double => Some(format!("{name}::double precision")),
        Kind::Time => Some(format!("(extract(epoch from {name}) * 1000)::double precision")),
        _ => None,
    };
    let figures = match number {
        // Their sum may have more than 64 bits.
        _ if column.kind == Kind::Integer => format!("sum({name})::text, min({name}), max({name})"),
        Some(number) => format!(
            "sum({number}) filter (where abs({number}) < '{LARGE:e}'::double precision), min({number}), max({number}), \
             sum({number} / '{SHARE:e}'::double precision) filter (where abs({number}) >= '{LARGE:e}'::double precision)"
        ),
        None => ["null::double precision"; 4].join(", "),
    };
    format!("min(time), count({name}), {figures}")
}

/// What [`figures_of`] has asked for, from a place on.
fn summary_of(row: &Row, place: usize, kind: Kind) -> (TimeMs, Summary) {
    let time = row.get::<_, Moment>(place).0;
    let count = row.get::<_, i64>(place + 1).cast_unsigned();
    if kind == Kind::Integer {
        let sum = row.get::<_, Option<&str>>(place + 2).and_then(|sum| sum.parse().ok()).unwrap_or_default();
        let figure = |at: usize| row.get::<_, Option<i64>>(place + at).unwrap_or_default();
        return (time, Summary::of_integers(count, ExactFigures { sum, min: figure(3), max: figure(4) }));
    }
    let figure = |at: usize| row.get::<_, Option<f64>>(place + at).unwrap_or_default();
    let sum = figure(2) + figure(5) * SHARE;
    (time, Summary { count, sum, min: figure(3), max: figure(4), exact: None })
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
        let Some(column) = table.column(attribute) else {
            return summarize_rows(self, attribute, periods, take);
        };
        let summaries = match periods {
            Periods::Whole => {
                self.together.summary(&table, (attribute, column), self.series)?.into_iter().collect()
            }
            Periods::Calendar(period) => self.grouped(&table, column, period)?,
            Periods::EndsAt(_) => return summarize_rows(self, attribute, periods, take),
        };
        for (time, summary) in summaries {
            if !take(time, &summary) {
                break;
            }
        }
        Ok(())
    }
}
