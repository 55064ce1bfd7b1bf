//! Experiments: each re-runs one published performance study end to end, with the engine as a process of its
//! own, and prints its table beside the published one.

pub mod processors;
pub mod relational;
pub mod search;
pub mod usage;
