//! From a selection to the plan of a root field.

pub(crate) mod filter;
pub(crate) mod lower;
pub(crate) mod lower_filter;
pub(crate) mod lower_mutation;
pub(crate) mod plan;
pub(crate) mod restrict;
