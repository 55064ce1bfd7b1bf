//! From the plan of a root field to statements, and the values that they are bound to.

pub(crate) mod bind;
pub(crate) mod compile;
pub(crate) mod dialect;
pub(crate) mod mutation;
pub(crate) mod pace;
pub(crate) mod program;
mod select;
