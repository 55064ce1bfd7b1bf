//! Which instances are shown: all of the time that is asked for, or the last of each attribute; where that is too many, those up to a moment
//! that is not cut.

use std::{
    collections::{HashSet, VecDeque},
    ops::Range,
};

use prony_series_store::{AttributeId, ReadError, SeriesRows, TimeMs, TimeRange, Value};

use super::find::{EntityType, FoundEntity};
use crate::query::entity::{Chosen, EntityResult};

/// Rows at the end of a series that are looked at first.
const WINDOW_ROWS: u64 = 64;

/// The rows of an entity that are shown: for each series.
#[derive(Debug, Default)]
pub(super) struct ShownRows {
    pub(super) ranges: Vec<Range<u64>>,
    /// For each attribute where it begins in each series, if not with the range.
    pub(super) begins: Option<Vec<Vec<u64>>>,
}

/// What is shown of a page of entities.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) rows: Vec<ShownRows>,
    /// The times between which all is shown, where that is not everything.
    pub(super) cut: Option<TimeRange>,
}

/// An instance of an attribute: its time, the place of its series, its row.
pub(super) type InstanceAt = (TimeMs, usize, u64);

/// The last instances of an attribute, in the order of their times.
pub(super) fn last_instances(
    entity: &mut EntityResult,
    attribute: AttributeId,
    count: usize,
) -> Result<Vec<InstanceAt>, ReadError> {
    let mut last = Vec::new();
    for (place, (rows, _)) in entity.series.iter_mut().enumerate() {
        let end = rows.count()?;
        let mut window = WINDOW_ROWS.max(count as u64);
        loop {
            let from = end.saturating_sub(window);
            let found = last_within(rows, from..end, attribute, count)?;
            if found.len() == count || from == 0 {
                last.extend(found.into_iter().map(|(time, row)| (time, place, row)));
                break;
            }
            window = window.saturating_mul(4);
        }
    }
    last.sort_unstable();
    last.drain(..last.len().saturating_sub(count));
    Ok(last)
}

fn last_within(
    rows: &mut SeriesRows,
    range: Range<u64>,
    attribute: AttributeId,
    count: usize,
) -> Result<VecDeque<(TimeMs, u64)>, ReadError> {
    let (mut found, mut number) = (VecDeque::new(), range.start);
    rows.visit(range, &[attribute], |part, places| {
        for row in places {
            if part.get(row, attribute) != Value::Null {
                if found.len() == count {
                    found.pop_front();
                }
                found.push_back((part.times[row], number));
            }
            number += 1;
        }
        true
    })?;
    Ok(found)
}

/// At most so many rows of all entities, but never a part of those of one moment.
pub(super) fn choose(
    types: &[EntityType],
    entities: &mut [FoundEntity],
    last: Option<u64>,
    limit: u64,
) -> Result<Shown, ReadError> {
    let (mut shown, mut total) = (Vec::with_capacity(entities.len()), 0);
    for FoundEntity { type_place, entity } in &mut *entities {
        let mut rows = ShownRows { ranges: whole(entity), begins: None };
        if let Some(last) = last {
            let (mut begins, mut taken) = (Vec::new(), HashSet::new());
            for attribute in &types[*type_place].attributes {
                let instances = last_with_room(entity, attribute.id, last, limit)?;
                begins.push(first_rows(&rows.ranges, &instances));
                taken.extend(instances.into_iter().map(|(_, place, row)| (place, row)));
            }
            for (place, range) in rows.ranges.iter_mut().enumerate() {
                range.start = begins.iter().map(|of| of[place]).min().unwrap_or(range.end);
            }
            rows.begins = Some(begins);
            total += taken.len() as u64;
        } else {
            total += rows.ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        }
        shown.push(rows);
    }
    let cut = if total > limit { cut(entities, &mut shown, last.is_some(), limit)? } else { None };
    Ok(Shown { rows: shown, cut })
}

/// The last instances of an attribute: of more than there is room for one more, so that it shows that something is left out, and with it
/// all of its moment.
fn last_with_room(
    entity: &mut EntityResult,
    attribute: AttributeId,
    last: u64,
    limit: u64,
) -> Result<Vec<InstanceAt>, ReadError> {
    let count = last.min(limit.saturating_add(1));
    let instances = last_instances(entity, attribute, count as usize)?;
    let Some((first, ..)) = instances.first().filter(|_| last > count) else { return Ok(instances) };
    let mut at_moment = 0;
    for (rows, _) in &mut entity.series {
        at_moment += rows.count_before(first.saturating_add(1))? - rows.count_before(*first)?;
    }
    last_instances(entity, attribute, last.min(count + at_moment) as usize)
}

fn whole(entity: &EntityResult) -> Vec<Range<u64>> {
    let range = |chosen: &Chosen| match chosen {
        Chosen::Range(range) => range.clone(),
        Chosen::List(_) => 0..0,
    };
    entity.series.iter().map(|(_, chosen)| range(chosen)).collect()
}

/// In each series the row of the first of these instances; its end where none is in it.
fn first_rows(ranges: &[Range<u64>], instances: &[InstanceAt]) -> Vec<u64> {
    let mut first: Vec<u64> = ranges.iter().map(|range| range.end).collect();
    for (_, place, row) in instances {
        first[*place] = first[*place].min(*row);
    }
    first
}

/// Leaves the first rows of all, or the last where the last are asked for. Gives the times of those that are left.
fn cut(
    entities: &mut [FoundEntity],
    shown: &mut [ShownRows],
    from_end: bool,
    limit: u64,
) -> Result<Option<TimeRange>, ReadError> {
    let mut series: Vec<(&mut SeriesRows, &mut Range<u64>)> = Vec::new();
    for (found, shown) in entities.iter_mut().zip(&mut *shown) {
        let rows = found.entity.series.iter_mut().map(|(rows, _)| rows);
        series.extend(rows.zip(&mut shown.ranges));
    }
    let mut bounds = None;
    for (rows, _) in &mut series {
        bounds = bounds.into_iter().chain(rows.bounds()?).reduce(both);
    }
    let Some(TimeRange { from_ms: mut low, to_ms: high }) = bounds else { return Ok(None) };
    // The last moment before which there are no more than the limit, or the first from which on there are no more.
    let mut high = high.saturating_add(1);
    while low < high {
        let half = low.saturating_add_unsigned(low.abs_diff(high) / 2);
        let middle = if from_end { half } else { half.max(low + 1) };
        match (from_end, left(&mut series, middle, from_end)? <= limit) {
            (true, true) => high = middle,
            (true, false) => low = middle + 1,
            (false, true) => low = middle,
            (false, false) => high = middle - 1,
        }
    }
    if left(&mut series, low, from_end)? == 0 {
        low = if from_end { low - 1 } else { low.saturating_add(1) };
    }
    let mut times: Option<TimeRange> = None;
    for (rows, range) in &mut series {
        let before = rows.count_before(low)?;
        if from_end {
            range.start = range.start.max(before).min(range.end);
        } else {
            range.end = range.end.min(before);
        }
        for row in [range.start, range.end.saturating_sub(1)] {
            if range.contains(&row) {
                rows.visit(row..row + 1, &[], |part, mut places| {
                    let time = places.next().map(|place| part.times[place]);
                    let of = time.map(|time| TimeRange { from_ms: time, to_ms: time });
                    times = times.into_iter().chain(of).reduce(both);
                    true
                })?;
            }
        }
    }
    for shown in shown {
        let ShownRows { ranges, begins: Some(begins) } = shown else { continue };
        for (place, range) in ranges.iter().enumerate() {
            for of in &mut *begins {
                of[place] = of[place].max(range.start);
            }
        }
    }
    Ok(times)
}

fn both(one: TimeRange, other: TimeRange) -> TimeRange {
    TimeRange { from_ms: one.from_ms.min(other.from_ms), to_ms: one.to_ms.max(other.to_ms) }
}

/// How many rows are left before a moment, or from it on.
fn left(
    series: &mut [(&mut SeriesRows, &mut Range<u64>)],
    time_ms: TimeMs,
    from_end: bool,
) -> Result<u64, ReadError> {
    let mut count = 0;
    for (rows, range) in series {
        let before = rows.count_before(time_ms)?;
        count += if from_end {
            range.end.saturating_sub(range.start.max(before))
        } else {
            range.end.min(before).saturating_sub(range.start)
        };
    }
    Ok(count)
}
