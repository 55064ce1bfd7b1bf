//! Rows that are in no segment yet, by series: a few as they came, those before them in blocks.

use crate::block::{self, BlockMeta};
use crate::ids::{AttributeId, SeriesId, TimeMs, TimeRange};
use crate::op::{Cells, OpNumber};
use crate::rows::{OnDuplicate, RowAt, Rows};
use prony_log::codec::Damage;
use std::sync::Arc;

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
    /// In the order in which they came.
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
        if self.range.is_some_and(|range| block::ends_before(self.rows.len(), range.to_ms, time_ms)) {
            self.close_block(series);
        }
        let row = self.rows.len();
        self.rows.times.push(time_ms);
        self.numbers.push(number);
        // Rows mostly have the same attributes in the same order: the next column is looked at first.
        let mut next = 0;
        cells.each(|attribute, value| {
            let columns = &mut self.rows.columns;
            let is_next = columns.get(next).is_some_and(|(of, _)| *of == attribute);
            let found =
                if is_next { Some(next) } else { columns.iter().position(|(of, _)| *of == attribute) };
            let Some(place) = found else {
                self.rows.put(row, attribute, value);
                return Ok(());
            };
            next = place + 1;
            let (_, column) = &mut columns[place];
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

    /// Rows in the order of their times, as one block. Rows of one time stay apart: a deletion may lie between them.
    fn close_block(&mut self, series: SeriesId) {
        let mut order: Vec<RowAt> = (0..self.rows.len() as u32).map(|row| (0, row)).collect();
        order.sort_by_key(|(_, row)| self.rows.times[*row as usize]);
        let numbers: Box<[OpNumber]> = order.iter().map(|(_, row)| self.numbers[*row as usize]).collect();
        let rows = Rows::merge(&[&self.rows], order, OnDuplicate::Append);
        let mut bytes = Vec::new();
        let meta = block::write(&mut bytes, series, &rows);
        let last_number = numbers.iter().copied().max().unwrap_or_default();
        let bytes = bytes.into_boxed_slice();
        self.blocks.push(Arc::new(HeadBlock { meta, bytes, numbers, last_number }));
        (self.rows, self.range) = (Rows::default(), None);
        self.numbers.clear();
    }

    /// A copy of the rows that are in no block: those of a range, with these attributes.
    pub(crate) fn loose_rows(
        &self,
        range: TimeRange,
        attributes: block::Wanted<'_>,
    ) -> (Rows, Vec<OpNumber>) {
        let wanted: Vec<RowAt> = (0..self.rows.len() as u32)
            .filter(|row| range.contains(self.rows.times[*row as usize]))
            .map(|row| (0, row))
            .collect();
        let numbers = wanted.iter().map(|(_, row)| self.numbers[*row as usize]).collect();
        let columns: Vec<AttributeId> =
            self.rows.columns.iter().map(|(of, _)| *of).filter(|of| attributes.has(*of)).collect();
        let mut rows = Rows { times: Vec::with_capacity(wanted.len()), columns: Vec::new() };
        rows.times.extend(wanted.iter().map(|(_, row)| self.rows.times[*row as usize]));
        for attribute in columns {
            let Some(column) = self.rows.column(attribute) else { continue };
            for (at, (_, row)) in wanted.iter().enumerate() {
                let value = column.get(*row as usize);
                if value != crate::value::Value::Null {
                    rows.put(at, attribute, value);
                }
            }
        }
        (rows, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::DAY_MS;
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
        (0..=100 + 2 * 1440).for_each(|number| put(&mut head, minute(number)));
        let of = head.get(SeriesId(3)).unwrap();
        let blocks: Vec<(u32, TimeMs)> =
            of.blocks.iter().map(|block| (block.meta.rows, block.meta.last_ms)).collect();
        // The first day has too few rows for a block of its own.
        assert_eq!(blocks, [(1540, 6 * DAY_MS - 60_000), (1440, 7 * DAY_MS - 60_000)]);
        assert_eq!(
            (of.rows.len(), of.range()),
            (1, Some(TimeRange { from_ms: 7 * DAY_MS, to_ms: 7 * DAY_MS }))
        );
        // What comes late is in the next block, whichever its day is.
        put(&mut head, 0);
        let of = head.get(SeriesId(3)).unwrap();
        assert_eq!((of.blocks.len(), of.rows.len()), (2, 2));
    }
}
