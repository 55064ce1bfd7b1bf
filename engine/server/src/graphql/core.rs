//! One core's part of the engine: its sessions with the sources, what it serves from, and its counters.

use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    sync::Arc,
};

use futures_util::future::LocalBoxFuture;
use prony_graphql::{response::FieldResult, schema::SourceId, variables::Variables};
use prony_source::{PreparedField, SourceSession, trace::in_span};

use super::{
    execution::ExecutionContext as _,
    roles::{Asker, RoleSchemas},
    served::CoreServed,
    spans,
};
use crate::{clock::monotonic_ns, joins::RootFields, site::Site, subscriptions::Hub};

/// Lives on its core's thread.
#[derive(Debug)]
pub(crate) struct CoreEngine {
    pub(super) index: usize,
    /// Itself, for what outlives the request that begins it.
    this: Weak<Self>,
    pub(super) site: Arc<Site>,
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

impl CoreEngine {
    /// Opens this core's part of each source; call it on the core's thread, inside its `LocalSet`.
    pub(crate) fn attach(index: usize, site: Arc<Site>) -> Rc<Self> {
        let sessions = site.engine.sources().iter().map(|source| source.source.attach()).collect();
        let current = RefCell::new(CoreServed::new(site.engine.served()));
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
            *current = CoreServed::new(self.engine().served());
        }
        current.clone()
    }

    /// What is served now to who asks.
    pub(super) fn served_to(&self, asker: &Asker) -> CoreServed {
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
                let served = CoreServed::new(asker.roles.served(role, self.engine()));
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

impl RootFields for CoreEngine {
    fn root_field<'a>(
        &'a self,
        source: SourceId,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        let span = spans::of_source(&self.site, "join", source);
        let work = self.session(source).query(field, variables);
        Box::pin(async move {
            let begun_ns = monotonic_ns();
            let result = in_span(span, work, |span, result| spans::describe(span, [result])).await;
            self.metrics().source_took(usize::from(source.0), monotonic_ns().saturating_sub(begun_ns));
            result
        })
    }
}
