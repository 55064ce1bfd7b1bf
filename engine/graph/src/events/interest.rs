//! What readers want to hear of one type, found by the thing that has changed: twenty thousand pages may each follow one
//! node, and the log's thread looks at those of this node alone.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use prony_graph_store::{Ref, Side};

use crate::events::{
    change::Seen,
    operation::Operations,
    queue::{Queue, QueuedEvent},
};
use crate::execute::thing::Thing;

/// What one reader wants to hear.
#[derive(Debug)]
pub(crate) struct Interest {
    pub(crate) side: Side,
    /// The type's name in the store: what is dropped and declared anew has another number.
    pub(crate) type_name: Arc<str>,
    pub(crate) operations: Operations,
    pub(crate) id: Option<Ref>,
    pub(crate) key: Option<Box<str>>,
}

impl Interest {
    fn is_in(&self, seen: &Seen<'_>) -> bool {
        self.operations.has(seen.operation)
            && self.id.is_none_or(|id| id == seen.at())
            && self.key.as_deref().is_none_or(|key| key_of(seen) == Some(key))
    }

    fn concerns(&self, event: &QueuedEvent) -> bool {
        match event {
            QueuedEvent::Changed(change) => self.is_in(&change.seen()),
            _ => true,
        }
    }
}

fn key_of<'e>(seen: &Seen<'e>) -> Option<&'e str> {
    match seen.thing {
        Thing::Node(node) => Some(node.key),
        Thing::Relationship(_) => None,
    }
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) interest: Interest,
    pub(super) queue: Queue,
}

impl Entry {
    fn push<'t>(&self, events: impl IntoIterator<Item = &'t QueuedEvent>) {
        self.queue.push(events.into_iter().filter(|event| self.interest.concerns(event)).cloned());
    }
}

/// All entries of one type.
#[derive(Debug, Default)]
pub(super) struct Entries {
    by_key: HashMap<Box<str>, Vec<Arc<Entry>>>,
    by_id: HashMap<Ref, Vec<Arc<Entry>>>,
    others: Vec<Arc<Entry>>,
}

impl Entries {
    pub(super) fn add(&mut self, entry: Arc<Entry>) {
        let Interest { key, id, .. } = &entry.interest;
        match (key, id) {
            (Some(key), _) => self.by_key.entry(key.clone()).or_default().push(entry),
            (None, Some(id)) => self.by_id.entry(*id).or_default().push(entry),
            (None, None) => self.others.push(entry),
        }
    }

    pub(super) fn remove(&mut self, entry: &Arc<Entry>) {
        let Interest { key, id, .. } = &entry.interest;
        match (key, id) {
            (Some(key), _) => remove_at(&mut self.by_key, key, entry),
            (None, Some(id)) => remove_at(&mut self.by_id, id, entry),
            (None, None) => self.others.retain(|other| !Arc::ptr_eq(other, entry)),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.others.is_empty() && self.by_key.is_empty() && self.by_id.is_empty()
    }

    pub(super) fn want(&self, seen: &Seen<'_>) -> bool {
        let by_key = key_of(seen).and_then(|key| self.by_key.get(key));
        let entries = [Some(&self.others), by_key, self.by_id.get(&seen.at())];
        entries.into_iter().flatten().flatten().any(|entry| entry.interest.is_in(seen))
    }

    /// Tells each what is for it, in this order, and wakes it once.
    pub(super) fn tell(&self, events: &[QueuedEvent]) {
        self.others.iter().for_each(|entry| entry.push(events));
        let mut of_key: HashMap<&str, Vec<&QueuedEvent>> = HashMap::new();
        let mut of_id: HashMap<Ref, Vec<&QueuedEvent>> = HashMap::new();
        for event in events {
            let QueuedEvent::Changed(change) = event else {
                // It is for everybody, and rare.
                let entries = self.by_key.values().chain(self.by_id.values()).flatten();
                return entries.for_each(|entry| entry.push(events));
            };
            let seen = change.seen();
            if let Some(key) = key_of(&seen).filter(|key| self.by_key.contains_key(*key)) {
                of_key.entry(key).or_default().push(event);
            }
            if self.by_id.contains_key(&seen.at()) {
                of_id.entry(seen.at()).or_default().push(event);
            }
        }
        for (key, events) in of_key {
            self.by_key[key].iter().for_each(|entry| entry.push(events.iter().copied()));
        }
        for (id, events) in of_id {
            self.by_id[&id].iter().for_each(|entry| entry.push(events.iter().copied()));
        }
    }
}

fn remove_at<K: Eq + Hash>(entries: &mut HashMap<K, Vec<Arc<Entry>>>, at: &K, entry: &Arc<Entry>) {
    if let Some(same) = entries.get_mut(at) {
        same.retain(|other| !Arc::ptr_eq(other, entry));
        if same.is_empty() {
            entries.remove(at);
        }
    }
}
