//! What responses and subscriptions of GraphQL share beside the series.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::events::Readers;
use crate::series::Series;

#[derive(Debug)]
pub(crate) struct ServedSeries {
    pub(super) series: Arc<Series>,
    /// Of what is written.
    pub(super) readers: Readers,
    /// For responses that are made on other threads: they compete with the cores for the processors.
    pub(super) places: Arc<Semaphore>,
}

impl ServedSeries {
    pub(crate) fn new(series: Arc<Series>) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let places = Arc::new(Semaphore::new(series.reads_at_a_time(processors)));
        Self { series, readers: Readers::default(), places }
    }

    /// Whether nobody reads what is written.
    #[cfg(test)]
    pub(crate) fn is_idle(&self) -> bool {
        self.readers.are_idle()
    }
}
