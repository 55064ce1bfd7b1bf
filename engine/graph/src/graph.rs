//! An open graph: what its sessions, answers, writes and subscriptions share.

use std::sync::Arc;

use prony_graph_store::Store;
use prony_source::CommonSettings;
use tokio::sync::Semaphore;

use crate::{events::Readers, execute::slow::SlowFields};

/// Long answers at a time, for each processor: they compete with the cores for it.
const THREADS_PER_PROCESSOR: usize = 1;

/// Shared by all cores and by what they do with it.
#[derive(Debug)]
pub(super) struct Graph {
    store: Arc<Store>,
    settings: CommonSettings,
    /// For answers that are made on other threads.
    places: Arc<Semaphore>,
    readers: Readers,
    slow_fields: SlowFields,
}

impl Graph {
    pub(super) fn new(store: Arc<Store>, settings: CommonSettings, slow_fields: SlowFields) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            store,
            settings,
            places: Arc::new(Semaphore::new(processors * THREADS_PER_PROCESSOR)),
            readers: Readers::default(),
            slow_fields,
        }
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn settings(&self) -> &CommonSettings {
        &self.settings
    }

    /// Of changes.
    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }

    pub(super) fn slow_fields(&self) -> &SlowFields {
        &self.slow_fields
    }

    pub(super) fn places(&self) -> &Arc<Semaphore> {
        &self.places
    }
}
