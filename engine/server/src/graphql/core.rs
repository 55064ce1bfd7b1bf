//! One core's part of the engine: its sessions with the sources, what it serves from, and its counters.

use std::{cell::RefCell, ops::Deref, rc::Rc, sync::Arc};

use prony_graphql::{response::FieldResult, schema::SourceId, variables::Variables};
use prony_source::{PreparedField, SourceSession};

use super::{engine::Engine, served::Served};
use crate::{config::Settings, http::Site, observe::CoreMetrics, subscriptions::Hub};

/// Lives on its core's thread.
#[derive(Debug)]
pub(crate) struct CoreEngine {
    index: usize,
    site: Arc<Site>,
    current: RefCell<CoreServed>,
    /// By `SourceId`.
    pub(crate) sessions: Vec<Rc<dyn SourceSession>>,
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

/// What the road of a request needs: a core's part of the engine, or the engine inside another program's server.
pub(crate) trait Lane {
    type Served: Deref<Target = Served>;

    fn site(&self) -> &Site;

    /// What is served now; a request asks once and uses that to its end.
    fn served(&self) -> Self::Served;

    fn metrics(&self) -> &CoreMetrics;

    fn query_source(
        &self,
        source: SourceId,
        root: &PreparedField,
        variables: &Variables,
    ) -> impl Future<Output = FieldResult>;

    /// All root fields of one source.
    fn query_all_of(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    fn mutate_source(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    fn settings(&self) -> &Settings {
        &self.site().settings
    }

    fn engine(&self) -> &Engine {
        &self.site().engine
    }
}

impl CoreEngine {
    /// Opens this core's part of each source; call it on the core's thread, inside its `LocalSet`.
    pub(crate) fn attach(index: usize, site: Arc<Site>) -> Self {
        let sessions = site.engine.sources().iter().map(|source| source.source.attach()).collect();
        let current = RefCell::new(CoreServed(Rc::new(site.engine.served())));
        let hub = Rc::new(Hub::new(site.metrics.core(index).slow_consumers()));
        Self { index, site, current, sessions, hub }
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

    /// The answer of a root field that does not wait.
    pub(crate) fn answer_at_once(
        &self,
        source: SourceId,
        root: &PreparedField,
        variables: &Variables,
    ) -> FieldResult {
        let answered = self.sessions[usize::from(source.0)].try_answer(root, variables);
        answered.expect("the caller has asked whether it waits")
    }
}

impl Lane for CoreEngine {
    type Served = CoreServed;

    fn site(&self) -> &Site {
        self.site()
    }

    fn served(&self) -> CoreServed {
        self.served()
    }

    fn metrics(&self) -> &CoreMetrics {
        self.metrics()
    }

    async fn query_source(
        &self,
        source: SourceId,
        root: &PreparedField,
        variables: &Variables,
    ) -> FieldResult {
        self.sessions[usize::from(source.0)].query(root, variables).await
    }

    async fn query_all_of(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.sessions[usize::from(source.0)].query_all(roots, variables).await
    }

    async fn mutate_source(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.sessions[usize::from(source.0)].mutate(roots, variables).await
    }
}

/// Subscriptions hold on to their core.
impl<L: Lane> Lane for Rc<L> {
    type Served = L::Served;

    fn site(&self) -> &Site {
        (**self).site()
    }

    fn served(&self) -> L::Served {
        (**self).served()
    }

    fn metrics(&self) -> &CoreMetrics {
        (**self).metrics()
    }

    async fn query_source(
        &self,
        source: SourceId,
        root: &PreparedField,
        variables: &Variables,
    ) -> FieldResult {
        (**self).query_source(source, root, variables).await
    }

    async fn query_all_of(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        (**self).query_all_of(source, roots, variables).await
    }

    async fn mutate_source(
        &self,
        source: SourceId,
        roots: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        (**self).mutate_source(source, roots, variables).await
    }
}
