//! Lines that are narrower than what they could say: the least important parts are left out.

use crate::text::columns;

/// Between two parts.
pub(crate) const GAP: usize = 2;

/// A part of a line.
pub(crate) trait Ranked {
    /// The higher, the earlier it is left out; 0 stays, and is cut off where even it is too wide.
    fn rank(&self) -> u8;

    fn columns(&self) -> usize;
}

/// Those that fit beside each other, in the order in which they were given.
pub(crate) fn fit<P: Ranked>(mut parts: Vec<P>, columns: usize) -> Vec<P> {
    loop {
        let last = parts.iter().map(Ranked::rank).max().unwrap_or(0);
        if width(&parts) <= columns || last == 0 {
            return parts;
        }
        parts.retain(|part| part.rank() < last);
    }
}

/// Of all parts with the gaps between them.
pub(crate) fn width<P: Ranked>(parts: &[P]) -> usize {
    parts.iter().map(Ranked::columns).sum::<usize>() + GAP * parts.len().saturating_sub(1)
}

impl Ranked for (u8, String) {
    fn rank(&self) -> u8 {
        self.0
    }

    fn columns(&self) -> usize {
        columns::width(&self.1)
    }
}
