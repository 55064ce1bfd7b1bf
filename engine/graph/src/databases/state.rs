//! What `/health` and `/metrics` say of a database.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prony_graph_store::{Health, Side, durability_text};
use prony_source::{Metric, Sample};
use serde::Serialize;

use super::{Database, Databases, with_causes};

#[derive(Debug, Serialize)]
pub(crate) struct DatabaseState {
    pub(crate) name: String,
    pub(crate) durability: String,
    pub(crate) nodes: u64,
    pub(crate) relationships: u64,
    /// Of the log since the last snapshot.
    pub(crate) log_bytes: u64,
    /// Requests that wait until what they have read is durable.
    pub(crate) waiting_reads: usize,
    /// Requests whose writes are not durable yet.
    pub(crate) waiting_writes: usize,
    /// The last snapshot since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_snapshot: Option<SnapshotTaken>,
    /// Why the last snapshot could not be taken; the log grows meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) snapshot_failure: Option<Failure>,
    /// Why files could not be removed that a snapshot has made needless; the next one tries it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) removal_failure: Option<Failure>,
    /// What was found when the files were read the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_scrub: Option<ScrubDone>,
    /// Why the log cannot be written; writes are refused meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log_failure: Option<Failure>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SnapshotTaken {
    /// When it was whole, Unix time.
    pub(crate) at_seconds: f64,
    pub(crate) took_ms: u64,
    pub(crate) bytes: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct ScrubDone {
    /// When it was over, Unix time.
    pub(crate) at_seconds: f64,
    pub(crate) took_ms: u64,
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    /// What was damaged the last time that anything was, with file and byte.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) problems: Vec<String>,
    /// Whether the graph was written anew for that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) rewritten: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    /// With its causes.
    pub(crate) error: String,
    /// Unix time.
    pub(crate) at_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) in_a_row: Option<u64>,
    /// The next try is made when the log has this length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_at_log_bytes: Option<u64>,
}

impl Databases {
    pub(crate) fn states(&self) -> Vec<DatabaseState> {
        self.all().values().map(|database| DatabaseState::of(database)).collect()
    }
}

/// For `/metrics`.
pub(crate) fn metrics(databases: &Databases) -> Vec<Metric> {
    let states = databases.states();
    let each = |read: fn(&DatabaseState) -> f64| {
        states.iter().map(|of| Sample::labelled("graph", &of.name, read(of))).collect()
    };
    let snapshots = states
        .iter()
        .filter_map(|of| Some(Sample::labelled("graph", &of.name, of.last_snapshot.as_ref()?.at_seconds)));
    let scrubs = |read: fn(&ScrubDone) -> f64| {
        let scrubbed = states.iter().filter_map(|of| Some((of, of.last_scrub.as_ref()?)));
        scrubbed.map(|(of, scrub)| Sample::labelled("graph", &of.name, read(scrub))).collect()
    };
    vec![
        Metric::gauge(
            "prony_graph_scrub_time_seconds",
            "When the files were read the last time since the start, Unix time",
            scrubs(|scrub| scrub.at_seconds),
        ),
        Metric::gauge(
            "prony_graph_damaged_files",
            "Places of files that were found damaged, the last time since the start that any was",
            scrubs(|scrub| scrub.problems.len() as f64),
        ),
        Metric::gauge("prony_graph_nodes", "Nodes", each(|of| of.nodes as f64)),
        Metric::gauge("prony_graph_relationships", "Relationships", each(|of| of.relationships as f64)),
        Metric::gauge(
            "prony_graph_log_bytes",
            "Bytes of the log since the last snapshot",
            each(|of| of.log_bytes as f64),
        ),
        Metric::gauge(
            "prony_graph_waiting_writes",
            "Requests whose writes are not durable yet",
            each(|of| of.waiting_writes as f64),
        ),
        Metric::gauge(
            "prony_graph_waiting_reads",
            "Requests that wait until what they have read is durable",
            each(|of| of.waiting_reads as f64),
        ),
        Metric::gauge(
            "prony_graph_snapshot_time_seconds",
            "When the last snapshot since the start was whole, Unix time",
            snapshots.collect(),
        ),
    ]
}

impl DatabaseState {
    fn of(database: &Database) -> Self {
        let store = &database.store;
        let read = store.read();
        let Health { log_failure, snapshots, log_bytes } = store.health();
        Self {
            name: database.name.clone(),
            durability: durability_text(store.durability()),
            nodes: read.count(Side::Nodes, None),
            relationships: read.count(Side::Relationships, None),
            log_bytes,
            waiting_reads: database.waiting_reads(),
            waiting_writes: database.waiting_writes(),
            last_snapshot: snapshots.last.map(|(report, at, took)| SnapshotTaken {
                at_seconds: seconds(at),
                took_ms: took.as_millis() as u64,
                bytes: report.bytes,
            }),
            snapshot_failure: snapshots.failure.map(|failure| Failure {
                error: with_causes(&failure.error),
                at_seconds: seconds(failure.at),
                in_a_row: Some(failure.in_a_row),
                retry_at_log_bytes: failure.retry_at_log_bytes,
            }),
            removal_failure: snapshots.unremoved.map(|(error, at)| Failure {
                error: with_causes(&error),
                at_seconds: seconds(at),
                in_a_row: None,
                retry_at_log_bytes: None,
            }),
            last_scrub: database.scrubbed().map(|scrubbed| ScrubDone {
                at_seconds: seconds(scrubbed.at),
                took_ms: scrubbed.took.as_millis() as u64,
                frames: scrubbed.report.frames,
                bytes: scrubbed.report.bytes,
                problems: scrubbed.damage,
                rewritten: scrubbed.is_rewritten,
            }),
            log_failure: log_failure.map(|(error, at)| Failure {
                error: with_causes(&error),
                at_seconds: seconds(at),
                in_a_row: None,
                retry_at_log_bytes: None,
            }),
        }
    }
}

/// The log hears of a failure within this time; `/health` tells it at once.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What the log has been told of a database.
#[derive(Debug, Default)]
struct LoggedHealth {
    log_fails: bool,
    /// When the last snapshot failed.
    snapshot_failure: Option<SystemTime>,
    /// When needless files could not be removed.
    removal_failure: Option<SystemTime>,
}

/// Tells the log when a log or a snapshot cannot be written, and when it can be again; never returns.
pub(crate) async fn report_failures(databases: &Databases) {
    let mut told: HashMap<String, LoggedHealth> = HashMap::new();
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let all = Arc::clone(&databases.all());
        told.retain(|name, _| all.contains_key(name));
        for (name, database) in all.iter() {
            report(name, database.store.health(), told.entry(name.clone()).or_default());
        }
    }
}

fn report(database: &str, health: Health, told: &mut LoggedHealth) {
    let log_fails = health.log_failure.is_some();
    match health.log_failure {
        Some((error, _)) if !told.log_fails => {
            let error = with_causes(&error);
            tracing::error!(database, error, "the log cannot be written; writes are refused until it can");
        }
        None if told.log_fails => tracing::info!(database, "the log can be written again"),
        _ => {}
    }
    told.log_fails = log_fails;
    let failed_at = health.snapshots.failure.as_ref().map(|failure| failure.at);
    match health.snapshots.failure {
        Some(failure) if told.snapshot_failure != Some(failure.at) => {
            let (error, in_a_row) = (with_causes(&failure.error), failure.in_a_row);
            let log_bytes = health.log_bytes;
            tracing::error!(database, error, in_a_row, log_bytes, "no snapshot can be taken; the log grows");
        }
        None if told.snapshot_failure.is_some() => tracing::info!(database, "a snapshot was taken again"),
        _ => {}
    }
    told.snapshot_failure = failed_at;
    let failed_at = health.snapshots.unremoved.as_ref().map(|(_, at)| *at);
    if let Some((error, at)) = health.snapshots.unremoved
        && told.removal_failure != Some(at)
    {
        let error = with_causes(&error);
        tracing::warn!(
            database,
            error,
            "needless files could not be removed; the next snapshot tries it again"
        );
    }
    told.removal_failure = failed_at;
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
