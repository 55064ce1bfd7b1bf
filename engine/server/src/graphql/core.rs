//! One core's part of the engine: its sessions with the sources, what it serves from, and its counters.

use std::{
    cell::RefCell,
    ops::Deref,
    rc::{Rc, Weak},
    sync::Arc,
};

use futures_util::future::LocalBoxFuture;
use prony_graphql::{response::FieldResult, schema::SourceId, selection::Field, variables::Variables};
use prony_source::{OperationResult, PreparedField, SourceSession};

use super::{
    context::RequestContext,
    control,
    engine::Engine,
    outcome::RequestError,
    pipeline::{Finished, Prepared},
    roles::{Asker, RoleSchemas},
    served::Served,
    stages::StageClock,
};
use crate::{
    config::Settings,
    joins::{self, JoinNode, RootFields},
    observe::CoreMetrics,
    site::Site,
    subscriptions::Hub,
};

/// Lives on its core's thread.
#[derive(Debug)]
pub(crate) struct CoreEngine {
    index: usize,
    /// Itself, for what outlives the request that begins it.
    this: Weak<Self>,
    site: Arc<Site>,
    current: RefCell<CoreServed>,
    of_roles: RefCell<RolesServed>,
    /// By `SourceId`.
    sessions: Vec<Rc<dyn SourceSession>>,
    pub(crate) hub: Rc<Hub>,
}

/// One core's hold on what roles are served.
#[derive(Debug, Default)]
struct RolesServed {
    /// Whose roles they are.
    roles: Option<Arc<RoleSchemas>>,
    /// By role.
    served: Vec<Option<CoreServed>>,
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

/// What the pipeline of a request needs: a core's part of the engine, or the engine inside another program's server.
pub(crate) trait ExecutionContext {
    type Served: Deref<Target = Served>;

    fn site(&self) -> &Site;

    /// What is served now to those who ask so; a request asks once and uses that to its end.
    fn served(&self, context: &RequestContext) -> Self::Served;

    fn metrics(&self) -> &CoreMetrics;

    /// Answers a root field that does not [wait](PreparedField::waits).
    fn answer(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult;

    fn query(
        &self,
        source: SourceId,
        field: &PreparedField,
        variables: &Variables,
    ) -> impl Future<Output = FieldResult>;

    /// All root fields of one source.
    fn query_all(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    fn mutate(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    /// An operation that its source executes as a whole.
    fn execute(
        &self,
        source: SourceId,
        operation: &PreparedField,
        variables: &Variables,
    ) -> impl Future<Output = OperationResult>;

    /// Completes the result of a root field with what is joined to it.
    fn join(
        &self,
        field: &Field,
        node: &JoinNode,
        variables: &Variables,
        result: &mut FieldResult,
    ) -> impl Future<Output = ()>;
    /// Executes an operation that has rules.
    fn finish_by_rules(
        &self,
        prepared: &Prepared<Self::Served>,
        clock: &mut StageClock,
    ) -> impl Future<Output = Result<Finished, RequestError>>;

    fn settings(&self) -> &Settings {
        &self.site().settings
    }

    fn engine(&self) -> &Engine {
        &self.site().engine
    }
}

/// Why [`ExecutionContext::answer`] has an answer.
pub(crate) const DOES_NOT_WAIT: &str = "a field that does not wait has its answer";

impl CoreEngine {
    /// Opens this core's part of each source; call it on the core's thread, inside its `LocalSet`.
    pub(crate) fn attach(index: usize, site: Arc<Site>) -> Rc<Self> {
        let sessions = site.engine.sources().iter().map(|source| source.source.attach()).collect();
        let current = RefCell::new(CoreServed(Rc::new(site.engine.served())));
        let hub = Rc::new(Hub::new(site.metrics.core(index).slow_consumers()));
        Rc::new_cyclic(|this| {
            let this = Weak::clone(this);
            Self { index, this, site, current, of_roles: RefCell::default(), sessions, hub }
        })
    }

    /// Itself, shared.
    pub(super) fn this(&self) -> Rc<Self> {
        self.this.upgrade().expect("a core is only ever shared")
    }

    /// What is served now, whoever asks: the health of sources and the console are the same for all.
    pub(crate) fn current(&self) -> CoreServed {
        let mut current = self.current.borrow_mut();
        if current.generation != self.engine().generation() {
            *current = CoreServed(Rc::new(self.engine().served()));
        }
        current.clone()
    }

    /// What is served now to who asks.
    fn served_to(&self, asker: &Asker) -> CoreServed {
        let role = asker.identity.role;
        if asker.roles.role(role).unrestricted {
            return self.current();
        }
        let mut of_roles = self.of_roles.borrow_mut();
        if !of_roles.roles.as_ref().is_some_and(|known| Arc::ptr_eq(known, &asker.roles)) {
            *of_roles = RolesServed { roles: Some(Arc::clone(&asker.roles)), served: Vec::new() };
        }
        if of_roles.served.len() <= role.index() {
            of_roles.served.resize(role.index() + 1, None);
        }
        let known = &mut of_roles.served[role.index()];
        match known {
            Some(served) if served.generation == self.engine().generation() => served.clone(),
            _ => {
                let served = CoreServed(Rc::new(asker.roles.served(role, self.engine())));
                known.insert(served).clone()
            }
        }
    }

    /// By [`SourceId`].
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &dyn SourceSession> {
        self.sessions.iter().map(|session| &**session)
    }

    pub(crate) fn session(&self, source: SourceId) -> &dyn SourceSession {
        &*self.sessions[usize::from(source.0)]
    }
}

impl ExecutionContext for CoreEngine {
    type Served = CoreServed;

    fn site(&self) -> &Site {
        &self.site
    }

    fn served(&self, context: &RequestContext) -> CoreServed {
        context.asker.as_ref().map_or_else(|| self.current(), |asker| self.served_to(asker))
    }

    fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(self.index)
    }

    fn answer(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.session(source).try_answer(field, variables).expect(DOES_NOT_WAIT)
    }

    async fn query(&self, source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.session(source).query(field, variables).await
    }

    async fn query_all(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.session(source).query_all(fields, variables).await
    }

    async fn mutate(
        &self,
        source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.session(source).mutate(fields, variables).await
    }

    async fn execute(
        &self,
        source: SourceId,
        operation: &PreparedField,
        variables: &Variables,
    ) -> OperationResult {
        self.session(source).execute(operation, variables).await
    }

    async fn join(&self, field: &Field, node: &JoinNode, variables: &Variables, result: &mut FieldResult) {
        joins::resolve(self, field, node, variables, result).await;
    }

    async fn finish_by_rules(
        &self,
        prepared: &Prepared,
        clock: &mut StageClock,
    ) -> Result<Finished, RequestError> {
        control::finish(self, prepared, clock).await
    }
}

impl RootFields for CoreEngine {
    fn root_field<'a>(
        &'a self,
        source: SourceId,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        self.session(source).query(field, variables)
    }
}
