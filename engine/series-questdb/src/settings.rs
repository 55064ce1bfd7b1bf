//! How series on QuestDB are served.

use prony_series_store::{OnDuplicate, Retention};
use std::fmt;
use std::time::Duration;

/// How series on QuestDB are served.
#[derive(Clone)]
pub struct QuestSettings {
    /// `questdb://USER:PASSWORD@HOST:PORT?http=HOST:PORT`.
    pub url: String,
    pub on_duplicate: OnDuplicate,
    /// How long rows of types are kept.
    pub retention: Vec<Retention>,
    /// Nothing of QuestDB is made, changed or let go; what writes rows is refused by the caller.
    pub is_read_only: bool,
    /// Reads that are made at a time, each on a connection of its own; there is one more for writes, and one for upkeep.
    pub connections: usize,
    /// The longest that a statement may take, and that acknowledged rows are waited for; there is no limit where it is zero.
    pub statement_timeout: Duration,
}

/// Without the address, which may have a password.
impl fmt::Debug for QuestSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuestSettings")
            .field("on_duplicate", &self.on_duplicate)
            .field("retention", &self.retention)
            .field("is_read_only", &self.is_read_only)
            .field("connections", &self.connections)
            .field("statement_timeout", &self.statement_timeout)
            .finish_non_exhaustive()
    }
}

impl QuestSettings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            on_duplicate: OnDuplicate::default(),
            retention: Vec::new(),
            is_read_only: false,
            connections: 8,
            statement_timeout: Duration::from_secs(30),
        }
    }
}
