//! Aggregates of rows that retention has removed: what was in the rows of one series in one period. They stand in segments of their own,
//! as rows with columns of numbers ([`column_of`]), and are never changed: rows that come late and are removed later have an aggregate of
//! their own beside the one that there is.

use crate::calendar::{Period, Periods};
use crate::columns::Wanted;
use crate::error::ReadError;
use crate::ids::{AttributeId, SeriesId, TimeMs, TimeRange};
use crate::rows::{OnDuplicate, RowAt, Rows};
use crate::segment::{Segment, read_block};
use crate::summary::{StoredFigures, Summary};
use crate::tombstones::HiddenAggregates;
use crate::value::{Column, Form, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// How many rows there were.
const ROW_COUNT: AttributeId = AttributeId(0);
/// When the last of them was; the first was at the time of the row that is the aggregate.
const LAST_TIME: AttributeId = AttributeId(1);
const COLUMNS_OF_ALL: u32 = 2;

/// What is known of the values of an attribute.
#[derive(Debug, Clone, Copy)]
enum Of {
    Count,
    Sum,
    Min,
    Max,
}

const OF_ATTRIBUTE: [Of; 4] = [Of::Count, Of::Sum, Of::Min, Of::Max];

/// The column of an attribute's aggregates.
const fn column_of(attribute: AttributeId, of: Of) -> AttributeId {
    AttributeId(COLUMNS_OF_ALL + attribute.0 * OF_ATTRIBUTE.len() as u32 + of as u32)
}

/// Aggregates that are made of rows, which come in the order of their times.
#[derive(Debug)]
pub(crate) struct Downsampling {
    period: Period,
    open: Option<Aggregate>,
    done: Rows,
    /// Where the columns of an attribute begin.
    places: HashMap<AttributeId, usize>,
}

/// Of the rows of a period so far.
#[derive(Debug)]
struct Aggregate {
    first_ms: TimeMs,
    last_ms: TimeMs,
    end_ms: TimeMs,
    rows: u64,
    /// With whether sum, least and greatest are known.
    attributes: Vec<(AttributeId, bool, Summary)>,
}

impl Downsampling {
    pub(crate) fn new(period: Period) -> Self {
        let column = |of| (of, Column::new(Form::Integers));
        let done =
            Rows { times: Vec::new(), columns: [column(ROW_COUNT), column(LAST_TIME)].into_iter().collect() };
        Self { period, open: None, done, places: HashMap::new() }
    }

    pub(crate) fn add(&mut self, rows: &Rows) {
        let mut from = 0;
        while from < rows.len() {
            let first_ms = rows.times[from];
            let end_ms = self.period.around(first_ms).1;
            let to = from + rows.times[from..].partition_point(|time| *time < end_ms).max(1);
            if self.open.as_ref().is_some_and(|of| of.end_ms != end_ms) {
                self.close();
            }
            let attributes = Vec::new();
            let new = Aggregate { first_ms, last_ms: first_ms, end_ms, rows: 0, attributes };
            self.open.get_or_insert(new).add(rows, from..to);
            from = to;
        }
    }

    fn close(&mut self) {
        let Some(Aggregate { first_ms, last_ms, rows, attributes, .. }) = self.open.take() else { return };
        let row = self.done.len();
        self.done.times.push(first_ms);
        let columns = &mut self.done.columns;
        columns.at_mut(0).put(row, Value::Integer(rows.cast_signed()));
        columns.at_mut(1).put(row, Value::Integer(last_ms));
        for (attribute, is_numeric, summary) in attributes {
            let place = *self.places.entry(attribute).or_insert_with(|| {
                let place = columns.len();
                for of in OF_ATTRIBUTE {
                    let form = if matches!(of, Of::Count) { Form::Integers } else { Form::Doubles };
                    columns.push(column_of(attribute, of), Column::new(form));
                }
                place
            });
            columns.at_mut(place).put(row, Value::Integer(summary.count.cast_signed()));
            if is_numeric {
                for (of, value) in [(Of::Sum, summary.sum), (Of::Min, summary.min), (Of::Max, summary.max)] {
                    columns.at_mut(place + of as usize).put(row, Value::Double(value));
                }
            }
        }
    }

    /// As rows, in the order of their times; none where there were no rows.
    pub(crate) fn finish(mut self) -> Rows {
        self.close();
        self.done
    }
}

impl Aggregate {
    fn add(&mut self, rows: &Rows, range: std::ops::Range<usize>) {
        self.last_ms = rows.times[range.end - 1];
        self.rows += range.len() as u64;
        for (place, (attribute, column)) in rows.columns.iter().enumerate() {
            let summary = Summary::of(column, range.clone());
            if summary.count == 0 {
                continue;
            }
            // Rows mostly have the same attributes in the same order.
            let is_there = self.attributes.get(place).is_some_and(|(of, ..)| of == attribute);
            let known = if is_there {
                Some(place)
            } else {
                self.attributes.iter().position(|(of, ..)| of == attribute)
            };
            if let Some(known) = known {
                self.attributes[known].2.add_all(&summary);
            } else {
                let is_numeric = matches!(column.form(), Form::Doubles | Form::Integers);
                self.attributes.push((*attribute, is_numeric, summary));
            }
        }
    }
}

/// The aggregates of a series that are seen.
#[derive(Debug)]
pub(crate) struct SeriesAggregates {
    blocks: Vec<(Arc<Segment>, usize)>,
    hidden: HiddenAggregates,
    range: TimeRange,
}

/// The aggregate of an attribute: when its first row was, the end of its period, and what is known of the values.
pub(crate) type PeriodSummary = (TimeMs, TimeMs, Summary);

impl SeriesAggregates {
    pub(crate) const fn none() -> Self {
        Self { blocks: Vec::new(), hidden: HiddenAggregates::NONE, range: TimeRange::ALL }
    }

    /// Those all of whose rows were in a range of time.
    pub(crate) fn new(
        segments: &[Arc<Segment>],
        series: SeriesId,
        range: TimeRange,
        hidden: HiddenAggregates,
    ) -> Self {
        let mut blocks = Vec::new();
        for segment in segments {
            let may_have = |place: &usize| {
                let (first_ms, last_ms) = span(segment, *place);
                range.meets(first_ms, last_ms)
                    && !hidden.hides_all(segment.entry.last_number, first_ms, last_ms)
            };
            blocks.extend(segment.places(series).filter(may_have).map(|place| (Arc::clone(segment), place)));
        }
        Self { blocks, hidden, range }
    }

    pub(crate) const fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Of an attribute, in the order of the periods: those that lie in one of these.
    pub(crate) fn summaries(
        &self,
        attribute: AttributeId,
        periods: Periods<'_>,
    ) -> Result<Vec<PeriodSummary>, ReadError> {
        let [count, sum, min, max] = OF_ATTRIBUTE.map(|of| column_of(attribute, of));
        let wanted = [LAST_TIME, count, sum, min, max];
        let mut summaries = Vec::new();
        self.each(Wanted::Only(&wanted), |rows, row, last_ms| {
            let end_ms = periods.end_of(rows.times[row]);
            if last_ms < end_ms {
                let number = |column| rows.get(row, column).number().unwrap_or_default();
                let count = whole(rows.get(row, count)).cast_unsigned();
                // Nobody remembers whether they were integers: large ones lack digits.
                let figures = StoredFigures { count, sum: number(sum), min: number(min), max: number(max) };
                summaries.push((rows.times[row], end_ms, figures.of_integers()));
            }
        })?;
        summaries.sort_by_key(|(first_ms, ..)| *first_ms);
        Ok(summaries)
    }

    /// Between which times the rows were, or those with an attribute; none where there were none.
    pub(crate) fn times(&self, attribute: Option<AttributeId>) -> Result<Option<TimeRange>, ReadError> {
        let count = attribute.map_or(ROW_COUNT, |attribute| column_of(attribute, Of::Count));
        let mut all: Option<TimeRange> = None;
        self.each(Wanted::Only(&[LAST_TIME, count]), |rows, row, last_ms| {
            if whole(rows.get(row, count)) > 0 {
                let of = TimeRange { from_ms: rows.times[row], to_ms: last_ms };
                let known = all.unwrap_or(of);
                let (from_ms, to_ms) = (known.from_ms.min(of.from_ms), known.to_ms.max(of.to_ms));
                all = Some(TimeRange { from_ms, to_ms });
            }
        })?;
        Ok(all)
    }

    /// All of them, to be written into one segment.
    pub(crate) fn rows(&self) -> Result<Rows, ReadError> {
        let (mut parts, mut order): (Vec<Rows>, Vec<RowAt>) = (Vec::new(), Vec::new());
        for place in 0..self.blocks.len() {
            let rows = self.each_of_block(place, Wanted::All, |_, row, _| {
                order.push((place as u32, row as u32));
            })?;
            parts.push(rows);
        }
        Ok(Rows::merge(&parts.iter().collect::<Vec<_>>(), order, OnDuplicate::Append))
    }

    fn each(&self, wanted: Wanted<'_>, mut take: impl FnMut(&Rows, usize, TimeMs)) -> Result<(), ReadError> {
        for place in 0..self.blocks.len() {
            self.each_of_block(place, wanted, &mut take)?;
        }
        Ok(())
    }

    /// Calls `take` with what is seen of a block, and when the last of its rows was; gives the block.
    fn each_of_block(
        &self,
        place: usize,
        wanted: Wanted<'_>,
        mut take: impl FnMut(&Rows, usize, TimeMs),
    ) -> Result<Rows, ReadError> {
        let (segment, block) = &self.blocks[place];
        let rows = read_block(segment, *block, wanted, &mut Vec::new())?;
        for (row, first_ms) in rows.times.iter().enumerate() {
            let last_ms = whole(rows.get(row, LAST_TIME));
            if self.range.covers(*first_ms, last_ms)
                && !self.hidden.hides(segment.entry.last_number, *first_ms, last_ms)
            {
                take(&rows, row, last_ms);
            }
        }
        Ok(rows)
    }
}

fn whole(value: Value<'_>) -> i64 {
    if let Value::Integer(number) = value { number } else { 0 }
}

/// Between which times the rows were whose aggregates a block has; a little more where they are far from 1970.
fn span(segment: &Segment, place: usize) -> (TimeMs, TimeMs) {
    let block = segment.block(place);
    let last = block.figures(LAST_TIME).map_or(f64::MAX, |of| of.max);
    // A time as a double is up to 512 off; the conversion saturates.
    let last_ms = (last as TimeMs).saturating_add(512).max(block.last_ms);
    (block.first_ms, last_ms)
}

/// Whether at least half of the blocks of a segment of aggregates are hidden.
pub(crate) fn is_mostly_hidden(segment: &Segment, hidden_of: impl Fn(SeriesId) -> HiddenAggregates) -> bool {
    let is_hidden = |place: &usize| {
        let (first_ms, last_ms) = span(segment, *place);
        let hidden = hidden_of(segment.block(*place).series);
        hidden.hides_all(segment.entry.last_number, first_ms, last_ms)
    };
    let blocks = segment.blocks().len();
    2 * (0..blocks).filter(is_hidden).count() >= blocks
}

/// Puts what rows and aggregates say of periods together; both come in the order of time.
pub(crate) struct Periodic<'t> {
    aggregates: std::iter::Peekable<std::vec::IntoIter<PeriodSummary>>,
    /// The period that is gathered.
    open: Option<PeriodSummary>,
    take: &'t mut dyn FnMut(TimeMs, &Summary) -> bool,
}

impl<'t> Periodic<'t> {
    pub(crate) fn new(
        aggregates: Vec<PeriodSummary>,
        take: &'t mut dyn FnMut(TimeMs, &Summary) -> bool,
    ) -> Self {
        Self { aggregates: aggregates.into_iter().peekable(), open: None, take }
    }

    /// Adds what rows say; false where that is enough.
    pub(crate) fn add(&mut self, time_ms: TimeMs, end_ms: TimeMs, summary: &Summary) -> bool {
        while let Some(before) = self.aggregates.next_if(|(_, end, _)| *end <= end_ms) {
            if !self.put(before) {
                return false;
            }
        }
        self.put((time_ms, end_ms, *summary))
    }

    fn put(&mut self, new: PeriodSummary) -> bool {
        if let Some((_, end_ms, known)) = &mut self.open
            && *end_ms == new.1
        {
            known.add_all(&new.2);
            return true;
        }
        let gathered = self.open.replace(new);
        gathered.is_none_or(|(time_ms, _, summary)| (self.take)(time_ms, &summary))
    }

    /// No more rows come.
    pub(crate) fn finish(mut self) {
        while let Some(left) = self.aggregates.next() {
            if !self.put(left) {
                return;
            }
        }
        if let Some((time_ms, _, summary)) = self.open {
            (self.take)(time_ms, &summary);
        }
    }
}
