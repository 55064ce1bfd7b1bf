//! Series on QuestDB do what a list of rows would do, as every engine must.

#![allow(clippy::unwrap_used, reason = "helpers of tests stand outside of their functions")]

use prony_series_questdb::{QuestEngine, QuestSettings};
use prony_series_store::engine_tests::{EngineUnderTest, engines_are_lists_of_rows};
use prony_series_store::integer_tests::integers_are_exact;
use prony_series_store::{Engine, OnDuplicate, TimeRange};
use prony_testkit::QuestServer;

struct OnQuestDb {
    /// None while it is opened anew.
    engine: Option<QuestEngine>,
    settings: QuestSettings,
}

impl OnQuestDb {
    fn new(on_duplicate: OnDuplicate) -> Self {
        let mut settings = QuestSettings::new(QuestServer::shared().fresh_url());
        settings.on_duplicate = on_duplicate;
        let engine = Some(QuestEngine::open(settings.clone()).unwrap());
        Self { engine, settings }
    }
}

impl EngineUnderTest for OnQuestDb {
    fn engine(&self) -> &dyn Engine {
        self.engine.as_ref().unwrap()
    }

    /// No row of QuestDB is before 1970 or behind 9999.
    fn times(&self) -> TimeRange {
        TimeRange { from_ms: 0, to_ms: 253_402_300_799_999 }
    }

    fn upkeep(&mut self, which: u8) {
        if which.is_multiple_of(2) {
            self.engine.as_ref().unwrap().put_in_order().unwrap();
        } else {
            self.engine = None;
            self.engine = Some(QuestEngine::open(self.settings.clone()).unwrap());
        }
    }
}

#[test]
fn series_on_questdb_are_lists_of_rows() {
    engines_are_lists_of_rows(4, OnQuestDb::new);
}

#[test]
fn questdb_sums_integers_up_to_the_last_digit() {
    integers_are_exact(OnQuestDb::new);
}
