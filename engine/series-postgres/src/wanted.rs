//! Parts of tables that rows which were written could have.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Types and months of rows that were written.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    months: Mutex<BTreeSet<(i32, i32)>>,
}

impl Wanted {
    pub(crate) fn add(&self, months: Vec<(i32, i32)>) {
        if !months.is_empty() {
            self.months.lock().unwrap_or_else(PoisonError::into_inner).extend(months);
        }
    }

    pub(crate) fn all(&self) -> BTreeSet<(i32, i32)> {
        self.months.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
