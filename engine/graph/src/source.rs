//! One graph as a source.

use std::{
    path::PathBuf,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use arc_swap::ArcSwap;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use prony_graph_store::{Read, ReadFence, Registration, Schema};
use prony_graphql::{
    error::GraphqlError,
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::{
    ChangeSignal, CommonSettings, DataVersion, Events, FieldPlan, FieldRequest, Metric, NotReady,
    PreparedField, ReservedNames, Source, SourceSchema, SourceSession,
    http_api::{ApiConnection, ApiLimits, HttpApi},
};
use prony_source::{
    interceptors::{RowAccess, RowQuery},
    permissions::{PermissionFault, Permissions},
};
use serde_json::Value;
use tokio::sync::Notify;

use crate::databases::{Databases, scrub, settle, state};
use crate::{
    events::{depends_on, events},
    execute::{
        answer::{Begin, answer, answer_all},
        mutate::mutate,
        slow,
    },
    graph::Graph,
    http_api::{GraphApi, GraphConnection, RoleAccess, RunScripts, ScriptSettings, Scripts},
    planning::{
        lower::{RootIndex, lower},
        plan::Plan,
        restrict::Restrictions,
        row_access::{row_access, row_query},
    },
    schema::{contribution::contribution, grants::Grants, model::Model},
};

/// A served graph.
#[derive(Debug)]
pub struct GraphSource {
    /// None where scripts are off. First, so that they have ended before the databases are closed.
    scripts: Option<Arc<dyn RunScripts>>,
    /// The default one.
    graph: Arc<Graph>,
    databases: Arc<Databases>,
    has_http: bool,
    /// The types of which what is offered is made: the last ones that may be told.
    types: ArcSwap<Schema>,
    /// What was offered last, and beside what.
    offered: Mutex<(Arc<GraphSchema>, ReservedNames)>,
    /// Told of each batch of writes, some of which change types.
    written: Arc<Notify>,
    _registration: Registration,
}

impl GraphSource {
    /// GraphQL serves the default database; the others have calls alone.
    pub fn new(databases: Arc<Databases>, settings: CommonSettings) -> Self {
        let database = Arc::clone(databases.default());
        let written = Arc::new(Notify::new());
        let for_log = Arc::clone(&written);
        let registration = database.store.watch(move |_| for_log.notify_one());
        let slow = Arc::clone(&databases.slow);
        let taken = ReservedNames::default();
        let types = database.store.read().shared_schema();
        let schema = GraphSchema::new(Model::new(&types, &taken), &settings);
        Self {
            scripts: None,
            graph: Arc::new(Graph::new(database, settings, slow)),
            databases,
            has_http: true,
            types: ArcSwap::new(types),
            offered: Mutex::new((Arc::new(schema), taken)),
            written,
            _registration: registration,
        }
    }

    /// Without its calls over HTTP.
    #[must_use]
    pub fn without_http(self) -> Self {
        Self { has_http: false, ..self }
    }

    /// With scripts, each of which may have so much memory.
    #[must_use]
    pub fn with_scripts(self, max_memory_bytes: usize) -> Self {
        let max_response_bytes = self.graph.settings().max_response_bytes;
        let scripts = Scripts::new(ScriptSettings { max_memory_bytes, max_response_bytes });
        Self { scripts: Some(Arc::new(scripts)), ..self }
    }

    fn is_as_offered(&self, types: &Schema) -> bool {
        let last = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        last.0.model.is_of(types)
    }

    /// The types that there are, with what they wait for.
    fn newest_types(&self) -> (Arc<Schema>, Option<ReadFence>) {
        settle::look(self.graph.database(), Read::shared_schema)
    }

    /// Whether types may be told; none while that is not known.
    fn may_be_told(&self, fence: Option<ReadFence>) -> Option<bool> {
        let Some(fence) = fence else { return Some(true) };
        self.graph.store().outcome(fence).map(|outcome| outcome.is_ok())
    }

    /// The types that may be told: those that there are, where none waits for the log.
    fn types(&self) -> Arc<Schema> {
        let (newest, fence) = self.newest_types();
        if self.may_be_told(fence) == Some(true) {
            self.types.store(newest);
        }
        self.types.load_full()
    }

    #[cfg(test)]
    pub(super) fn graph(&self) -> &Graph {
        &self.graph
    }

    #[cfg(test)]
    pub(super) fn readers(&self) -> &crate::events::Readers {
        self.graph.readers()
    }
}

impl Source for GraphSource {
    fn product(&self) -> &'static str {
        "graph"
    }

    fn yields_names(&self) -> bool {
        true
    }

    fn schema(&self, reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        let types = self.types();
        let mut last = self.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, beside) = &mut *last;
        if beside != reserved || !schema.model.is_of(&types) {
            *schema = Arc::new(GraphSchema::new(Model::new(&types, reserved), self.graph.settings()));
            beside.clone_from(reserved);
        }
        Arc::<GraphSchema>::clone(schema)
    }

    fn schema_for(
        &self,
        reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        let model = Model::new(&self.types(), reserved);
        let restrictions = Restrictions::new(&model, permissions)?;
        let mut schema = GraphSchema::new(model, self.graph.settings());
        schema.restricted = Some(Restricted {
            scripts: self.scripts.clone(),
            restrictions: Arc::new(restrictions),
            databases: Arc::clone(&self.databases),
        });
        Ok(Arc::new(schema))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut untold = None;
            loop {
                let (types, fence) = untold.take().unwrap_or_else(|| self.newest_types());
                if self.is_as_offered(&types) {
                    self.written.notified().await;
                    continue;
                }
                match self.may_be_told(fence) {
                    Some(true) => {
                        self.types.store(types);
                        return;
                    }
                    // They were taken back.
                    Some(false) => {}
                    None => {
                        untold = Some((types, fence));
                        self.written.notified().await;
                    }
                }
            }
        })
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        Rc::new(GraphSession { graph: Arc::clone(&self.graph), databases: Arc::clone(&self.databases) })
    }

    fn metrics(&self, _name: &str) -> Vec<Metric> {
        let mut metrics = state::metrics(&self.databases);
        metrics.extend(self.graph.metrics());
        metrics
    }

    fn health_details(&self) -> Option<(&'static str, Value)> {
        let states = serde_json::to_value(self.databases.states()).expect("plain texts and numbers are JSON");
        Some(("graphs", states))
    }

    fn written_directory(&self) -> Option<PathBuf> {
        (!self.graph.settings().read_only).then(|| self.databases.directory().to_owned())
    }

    fn http_api(&self) -> Option<Arc<dyn HttpApi>> {
        let read_only = self.graph.settings().read_only;
        self.has_http.then(|| {
            let (databases, scripts) = (Arc::clone(&self.databases), self.scripts.clone());
            Arc::new(GraphApi::new(databases, read_only, scripts)) as Arc<dyn HttpApi>
        })
    }

    fn warning(&self) -> Option<&'static str> {
        let all = Arc::clone(&self.databases.all());
        let mut damaged = all.values().filter_map(|database| database.scrubbed());
        damaged.any(|found| !found.damage.is_empty()).then_some("files_damaged")
    }

    /// Tells the log of failures, and looks for damage.
    fn run(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let scrubbing = scrub::run(&self.databases, self.databases.scrub_every);
            futures_util::future::join(state::report_failures(&self.databases), scrubbing).await;
        })
    }
}

/// What a graph offers at one moment.
#[derive(Debug)]
pub(super) struct GraphSchema {
    model: Arc<Model>,
    roots: RootIndex,
    has_subscriptions: bool,
    has_mutations: bool,
    /// Of the source, whatever a role may.
    max_limit: u32,
    restricted: Option<Restricted>,
}

/// What the role may do that a schema is for.
#[derive(Debug)]
struct Restricted {
    /// None where scripts are off.
    scripts: Option<Arc<dyn RunScripts>>,
    restrictions: Arc<Restrictions>,
    databases: Arc<Databases>,
}

impl GraphSchema {
    fn new(model: Model, settings: &CommonSettings) -> Self {
        Self {
            roots: RootIndex::new(&model),
            model: Arc::new(model),
            has_subscriptions: settings.subscriptions,
            has_mutations: !settings.read_only,
            max_limit: settings.max_limit,
            restricted: None,
        }
    }

    fn restrictions(&self) -> Option<&Arc<Restrictions>> {
        self.restricted.as_ref().map(|restricted| &restricted.restrictions)
    }

    fn grants(&self) -> Grants<'_> {
        Grants { model: &self.model, restrictions: self.restrictions().map(|restrictions| &**restrictions) }
    }
}

impl SourceSchema for GraphSchema {
    fn contribution(&self) -> Contribution {
        let mut contribution =
            contribution(&self.model, self.restrictions().map(|restrictions| &**restrictions));
        if !self.has_subscriptions {
            contribution.subscription.clear();
        }
        if !self.has_mutations {
            contribution.mutation.clear();
        }
        contribution
    }

    fn notes(&self) -> &[String] {
        &self.model.notes
    }

    fn collisions(&self) -> &[String] {
        &self.model.collisions
    }

    fn contents(&self) -> String {
        self.grants().contents()
    }

    fn list_fields(&self) -> Vec<&str> {
        self.grants().list_fields()
    }

    fn table_names(&self) -> Vec<String> {
        self.grants().type_names()
    }

    fn example(&self) -> Option<String> {
        self.grants().example()
    }

    /// Types come and go: whatever is named may be there later.
    fn table_name(&self, configured: &str) -> Result<Box<str>, String> {
        Ok(configured.into())
    }

    fn row_access(&self, _kind: OperationKind, field: &Field) -> Option<RowAccess> {
        row_access(&self.model, &self.roots, field)
    }

    fn row_query(&self, field: &Field, variables: &Variables) -> Option<RowQuery> {
        row_query(&self.model, &self.roots, field, variables)
    }

    fn api_connection(&self, variables: Variables, limits: ApiLimits) -> Option<Box<dyn ApiConnection>> {
        let Restricted { scripts, restrictions, databases } = self.restricted.as_ref()?;
        let role = RoleAccess::new(&self.model, restrictions, variables)?;
        let (databases, scripts) = (Arc::clone(databases), scripts.clone());
        let connection = GraphConnection::new(databases, limits, !self.has_mutations, Some(role), scripts);
        Some(Box::new(connection))
    }

    fn highest_limit(&self, root_field: &str) -> Option<u32> {
        let (side, only) = self.roots.listed(root_field)?;
        let of_role = self.restrictions().and_then(|restrictions| restrictions.limit(side, only));
        Some(of_role.map_or(self.max_limit, |of_role| of_role.min(self.max_limit)))
    }

    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        lower(&self.model, self.restrictions(), &self.roots, request.kind, request.field)
            .map(PreparedField::new)
    }
}

impl FieldPlan for Plan {
    fn weight_bytes(&self) -> usize {
        self.weight_bytes()
    }
}

/// One core's part of a graph.
#[derive(Debug)]
struct GraphSession {
    graph: Arc<Graph>,
    /// It, and those that have calls alone.
    databases: Arc<Databases>,
}

fn plans(fields: &[&PreparedField]) -> Vec<Arc<Plan>> {
    fields.iter().map(|field| field.shared()).collect()
}

impl SourceSession for GraphSession {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(async { answer(&self.graph, &field.shared(), variables, Begin::Root).await })
    }

    /// From one snapshot of the graph.
    fn query_all<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(async { answer_all(&self.graph, &plans(fields), variables).await })
    }

    /// Makes the changes of all root fields in one write, and answers when it is durable.
    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(async {
            let (begun, plans) = (self.graph.slow().begin(), plans(fields));
            let results = mutate(&self.graph, &plans, variables).await;
            if let Some(begun) = begun {
                slow::report(self.graph.slow(), &plans, variables, begun.elapsed());
            }
            results
        })
    }

    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        events(&self.graph, &field.shared(), variables)
    }

    fn change_signal(&self, field: &PreparedField) -> Option<Box<dyn ChangeSignal>> {
        let wanted = depends_on(field.plan::<Plan>())?;
        Some(Box::new(self.graph.readers().watch(self.graph.store(), wanted)))
    }

    fn data_version(&self, field: &PreparedField) -> Option<Arc<dyn DataVersion>> {
        let wanted = depends_on(field.plan::<Plan>())?;
        Some(Arc::new(self.graph.readers().version(self.graph.store(), wanted)))
    }

    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        let all = Arc::clone(&self.databases.all());
        let failures = all.values().filter_map(|database| database.store.health().log_failure);
        let now = SystemTime::now();
        let mut reasons =
            failures.filter_map(|(error, at)| NotReady::of_refused_write(error.is_disk_full(), at, now));
        Box::pin(std::future::ready(reasons.next().map_or(Ok(()), Err)))
    }
}
