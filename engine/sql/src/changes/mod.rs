//! What changes in the tables of a source: one bounded [`Feed`] a source, shared by all cores, to which whoever commits
//! a change publishes it after the commit, and from which subscriptions and live queries read. Which changes there are
//! is found out by the databases' own crates (`capture.rs` of `sqlite`, `returning.rs` of `postgres`).
//!
//! ```text
//! let mut reader = source.changes().subscribe(&[members, meetups]);
//! loop {
//!     match reader.next().await {
//!         Ok(transaction) => transaction.changes.iter().filter(|change| change.table == members)…,
//!         Err(Lost::…) => /* anything may have changed: look again */,
//!     }
//! }
//! ```
//!
//! Where nobody reads, a mutation looks at one number and does nothing else for the feed.

pub(crate) mod asked;
mod columns;
pub mod contribution;
pub mod events;
mod feed;
pub mod names;
pub mod order;
pub mod plan;
mod table_states;

pub use crate::changes::{
    feed::{Feed, Interest, KEPT_BYTES, KEPT_TRANSACTIONS, Lost, Reader},
    table_states::Counted,
};

use std::sync::Arc;

use crate::model::{Model, TableId};

/// What has become of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Insert,
    Update,
    Delete,
}

/// The row changes of one transaction, in the order in which they were made. A very large transaction comes in
/// several of these, one behind the other.
#[derive(Debug)]
pub struct Transaction {
    /// Whose columns the values are of.
    pub model: Arc<Model>,
    pub changes: Box<[RowChange]>,
}

impl PartialEq for Transaction {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.model, &other.model) && self.changes == other.changes
    }
}

impl Transaction {
    /// Whether a row of one of the tables has changed.
    pub fn touches(&self, tables: &[TableId]) -> bool {
        self.changes.iter().any(|change| tables.contains(&change.table))
    }

    fn size_bytes(&self) -> usize {
        let values =
            |row: &RowValues| row.0.iter().map(|value| value.len() + size_of::<Box<str>>()).sum::<usize>();
        let one = |change: &RowChange| {
            size_of::<RowChange>()
                + change.row.as_ref().map_or(0, values)
                + change.previous_key.as_ref().map_or(0, values)
                + change.previous.as_ref().map_or(0, values)
        };
        size_of::<Self>() + self.changes.iter().map(one).sum::<usize>()
    }
}

/// One row that was inserted, changed or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowChange {
    pub table: TableId,
    pub operation: Operation,
    /// All served columns, by their ids: as the change left them, or as they were before a deletion. `None` where they
    /// cannot be known: then only the operation is.
    pub row: Option<RowValues>,
    /// The primary key before, in key order, where an update has changed it.
    pub previous_key: Option<RowValues>,
    /// All served columns before an update, where the database tells them.
    pub previous: Option<RowValues>,
}

/// Values as JSON texts, as responses hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowValues(pub Box<[Box<str>]>);
