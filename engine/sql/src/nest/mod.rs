//! The `per-nest` and `bucket` resolver models, free of dialect: a root field becomes levels, each level is
//! fetched for all its parents at once, and the levels' rows are spliced into one answer.
//!
//! [`plan`] cuts a root field into levels, [`rows`] is what a dialect answers for one level, [`resolve`]
//! fetches the levels and splices them, [`bucket`] merges the same level of concurrent operations. SQL and
//! drivers are the dialects' own: they implement [`Fetch`].

pub mod bucket;
pub mod plan;
pub mod resolve;
pub mod rows;
mod splice;
#[cfg(test)]
mod tests;
mod tree;

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use prony_graphql::{error::GraphqlError, variables::Variables};

pub use crate::nest::bucket::Gatherer;
pub use crate::nest::plan::{Child, ChildKind, Level, LevelOutput, LevelOutputKind, LevelSource, NestPlan};
pub use crate::nest::resolve::resolve;
pub use crate::nest::rows::{Key, KeyPart, LevelRows, RowError};
pub use crate::nest::splice::{response_too_large, write_empty_aggregate};
pub use crate::nest::tree::Limits;

/// Tells levels apart across operations: equal for two fetches exactly if they run the same statement with
/// the same parameters, the keys aside.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MergeKey(pub Box<[u8]>);

/// Fetches levels of one prepared root field on the core it lives on; cheap to clone.
pub trait Fetch: Clone + 'static {
    /// The rows of a level for these keys, which are distinct. The root level has one key without parts.
    ///
    /// Rows come in ascending order of their key's index and, for one key, in the level's order, with `limit`
    /// and `offset` applied for each key on its own.
    fn fetch(
        &self,
        level: usize,
        keys: Rc<[Key]>,
        variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>>;

    /// Which fetches of other operations a fetch of this level can share a statement with.
    ///
    /// # Errors
    /// What binding the level's parameters reports: a wrong value, a limit above the highest.
    fn merge_key(&self, level: usize, variables: &Variables) -> Result<MergeKey, GraphqlError>;
}
