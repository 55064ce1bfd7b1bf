//! All that a run of the experiment found, as it is written to `gateway.json`.

use serde::Serialize;

use super::{
    layer_runs::LayerRun,
    steps::UserStep,
    study::{GatewayPace, GatewayPart},
};
use crate::{frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct GatewayOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub pace: GatewayPace,
    pub seed: u64,
    pub parts: Vec<GatewayPart>,
    pub assignment: Assignment,
    /// Empty where they were not measured.
    pub steps: Vec<UserStep>,
    /// In the order in which they were made.
    pub layers: Vec<LayerRun>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}
