//! What programs write functions with: their arguments, contexts, values, errors and events.

pub(crate) mod answer;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod events;
pub(crate) mod function;
pub(crate) mod parent;
pub(crate) mod signature;
