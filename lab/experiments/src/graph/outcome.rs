//! All that a run of the experiment found, as it is written to `graph.json`.

use prony_model::Nanos;
use serde::Serialize;

use super::{rates::Rates, steps::StepRow, study::GraphPace};
use crate::{durability::Durability, frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct GraphOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub pace: GraphPace,
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
