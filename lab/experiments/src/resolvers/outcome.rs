//! All that a run of the experiment found, as it is written to `resolvers.json`.

use serde::Serialize;

use super::{
    control::ControlRun,
    memory::Profile,
    micro::MicroRow,
    study::{Part, ResolversPace},
    subscriptions::Heard,
    throughput::Throughput,
};
use crate::{frame::Head, processors::Assignment};

/// Counts up when a reader of older files would misread newer ones.
pub(super) const SCHEMA_VERSION: u32 = 1;

/// What was asked for and what came out.
#[derive(Debug, Clone, Serialize)]
pub struct ResolversOutcome {
    #[serde(flatten)]
    pub head: Head,
    pub pace: ResolversPace,
    pub seed: u64,
    pub parts: Vec<Part>,
    pub assignment: Assignment,
    /// Empty where they were not measured.
    pub micro: Vec<MicroRow>,
    /// In the order in which they were made.
    pub control: Vec<ControlRun>,
    pub throughput: Option<Throughput>,
    pub subscriptions: Vec<Heard>,
    pub memory: Vec<Profile>,
    /// Ended by the user: what is missing was not measured.
    pub stopped: bool,
}
