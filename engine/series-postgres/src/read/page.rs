//! Pages of the rows of several series, in the order of their times.

use super::asked::{Asked, columns_of};
use super::rows::{DatabaseRows, Together};
use prony_series_database::{LoadedRows, list_of, push_row};
use prony_series_store::{AttributeId, Page, PagedRows, ReadError, Rows, SeriesRows};
use std::ops::Range;

/// A page of more rows is read part by part.
const ROWS_IN_MEMORY: u64 = 20_000;
/// Of a page, series after series is looked at from the page's end where that is no more rows than this; else all rows are put in order.
const ROWS_LOOKED_AT: u64 = 500_000;

pub(super) fn page(
    asked: Asked,
    attributes: &[AttributeId],
    page: Page,
    counts: bool,
) -> Result<PagedRows, ReadError> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = page;
    let is_short = limit <= ROWS_IN_MEMORY && offset <= ROWS_LOOKED_AT;
    let loaded = if is_short { Some(loaded(&asked, attributes, page)?) } else { None };
    let series = asked.series.clone();
    let together = Together::new(asked);
    let mut total = 0;
    if counts {
        for id in &series {
            total += together.count(*id)?;
        }
    }
    let series = if let Some(loaded) = loaded {
        loaded.into_iter().map(of_loaded).collect()
    } else {
        let places = places(&together, &series, page)?;
        let opened = series.iter().map(|id| SeriesRows::new(DatabaseRows::of(&together, *id)));
        opened.zip(places).collect()
    };
    Ok(PagedRows { series, total })
}

fn of_loaded(rows: Rows) -> (SeriesRows, Range<u64>) {
    let count = rows.len() as u64;
    (SeriesRows::new(LoadedRows(rows)), 0..count)
}

/// Of each series its own page.
pub(super) fn page_of_each(
    asked: &Asked,
    attributes: &[AttributeId],
    of_each: Page,
) -> Result<Vec<(SeriesRows, Range<u64>)>, ReadError> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = of_each;
    let is_short = limit.saturating_mul(asked.series.len() as u64) <= ROWS_IN_MEMORY;
    if is_short && offset <= ROWS_LOOKED_AT {
        return Ok(loaded_of_each(asked, attributes, of_each)?.into_iter().map(of_loaded).collect());
    }
    let mut pages = Vec::with_capacity(asked.series.len());
    for series in &asked.series {
        let one = Asked { series: vec![*series], ..asked.clone() };
        pages.extend(page(one, attributes, of_each, false)?.series);
    }
    Ok(pages)
}

/// The rows of a short page, for each series.
fn loaded(asked: &Asked, attributes: &[AttributeId], page: Page) -> Result<Vec<Rows>, ReadError> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = page;
    let order = order_of(page);
    let of_each = offset + limit;
    let is_by_series = of_each.saturating_mul(asked.series.len() as u64) <= ROWS_LOOKED_AT;
    let inner = if is_by_series {
        format!(" order by time{order}, seq{order} limit {of_each}")
    } else {
        String::new()
    };
    let outer = format!(" order by r.time{order}, s.place{order}, r.seq{order} limit $4 offset $5");
    found(asked, attributes, page, (&inner, &outer))
}

/// The same of short pages of each.
fn loaded_of_each(asked: &Asked, attributes: &[AttributeId], page: Page) -> Result<Vec<Rows>, ReadError> {
    let order = order_of(page);
    let inner = format!(" order by time{order}, seq{order} limit $4 offset $5");
    let outer = format!(" order by s.place, r.time{order}, r.seq{order}");
    found(asked, attributes, page, (&inner, &outer))
}

const fn order_of(page: Page) -> &'static str {
    if matches!(page, Page::Last { .. }) { " desc" } else { "" }
}

/// Rows of series, of each of which those are taken that `inner` says, and of all those that `outer` does; one of the two has the limit and
/// the offset. Those of a series are in the order of their times.
fn found(
    asked: &Asked,
    attributes: &[AttributeId],
    page: Page,
    (inner, outer): (&str, &str),
) -> Result<Vec<Rows>, ReadError> {
    let mut rows: Vec<Rows> = asked.series.iter().map(|_| Rows::default()).collect();
    let Some(table) = &asked.table else { return Ok(rows) };
    let columns = columns_of(table, attributes);
    let sql = format!(
        "select s.place, r.time{} from unnest($1::integer[]) with ordinality as s(id, place) \
         cross join lateral (select time, seq{} from {} where series = s.id and time >= $2 and time <= $3{inner}) as r{outer}",
        list_of(&columns, "r."),
        list_of(&columns, ""),
        table.name
    );
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = page;
    let ((from, to), (limit, offset)) = (asked.moments(), (limit.cast_signed(), offset.cast_signed()));
    let mut found = asked.transaction.query(&sql, &[&asked.series, &from, &to, &limit, &offset])?;
    if matches!(page, Page::Last { .. }) {
        found.reverse();
    }
    for row in &found {
        let place = row.get::<_, i64>(0) as usize - 1;
        push_row(&mut rows[place], row, 1, 2, &columns)?;
    }
    Ok(rows)
}

/// For each series, which of its rows are in a long page.
fn places(together: &Together, series: &[i32], page: Page) -> Result<Vec<Range<u64>>, ReadError> {
    let counts = series.iter().map(|id| together.count(*id)).collect::<Result<Vec<_>, _>>()?;
    let total: u64 = counts.iter().sum();
    let taken = match page {
        Page::First { offset, limit } => offset.min(total)..offset.saturating_add(limit).min(total),
        Page::Last { offset, limit } => {
            let end = total.saturating_sub(offset);
            end.saturating_sub(limit)..end
        }
    };
    let begins = together.among_first(series, &counts, taken.start)?;
    let ends = together.among_first(series, &counts, taken.end)?;
    Ok(begins.into_iter().zip(ends).map(|(begin, end)| begin..end).collect())
}

impl Together {
    /// For each series, how many of its rows are among the first of all.
    fn among_first(&self, series: &[i32], counts: &[u64], first: u64) -> Result<Vec<u64>, ReadError> {
        if first == 0 {
            return Ok(vec![0; series.len()]);
        }
        if first >= counts.iter().sum() {
            return Ok(counts.to_vec());
        }
        let asked = self.asked();
        let Some(table) = &asked.table else { return Ok(vec![0; series.len()]) };
        let sql = format!(
            "select place, count(*) from (select s.place from unnest($1::integer[]) with ordinality as s(id, place) \
             join {} as r on r.series = s.id where r.time >= $2 and r.time <= $3 \
             order by r.time, s.place, r.seq limit $4) as f group by place",
            table.name
        );
        let ((from, to), limit) = (asked.moments(), first.cast_signed());
        let rows = asked.transaction.query(&sql, &[&series, &from, &to, &limit])?;
        let mut among = vec![0; series.len()];
        for row in &rows {
            among[row.get::<_, i64>(0) as usize - 1] = row.get::<_, i64>(1).cast_unsigned();
        }
        Ok(among)
    }
}
