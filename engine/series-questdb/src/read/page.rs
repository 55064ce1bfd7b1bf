//! Pages of the rows of several series, in the order of their times. QuestDB says at which times a page begins and ends; rows of these times,
//! of which some are in the page, are put in the order of their series here.

use super::asked::{Asked, TIMES, micros};
use super::rows::{DatabaseRows, Together};
use prony_series_database::{LoadedRows, Moment, list_of, push_row, quoted};
use prony_series_store::{Page, PagedRows, ReadError, Rows, SeriesRows, TimeMs};
use std::ops::Range;
use std::sync::Arc;

/// A page of more rows is read part by part.
const ROWS_IN_MEMORY: u64 = 20_000;

/// Rows of a page are counted from the first on, or from the last on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Ascending,
    Descending,
}

pub(super) fn page(asked: Asked, page: Page, counts: bool) -> Result<PagedRows, ReadError> {
    let (order, offset, limit) = match page {
        Page::First { offset, limit } => (Order::Ascending, offset, limit),
        Page::Last { offset, limit } => (Order::Descending, offset, limit),
    };
    let together = Together::new(asked);
    let total = if counts { together.extents()?.iter().map(|of| of.count).sum() } else { 0 };
    let series = if limit <= ROWS_IN_MEMORY {
        let loaded = together.loaded(order, offset, limit)?;
        loaded.into_iter().map(of_loaded).collect()
    } else {
        let places = together.places(order, offset, limit)?;
        let opened = (0..together.asked.count).map(|of| SeriesRows::new(DatabaseRows::of(&together, of)));
        opened.zip(places).collect()
    };
    Ok(PagedRows { series, total })
}

fn of_loaded(rows: Rows) -> (SeriesRows, Range<u64>) {
    let count = rows.len() as u64;
    (SeriesRows::new(LoadedRows(rows)), 0..count)
}

impl Order {
    /// Of rows that come earlier than those of a time.
    fn earlier(self, time_ms: TimeMs) -> String {
        let sign = if self == Self::Ascending { "<" } else { ">" };
        format!(" and time {sign} {}", micros(time_ms))
    }

    /// Of rows that come with those of a time, or earlier.
    fn not_later(self, time_ms: TimeMs) -> String {
        let sign = if self == Self::Ascending { "<=" } else { ">=" };
        format!(" and time {sign} {}", micros(time_ms))
    }

    /// Of rows that come with those of a time, or later.
    fn not_earlier(self, time_ms: TimeMs) -> String {
        let sign = if self == Self::Ascending { ">=" } else { "<=" };
        format!(" and time {sign} {}", micros(time_ms))
    }
}

impl Together {
    fn time_at(&self, table: &str, sql: &str) -> Result<Option<TimeMs>, ReadError> {
        let rows = self.asked.query(table, sql)?;
        let time = rows.first().map(|row| row.try_get::<_, Moment>(0)).transpose();
        Ok(time.map_err(|error| self.asked.unreadable(&error))?.map(|time| time.0))
    }

    /// The time of the row before which so many come; none where there are not so many.
    fn nth_time(&self, order: Order, before: u64) -> Result<Option<TimeMs>, ReadError> {
        let Some((table, conditions)) = self.asked.of_all() else { return Ok(None) };
        if before > i64::MAX as u64 - 1 {
            return Ok(None);
        }
        let [condition] = &*conditions else { return self.nth_time_of_parts(order, before) };
        let descending = if order == Order::Descending { " desc" } else { "" };
        let sql = format!(
            "select time from {} where {condition} order by time{descending} limit {before}, {}",
            quoted(&table),
            before + 1
        );
        self.time_at(&table, &sql)
    }

    /// The same where one statement cannot name all series: found by halves.
    fn nth_time_of_parts(&self, order: Order, before: u64) -> Result<Option<TimeMs>, ReadError> {
        let total: u64 = self.extents()?.iter().map(|of| of.count).sum();
        if before >= total {
            return Ok(None);
        }
        let (mut low, mut high) = (TIMES.from_ms, TIMES.to_ms);
        while low < high {
            let middle = low + (high - low) / 2;
            // Rows up to the middle, which has the row or is before it.
            let up_to: u64 = self.counts(&Order::Ascending.not_later(middle))?.iter().sum();
            let place = if order == Order::Ascending { before } else { total - 1 - before };
            if up_to > place {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(Some(low))
    }

    /// The rows of a short page, for each series.
    fn loaded(&self, order: Order, offset: u64, limit: u64) -> Result<Vec<Rows>, ReadError> {
        let mut loaded: Vec<Rows> = (0..self.asked.count).map(|_| Rows::default()).collect();
        let Some((table, conditions)) = self.asked.of_all() else { return Ok(loaded) };
        if limit == 0 {
            return Ok(loaded);
        }
        let (mut bounds, mut skipped) = (String::new(), 0);
        if offset > 0 {
            let Some(begin) = self.nth_time(order, offset)? else { return Ok(loaded) };
            let earlier: u64 = self.counts(&order.earlier(begin))?.iter().sum();
            bounds.push_str(&order.not_earlier(begin));
            skipped = offset - earlier.min(offset);
        }
        if let Some(end) = self.nth_time(order, offset.saturating_add(limit - 1))? {
            bounds.push_str(&order.not_later(end));
        }
        let (columns, places) = (self.asked.column_refs(), self.asked.places());
        let list = list_of(&columns, "");
        let mut found = Vec::new();
        for condition in conditions {
            let sql = format!(
                "select entity, path, time, seq{list} from {} where {condition}{bounds}",
                quoted(&table)
            );
            found.extend(self.asked.query(&table, &sql)?);
        }
        let mut keys = Vec::with_capacity(found.len());
        for (at, row) in found.iter().enumerate() {
            let key = || {
                let owner: (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
                let (time, number): (Moment, i64) = (row.try_get(2)?, row.try_get(3)?);
                Ok(places.get(&owner).map(|place| (time.0, *place, number, at)))
            };
            keys.extend(key().map_err(|error| self.asked.unreadable(&error))?);
        }
        keys.sort_unstable();
        if order == Order::Descending {
            keys.reverse();
        }
        let mut chosen: Vec<_> = keys.into_iter().skip(skipped as usize).take(limit as usize).collect();
        if order == Order::Descending {
            chosen.reverse();
        }
        for (_, place, _, at) in chosen {
            push_row(&mut loaded[place], &found[at], 2, 4, &columns)?;
        }
        Ok(loaded)
    }

    /// For each series, which of its rows are in a long page.
    fn places(self: &Arc<Self>, order: Order, offset: u64, limit: u64) -> Result<Vec<Range<u64>>, ReadError> {
        let begins = self.among(order, offset)?;
        let ends = self.among(order, offset.saturating_add(limit))?;
        let both = begins.into_iter().zip(ends);
        if order == Order::Ascending {
            return Ok(both.map(|(begin, end)| begin..end).collect());
        }
        let extents = self.extents()?;
        let from_end =
            |((begin, end), all): ((u64, u64), u64)| all.saturating_sub(end)..all.saturating_sub(begin);
        Ok(both.zip(extents.iter().map(|of| of.count)).map(from_end).collect())
    }

    /// For each series, how many of its rows are among so many that come first.
    fn among(&self, order: Order, count: u64) -> Result<Vec<u64>, ReadError> {
        if count == 0 {
            return Ok(vec![0; self.asked.count]);
        }
        let Some(last) = self.nth_time(order, count - 1)? else {
            return Ok(self.extents()?.iter().map(|of| of.count).collect());
        };
        let mut among = self.counts(&order.earlier(last))?;
        let with_last = self.counts(&format!(" and time = {}", micros(last)))?;
        let mut left = count.saturating_sub(among.iter().sum());
        let mut take = |place: usize| {
            let taken = with_last[place].min(left);
            among[place] += taken;
            left -= taken;
        };
        if order == Order::Ascending {
            (0..with_last.len()).for_each(&mut take);
        } else {
            (0..with_last.len()).rev().for_each(&mut take);
        }
        Ok(among)
    }
}
