//! What `/health` and `/metrics` say of a database.

use std::time::UNIX_EPOCH;

use prony_graph_store::Side;
use serde::Serialize;

use super::databases::{Database, Databases};
use crate::config::durability_text;

#[derive(Debug, Serialize)]
pub(crate) struct DatabaseState {
    pub(crate) name: String,
    pub(crate) durability: String,
    pub(crate) nodes: u64,
    pub(crate) relationships: u64,
    /// Of the log since the last snapshot.
    pub(crate) log_bytes: u64,
    /// Requests whose writes are not durable yet.
    pub(crate) waiting_writes: usize,
    /// The last snapshot since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_snapshot: Option<SnapshotTaken>,
    /// Why the last snapshot could not be taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot_failure: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SnapshotTaken {
    /// When it was whole, Unix time.
    pub(crate) at_seconds: f64,
    pub(crate) took_ms: u64,
    pub(crate) bytes: u64,
}

impl Databases {
    pub(crate) fn states(&self) -> Vec<DatabaseState> {
        self.all().values().map(|database| DatabaseState::of(database)).collect()
    }
}

impl DatabaseState {
    fn of(database: &Database) -> Self {
        let store = &database.store;
        let read = store.read();
        let snapshots = store.snapshots();
        Self {
            name: database.name.clone(),
            durability: durability_text(store.durability()),
            nodes: read.count(Side::Nodes, None),
            relationships: read.count(Side::Relationships, None),
            log_bytes: store.log_bytes(),
            waiting_writes: database.waiting_writes(),
            last_snapshot: snapshots.last.map(|(report, at, took)| SnapshotTaken {
                at_seconds: at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
                took_ms: took.as_millis() as u64,
                bytes: report.bytes,
            }),
            snapshot_failure: snapshots.failure.map(|failure| failure.error.to_string()),
        }
    }
}
