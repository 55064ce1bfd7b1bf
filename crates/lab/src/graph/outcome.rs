//! All that a run of the experiment found, as it is written to `graph.json`.

use prony_load_model::{Nanos, result::Machine};
use serde::Serialize;

use super::{
    rates::Rates,
    steps::StepRow,
    study::{Durability, Pace},
};
use crate::processors::Assignment;

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    pub schema: &'static str,
    pub schema_version: u32,
    pub prony_version: &'static str,
    pub command_line: Vec<String>,
    /// `2026-11-21T02:03:04Z`.
    pub started_at: String,
    pub machine: Machine,
    pub pace: Pace,
    pub seed: u64,
    pub durabilities: Vec<Durability>,
    pub assignments: Vec<Assignment>,
    /// Median time of one `fdatasync` where the data was.
    #[serde(rename = "sync_cost_ns")]
    pub sync_cost: Option<Nanos>,
    /// By processors, durability and step.
    pub steps: Vec<StepRow>,
    /// By processors, with the first durability.
    pub rates: Vec<Rates>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}
