//! Chains of backups: a whole copy of a graph, then increments with the frames that its log has taken since; and the graph as it was after
//! any of these frames, made of them.
//!
//! A chain is a directory with a manifest that names everything in it with lengths and checksums, and says which frames it has. It is written
//! last, and replaced at one stroke: what it does not name does not count.

mod error;
mod files;
mod manifest;
mod moment;
mod restore;
mod take;

pub use error::ChainError;
pub use manifest::{ChainLink, ChainLinkKind};
pub use moment::Moment;
pub use restore::{Restored, Until, restore};
pub use take::{Taken, take_backup};
