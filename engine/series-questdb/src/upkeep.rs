//! What is done beside reads and writes, on a thread of its own: months of rows go that are not kept, and whoever asks is told how QuestDB
//! fares.

use crate::names::literal;
use crate::read::kept_from;
use crate::shared::Shared;
use prony_series_database::{Condition, Fault, Session, quoted};
use prony_series_store::calendar::{DAY_MS, date_of_days, days_of_date};
use prony_series_store::{Retention, TimeMs};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// How often QuestDB is asked how it fares.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const ORDER_EVERY: Duration = Duration::from_secs(60);
/// How often rows are counted, about.
const COUNT_EVERY: Duration = Duration::from_secs(10);

/// What upkeep needs.
#[derive(Debug)]
pub(crate) struct Upkeep {
    pub(crate) shared: Arc<Shared>,
    pub(crate) retention: Arc<[Retention]>,
    pub(crate) condition: Arc<Condition>,
}

/// The begin of the month that a moment is in.
fn month_of(time_ms: TimeMs) -> TimeMs {
    let (year, month, _) = date_of_days(time_ms.div_euclid(DAY_MS));
    days_of_date((year, month, 1)) * DAY_MS
}

impl Upkeep {
    /// Until it is stopped.
    pub(crate) fn run(&self) {
        let (mut ordered, mut counted): (Option<Instant>, Option<Instant>) = (None, None);
        let is_due = |last: Option<Instant>, every: Duration| last.is_none_or(|at| at.elapsed() >= every);
        loop {
            let looked = self.look();
            self.condition.note_gone(looked.as_ref().err(), &self.shared.writes);
            if looked.is_ok() {
                if is_due(ordered, ORDER_EVERY) {
                    let done = self.put_in_order().err().map(|fault| (fault.why, SystemTime::now()));
                    *self.condition.failure.lock().unwrap_or_else(PoisonError::into_inner) = done;
                    ordered = Some(Instant::now());
                }
                if is_due(counted, COUNT_EVERY) {
                    // It is told again soon.
                    let _ = self.count();
                    counted = Some(Instant::now());
                }
            }
            if self.condition.pause(LOOK_EVERY) {
                return;
            }
        }
    }

    fn with_session<T>(&self, work: impl AsyncFnOnce(&Session) -> Result<T, Fault>) -> Result<T, Fault> {
        let database = &self.shared.database;
        database.wait(async {
            let session = database.session().await?;
            let done = work(&session).await;
            database.give_back(session);
            done
        })
    }

    /// Both ways to QuestDB are there.
    fn look(&self) -> Result<(), Fault> {
        self.with_session(async |session| Ok(session.batch_execute("select 1").await?))?;
        self.shared.sender.ping()
    }

    fn count(&self) -> Result<(), Fault> {
        let prefix = literal(&format!("{}_%", self.shared.registry.prefix));
        let names = literal(&self.shared.registry.table());
        let sql = format!(
            "select sum(table_row_count) from tables() where table_name like {prefix} and table_name <> {names}"
        );
        let rows = self.with_session(async |session| {
            let rows = session.query_typed(&sql, &[]).await?;
            Ok(rows.first().map(|row| row.try_get::<_, Option<i64>>(0)).transpose()?.flatten().unwrap_or(0))
        })?;
        self.condition.rows.store(rows.max(0).cast_unsigned(), Ordering::Relaxed);
        Ok(())
    }

    /// Lets months go of which no row is kept. All of it is tried; the first failure is told.
    pub(crate) fn put_in_order(&self) -> Result<(), Fault> {
        if self.retention.is_empty() {
            return Ok(());
        }
        let mut due: Vec<(String, TimeMs)> = Vec::new();
        self.shared.writes.names(&mut |catalog| {
            due.extend(catalog.served_tables().filter_map(|(_, table)| {
                let first = month_of(kept_from(&self.retention, &table.name)?);
                Some((self.shared.registry.table_of(&table.tenant, &table.name), first))
            }));
        });
        let mut failure = None;
        for (table, first_ms) in due {
            if let Err(fault) = self.drop_before(&table, first_ms) {
                failure.get_or_insert(fault);
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn drop_before(&self, table: &str, first_ms: TimeMs) -> Result<(), Fault> {
        let before = format!("cast({} as timestamp)", first_ms * 1000);
        let has = format!("select 1 from {} where time < {before} limit 1", quoted(table));
        let drop = format!("alter table {} drop partition where time < {before}", quoted(table));
        self.with_session(async |session| {
            if !session.query_typed(&has, &[]).await?.is_empty() {
                self.shared.freshness.note(table);
                session.batch_execute(&drop).await?;
            }
            Ok(())
        })
    }
}
