//! Live queries and responses that are kept: what a root field depends on, and when that may have become another.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
};

use prony_series_store::TableId;
use tokio::sync::Notify;

use crate::graphql::plan::{Plan, Root};

/// What a response depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graphql) enum Dependencies {
    /// Everything.
    All,
    /// The entities of one type.
    Table(TableId),
}

impl Dependencies {
    fn concern(self, touched: &HashSet<TableId>) -> bool {
        match self {
            Self::All => !touched.is_empty(),
            Self::Table(table) => touched.contains(&table),
        }
    }
}

/// What the response of a query depends on; none for events.
pub(in crate::graphql) fn depends_on(plan: &Plan) -> Option<Dependencies> {
    match &plan.root {
        Root::Types(_) => Some(Dependencies::All),
        Root::Entities(entities) => Some(Dependencies::Table(entities.of.table)),
        Root::Rows(_) => None,
    }
}

/// One who waits to ask anew.
#[derive(Debug)]
pub(super) struct Watcher {
    pub(super) dependencies: Dependencies,
    /// Keeps one call for who is not waiting.
    pub(super) call: Notify,
}

impl Watcher {
    pub(super) fn tell(&self, touched: &HashSet<TableId>) {
        if self.dependencies.concern(touched) {
            self.call.notify_one();
        }
    }
}

/// Writes that responses with the same dependencies depend on.
#[derive(Debug)]
pub(super) struct CountedChanges {
    pub(super) dependencies: Dependencies,
    pub(super) count: AtomicU64,
}

impl CountedChanges {
    pub(super) fn note(&self, touched: &HashSet<TableId>) {
        if self.dependencies.concern(touched) {
            self.count.fetch_add(1, Ordering::Release);
        }
    }
}
