//! Who wants which rows of a type. Those who name entities are found by the entity, so that many of them cost no more than one.

use std::{collections::HashMap, sync::Arc};

use prony_series_store::TableId;

use super::queue::Queue;
use crate::access::filter::BoundFilter;

/// Entities that one reader is found by; one with more is asked of each row.
const NAMED_MAX: usize = 1000;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) table: TableId,
    pub(super) filter: BoundFilter,
    pub(super) queue: Queue,
}

/// All entries of one type.
#[derive(Debug, Default)]
pub(super) struct Interested {
    by_id: HashMap<Box<str>, Vec<Arc<Entry>>>,
    others: Vec<Arc<Entry>>,
}

impl Entry {
    fn ids(&self) -> Option<Vec<&str>> {
        self.filter.ids().filter(|ids| ids.len() <= NAMED_MAX)
    }
}

impl Interested {
    pub(super) fn add(&mut self, entry: Arc<Entry>) {
        let Some(ids) = entry.ids() else { return self.others.push(entry) };
        for id in ids {
            self.by_id.entry(id.into()).or_default().push(Arc::clone(&entry));
        }
    }

    pub(super) fn remove(&mut self, entry: &Arc<Entry>) {
        let Some(ids) = entry.ids() else {
            return self.others.retain(|other| !Arc::ptr_eq(other, entry));
        };
        for id in ids {
            if let Some(same) = self.by_id.get_mut(id) {
                same.retain(|other| !Arc::ptr_eq(other, entry));
                if same.is_empty() {
                    self.by_id.remove(id);
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.others.is_empty() && self.by_id.is_empty()
    }

    /// Those who want rows of an entity.
    pub(super) fn wanting<'a>(&'a self, id: &'a str, path: &'a str) -> impl Iterator<Item = &'a Arc<Entry>> {
        let named = self.by_id.get(id).into_iter().flatten();
        named.chain(&self.others).filter(move |entry| entry.filter.passes(id, path))
    }

    /// Everyone; some may come several times.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.by_id.values().flatten().chain(&self.others)
    }
}
