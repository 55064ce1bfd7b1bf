//! Rows that are in no segment yet, by series: a few as they came, those before them in blocks.

use crate::block::{self, BLOCK_ROWS, BlockMeta, WHOLE_DAYS_ROWS};
use crate::calendar::DAY_MS;
use crate::columns::Wanted;
use crate::ids::{SeriesId, TimeMs, TimeRange};
use crate::op::{Cells, OpNumber};
use crate::rows::{OnDuplicate, RowAt, Rows};
use prony_log::codec::Damage;
use std::sync::Arc;

/// So many rows of a new day in a row, and the day before is taken to be over: connections beside each other, and things that send again, are a
/// little late.
const LATE_ROWS: usize = 64;

/// A block in memory.
#[derive(Debug)]
pub(crate) struct HeadBlock {
    pub(crate) meta: BlockMeta,
    pub(crate) bytes: Box<[u8]>,
    /// Of the rows, the writes that have made them.
    pub(crate) numbers: Box<[OpNumber]>,
    pub(crate) last_number: OpNumber,
}

/// The rows of one series.
#[derive(Debug, Default)]
pub(crate) struct SeriesHead {
    pub(crate) blocks: Vec<Arc<HeadBlock>>,
    /// In the order in which they came; those of one time always.
    pub(crate) rows: Rows,
    /// Of the rows, the writes that have made them.
    pub(crate) numbers: Vec<OpNumber>,
    /// Of the rows.
    range: Option<TimeRange>,
}

/// The rows of all series.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// By the numbers of the series.
    series: Vec<Option<Box<SeriesHead>>>,
    rows: u64,
}

impl Head {
    pub(crate) fn get(&self, series: SeriesId) -> Option<&SeriesHead> {
        self.series.get(series.0 as usize)?.as_deref()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(crate) const fn row_count(&self) -> u64 {
        self.rows
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (SeriesId, &SeriesHead)> {
        let heads = self.series.iter().enumerate();
        heads.filter_map(|(id, head)| Some((SeriesId(id as u32), head.as_deref()?)))
    }

    pub(crate) fn put(
        &mut self,
        number: OpNumber,
        series: SeriesId,
        time_ms: TimeMs,
        cells: &Cells<'_>,
    ) -> Result<(), Damage> {
        let place = series.0 as usize;
        if place >= self.series.len() {
            self.series.resize_with(place + 1, || None);
        }
        let head = self.series[place].get_or_insert_default();
        head.put(number, series, time_ms, cells)?;
        self.rows += 1;
        Ok(())
    }
}

impl SeriesHead {
    /// Of the rows that are in no block; none where there are none.
    pub(crate) const fn range(&self) -> Option<TimeRange> {
        self.range
    }

    fn put(
        &mut self,
        number: OpNumber,
        series: SeriesId,
        time_ms: TimeMs,
        cells: &Cells<'_>,
    ) -> Result<(), Damage> {
        if let Some(midnight) = self.new_day() {
            self.close_block(series, |times| times.partition_point(|time| *time < midnight));
        } else if self.rows.len() == BLOCK_ROWS {
            self.close_block(series, block::next_block);
        }
        let row = self.rows.len();
        self.rows.times.push(time_ms);
        self.numbers.push(number);
        // Rows mostly have the same attributes in the same order: the next column is looked at first.
        let mut next = 0;
        cells.each(|attribute, value| {
            let columns = &mut self.rows.columns;
            let is_next = columns.attribute(next) == Some(attribute);
            let found = if is_next { Some(next) } else { columns.place(attribute) };
            let Some(place) = found else {
                self.rows.put(row, attribute, value);
                return Ok(());
            };
            next = place + 1;
            let column = columns.at_mut(place);
            if column.len() > row {
                return Err(Damage("a row has an attribute twice"));
            }
            column
                .put(row, value)
                .then_some(())
                .ok_or(Damage("a value is of another kind than its attribute"))
        })?;
        let range = self.range.unwrap_or(TimeRange { from_ms: time_ms, to_ms: time_ms });
        let (from_ms, to_ms) = (range.from_ms.min(time_ms), range.to_ms.max(time_ms));
        self.range = Some(TimeRange { from_ms, to_ms });
        Ok(())
    }

    /// When the day began of which the last rows are, where the one before them is of a day before, and enough are for a block.
    fn new_day(&self) -> Option<TimeMs> {
        let before = self.rows.len().checked_sub(LATE_ROWS + 1)?;
        let [of_before, newest @ ..] = &self.rows.times[before..] else { return None };
        let last = *newest.last()?;
        let midnight = last - last.rem_euclid(DAY_MS);
        let is_of_the_day = |time: &TimeMs| *time >= midnight && *time - midnight < DAY_MS;
        if before < WHOLE_DAYS_ROWS || *of_before >= midnight || !newest.iter().all(is_of_the_day) {
            return None;
        }
        let rows_before = self.rows.times.iter().filter(|time| **time < midnight).count();
        (rows_before >= WHOLE_DAYS_ROWS).then_some(midnight)
    }

    /// Rows in the order of their times: so many of the first as `count` says are a block, the others stay. Rows of one time stay apart: a
    /// deletion may lie between them.
    fn close_block(&mut self, series: SeriesId, count: impl FnOnce(&[TimeMs]) -> usize) {
        let mut order: Vec<RowAt> = (0..self.rows.len() as u32).map(|row| (0, row)).collect();
        order.sort_by_key(|(_, row)| self.rows.times[*row as usize]);
        let times: Vec<TimeMs> = order.iter().map(|(_, row)| self.rows.times[*row as usize]).collect();
        let later = order.split_off(count(&times));
        let numbers_of =
            |order: &[RowAt]| order.iter().map(|(_, row)| self.numbers[*row as usize]).collect::<Vec<_>>();
        let (numbers, later_numbers) = (numbers_of(&order).into_boxed_slice(), numbers_of(&later));
        let rows = Rows::merge(&[&self.rows], order, OnDuplicate::Append);
        let mut bytes = Vec::new();
        let meta = block::write(&mut bytes, series, &rows);
        let last_number = numbers.iter().copied().max().unwrap_or_default();
        let bytes = bytes.into_boxed_slice();
        self.blocks.push(Arc::new(HeadBlock { meta, bytes, numbers, last_number }));
        let times = &times[times.len() - later.len()..];
        let ends = times.first().zip(times.last());
        self.range = ends.map(|(from_ms, to_ms)| TimeRange { from_ms: *from_ms, to_ms: *to_ms });
        self.rows = Rows::merge(&[&self.rows], later, OnDuplicate::Append);
        self.numbers = later_numbers;
    }

    /// A copy of the rows that are in no block: those of a range, with these attributes.
    pub(crate) fn loose_rows(&self, range: TimeRange, attributes: Wanted<'_>) -> (Rows, Vec<OpNumber>) {
        let wanted: Vec<RowAt> = (0..self.rows.len() as u32)
            .filter(|row| range.contains(self.rows.times[*row as usize]))
            .map(|row| (0, row))
            .collect();
        let numbers = wanted.iter().map(|(_, row)| self.numbers[*row as usize]).collect();
        let mut rows = Rows { times: Vec::with_capacity(wanted.len()), ..Rows::default() };
        rows.times.extend(wanted.iter().map(|(_, row)| self.rows.times[*row as usize]));
        for (attribute, column) in self.rows.columns.wanted(attributes) {
            for (at, (_, row)) in wanted.iter().enumerate() {
                let value = column.get(*row as usize);
                if value != crate::value::Value::Null {
                    rows.put(at, *attribute, value);
                }
            }
        }
        (rows, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::AttributeId;
    use crate::op::{Op, put_row};
    use crate::value::Value;
    use prony_log::codec::Input;

    fn put(head: &mut Head, time_ms: TimeMs) {
        let mut bytes = Vec::new();
        put_row(&mut bytes, 1, SeriesId(3), time_ms, &[(AttributeId(0), Value::Integer(time_ms))]);
        let Ok(Op::Row { values, .. }) = Op::take(&mut Input::new(&bytes)) else {
            panic!("a row was written")
        };
        head.put(1, SeriesId(3), time_ms, &values).unwrap();
    }

    #[test]
    fn blocks_of_rows_that_come_in_order_are_days() {
        let mut head = Head::default();
        let minute = |number: i64| 5 * DAY_MS - 100 * 60_000 + number * 60_000;
        let last = 100 + 2 * 1440 + LATE_ROWS.cast_signed() as i64;
        (0..=last).for_each(|number| put(&mut head, minute(number)));
        let of = head.get(SeriesId(3)).unwrap();
        // The first day has too few rows for a block of its own.
        assert_eq!(blocks(of), [(1540, 6 * DAY_MS - 60_000), (1440, 7 * DAY_MS - 60_000)]);
        let range = Some(TimeRange { from_ms: 7 * DAY_MS, to_ms: minute(last) });
        assert_eq!((of.rows.len(), of.range()), (LATE_ROWS + 1, range));
        assert_eq!(of.numbers.len(), of.rows.len());
        // What comes later still is in the next block, whichever its day is.
        put(&mut head, 0);
        let of = head.get(SeriesId(3)).unwrap();
        assert_eq!((of.blocks.len(), of.rows.len()), (2, LATE_ROWS + 2));
    }

    fn blocks(head: &SeriesHead) -> Vec<(u32, TimeMs)> {
        head.blocks.iter().map(|block| (block.meta.rows, block.meta.last_ms)).collect()
    }

    #[test]
    fn rows_that_are_a_little_late_are_in_the_block_of_their_day() {
        let mut head = Head::default();
        // Pieces of ten minutes, each two in the other's place, so that the day's end comes after the next day's begin.
        let piece = |number: i64| (number ^ 1) * 10..(number ^ 1) * 10 + 10;
        let minutes = (0..300).flat_map(piece).filter(|minute| *minute < 2955);
        minutes.for_each(|minute| put(&mut head, minute * 60_000 + 5 * 60_000));
        let of = head.get(SeriesId(3)).unwrap();
        assert_eq!(blocks(of), [(1435, DAY_MS - 60_000), (1440, 2 * DAY_MS - 60_000)]);
        assert_eq!(of.rows.times.iter().min(), Some(&(2 * DAY_MS)));
    }

    #[test]
    fn a_row_of_the_far_future_does_not_mix_the_days_before_it() {
        let mut head = Head::default();
        put(&mut head, 4_000_000 * DAY_MS);
        (0..5000).for_each(|minute| put(&mut head, minute * 60_000));
        let of = head.get(SeriesId(3)).unwrap();
        let days = [1, 2, 3].map(|day| (1440, day * DAY_MS - 60_000));
        assert_eq!(blocks(of), days);
        assert_eq!(of.rows.len(), 5001 - 3 * 1440);
    }
}
