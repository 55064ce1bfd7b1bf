//! Which of so many rows or periods are in a page.

use std::ops::Range;

use prony_series_store::Page;

/// All where there is no page.
pub(crate) fn paged(total: usize, page: Option<Page>) -> Range<usize> {
    match page {
        None => 0..total,
        Some(Page::First { offset, limit }) => {
            let from = offset.min(total as u64);
            from as usize..from.saturating_add(limit).min(total as u64) as usize
        }
        Some(Page::Last { offset, limit }) => {
            let to = (total as u64).saturating_sub(offset);
            to.saturating_sub(limit) as usize..to as usize
        }
    }
}
