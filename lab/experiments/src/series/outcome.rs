//! All that a run of the experiment found, as it is written to `series.json`.

use prony_model::Nanos;
use serde::Serialize;

use super::{
    ingest::Ingest,
    reads::ReadStep,
    study::{SeriesPace, SeriesPart},
    writes::{Restart, WriteStep},
};
use crate::{durability::Durability, frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub pace: SeriesPace,
    pub seed: u64,
    pub parts: Vec<SeriesPart>,
    pub durabilities: Vec<Durability>,
    pub assignment: Assignment,
    /// What the disk takes for one sync.
    #[serde(rename = "sync_cost_ns")]
    pub sync_cost: Option<Nanos>,
    /// In the order in which they were made; empty where they were not measured.
    pub writes: Vec<WriteStep>,
    /// Of the engine that writes durably.
    pub restart: Option<Restart>,
    pub ingest: Option<Ingest>,
    pub reads: Vec<ReadStep>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}
