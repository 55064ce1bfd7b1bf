//! Parts of tables that rows which were written could have.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Types and months of rows that were written.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    months: Mutex<BTreeSet<(i32, i32)>>,
    has_new: AtomicBool,
}

impl Wanted {
    pub(crate) fn add(&self, months: Vec<(i32, i32)>) {
        if !months.is_empty() {
            self.months.lock().unwrap_or_else(PoisonError::into_inner).extend(months);
            self.has_new.store(true, Ordering::Release);
        }
    }

    /// Whether there are some that were not there when this was asked before.
    pub(crate) fn take_new(&self) -> bool {
        self.has_new.swap(false, Ordering::AcqRel)
    }

    pub(crate) fn all(&self) -> BTreeSet<(i32, i32)> {
        self.months.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
