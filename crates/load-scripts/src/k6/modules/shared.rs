//! `SharedArray`: one copy of its elements for all users and threads, as JSON text; whoever reads one parses it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The elements of one array, each as JSON text.
pub type Elements = Arc<[Box<str>]>;

/// The arrays of a run by their names.
#[derive(Debug, Default)]
pub struct SharedArrays {
    by_name: Mutex<HashMap<Box<str>, Elements>>,
}

impl SharedArrays {
    pub fn get(&self, name: &str) -> Option<Elements> {
        self.by_name().get(name).cloned()
    }

    /// Keeps what the first script to arrive has made: those that made the same at the same time share it.
    pub fn keep(&self, name: &str, elements: Vec<Box<str>>) -> Elements {
        self.by_name().entry(name.into()).or_insert_with(|| elements.into()).clone()
    }

    fn by_name(&self) -> std::sync::MutexGuard<'_, HashMap<Box<str>, Elements>> {
        // A panic elsewhere leaves the map whole: entries are added in one step.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_arrive_is_kept() {
        let arrays = SharedArrays::default();
        assert_eq!(arrays.get("users"), None);
        let first = arrays.keep("users", vec!["1".into(), "2".into()]);
        let second = arrays.keep("users", vec!["3".into()]);
        assert!(Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&first, &arrays.get("users").expect("kept")));
        assert_eq!(arrays.get("others"), None);
    }
}
