//! What commits, reads and upkeep share.

use crate::freshness::Freshness;
use crate::http::Sender;
use crate::registry::Registry;
use prony_series_database::{Database, Fault};
use prony_series_store::WritesElsewhere;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A QuestDB, and what is known of it.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) sender: Sender,
    pub(crate) registry: Registry,
    pub(crate) freshness: Freshness,
    pub(crate) writes: WritesElsewhere,
    /// The longest that a statement may take, and that acknowledged rows are waited for.
    pub(crate) longest: Option<Duration>,
    /// While names are read that QuestDB has: they are not written again.
    pub(crate) is_opening: AtomicBool,
}

impl Shared {
    /// Runs a statement that changes something, and is harmless where it is run again.
    pub(crate) fn execute(&self, sql: &str) -> Result<(), Fault> {
        let database = &self.database;
        database.wait(async {
            let mut session = database.session().await?;
            let mut done = session.batch_execute(sql).await.map_err(Fault::from);
            if done.as_ref().is_err_and(Fault::is_gone) {
                database.forget_idle();
                session = database.connect().await?;
                done = session.batch_execute(sql).await.map_err(Fault::from);
            }
            database.give_back(session);
            done
        })
    }
}
