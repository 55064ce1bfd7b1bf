//! One core's part of the engine: its handles on the sources and its counters.

use std::sync::Arc;

use prony_sources::relational::source::RelationalHandle;

use super::engine::Engine;
use crate::{config::Settings, http::Site, observe::CoreMetrics};

/// Lives on its core's thread.
#[derive(Debug)]
pub(crate) struct CoreEngine {
    index: usize,
    site: Arc<Site>,
    /// By `SourceId`.
    pub(crate) handles: Vec<RelationalHandle>,
}

impl CoreEngine {
    /// Opens this core's part of each source; call it on the core's thread, inside its `LocalSet`.
    pub(crate) fn attach(index: usize, site: Arc<Site>) -> Self {
        let handles = site.engine.sources.iter().map(|source| source.relational.attach()).collect();
        Self { index, site, handles }
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.site.settings
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.site.engine
    }

    pub(crate) fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(self.index)
    }
}
