//! Series on PostgreSQL do what a list of rows would do, as every engine must: with each of its settings that changes how.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_postgres::{MetadataCache, PostgresEngine, PostgresSettings};
use prony_series_store::engine_tests::{EngineUnderTest, engines_are_lists_of_rows};
use prony_series_store::integer_tests::integers_are_exact;
use prony_series_store::{Engine, OnDuplicate};
use prony_testkit::postgres::TestDatabase;

struct OnPostgres {
    /// None while it is opened anew.
    engine: Option<PostgresEngine>,
    settings: PostgresSettings,
}

impl OnPostgres {
    fn new(on_duplicate: OnDuplicate, change: impl Fn(&mut PostgresSettings)) -> Self {
        let mut settings = PostgresSettings::new(TestDatabase::create().url());
        settings.on_duplicate = on_duplicate;
        change(&mut settings);
        let engine = Some(PostgresEngine::open(settings.clone()).unwrap());
        Self { engine, settings }
    }
}

impl EngineUnderTest for OnPostgres {
    fn engine(&self) -> &dyn Engine {
        self.engine.as_ref().unwrap()
    }

    fn upkeep(&mut self, which: u8) {
        if which.is_multiple_of(2) {
            self.engine.as_ref().unwrap().put_in_order().unwrap();
        } else {
            self.engine = None;
            self.engine = Some(PostgresEngine::open(self.settings.clone()).unwrap());
        }
    }
}

#[test]
fn series_on_postgres_are_lists_of_rows() {
    engines_are_lists_of_rows(6, |policy| OnPostgres::new(policy, |_| {}));
}

#[test]
fn so_they_are_without_what_can_be_switched_off() {
    engines_are_lists_of_rows(3, |policy| {
        OnPostgres::new(policy, |settings| {
            settings.has_partitions = false;
            settings.reuses_connections = false;
            settings.metadata_cache = MetadataCache::None;
        })
    });
}

#[test]
fn postgres_sums_integers_up_to_the_last_digit() {
    integers_are_exact(|policy| OnPostgres::new(policy, |_| {}));
}
