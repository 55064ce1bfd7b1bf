//! An open graph: what its sessions, answers, writes and subscriptions share.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use prony_graph_store::Store;
use prony_source::{CommonSettings, Metric, Sample};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{databases::Database, events::Readers, slow_log::SlowLog};

/// Long answers at a time, for each processor: they compete with the cores for it.
const THREADS_PER_PROCESSOR: usize = 1;

/// Shared by all cores and by what they do with it.
#[derive(Debug)]
pub(super) struct Graph {
    database: Arc<Database>,
    settings: CommonSettings,
    /// For answers that are made on other threads.
    places: Arc<Semaphore>,
    places_max: usize,
    /// Answers that wait for a place.
    waiting: AtomicUsize,
    readers: Readers,
    slow: Arc<SlowLog>,
}

/// Counts an answer as long as it waits.
struct WaitingAnswer<'g>(&'g AtomicUsize);

impl<'g> WaitingAnswer<'g> {
    fn begin(waiting: &'g AtomicUsize) -> Self {
        waiting.fetch_add(1, Relaxed);
        Self(waiting)
    }
}

impl Drop for WaitingAnswer<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

impl Graph {
    pub(super) fn new(database: Arc<Database>, settings: CommonSettings, slow: Arc<SlowLog>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let places_max = processors * THREADS_PER_PROCESSOR;
        Self {
            database,
            settings,
            places: Arc::new(Semaphore::new(places_max)),
            places_max,
            waiting: AtomicUsize::new(0),
            readers: Readers::default(),
            slow,
        }
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        &self.database
    }

    pub(super) fn store(&self) -> &Store {
        &self.database.store
    }

    pub(super) fn settings(&self) -> &CommonSettings {
        &self.settings
    }

    /// Of changes.
    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }

    /// The log of what takes long.
    pub(super) fn slow(&self) -> &SlowLog {
        &self.slow
    }

    /// Waits for a place, so long; none where that is not enough.
    pub(super) async fn place(&self, time: Duration) -> Option<OwnedSemaphorePermit> {
        let _counted = WaitingAnswer::begin(&self.waiting);
        tokio::time::timeout(time, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }

    /// For `/metrics`.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        let sample = |value: usize| vec![Sample::labelled("graph", &self.database.name, value as f64)];
        let busy = self.places_max.saturating_sub(self.places.available_permits());
        vec![
            Metric::gauge(
                "prony_graph_long_answers",
                "Answers of GraphQL that are made on threads of their own, since they would hold up a core",
                sample(busy),
            ),
            Metric::gauge(
                "prony_graph_long_answers_max",
                "Such answers that there may be at a time",
                sample(self.places_max),
            ),
            Metric::gauge(
                "prony_graph_long_answers_waiting",
                "Answers that wait to be made so",
                sample(self.waiting.load(Relaxed)),
            ),
        ]
    }
}
