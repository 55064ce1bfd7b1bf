//! From a selection to the plan of a root field.

pub(crate) mod assignments;
mod condition;
pub(crate) mod filter;
mod grant;
pub(crate) mod lower;
pub(crate) mod lower_filter;
pub(crate) mod lower_mutation;
pub(crate) mod plan;
pub(crate) mod restrict;
pub(crate) mod rights;
pub(crate) mod row_access;
