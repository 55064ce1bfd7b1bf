//! Rows that are in memory, and summaries that are made of rows here.

use prony_series_store::calendar::Periods;
use prony_series_store::{AttributeId, ReadError, RowSource, Rows, Summary, TimeMs, TimeRange};
use std::ops::Range;

/// All rows that there are, in the order of their times.
#[derive(Debug, Default)]
pub struct LoadedRows(pub Rows);

impl RowSource for LoadedRows {
    fn block_count(&self) -> usize {
        1
    }

    fn bounds(&mut self) -> Result<Option<TimeRange>, ReadError> {
        let times = &self.0.times;
        let (Some(first), Some(last)) = (times.first(), times.last()) else { return Ok(None) };
        Ok(Some(TimeRange { from_ms: *first, to_ms: *last }))
    }

    fn first_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.0.times.first().copied())
    }

    fn last_time(&mut self) -> Result<Option<TimeMs>, ReadError> {
        Ok(self.0.times.last().copied())
    }

    fn count(&mut self) -> Result<u64, ReadError> {
        Ok(self.0.len() as u64)
    }

    fn count_before(&mut self, time_ms: TimeMs) -> Result<u64, ReadError> {
        Ok(self.0.times.partition_point(|time| *time < time_ms) as u64)
    }

    fn visit(
        &mut self,
        rows: Range<u64>,
        _: &[AttributeId],
        take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
    ) -> Result<(), ReadError> {
        let count = self.0.len() as u64;
        let (from, to) = (rows.start.min(count), rows.end.min(count));
        if from < to {
            take(&self.0, from as usize..to as usize);
        }
        Ok(())
    }

    fn summarize(
        &mut self,
        attribute: AttributeId,
        periods: Periods<'_>,
        take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Result<(), ReadError> {
        summarize_rows(self, attribute, periods, take)
    }
}

/// Visits so many rows, of which some are read at a time: `read` gives those behind where the last ones ended, and where they end.
pub fn visit_pieces<End>(
    length: u64,
    at_a_time: u64,
    read: impl Fn(Option<End>, u64) -> Result<(Rows, Option<End>), ReadError>,
    take: &mut dyn FnMut(&Rows, Range<usize>) -> bool,
) -> Result<(), ReadError> {
    let (mut left, mut after) = (length, None);
    while left > 0 {
        let wanted = left.min(at_a_time);
        let (found, last) = read(after, wanted)?;
        let goes_on = found.is_empty() || take(&found, 0..found.len());
        if !goes_on || (found.len() as u64) < wanted {
            break;
        }
        left -= wanted;
        after = last;
    }
    Ok(())
}

/// Summaries that are made here, row by row.
pub fn summarize_rows(
    rows: &mut dyn RowSource,
    attribute: AttributeId,
    periods: Periods<'_>,
    take: &mut dyn FnMut(TimeMs, &Summary) -> bool,
) -> Result<(), ReadError> {
    // A moment in the period that is gathered, its end, and what is known.
    let mut open: Option<(TimeMs, TimeMs, Summary)> = None;
    let mut goes_on = true;
    rows.visit(0..u64::MAX, &[attribute], &mut |part, mut places| {
        goes_on = places.all(|row| {
            let (time, value) = (part.times[row], part.get(row, attribute));
            let summary = Summary::of_value(value);
            match &mut open {
                Some((_, end, of)) if time < *end => {
                    of.add_all(&summary);
                    true
                }
                _ => {
                    let before =
                        open.replace((time, periods.end_of(time).max(time.saturating_add(1)), summary));
                    before.is_none_or(|(time, _, of)| take(time, &of))
                }
            }
        });
        goes_on
    })?;
    if let (true, Some((time, _, of))) = (goes_on, open) {
        take(time, &of);
    }
    Ok(())
}
