//! The `per-nest` and `bucket` resolver models, free of dialect: a root field becomes levels, each level is
//! fetched for all its parents at once, and the levels' rows are spliced into one value.
//!
//! [`plan`] cuts a root field into levels, [`rows`] is what a database answers for one level, [`resolve`]
//! fetches the levels and splices them. The two models are two schedules of it: `per-nest` fetches each level at once,
//! for `bucket` [`bucket`] merges the same level of concurrent operations. SQL and drivers are behind [`Fetch`].

mod bucket;
mod plan;
mod resolve;
mod rows;
mod splice;
#[cfg(test)]
mod tests;

pub use crate::levels::bucket::Gatherer;
pub use crate::levels::plan::{FieldLevels, Level, LevelSelect};
pub use crate::levels::resolve::{Fetch, resolve};
pub use crate::levels::rows::{Fetched, Key, KeyPart, LevelRows, MergeKey};
