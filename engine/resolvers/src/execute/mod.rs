//! Planning and calling functions for a selection.

pub(crate) mod event_field;
pub(crate) mod expected_bytes;
pub(crate) mod guard;
pub(crate) mod guarded;
pub(crate) mod input;
pub(crate) mod plan;
pub(crate) mod planner;
pub(crate) mod rows;
pub(crate) mod run;
