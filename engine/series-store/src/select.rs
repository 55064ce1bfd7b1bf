//! Which rows of several series are the first or the last of all by their times, without looking at most of them.

use crate::engine::SeriesRows;
use crate::error::ReadError;
use crate::ids::TimeMs;
use crate::page::Page;
use std::ops::Range;

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
