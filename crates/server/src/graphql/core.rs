//! One core's part of the engine: its handles on the sources, what it serves from, and its counters.

use std::{cell::RefCell, ops::Deref, rc::Rc, sync::Arc};

use prony_sources::source::Handle;

use super::{engine::Engine, served::Served};
use crate::{config::Settings, http::Site, observe::CoreMetrics, subscriptions::Hub};

/// Lives on its core's thread.
#[derive(Debug)]
pub(crate) struct CoreEngine {
    index: usize,
    site: Arc<Site>,
    current: RefCell<CoreServed>,
    /// By `SourceId`.
    pub(crate) handles: Vec<Handle>,
    pub(crate) hub: Rc<Hub>,
}

/// One core's hold on what is served: counted by the core alone, so that requests of different cores do not share a
/// counter.
#[derive(Debug, Clone)]
#[expect(
    clippy::redundant_allocation,
    reason = "the inner count is shared between cores, the outer one is not"
)]
pub(crate) struct CoreServed(Rc<Arc<Served>>);

impl Deref for CoreServed {
    type Target = Served;

    fn deref(&self) -> &Served {
        &self.0
    }
}

impl CoreEngine {
    /// Opens this core's part of each source; call it on the core's thread, inside its `LocalSet`.
    pub(crate) fn attach(index: usize, site: Arc<Site>) -> Self {
        let handles = site.engine.sources().iter().map(|source| source.source.attach()).collect();
        let current = RefCell::new(CoreServed(Rc::new(site.engine.served())));
        let hub = Rc::new(Hub::new(site.metrics.core(index).slow_consumers()));
        Self { index, site, current, handles, hub }
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

    /// What is served now; a request asks once and uses that to its end.
    pub(crate) fn served(&self) -> CoreServed {
        let mut current = self.current.borrow_mut();
        if current.generation != self.engine().generation() {
            *current = CoreServed(Rc::new(self.engine().served()));
        }
        current.clone()
    }

    pub(crate) fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(self.index)
    }
}
