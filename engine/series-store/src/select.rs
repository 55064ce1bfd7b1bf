//! Which rows of several series are the first or the last of all by their times, without looking at most of them.

use crate::engine::SeriesRows;
use crate::error::ReadError;
use crate::ids::{TimeMs, TimeRange};
use crate::page::Page;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Rows of one series that are looked at to find out which others can have rows of a page. With fewer more series are taken for such.
const OUTERMOST: u64 = 64;

/// The rows of those series that can have rows of a page, by their places; none where looking for them saves nothing.
///
/// `bounds` has the times between which all rows of each series are, where it has any; `open` opens one.
pub(crate) fn candidates(
    bounds: &[Option<TimeRange>],
    page: Page,
    open: impl Fn(usize) -> SeriesRows,
) -> Result<Option<Vec<(usize, SeriesRows)>>, ReadError> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = page;
    let needed = usize::try_from(offset.saturating_add(limit)).unwrap_or(usize::MAX);
    if needed > bounds.len() / 2 {
        return Ok(None);
    }
    // The greater, the nearer to the end of time at which the page is.
    let nearness = |time: TimeMs| if matches!(page, Page::Last { .. }) { time } else { !time };
    let nearest = |of: &TimeRange| nearness(of.from_ms).max(nearness(of.to_ms));
    let places = bounds.iter().enumerate();
    let mut order: Vec<(TimeMs, usize)> =
        places.filter_map(|(place, of)| Some((nearest(of.as_ref()?), place))).collect();
    order.sort_unstable_by_key(|(nearness, _)| Reverse(*nearness));
    let mut found = Vec::new();
    // The nearest so far, as many as the page and what is before it need.
    let mut best = BinaryHeap::new();
    for (bound, place) in order {
        if best.len() >= needed && best.peek().is_none_or(|Reverse(last)| bound < *last) {
            break;
        }
        let mut rows = open(place);
        let count = rows.count()?;
        let outermost = match page {
            Page::First { .. } => 0..count.min(OUTERMOST),
            Page::Last { .. } => count.saturating_sub(OUTERMOST)..count,
        };
        rows.visit(outermost, &[], |part, range| {
            best.extend(part.times[range].iter().map(|time| Reverse(nearness(*time))));
            while best.len() > needed {
                best.pop();
            }
            true
        })?;
        found.push((place, rows));
    }
    // Rows of the same time are in the order of the series.
    found.sort_unstable_by_key(|(place, _)| *place);
    Ok(Some(found))
}

/// For each series, which of its rows are taken. Rows of the same time are in the order of the series.
pub(crate) fn select(series: &mut [SeriesRows], page: Page) -> Result<Vec<Range<u64>>, ReadError> {
    let counts = series.iter_mut().map(SeriesRows::count).collect::<Result<Vec<_>, _>>()?;
    let total: u64 = counts.iter().sum();
    let taken = match page {
        Page::First { offset, limit } => offset.min(total)..offset.saturating_add(limit).min(total),
        Page::Last { offset, limit } => {
            let end = total.saturating_sub(offset);
            end.saturating_sub(limit)..end
        }
    };
    let begins = split(series, &counts, total, taken.start)?;
    let ends = split(series, &counts, total, taken.end)?;
    Ok(begins.into_iter().zip(ends).map(|(begin, end)| begin..end).collect())
}

/// For each series, how many of its rows are among the first `place` of all.
fn split(series: &mut [SeriesRows], counts: &[u64], total: u64, place: u64) -> Result<Vec<u64>, ReadError> {
    if place == 0 {
        return Ok(vec![0; series.len()]);
    }
    if place == total {
        return Ok(counts.to_vec());
    }
    if series.len() == 1 {
        return Ok(vec![place]);
    }
    let (mut low, mut high) = (TimeMs::MAX, TimeMs::MIN);
    for rows in &mut *series {
        if let Some(of) = rows.bounds()? {
            (low, high) = (low.min(of.from_ms), high.max(of.to_ms));
        }
    }
    // The greatest moment before which there are not more.
    while low < high {
        let middle = low.midpoint(high).max(low.saturating_add(1));
        if before(series, middle)?.iter().sum::<u64>() <= place {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut taken = before(series, low)?;
    let mut left = place - taken.iter().sum::<u64>();
    for (rows, taken) in series.iter_mut().zip(&mut taken) {
        if left == 0 {
            break;
        }
        let up_to = match low.checked_add(1) {
            Some(next) => rows.count_before(next)?,
            None => rows.count()?,
        };
        let at_moment = up_to - *taken;
        let more = at_moment.min(left);
        *taken += more;
        left -= more;
    }
    Ok(taken)
}

fn before(series: &mut [SeriesRows], time_ms: TimeMs) -> Result<Vec<u64>, ReadError> {
    series.iter_mut().map(|rows| rows.count_before(time_ms)).collect()
}
