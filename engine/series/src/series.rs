//! An open store with what is counted of it.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prony_series_store::{Engine, Inbox, Read, ReadError};

use crate::settings::SeriesSettings;

/// Attributes that are counted one by one whose values do not fit.
const COUNTED_ATTRIBUTES_MAX: usize = 10_000;

/// An attribute of a tenant's type.
type AttributeName = (String, String, String);

/// The series of a source.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) store: Arc<dyn Engine>,
    pub(crate) settings: SeriesSettings,
    /// Of each core that has written.
    inboxes: Mutex<Vec<Arc<Inbox>>>,
    misfits: Mutex<Misfits>,
}

#[derive(Debug, Default)]
struct Misfits {
    total: u64,
    by_attribute: HashMap<AttributeName, u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Series {
    pub(crate) fn new(store: Arc<dyn Engine>, settings: SeriesSettings) -> Self {
        Self { store, settings, inboxes: Mutex::default(), misfits: Mutex::default() }
    }

    /// The series as they are now, for a query that costs no more than `cost_max` as `cost` says; none where it is to be made by a thread
    /// that may take its time.
    pub(crate) fn read_at_once(
        &self,
        cost_max: usize,
        cost: impl FnOnce(&Read) -> usize,
    ) -> Result<Option<Read>, ReadError> {
        if self.store.waits() {
            return Ok(None);
        }
        let read = self.store.read()?;
        Ok((cost(&read) <= cost_max).then_some(read))
    }

    /// How many threads may read at a time, where `usual` is for engines whose reads do not wait.
    pub(crate) fn reads_at_a_time(&self, usual: usize) -> usize {
        self.store.capabilities().waiting_reads.unwrap_or(usual)
    }

    pub(crate) fn joined(&self, inbox: Arc<Inbox>) {
        lock(&self.inboxes).push(inbox);
    }

    /// Requests whose writes are not durable yet.
    pub(crate) fn waiting_writes(&self) -> usize {
        lock(&self.inboxes).iter().map(|inbox| inbox.waiting()).sum()
    }

    /// Values that became null because they did not fit, since the start.
    pub(crate) fn misfit_count(&self) -> u64 {
        lock(&self.misfits).total
    }

    /// Counts values of attributes (type, name) that did not fit; the log names each attribute once.
    pub(crate) fn note_misfits(&self, tenant: &str, attributes: &[(String, String)]) {
        if attributes.is_empty() {
            return;
        }
        let mut misfits = lock(&self.misfits);
        misfits.total += attributes.len() as u64;
        for (of, attribute) in attributes {
            let is_full = misfits.by_attribute.len() >= COUNTED_ATTRIBUTES_MAX;
            match misfits.by_attribute.entry((tenant.to_owned(), of.clone(), attribute.clone())) {
                Entry::Occupied(mut count) => *count.get_mut() += 1,
                Entry::Vacant(new) if !is_full => {
                    new.insert(1);
                    tracing::warn!(
                        tenant,
                        of,
                        attribute,
                        "a value does not fit the type that its attribute was first given, and is kept as null"
                    );
                }
                Entry::Vacant(_) => {}
            }
        }
    }
}

/// The error and what lies beneath it, in one line.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text.push_str(": ");
        text.push_str(&deeper.to_string());
        cause = deeper.source();
    }
    text
}

/// A count with what is counted, for people.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
