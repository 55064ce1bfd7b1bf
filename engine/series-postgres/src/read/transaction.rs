//! A transaction that sees nothing later, begun with the first statement.

use prony_series_database::{Database, Fault, Session};
use prony_series_store::ReadError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// How a transaction begins.
const BEGIN: &str = "begin isolation level repeatable read read only";

pub(crate) type Parameters<'p> = [&'p (dyn ToSql + Sync)];

/// A transaction, once it has begun.
#[derive(Debug)]
pub(crate) struct Transaction {
    database: Arc<Database>,
    reuses_connections: bool,
    session: Mutex<Option<Session>>,
}

impl Transaction {
    pub(crate) fn new(database: Arc<Database>, reuses_connections: bool) -> Arc<Self> {
        Arc::new(Self { database, reuses_connections, session: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a statement. Blocks.
    pub(crate) fn query(&self, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, ReadError> {
        let mut open = self.lock();
        let done = match open.take() {
            Some(session) => self.database.wait(async {
                let rows = run(&session, sql, parameters).await;
                Ok((session, rows))
            }),
            None => self.database.wait(self.first(sql, parameters)),
        };
        let rows = done.and_then(|(session, rows)| {
            if !session.is_closed() {
                *open = Some(session);
            }
            rows
        });
        match rows {
            // Somebody else has deleted the type: it has no rows. The transaction has failed with it, and others may be asked for next.
            Err(fault) if fault.is_stale() => {
                if let Some(session) = open.take() {
                    *open = self.database.wait(begin_again(session)).ok();
                }
                Ok(Vec::new())
            }
            Err(fault) => Err(fault.of_read(&self.database.description)),
            Ok(rows) => Ok(rows),
        }
    }

    /// Begins with a statement; again on another connection where that one had been closed meanwhile.
    async fn first(
        &self,
        sql: &str,
        parameters: &Parameters<'_>,
    ) -> Result<(Session, Result<Vec<Row>, Fault>), Fault> {
        let session = self.database.session().await?;
        match begin(&session, sql, parameters).await {
            Err(fault) if fault.is_gone() => {
                self.database.forget_idle();
                let session = self.database.connect().await?;
                let rows = begin(&session, sql, parameters).await;
                Ok((session, rows))
            }
            rows => Ok((session, rows)),
        }
    }
}

async fn begin(session: &Session, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Fault> {
    session.batch_execute(BEGIN).await?;
    run(session, sql, parameters).await
}

/// Another transaction in place of one that has failed.
async fn begin_again(session: Session) -> Result<Session, Fault> {
    session.batch_execute(&format!("rollback; {BEGIN}")).await?;
    Ok(session)
}

async fn run(session: &Session, sql: &str, parameters: &Parameters<'_>) -> Result<Vec<Row>, Fault> {
    let statement = session.statement(sql).await?;
    Ok(session.query(&statement, parameters).await?)
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(session) = self.lock().take() else { return };
        if !self.reuses_connections {
            return;
        }
        let database = Arc::clone(&self.database);
        self.database.spawn(async move {
            if session.batch_execute("rollback").await.is_ok() {
                database.give_back(session);
            }
        });
    }
}
