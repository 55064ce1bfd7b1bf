//! What programs name while a run goes: targets and requests that no plan lists beforehand, each under an index.

use crate::plan::target::Target;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Request names of their own in one result: each has histograms of its own. Requests with further names are counted
/// under [`OTHER_NAME`].
pub const NAMES_MAX: usize = 200;
/// The first of all names.
pub const OTHER_NAME: &str = "(other)";
/// Targets of one run; each user may keep a connection to each.
pub const TARGETS_MAX: usize = 1_000;

/// Grows only: an index once given stays. Shared by all threads of a run, which keep what they were told.
#[derive(Debug)]
pub struct Table<T> {
    inner: Mutex<Inner<T>>,
    max: usize,
}

#[derive(Debug)]
struct Inner<T> {
    indices: HashMap<Arc<T>, usize>,
    entries: Vec<Arc<T>>,
}

impl<T: Eq + Hash> Table<T> {
    pub fn new(max: usize) -> Self {
        Self { inner: Mutex::new(Inner { indices: HashMap::new(), entries: Vec::new() }), max }
    }

    /// The entry's index, the same each time; none where it is new and the table is full.
    pub fn index_of(&self, entry: T) -> Option<usize> {
        let mut inner = self.lock();
        if let Some(index) = inner.indices.get(&entry) {
            return Some(*index);
        }
        let index = inner.entries.len();
        if index >= self.max {
            return None;
        }
        let entry = Arc::new(entry);
        inner.entries.push(Arc::clone(&entry));
        inner.indices.insert(entry, index);
        Some(index)
    }

    pub fn get(&self, index: usize) -> Option<Arc<T>> {
        self.lock().entries.get(index).cloned()
    }

    /// All entries by index.
    pub fn all(&self) -> Vec<Arc<T>> {
        self.lock().entries.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        // Entries are only added, each in one step: a thread that panicked leaves nothing half done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The targets and request names of a run whose program finds them while it goes.
#[derive(Debug)]
pub struct Tables {
    pub targets: Table<Target>,
    /// [`OTHER_NAME`] has index 0.
    pub names: Table<String>,
}

impl Tables {
    /// The index under which a request is counted.
    pub fn name(&self, name: &str) -> usize {
        self.names.index_of(name.to_owned()).unwrap_or(0)
    }
}

impl Default for Tables {
    fn default() -> Self {
        let tables = Self { targets: Table::new(TARGETS_MAX), names: Table::new(NAMES_MAX) };
        tables.names.index_of(OTHER_NAME.to_owned());
        tables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_keeps_its_index_and_the_bound_holds() {
        let table = Table::new(2);
        assert_eq!(
            (table.index_of("a"), table.index_of("b"), table.index_of("a")),
            (Some(0), Some(1), Some(0))
        );
        assert_eq!((table.index_of("c"), table.index_of("b")), (None, Some(1)));
        assert_eq!((table.get(1).as_deref(), table.get(2)), (Some(&"b"), None));
    }

    #[test]
    fn names_beyond_the_bound_are_others() {
        let tables = Tables::default();
        let indices: Vec<_> =
            (0..NAMES_MAX + 3).map(|number| tables.name(&format!("request {number}"))).collect();
        assert_eq!(indices[..3], [1, 2, 3]);
        assert_eq!(indices[NAMES_MAX - 2..], [NAMES_MAX - 1, 0, 0, 0, 0]);
    }
}
