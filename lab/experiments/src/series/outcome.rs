//! All that a run of the experiment found, as it is written to `series.json`.

use prony_model::Nanos;
use serde::Serialize;

use super::{
    engines::{EngineSetting, SeriesEngine},
    ingest::Ingest,
    places::Servers,
    reads::ReadStep,
    study::{SeriesPace, SeriesPart},
    writes::{Restart, WriteStep},
};
use crate::{durability::Durability, frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 2;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct SeriesOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub pace: SeriesPace,
    pub seed: u64,
    pub parts: Vec<SeriesPart>,
    pub engines: Vec<SeriesEngine>,
    pub durabilities: Vec<Durability>,
    pub assignment: Assignment,
    /// What the disk takes for one sync.
    #[serde(rename = "sync_cost_ns")]
    pub sync_cost: Option<Nanos>,
    pub servers: Servers,
    /// In the order in which they were made; empty where they were not measured.
    pub writes: Vec<WriteStep>,
    /// Of the embedded engine that writes durably.
    pub restart: Option<Restart>,
    pub ingests: Vec<Ingest>,
    pub reads: Vec<ReadStep>,
    /// What the machine has not the servers for.
    pub not_measured: Vec<NotMeasured>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}

/// A row of a table that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotMeasured {
    pub part: SeriesPart,
    #[serde(flatten)]
    pub setting: EngineSetting,
    pub reason: String,
}
