//! Blocks: up to [`BLOCK_ROWS`] rows of one series in the order of their times, compressed column by column, with what can be said of a
//! block without reading it.

use crate::calendar::DAY_MS;
use crate::codes::{bits, doubles, integers, texts};
use crate::columns::Wanted;
use crate::ids::{AttributeId, SeriesId, TimeMs};
use crate::rows::Rows;
use crate::summary::{StoredFigures, Summary};
use crate::value::{Column, Form, Values};
use prony_log::codec::{Damage, Input, put_length, put_signed, put_unsigned};

/// More than a day of one row a minute. More rows would compress little better, and cost more to read a part of.
pub(crate) const BLOCK_ROWS: usize = 2048;
/// With so many rows a block ends where a day ends, so that sums by day, month and year are mostly those of whole blocks, which are known
/// without reading. Blocks with fewer rows would take more for what is said of each than for their values.
pub(crate) const WHOLE_DAYS_ROWS: usize = 512;

/// With so many bytes of texts a block of a segment ends too, unless it has one row: who reads a row has all of its block in memory, and
/// what is kept of a block has its bytes as 32 bits.
pub(crate) const BLOCK_TEXT_BYTES: usize = 16 << 20;

/// A column of a block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnMeta {
    pub(crate) attribute: AttributeId,
    form: Form,
    /// Where it begins in the block.
    offset: u32,
    /// Of texts and booleans only the count.
    figures: StoredFigures,
}

/// What is known of a block.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BlockMeta {
    pub(crate) series: SeriesId,
    pub(crate) rows: u32,
    pub(crate) first_ms: TimeMs,
    pub(crate) last_ms: TimeMs,
    /// Whether two rows have the same time.
    pub(crate) has_equal_times: bool,
    pub(crate) bytes: u32,
    /// CRC-32C of the bytes.
    pub(crate) checksum: u32,
    pub(crate) columns: Box<[ColumnMeta]>,
}

/// Whether a block of so many rows, the last of which is at one moment, ends before a row of the other.
pub(crate) const fn ends_before(rows: usize, last_ms: TimeMs, next_ms: TimeMs) -> bool {
    rows == BLOCK_ROWS || rows >= WHOLE_DAYS_ROWS && day_of(last_ms) != day_of(next_ms)
}

/// A day of UTC, as sums by day have it.
const fn day_of(time_ms: TimeMs) -> i64 {
    time_ms.div_euclid(DAY_MS)
}

/// How many of these rows, which are in the order of their times, are the next block.
pub(crate) fn next_block(times: &[TimeMs]) -> usize {
    let most = times.len().min(BLOCK_ROWS);
    let is_end = |rows: &usize| ends_before(*rows, times[*rows - 1], times[*rows]);
    (WHOLE_DAYS_ROWS..most).rev().find(is_end).unwrap_or(most)
}

/// Writes rows, which are in the order of their times, behind what is in `to`.
pub(crate) fn write(to: &mut Vec<u8>, series: SeriesId, rows: &Rows) -> BlockMeta {
    let begin = to.len();
    integers::write(to, &rows.times);
    let mut columns = Vec::with_capacity(rows.columns.len());
    for (attribute, column) in &rows.columns {
        let summary = Summary::of(column, 0..rows.len());
        if summary.count == 0 {
            continue;
        }
        let offset = (to.len() - begin) as u32;
        let figures = StoredFigures::of(&summary);
        columns.push(ColumnMeta { attribute: *attribute, form: column.form(), offset, figures });
        write_column(to, column, rows.len());
    }
    let bytes = &to[begin..];
    BlockMeta {
        series,
        rows: rows.len() as u32,
        first_ms: rows.times[0],
        last_ms: rows.times[rows.len() - 1],
        has_equal_times: rows.times.windows(2).any(|pair| pair[0] == pair[1]),
        bytes: bytes.len() as u32,
        checksum: crc32c::crc32c(bytes),
        columns: columns.into_boxed_slice(),
    }
}

fn write_column(to: &mut Vec<u8>, column: &Column, rows: usize) {
    let is_present = |row: usize| row < column.len() && column.present.as_ref().is_none_or(|of| of[row]);
    let is_whole = (0..rows).all(is_present);
    to.push(u8::from(!is_whole));
    if !is_whole {
        bits::pack(to, (0..rows).map(|row| u64::from(is_present(row))), 1);
    }
    let present = || (0..rows.min(column.len())).filter(|row| is_whole || is_present(*row));
    match &column.values {
        Values::Doubles(values) => {
            doubles::write(to, &present().map(|row| values[row]).collect::<Vec<_>>());
        }
        Values::Integers(values) => {
            integers::write(to, &present().map(|row| values[row]).collect::<Vec<_>>());
        }
        Values::Booleans(values) => bits::pack(to, present().map(|row| u64::from(values[row])), 1),
        Values::Texts(values) => texts::write(to, present().map(|row| &*values[row])),
        Values::Dictionary(values) => texts::write(to, present().map(|row| &**values.get(row))),
    }
}

fn read_column(input: &mut Input<'_>, form: Form, rows: usize) -> Result<Column, Damage> {
    let present = match input.byte()? {
        0 => None,
        1 => {
            let packed = bits::Packed::read(input, rows, 1)?;
            Some((0..rows).map(|row| packed.get(row) == 1).collect::<Vec<bool>>())
        }
        _ => return Err(Damage("a column has an unknown form")),
    };
    let count = present.as_ref().map_or(rows, |present| present.iter().filter(|is| **is).count());
    let values = match form {
        Form::Doubles => Values::Doubles(spread(doubles::read(input, count)?, present.as_ref())),
        Form::Integers => Values::Integers(spread(integers::read(input, count)?, present.as_ref())),
        Form::Booleans => {
            let packed = bits::Packed::read(input, count, 1)?;
            let values = (0..count).map(|row| packed.get(row) == 1).collect();
            Values::Booleans(spread(values, present.as_ref()))
        }
        Form::Texts => {
            let texts = texts::read(input, count)?;
            match &present {
                None => Values::Dictionary(texts),
                Some(_) => Values::Texts(spread(texts.iter().cloned().collect(), present.as_ref())),
            }
        }
    };
    Ok(Column { values, present })
}

/// Values at the rows that have one; any value at the others.
fn spread<T: Clone>(values: Vec<T>, present: Option<&Vec<bool>>) -> Vec<T> {
    let (Some(present), Some(first)) = (present, values.first()) else { return values };
    let (mut last, mut left) = (first, values.iter());
    let value = |is_present: &bool| {
        if *is_present && let Some(next) = left.next() {
            last = next;
        }
        last.clone()
    };
    present.iter().map(value).collect()
}

impl BlockMeta {
    pub(crate) fn times(&self, bytes: &[u8]) -> Result<Vec<TimeMs>, Damage> {
        let times = integers::read(&mut Input::new(bytes), self.rows as usize)?;
        if times.is_empty() || !times.is_sorted() {
            return Err(Damage("the rows of a block are not in order"));
        }
        Ok(times)
    }

    pub(crate) fn read(&self, bytes: &[u8], wanted: Wanted<'_>) -> Result<Rows, Damage> {
        let mut rows = Rows { times: self.times(bytes)?, ..Rows::default() };
        for column in self.columns.iter().filter(|column| wanted.has(column.attribute)) {
            let from =
                bytes.get(column.offset as usize..).ok_or(Damage("a column stands behind its block"))?;
            let read = read_column(&mut Input::new(from), column.form, self.rows as usize)?;
            rows.columns.push(column.attribute, read);
        }
        Ok(rows)
    }

    pub(crate) fn put(&self, to: &mut Vec<u8>) {
        put_unsigned(to, u64::from(self.series.0));
        put_unsigned(to, u64::from(self.rows));
        put_signed(to, self.first_ms);
        put_unsigned(to, self.last_ms.wrapping_sub(self.first_ms).cast_unsigned());
        to.push(u8::from(self.has_equal_times));
        put_unsigned(to, u64::from(self.bytes));
        to.extend_from_slice(&self.checksum.to_le_bytes());
        put_length(to, self.columns.len());
        for ColumnMeta { attribute, form, offset, figures } in &self.columns {
            put_unsigned(to, u64::from(attribute.0));
            to.push(*form as u8);
            put_unsigned(to, u64::from(*offset));
            put_unsigned(to, figures.count);
            if matches!(form, Form::Doubles | Form::Integers) {
                for number in [figures.sum, figures.min, figures.max] {
                    to.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
    }

    pub(crate) fn take(input: &mut Input<'_>) -> Result<Self, Damage> {
        let (series, rows, first_ms) = (SeriesId(input.u32()?), input.u32()?, input.signed()?);
        let last_ms = first_ms.wrapping_add(input.unsigned()?.cast_signed());
        let has_equal_times = input.byte()? != 0;
        let (bytes, checksum) = (input.u32()?, u32::from_le_bytes(input.array()?));
        let columns = input.list(4, |input| {
            let attribute = AttributeId(input.u32()?);
            let form = match input.byte()? {
                0 => Form::Doubles,
                1 => Form::Integers,
                2 => Form::Booleans,
                3 => Form::Texts,
                _ => return Err(Damage("a column has an unknown kind")),
            };
            let (offset, count) = (input.u32()?, input.unsigned()?);
            let mut figures = StoredFigures { count, ..StoredFigures::default() };
            if matches!(form, Form::Doubles | Form::Integers) {
                let mut number = || Ok(f64::from_le_bytes(input.array()?));
                (figures.sum, figures.min, figures.max) = (number()?, number()?, number()?);
            }
            Ok(ColumnMeta { attribute, form, offset, figures })
        })?;
        if rows == 0 || rows as usize > BLOCK_ROWS || last_ms < first_ms {
            return Err(Damage("a block has no rows, or too many"));
        }
        let columns = columns.into_boxed_slice();
        Ok(Self { series, rows, first_ms, last_ms, has_equal_times, bytes, checksum, columns })
    }

    fn column(&self, attribute: AttributeId) -> Option<&ColumnMeta> {
        self.columns.iter().find(|column| column.attribute == attribute)
    }

    pub(crate) fn figures(&self, attribute: AttributeId) -> Option<&StoredFigures> {
        self.column(attribute).map(|column| &column.figures)
    }

    /// What all values of an attribute are together; none where only the values themselves tell it: integers so large that what is kept of
    /// them may lack digits.
    pub(crate) fn summary(&self, attribute: AttributeId) -> Option<Summary> {
        let Some(ColumnMeta { form, figures, .. }) = self.column(attribute) else {
            return Some(Summary::default());
        };
        match form {
            Form::Integers => Some(figures.of_integers()).filter(|summary| summary.exact.is_some()),
            Form::Doubles | Form::Booleans | Form::Texts => Some(figures.of_doubles()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows_every(step_ms: TimeMs, from_ms: TimeMs, count: usize) -> Vec<TimeMs> {
        (0..count).map(|row| from_ms + TimeMs::try_from(row).unwrap() * step_ms).collect()
    }

    /// The rows of each block of a series.
    fn blocks(times: &[TimeMs]) -> Vec<usize> {
        let (mut blocks, mut from) = (Vec::new(), 0);
        while from < times.len() {
            blocks.push(next_block(&times[from..]));
            from += blocks[blocks.len() - 1];
        }
        blocks
    }

    #[test]
    fn blocks_end_with_days_where_that_makes_few_more_of_them() {
        const MINUTE_MS: TimeMs = 60_000;
        // From 20:00 on the first of January of 1970, and before 1970.
        assert_eq!(blocks(&rows_every(MINUTE_MS, 20 * 60 * MINUTE_MS, 4000)), [1680, 1440, 880]);
        assert_eq!(blocks(&rows_every(MINUTE_MS, -DAY_MS, 3000)), [1440, 1440, 120]);
        assert_eq!(blocks(&rows_every(30_000, 0, 6000)), [2048, 832, 2048, 832, 240]);
        assert_eq!(blocks(&rows_every(5 * MINUTE_MS, 0, 3000)), [2016, 864, 120]);
        assert_eq!(blocks(&rows_every(DAY_MS, 0, 3000)), [2047, 952, 1]);
        assert_eq!(blocks(&rows_every(0, 5, 3000)), [2048, 952]);
        assert_eq!(blocks(&rows_every(10, DAY_MS - 100, 100)), [100]);
    }

    proptest! {
        #[test]
        fn each_row_is_in_one_block(gaps in prop::collection::vec(0..DAY_MS, 1..5000)) {
            let times: Vec<TimeMs> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
            let blocks = blocks(&times);
            prop_assert_eq!(blocks.iter().sum::<usize>(), times.len());
            prop_assert!(blocks.iter().all(|rows| (1..=BLOCK_ROWS).contains(rows)));
            let (_, others) = blocks.split_last().unwrap();
            prop_assert!(others.iter().all(|rows| *rows >= WHOLE_DAYS_ROWS));
        }
    }
}
