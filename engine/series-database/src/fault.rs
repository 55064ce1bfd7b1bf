//! What can go wrong between here and the database.

use prony_series_store::{LogError, ReadError};
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::error::SqlState;

/// A database that cannot be asked for anything yet.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the address of the database cannot be read: {why}")]
    Address { why: String },
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

/// Why the database has not done something.
#[derive(Debug, Clone)]
pub struct Fault {
    pub why: Arc<str>,
    pub kind: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// It would do so again.
    Refused,
    /// It cannot be asked now; later it may be.
    Gone,
    DiskFull,
    /// There is no such table, column or entity: somebody else has deleted the type.
    Stale,
    /// A lock was not to be had in time.
    Locked,
}

impl Fault {
    pub fn new(why: &str) -> Self {
        Self { why: why.into(), kind: FaultKind::Refused }
    }

    /// What is known of names is to be looked up anew.
    pub fn stale(why: &str) -> Self {
        Self { why: why.into(), kind: FaultKind::Stale }
    }

    pub fn gone(why: &str) -> Self {
        Self { why: why.into(), kind: FaultKind::Gone }
    }

    pub fn late(limit: Duration) -> Self {
        Self::gone(&format!("there was no response in {} ms", limit.as_millis()))
    }

    pub fn is_gone(&self) -> bool {
        matches!(self.kind, FaultKind::Gone | FaultKind::DiskFull)
    }

    pub fn is_stale(&self) -> bool {
        self.kind == FaultKind::Stale
    }

    pub fn of_read(self, database: &Arc<str>) -> ReadError {
        let is_gone = self.is_gone();
        ReadError::Database { database: Arc::clone(database), why: self.why, is_gone }
    }

    pub fn of_write(self, database: &Arc<str>) -> LogError {
        let is_disk_full = self.kind == FaultKind::DiskFull;
        LogError::Database { database: Arc::clone(database), why: self.why, is_disk_full }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(told) = error.as_db_error() else {
            let mut why = error.to_string();
            let mut cause = error.source();
            while let Some(deeper) = cause {
                why = format!("{why}: {deeper}");
                cause = deeper.source();
            }
            // Of a value that cannot be sent the driver says so itself; then the connection is there still.
            let is_refused = why.contains("serializing parameter");
            return if is_refused { Self::new(&why) } else { Self::gone(&why) };
        };
        let code = told.code();
        let is_of_class = |class: &str| code.code().starts_with(class);
        let stale = [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_COLUMN, SqlState::INVALID_SCHEMA_NAME];
        let kind = match code {
            code if *code == SqlState::DISK_FULL => FaultKind::DiskFull,
            code if *code == SqlState::LOCK_NOT_AVAILABLE => FaultKind::Locked,
            code if stale.contains(code) => FaultKind::Stale,
            _ if ["08", "57P", "53"].into_iter().any(is_of_class) => FaultKind::Gone,
            _ => FaultKind::Refused,
        };
        Self { why: format!("{} ({})", told.message(), code.code()).into(), kind }
    }
}
