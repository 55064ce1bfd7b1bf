//! The log of statements that took long: their text, what their values are like without the values, how many rows they gave, and
//! whose request they were for.

use std::{fmt::Display, time::Duration};

use prony_source::current_request;

/// What is said of one statement.
#[derive(Debug, Clone, Copy)]
pub struct SlowStatement<'a> {
    /// Where the database is, without its secrets.
    pub database: &'a str,
    pub sql: &'a str,
    pub rows: u64,
    pub took: Duration,
}

/// From when on statements are slow.
pub fn threshold(slow_statement_ms: u32) -> Duration {
    if slow_statement_ms == 0 { Duration::MAX } else { Duration::from_millis(slow_statement_ms.into()) }
}

impl SlowStatement<'_> {
    /// Writes it into the log. `values` says what the values are like.
    pub fn report(&self, values: impl Display) {
        let Self { database, sql, rows, took } = *self;
        let record = current_request();
        let request_id = record.as_ref().map(|record| &*record.id).filter(|id| !id.is_empty());
        let trace_id =
            record.as_ref().and_then(|record| record.trace.as_ref()).map(|trace| trace.id().to_string());
        let operation = record.as_ref().and_then(|record| record.operation.borrow().clone());
        let (operation, role) = operation.map_or((None, None), |known| (known.name, known.role));
        let duration_ms = (took.as_secs_f64() * 1e6).round() / 1e3;
        tracing::warn!(
            database,
            duration_ms,
            rows,
            request_id,
            trace_id,
            operation = operation.as_deref(),
            role = role.as_deref(),
            %values,
            statement = sql,
            "slow statement"
        );
    }
}
