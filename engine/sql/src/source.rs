//! A relational database as a source, whichever it is: its schema, its plans and its sessions.

use std::{
    any::Any,
    fmt::Debug,
    path::PathBuf,
    rc::Rc,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, LocalBoxFuture},
};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind, Slot},
    variables::Variables,
};
use prony_source::{
    ChangeSignal, DataVersion, Events, Explanation, FieldPlan, FieldRequest, Metric, NotReady, PreparedField,
    Reconfiguring, ReservedNames, Runs, Source, SourceSchema, SourceSession,
    interceptors::{RowAccess, RowQuery},
    permissions::{PermissionFault, Permissions},
};

use crate::{
    catalog::Catalog,
    changes::{
        self,
        asked::AskedNames,
        events::Watch,
        names::{ChangeIndex, ChangeNames},
        plan::ChangesPlan,
    },
    contribution::{contribution, contribution_for},
    database::{Database, Prepared},
    discovered::Discovered,
    example::Shown,
    explain::tell_statements,
    follow::{CatalogOutcome, Following, fingerprint},
    live::Dependencies,
    lower::{RootIndex, lower},
    model::{Model, TableNumbers},
    plan::RootPlan,
    restrict::{Restrictions, table_named, written_session_variables},
    row_access::{highest_limit, row_access, row_query},
    session::FieldSession,
    settings::RelationalSettings,
};

/// A served database.
#[derive(Debug)]
pub struct RelationalSource<D> {
    pub(crate) database: Arc<D>,
    pub(crate) offered: Arc<Mutex<Offered<D>>>,
    pub(crate) following: Arc<Following>,
}

/// What is offered of the tables that were found last and could be served.
#[derive(Debug)]
pub(crate) struct Offered<D> {
    pub(crate) schema: Arc<RelationalSchema<D>>,
    numbers: TableNumbers,
    /// Of the catalog.
    fingerprint: u64,
    /// By which it was made.
    pub(crate) settings: Arc<RelationalSettings>,
}

/// What is served of it at one moment, to all or to a role.
#[derive(Debug)]
pub struct RelationalSchema<D> {
    model: Arc<Model>,
    roots: Arc<RootIndex>,
    changes: Arc<ChangeIndex>,
    database: Arc<D>,
    following: Arc<Following>,
    /// Whether its query fields are fields of subscriptions too.
    has_live_queries: bool,
    has_mutations: bool,
    /// Of the role that it is for.
    restrictions: Option<Restrictions>,
}

/// A root field with its statements, for the plan cache.
#[derive(Debug)]
enum RelationalPlan<D: Database> {
    /// A query, with what its answer depends on, or a mutation, whose answer nothing is kept of.
    Once(Statement<D>, Dependencies),
    /// A subscription to changes.
    Changes(Arc<Model>, Arc<ChangesPlan<Arc<Prepared<D>>>>),
    /// A query that is answered anew when what it depends on has changed, with what the client asks for.
    Live(Statement<D>, Dependencies, Option<AskedNames>),
}

/// The statements of a root field, and what they must not be executed without.
#[derive(Debug)]
struct Statement<D: Database> {
    prepared: Arc<Prepared<D>>,
    /// Variables of the session that are written into rows.
    required: Box<[Slot]>,
}

impl<D: Database> Statement<D> {
    /// # Errors
    /// `Forbidden` where the session lacks a variable that would be written.
    fn check(&self, variables: &Variables) -> Result<(), GraphqlError> {
        let is_there = |slot: &Slot| variables.get(slot).is_some_and(|value| !value.is_null());
        if self.required.iter().all(is_there) {
            return Ok(());
        }
        let message = "what your role writes into such a row is not known of your session";
        Err(GraphqlError::new(ErrorCode::Forbidden, message))
    }
}

impl<D: Database> FieldPlan for RelationalPlan<D> {
    fn weight_bytes(&self) -> usize {
        match self {
            Self::Once(statement, dependencies) => {
                statement.prepared.weight_bytes() + dependencies.weight_bytes()
            }
            Self::Live(statement, dependencies, asked) => {
                let asked = asked.as_ref().map_or(0, AskedNames::weight_bytes);
                statement.prepared.weight_bytes() + dependencies.weight_bytes() + asked
            }
            Self::Changes(_, plan) => {
                const PER_OUTPUT: usize = 256;
                let statements = plan.statements().map(|prepared| prepared.weight_bytes()).sum::<usize>();
                statements + plan.outputs.len() * PER_OUTPUT + plan.asked.weight_bytes()
            }
        }
    }
}

impl<D: Database> RelationalSource<D> {
    pub fn new(discovered: Discovered, settings: &RelationalSettings, database: Arc<D>) -> Self {
        let following = Arc::new(Following::default());
        let offered = Offered::new(discovered, &Arc::new(settings.clone()), &database, &following);
        database.changes().renew(&offered.schema.model);
        Self { offered: Arc::new(Mutex::new(offered)), following, database }
    }

    pub fn model(&self) -> Arc<Model> {
        Arc::clone(&self.schema_now().model)
    }

    pub fn database(&self) -> &Arc<D> {
        &self.database
    }

    fn schema_now(&self) -> Arc<RelationalSchema<D>> {
        Arc::clone(&self.offered().schema)
    }

    pub(crate) fn offered(&self) -> MutexGuard<'_, Offered<D>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Offers what is served of a catalog.
    fn take(&self, catalog: &Catalog) -> Result<CatalogOutcome, String> {
        let settings = {
            let offered = self.offered();
            if offered.fingerprint == fingerprint(catalog) {
                return Ok(CatalogOutcome::Same);
            }
            Arc::clone(&offered.settings)
        };
        let next = self.next(catalog, &settings)?;
        next.put_in(&self.offered);
        Ok(CatalogOutcome::Offered)
    }

    /// What would be offered of a catalog by settings.
    pub(crate) fn next(
        &self,
        catalog: &Catalog,
        settings: &Arc<RelationalSettings>,
    ) -> Result<Offered<D>, String> {
        let numbers = self.offered().numbers.clone();
        let discovered = Discovered::after(numbers, catalog, settings)?;
        Ok(Offered::new(discovered, settings, &self.database, &self.following))
    }
}

impl<D: Database> Offered<D> {
    /// Has it offered from now on.
    pub(crate) fn put_in(self, offered: &Mutex<Self>) {
        let (model, database) = (Arc::clone(&self.schema.model), Arc::clone(&self.schema.database));
        *offered.lock().unwrap_or_else(PoisonError::into_inner) = self;
        database.changes().renew(&model);
    }

    fn new(
        Discovered { model, changes, numbers, fingerprint }: Discovered,
        settings: &Arc<RelationalSettings>,
        database: &Arc<D>,
        following: &Arc<Following>,
    ) -> Self {
        let schema = RelationalSchema {
            roots: Arc::new(RootIndex::new(&model)),
            model,
            changes: Arc::new(changes),
            database: Arc::clone(database),
            following: Arc::clone(following),
            has_live_queries: settings.common.subscriptions,
            has_mutations: !settings.common.read_only,
            restrictions: None,
        };
        Self { schema: Arc::new(schema), numbers, fingerprint, settings: Arc::clone(settings) }
    }
}

impl<D: Database> Source for RelationalSource<D> {
    fn product(&self) -> &'static str {
        D::PRODUCT
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        self.following.ask();
        self.schema_now()
    }

    fn schema_for(
        &self,
        _reserved: &ReservedNames,
        permissions: &Permissions,
    ) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        self.schema_now().for_role(permissions)
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.following.changed())
    }

    fn reload(&self) {
        self.following.reload();
    }

    fn reconfigured<'a>(&'a self, settings: Option<&'a dyn Any>) -> Reconfiguring<'a> {
        let given = settings.and_then(|settings| settings.downcast_ref());
        Box::pin(async move {
            match given {
                Some(given) => self.next_offer(given).await,
                None => Ok(None),
            }
        })
    }

    fn schema_fault(&self) -> Option<String> {
        self.following.fault()
    }

    fn run(&self) -> BoxFuture<'_, ()> {
        let (reader, version) = self.database.follow();
        let interval = Duration::from_millis(self.database.settings().schema_check_ms.into());
        Box::pin(async move {
            let what = self.database.description();
            self.following.follow(reader, (version, interval), &what, |catalog| self.take(catalog)).await;
        })
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        let session = Rc::new(FieldSession::attach(&self.database));
        let (database, following) = (Arc::clone(&self.database), Arc::clone(&self.following));
        Rc::new(RelationalSession { database, following, session })
    }

    fn written_directory(&self) -> Option<PathBuf> {
        self.database.written_directory()
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let mut metrics = self.database.metrics(name);
        metrics.extend(self.following.metrics(name));
        metrics
    }
}

impl<D: Database> RelationalSchema<D> {
    fn for_role(&self, permissions: &Permissions) -> Result<Arc<dyn SourceSchema>, Vec<PermissionFault>> {
        Ok(Arc::new(Self {
            restrictions: Some(Restrictions::new(&self.model, permissions)?),
            model: Arc::clone(&self.model),
            roots: Arc::clone(&self.roots),
            changes: Arc::clone(&self.changes),
            database: Arc::clone(&self.database),
            following: Arc::clone(&self.following),
            has_live_queries: self.has_live_queries,
            has_mutations: self.has_mutations,
        }))
    }

    fn shown(&self) -> Shown<'_> {
        Shown { model: &self.model, restrictions: self.restrictions.as_ref() }
    }
}

impl<D: Database> SourceSchema for RelationalSchema<D> {
    fn contribution(&self) -> Contribution {
        let restrictions = self.restrictions.as_ref();
        let mut contribution = match restrictions {
            None => contribution(&self.model),
            Some(restrictions) => contribution_for(&self.model, restrictions),
        };
        changes::contribution::add(&self.model, &self.changes, restrictions, &mut contribution);
        if !self.has_mutations {
            contribution.mutation.clear();
        }
        if self.has_live_queries {
            contribution.subscription.extend(contribution.query.iter().cloned());
        }
        contribution
    }

    fn restricted(
        &self,
        permissions: &Permissions,
    ) -> Option<Result<Arc<dyn SourceSchema>, Vec<PermissionFault>>> {
        Some(self.for_role(permissions))
    }

    fn may_be_refused(&self) -> bool {
        true
    }

    /// Collisions resolved, tables left out, columns served as text.
    fn notes(&self) -> &[String] {
        &self.model.notes
    }

    fn contents(&self) -> String {
        self.shown().contents()
    }

    fn list_fields(&self) -> Vec<&str> {
        self.shown().list_fields()
    }

    fn table_names(&self) -> Vec<String> {
        self.shown().table_names()
    }

    fn example(&self) -> Option<String> {
        self.shown().example()
    }

    fn table_name(&self, configured: &str) -> Result<Box<str>, String> {
        table_named(&self.model, configured).map(|(_, table)| table.qualified_name().into())
    }

    fn row_access(&self, kind: OperationKind, field: &Field) -> Option<RowAccess> {
        row_access(&self.model, &self.roots, &self.changes, kind, field)
    }

    fn row_query(&self, field: &Field, variables: &Variables) -> Option<RowQuery> {
        row_query(&self.model, &self.roots, field, variables)
    }

    fn highest_limit(&self, root_field: &str) -> Option<u32> {
        let of_source = self.database.settings().common.max_limit;
        highest_limit(&self.roots, self.restrictions.as_ref(), of_source, root_field)
    }

    fn plan(&self, &FieldRequest { kind, field }: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        let restrict = |mut root: RootPlan| {
            if let Some(restrictions) = &self.restrictions {
                restrictions.apply(&self.model, &mut root);
            }
            root
        };
        let plan = match (kind, self.changes.find(&field.name)) {
            (OperationKind::Subscription, Some(names)) => self.plan_changes(names, field)?,
            (OperationKind::Subscription, None) => {
                let root = lower(&self.model, &self.roots, OperationKind::Query, field)?;
                let asked = AskedNames::of_query(&self.model, &root.root);
                let root = restrict(root);
                let dependencies = Dependencies::of(&self.model, &root.root);
                RelationalPlan::Live(self.prepare(&root)?, dependencies, asked)
            }
            (kind, _) => {
                let root = restrict(lower(&self.model, &self.roots, kind, field)?);
                let dependencies = Dependencies::of(&self.model, &root.root);
                RelationalPlan::Once(self.prepare(&root)?, dependencies)
            }
        };
        Ok(PreparedField::new(plan))
    }

    fn withdrawn(&self, field: &PreparedField) -> Option<String> {
        let asked = match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(..) => None,
            RelationalPlan::Live(_, _, asked) => asked.as_ref(),
            RelationalPlan::Changes(_, plan) => Some(&plan.asked),
        };
        asked?.missing(&self.model, |table| self.changes.of(table))
    }
}

impl<D: Database> RelationalSchema<D> {
    fn prepare(&self, root: &RootPlan) -> Result<Statement<D>, GraphqlError> {
        let required = written_session_variables(&root.root).into();
        let prepared = Prepared::new(&*self.database, &self.model, root)?;
        Ok(Statement { prepared: Arc::new(prepared), required })
    }

    fn plan_changes(&self, names: &ChangeNames, field: &Field) -> Result<RelationalPlan<D>, GraphqlError> {
        let restrictions = self.restrictions.as_ref();
        let plan = ChangesPlan::lower(&self.model, names, field, restrictions, |place, rows| {
            Prepared::given(&*self.database, &self.model, place, rows).map(Arc::new)
        })?;
        Ok(RelationalPlan::Changes(Arc::clone(&self.model), Arc::new(plan)))
    }
}

/// One core's part of a served database.
#[derive(Debug)]
struct RelationalSession<D: Database> {
    database: Arc<D>,
    following: Arc<Following>,
    /// Subscriptions share it.
    session: Rc<FieldSession<D>>,
}

/// Has the tables looked at where a statement has failed as it does when they are others.
fn note(following: &Following, results: &[FieldResult]) {
    let is_of_schema = |error: &GraphqlError| error.code == ErrorCode::SchemaChanged;
    if results.iter().flat_map(|result| &result.errors).any(is_of_schema) {
        following.doubt();
    }
}

impl<D: Database> SourceSession for RelationalSession<D> {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(statement, _) | RelationalPlan::Live(statement, ..) => {
                let asked = self.session.query(&statement.prepared, variables);
                Box::pin(asked.inspect(|result| note(&self.following, std::slice::from_ref(result))))
            }
            RelationalPlan::Changes(_, plan) => {
                let message = format!("{} has events, and no single answer", plan.response_key);
                let error = GraphqlError::new(ErrorCode::ValidationFailed, message).at(plan.position);
                Box::pin(std::future::ready(FieldResult::failed(error)))
            }
        }
    }

    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        let statement = |field: &&'a PreparedField| match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(statement, _) | RelationalPlan::Live(statement, ..) => statement,
            RelationalPlan::Changes(..) => unreachable!("a mutation has no events"),
        };
        let statements = || fields.iter().map(statement);
        if let Some(error) = statements().find_map(|statement| statement.check(variables).err()) {
            let failed = fields.iter().map(|_| FieldResult::failed(error.clone())).collect();
            return Box::pin(std::future::ready(failed));
        }
        let prepared: Vec<_> = statements().map(|statement| &*statement.prepared).collect();
        Box::pin(async move {
            let results = self.session.mutate(&prepared, variables).await;
            note(&self.following, &results);
            results
        })
    }

    /// Events of all changes that are committed after this returns.
    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        let RelationalPlan::Changes(model, plan) = field.plan::<RelationalPlan<D>>() else {
            return Err(GraphqlError::new(ErrorCode::ValidationFailed, "the field has no events"));
        };
        let (session, following) = (Rc::clone(&self.session), Arc::clone(&self.following));
        let watch = Watch {
            model: Arc::clone(model),
            plan: Arc::clone(plan),
            variables: variables.clone(),
            ask: Box::new(move |prepared: &Arc<Prepared<D>>, variables| {
                let (session, prepared) = (Rc::clone(&session), Arc::clone(prepared));
                let following = Arc::clone(&following);
                async move {
                    let result = session.query(&prepared, &variables).await;
                    note(&following, std::slice::from_ref(&result));
                    result
                }
                .boxed_local()
            }),
        };
        Ok(watch.events(self.database.changes().subscribe(&[plan.table])))
    }

    fn change_signal(&self, field: &PreparedField) -> Option<Box<dyn ChangeSignal>> {
        let RelationalPlan::Live(_, dependencies, _) = field.plan::<RelationalPlan<D>>() else { return None };
        Some(Box::new(dependencies.signal(self.database.changes())))
    }

    fn data_version(&self, field: &PreparedField) -> Option<Arc<dyn DataVersion>> {
        let RelationalPlan::Once(_, dependencies) = field.plan::<RelationalPlan<D>>() else { return None };
        Some(Arc::new(dependencies.version(self.database.changes())))
    }

    fn explain<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Explanation> {
        let told = match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(statement, _) | RelationalPlan::Live(statement, ..)
                if statement.prepared.mutation().is_none() =>
            {
                return Box::pin(self.session.explain(&statement.prepared, variables));
            }
            RelationalPlan::Once(statement, _) | RelationalPlan::Live(statement, ..) => {
                tell_statements([&statement.prepared], None, variables)
            }
            RelationalPlan::Changes(_, plan) => {
                tell_statements(plan.statements(), Some(Runs::ForEachEvent), variables)
            }
        };
        Box::pin(std::future::ready(told))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(self.session.health())
    }

    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        Box::pin(self.session.readiness())
    }
}
