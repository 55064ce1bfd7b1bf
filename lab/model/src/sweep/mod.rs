//! A sweep: every combination of numbers of users, message sizes and settings, each measured by a run of its own.
//!
//! What combinations there are and in which order, what their files are called, and the file that keeps account of them.

mod file;
mod space;

pub use file::{SCHEMA, SCHEMA_VERSION, SweepAsked, SweepFile, SweepStep, SweepStepState};
pub use space::{COMBINATIONS_MAX, Combination, PayloadSize, Setting, SpaceError, SweepSpace};

/// What settings of the target's command begin with.
pub const TARGET_PREFIX: &str = "target.";
/// Settings that have a column of their own in summaries: the target's heap, and how long what stands behind it waits.
pub const HEAP_SETTING: &str = "target.heap";
pub const DELAY_SETTING: &str = "target.delay";
