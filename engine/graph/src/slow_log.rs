//! The log of what takes long on the databases of a graph, be it fields of GraphQL or calls over HTTP.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use prony_source::{
    ValueShape,
    slow_statements::{SlowStatement, threshold},
};

/// From when on something is slow, and of which graph it is.
#[derive(Debug)]
pub(crate) struct SlowLog {
    pub(crate) database: Box<str>,
    pub(crate) after: Duration,
}

impl SlowLog {
    pub(crate) fn new(directory: &Path, slow_statement_ms: u32) -> Self {
        Self { database: directory.display().to_string().into(), after: threshold(slow_statement_ms) }
    }

    /// Begins to measure, where somebody wants to know.
    pub(crate) fn begin(&self) -> Option<Instant> {
        (self.after < Duration::MAX).then(Instant::now)
    }

    /// Whether something that took so long is told.
    pub(crate) fn is_slow(&self, took: Duration) -> bool {
        took >= self.after
    }

    /// Tells what was asked, and what the values are like with which it was.
    pub(crate) fn report(&self, statement: &str, values: &[ValueShape], took: Duration) {
        SlowStatement { database: &self.database, statement, rows: None, took }.report(values);
    }
}
