//! Texts that patterns are searched for in while a graph is looked at: how much has been searched, and where a search must stop although
//! its text has not ended. What was being looked at is not known then, and neither is what is made of it.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use prony_source::{dialect::LikePattern, threads::yield_processor};

/// So much of one search is worth a look at the clock; what has searched less is asked with the next visit.
const BYTES_PER_LOOK: usize = 32 * 1024;

/// Where a search must stop.
#[derive(Debug)]
pub(crate) enum SearchBound {
    /// The patterns are those of a role, which the operator has written.
    Unbounded,
    /// So many bytes, of one [`take`](Searched::take) to the next.
    Bytes(usize),
    Until {
        deadline: Instant,
        cancelled: Arc<AtomicBool>,
    },
}

/// What was searched.
#[derive(Debug)]
pub(crate) struct Searched {
    bound: SearchBound,
    /// Of texts and lists, as a [`LikePattern`] and [`Condition::cost`](prony_graph_store::Condition::cost) count them.
    bytes: Cell<usize>,
    is_cut: Cell<bool>,
}

impl Searched {
    pub(crate) fn within(bound: SearchBound) -> Self {
        Self { bound, bytes: Cell::new(0), is_cut: Cell::new(false) }
    }

    /// Counts what does not stop.
    pub(crate) fn note(&self, bytes: usize) {
        self.bytes.set(self.bytes.get().saturating_add(bytes));
    }

    /// None where the search was cut.
    pub(crate) fn matches(&self, pattern: &LikePattern, text: &str) -> Option<bool> {
        if self.is_cut() {
            return None;
        }
        let found = pattern.matches_while(text, &mut |bytes| {
            self.note(bytes);
            !self.is_over(bytes)
        });
        self.is_cut.set(found.is_none());
        found
    }

    fn is_over(&self, bytes: usize) -> bool {
        match &self.bound {
            SearchBound::Unbounded => false,
            SearchBound::Bytes(most) => self.bytes.get() > *most,
            SearchBound::Until { deadline, cancelled } => {
                if bytes < BYTES_PER_LOOK {
                    return false;
                }
                yield_processor();
                cancelled.load(Relaxed) || Instant::now() >= *deadline
            }
        }
    }

    /// Whether a search had to stop: no answer may be made of what was found since.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// What was searched since this was asked last.
    pub(crate) fn take(&self) -> usize {
        self.bytes.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(bound: SearchBound, texts: &[usize]) -> (Vec<Option<bool>>, Searched) {
        let searched = Searched::within(bound);
        let pattern = LikePattern::new("%b%", false).expect("the pattern is short");
        let found = texts.iter().map(|length| searched.matches(&pattern, &"a".repeat(*length))).collect();
        (found, searched)
    }

    #[test]
    fn a_search_ends_in_its_text_and_nothing_is_searched_behind_it() {
        let (found, searched) = search(SearchBound::Bytes(100_000), &[50_000, 50_000, 1_000_000, 1]);
        assert_eq!(found, [Some(false), Some(false), None, None]);
        assert!(searched.is_cut());
        // Some tens of thousands beyond the bound, and not the whole text.
        assert!(searched.take() < 250_000);
        let (found, searched) = search(SearchBound::Unbounded, &[1_000_000]);
        assert_eq!((found, searched.is_cut(), searched.take()), (vec![Some(false)], false, 1_000_000));
    }

    #[test]
    fn a_search_ends_with_the_time_or_with_who_waits_for_it() {
        let until = |deadline, cancelled| SearchBound::Until {
            deadline,
            cancelled: Arc::new(AtomicBool::new(cancelled)),
        };
        let later = Instant::now() + std::time::Duration::from_secs(600);
        for (bound, expected) in [
            (until(later, false), Some(false)),
            (until(later, true), None),
            (until(Instant::now(), false), None),
        ] {
            let (found, searched) = search(bound, &[1_000_000]);
            assert_eq!((found, searched.is_cut()), (vec![expected], expected.is_none()));
        }
    }
}
