//! The embedded store does what a list of rows would do: also while rows are sealed and put together, and when it is opened again or
//! goes on with a backup.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_store::engine_tests::{EngineUnderTest, aggregates, engines_are_lists_of_rows, retention};
use prony_series_store::integer_tests::integers_are_exact;
use prony_series_store::{Durability, Engine, OnDuplicate, Options, Store, TimeMs, backup, check};
use tempfile::TempDir;

struct Embedded {
    /// None while it is opened anew.
    store: Option<Store>,
    directory: TempDir,
    policy: OnDuplicate,
    /// Whether what is too old is removed, when that is asked for.
    removes: bool,
}

impl Embedded {
    fn new(policy: OnDuplicate, removes: bool) -> Self {
        let mut embedded = Self { store: None, directory: tempfile::tempdir().unwrap(), policy, removes };
        embedded.open();
        embedded
    }

    fn open(&mut self) {
        let on_duplicate = self.policy;
        let mut options = Options { on_duplicate, seal_at_log_bytes: None, ..Options::new(Durability::Off) };
        if self.removes {
            (options.retention, options.aggregates) = (retention(), aggregates());
        }
        self.store = Some(Store::open(self.directory.path(), options).unwrap());
    }

    fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }
}

impl EngineUnderTest for Embedded {
    fn engine(&self) -> &dyn Engine {
        self.store()
    }

    fn remove_old(&mut self, now_ms: TimeMs) -> bool {
        if self.removes {
            self.store().remove_old(now_ms).unwrap();
        }
        self.removes
    }

    fn upkeep(&mut self, which: u8) {
        match which % 5 {
            0 | 1 => self.store().seal().unwrap(),
            2 => self.store().compact().unwrap(),
            3 => {
                self.store = None;
                assert_eq!(check(self.directory.path()).unwrap().problems, Vec::<String>::new());
                self.open();
            }
            _ => {
                let copy = tempfile::tempdir().unwrap();
                let made = backup(self.directory.path(), copy.path()).unwrap();
                assert_eq!(made.report, check(copy.path()).unwrap());
                self.store = None;
                self.directory = copy;
                self.open();
            }
        }
    }
}

#[test]
fn a_store_is_a_list_of_rows() {
    engines_are_lists_of_rows(40, |policy| Embedded::new(policy, false));
}

#[test]
fn a_store_keeps_aggregates_of_what_is_removed() {
    engines_are_lists_of_rows(60, |policy| Embedded::new(policy, true));
}

#[test]
fn a_store_sums_integers_up_to_the_last_digit() {
    integers_are_exact(|policy| Embedded::new(policy, false));
}
