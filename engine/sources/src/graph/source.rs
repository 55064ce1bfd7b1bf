//! One graph behind the face that all sources have.

use std::sync::{Arc, Mutex, PoisonError};

use prony_graph_store::{Registration, Store};
use prony_graphql::{
    error::GraphqlError,
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};
use tokio::sync::{Notify, Semaphore};

use super::{
    answer::{Begin, answer, answer_all},
    contribution::contribution,
    events::{Readers, depends_on, events},
    lower::{RootIndex, lower},
    model::Model,
    mutate::mutate,
    plan::Plan,
};
use crate::{
    relational::settings::RelationalSettings,
    source::{Events, Taken},
};

pub use super::events::News;

/// Long answers at a time, for each processor: they compete with the cores for it.
const THREADS_PER_PROCESSOR: usize = 1;

/// An open graph: shared by all cores.
#[derive(Debug)]
pub struct GraphSource {
    store: Arc<Store>,
    /// Of limits and times; what else is in them is for databases.
    settings: RelationalSettings,
    /// What was offered last, and beside what.
    surface: Mutex<(Arc<GraphSurface>, Taken)>,
    /// Told of each batch of writes, some of which change types.
    written: Arc<Notify>,
    _registration: Registration,
    /// For answers that are made on other threads.
    places: Arc<Semaphore>,
    readers: Readers,
}

impl GraphSource {
    pub fn new(store: Arc<Store>, settings: RelationalSettings) -> Arc<Self> {
        let written = Arc::new(Notify::new());
        let for_log = Arc::clone(&written);
        let registration = store.watch(move |_| for_log.notify_one());
        let taken = Taken::default();
        let surface = GraphSurface::new(Model::new(store.read().schema(), &taken), &settings);
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            store,
            settings,
            surface: Mutex::new((Arc::new(surface), taken)),
            written,
            _registration: registration,
            places: Arc::new(Semaphore::new(processors * THREADS_PER_PROCESSOR)),
            readers: Readers::default(),
        })
    }

    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    pub(super) fn settings(&self) -> &RelationalSettings {
        &self.settings
    }

    /// Of changes.
    pub(super) fn readers(&self) -> &Readers {
        &self.readers
    }

    pub(super) fn places(&self) -> &Arc<Semaphore> {
        &self.places
    }

    /// What it offers now, beside what other sources have: its types give way to their names.
    pub fn surface(&self, taken: &Taken) -> Arc<GraphSurface> {
        let mut last = self.surface.lock().unwrap_or_else(PoisonError::into_inner);
        let (surface, beside) = &mut *last;
        let read = self.store.read();
        if beside != taken || !surface.model.is_of(read.schema()) {
            *surface = Arc::new(GraphSurface::new(Model::new(read.schema(), taken), &self.settings));
            beside.clone_from(taken);
        }
        Arc::clone(surface)
    }

    /// Returns when it offers something else than it did when it was last asked.
    pub async fn changed(&self) {
        while self.is_as_offered() {
            self.written.notified().await;
        }
    }

    fn is_as_offered(&self) -> bool {
        let last = self.surface.lock().unwrap_or_else(PoisonError::into_inner);
        last.0.model.is_of(self.store.read().schema())
    }

    /// Opens this core's part.
    pub fn attach(self: &Arc<Self>) -> GraphHandle {
        GraphHandle { source: Arc::clone(self) }
    }
}

/// What a graph offers at one moment.
#[derive(Debug)]
pub struct GraphSurface {
    model: Arc<Model>,
    roots: RootIndex,
    has_subscriptions: bool,
}

impl GraphSurface {
    fn new(model: Model, settings: &RelationalSettings) -> Self {
        let has_subscriptions = settings.subscriptions;
        Self { roots: RootIndex::new(&model), model: Arc::new(model), has_subscriptions }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn contribution(&self) -> Contribution {
        let mut contribution = contribution(&self.model);
        if !self.has_subscriptions {
            contribution.subscription.clear();
        }
        contribution
    }

    /// Plans one root field.
    pub fn plan(&self, kind: OperationKind, field: &Field) -> Result<PreparedRoot, GraphqlError> {
        lower(&self.model, &self.roots, kind, field).map(|plan| PreparedRoot(Arc::new(plan)))
    }
}

/// A root field with its plan, for the plan cache.
#[derive(Debug, Clone)]
pub struct PreparedRoot(Arc<Plan>);

impl PreparedRoot {
    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        self.0.weight_bytes()
    }
}

/// One core's part of a graph.
#[derive(Debug)]
pub struct GraphHandle {
    source: Arc<GraphSource>,
}

impl GraphHandle {
    /// Answers a root field. Dropping the future stops the work.
    pub async fn query(&self, root: &PreparedRoot, variables: &Variables) -> FieldResult {
        answer(&self.source, &root.0, variables, Begin::Root).await
    }

    /// Answers root fields from one look at the graph.
    pub async fn query_all(&self, roots: &[&PreparedRoot], variables: &Variables) -> Vec<FieldResult> {
        let plans: Vec<&Arc<Plan>> = roots.iter().map(|root| &root.0).collect();
        answer_all(&self.source, &plans, variables).await
    }

    /// Makes the changes of all root fields in one write, and answers when it is durable.
    pub async fn mutate(&self, roots: &[&PreparedRoot], variables: &Variables) -> Vec<FieldResult> {
        let plans: Vec<&Arc<Plan>> = roots.iter().map(|root| &root.0).collect();
        mutate(&self.source, &plans, variables).await
    }

    /// Of a live query: tells when its answer may have become another.
    pub fn news(&self, root: &PreparedRoot) -> Option<News> {
        let wanted = depends_on(&root.0)?;
        Some(self.source.readers.watch(&self.source.store, wanted))
    }

    /// Begins to hear events of the root field of a subscription.
    pub fn subscribe(&self, root: &PreparedRoot, variables: &Variables) -> Result<Events, GraphqlError> {
        events(&self.source, &root.0, variables)
    }
}
