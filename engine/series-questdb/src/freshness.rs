//! What QuestDB has acknowledged and may not show yet: it applies its log to tables a little later, so a read of a table to which was written
//! waits until all that was acknowledged before is applied.

use crate::names::literal;
use prony_series_database::{Database, Fault, Session};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const FIRST_PAUSE: Duration = Duration::from_micros(500);
const LAST_PAUSE: Duration = Duration::from_millis(50);

/// Tables to which was written since they were last seen to be up to date.
#[derive(Debug, Default)]
pub(crate) struct Freshness {
    /// With a number that is another one after each write.
    written: Mutex<HashMap<String, u64>>,
}

impl Freshness {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called before whoever writes is told that it is done.
    pub(crate) fn note(&self, table: &str) {
        let mut written = self.lock();
        match written.get_mut(table) {
            Some(number) => *number += 1,
            None => drop(written.insert(table.to_owned(), 0)),
        }
    }

    fn is_seen(&self, table: &str, number: u64) {
        let mut written = self.lock();
        if written.get(table) == Some(&number) {
            written.remove(table);
        }
    }

    /// Waits until all is applied that was acknowledged when this is called.
    pub(crate) async fn wait(
        &self,
        session: &Session,
        table: &str,
        longest: Option<Duration>,
    ) -> Result<(), Fault> {
        let Some(number) = self.lock().get(table).copied() else { return Ok(()) };
        let sql = format!(
            "select \"sequencerTxn\", \"writerTxn\", suspended, \"errorMessage\" from wal_tables() where name = {}",
            literal(table)
        );
        let (begin, mut pause, mut wanted) = (Instant::now(), FIRST_PAUSE, None);
        loop {
            let rows = session.query_typed(&sql, &[]).await?;
            // A table that is not there has no rows to wait for.
            let Some(row) = rows.first() else { break };
            let (acknowledged, applied): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
            let wanted = *wanted.get_or_insert(acknowledged);
            if applied >= wanted {
                break;
            }
            if row.try_get(2)? {
                let why: Option<&str> = row.try_get(3)?;
                return Err(Fault::new(&format!(
                    "QuestDB has suspended the table {table} ({}); `ALTER TABLE {table} RESUME WAL` lets it go on",
                    why.unwrap_or_default()
                )));
            }
            if longest.is_some_and(|longest| begin.elapsed() >= longest) {
                return Err(Fault::gone(&format!(
                    "QuestDB has acknowledged rows of the table {table} that it has not applied after {} ms (transaction {wanted}, applied {applied}); see wal_tables()",
                    begin.elapsed().as_millis()
                )));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        self.is_seen(table, number);
        Ok(())
    }
}

/// Runs a statement that returns rows, on a connection that may turn out to be closed: then on another.
pub(crate) async fn query(
    database: &Database,
    freshness: &Freshness,
    (table, sql): (&str, &str),
    longest: Option<Duration>,
) -> Result<Vec<tokio_postgres::Row>, Fault> {
    let run = async |session: &Session| {
        freshness.wait(session, table, longest).await?;
        Ok::<_, Fault>(session.query_typed(sql, &[]).await?)
    };
    let mut session = database.session().await?;
    let mut rows = run(&session).await;
    if rows.as_ref().is_err_and(|fault| fault.is_gone() && session.is_closed()) {
        database.forget_idle();
        session = database.connect().await?;
        rows = run(&session).await;
    }
    database.give_back(session);
    rows
}
