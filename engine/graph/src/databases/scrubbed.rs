//! What is known of the files of a database since they were read again.

use std::time::{Duration, SystemTime};

use prony_graph_store::ScrubReport;

/// What the last reading of a database's files has found.
#[derive(Debug, Clone)]
pub(crate) struct Scrubbed {
    pub(crate) at: SystemTime,
    pub(crate) took: Duration,
    pub(crate) report: ScrubReport,
    /// What was damaged the last time that anything was, since the start: a disk that damages files is to be looked at, also where they were
    /// mended.
    pub(crate) damage: Vec<String>,
    /// Whether a snapshot was taken of what is in memory, after which what was damaged is needed no more.
    pub(crate) is_rewritten: bool,
}
