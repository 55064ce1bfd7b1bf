//! A relational database as a source, whichever it is: its schema, its plans and its sessions. A driver is a [`Database`] and
//! knows neither GraphQL names nor subscriptions.

use std::{fmt::Debug, rc::Rc, sync::Arc};

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    schema::Contribution,
    selection::{Field, OperationKind},
    variables::Variables,
};
use prony_source::{
    ChangeSignal, Events, FieldPlan, FieldRequest, Metric, PreparedField, ReservedNames, Source,
    SourceSchema, SourceSession,
};

use crate::{
    catalog::Catalog,
    changes::{
        self, Feed,
        events::Watch,
        names::{ChangeIndex, ChangeNames},
        plan::ChangesPlan,
    },
    contribution::contribution,
    live::Dependencies,
    lower::{RootIndex, lower},
    model::Model,
    plan::{ListPlan, RootPlan},
    settings::{RelationalSettings, SettingsFaults},
};

/// An open database, shared by all cores.
pub trait Database: Debug + Send + Sync + 'static {
    /// The statements of a root field.
    type Prepared: Debug + Send + Sync + 'static;
    type Session: DatabaseSession<Prepared = Self::Prepared>;

    /// The database's name, for people.
    const PRODUCT: &'static str;

    /// Makes the statements of a root field; nothing is sent yet.
    ///
    /// # Errors
    /// Limits and offsets written in the document that are out of bounds.
    fn prepare(&self, model: &Arc<Model>, root: RootPlan) -> Result<Self::Prepared, GraphqlError>;

    /// As [`Self::prepare`] for a list, of the one row that the variables give ([`Variables::with_given`]) by the table's
    /// columns, instead of those of the table.
    ///
    /// # Errors
    /// As [`Self::prepare`].
    fn prepare_given(
        &self,
        model: &Arc<Model>,
        root: &RootPlan,
        list: &ListPlan,
    ) -> Result<Self::Prepared, GraphqlError>;

    /// Bytes that the plan cache accounts for statements.
    fn weight_bytes(prepared: &Self::Prepared) -> usize;

    /// What changes in its tables, as far as it is known.
    fn changes(&self) -> &Arc<Feed>;

    /// Opens one core's connections; called on the core's thread, inside its `LocalSet`.
    fn attach(self: &Arc<Self>) -> Self::Session;

    /// For `/metrics`.
    fn metrics(&self, name: &str) -> Vec<Metric> {
        let _ = name;
        Vec::new()
    }
}

/// One core's connections to a database.
pub trait DatabaseSession: Debug + 'static {
    type Prepared;

    /// Answers a list or an aggregate. Dropping the future stops the work at the database.
    fn query(&self, prepared: &Self::Prepared, variables: &Variables) -> impl Future<Output = FieldResult>;

    /// Runs mutations in order in one transaction: all or nothing. One result for each.
    fn mutate(
        &self,
        prepared: Vec<Arc<Self::Prepared>>,
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    /// Whether the database can be asked now; the text is for people who run the server.
    fn health(&self) -> impl Future<Output = Result<(), String>>;
}

/// What is served of a catalog.
#[derive(Debug)]
pub struct Discovered {
    pub model: Arc<Model>,
    /// Empty where the source has no subscriptions.
    changes: ChangeIndex,
}

impl Discovered {
    /// `notes` come after those of the model.
    ///
    /// # Errors
    /// Settings that do not fit the catalog, all of them.
    pub fn new(
        catalog: &Catalog,
        settings: &RelationalSettings,
        notes: impl IntoIterator<Item = String>,
    ) -> Result<Self, SettingsFaults> {
        let mut model = Model::build(catalog, settings).map_err(SettingsFaults)?;
        let mut of_changes = Vec::new();
        let changes = if settings.common.subscriptions {
            ChangeIndex::new(&model, &mut of_changes)
        } else {
            ChangeIndex::default()
        };
        model.notes.extend(notes);
        model.notes.extend(of_changes);
        Ok(Self { model: Arc::new(model), changes })
    }
}

/// A served database.
#[derive(Debug)]
pub struct RelationalSource<D> {
    schema: Arc<RelationalSchema<D>>,
}

/// What is served of it; tables are discovered once, when it is opened.
#[derive(Debug)]
pub struct RelationalSchema<D> {
    model: Arc<Model>,
    roots: RootIndex,
    changes: ChangeIndex,
    database: Arc<D>,
    /// Whether its query fields are fields of subscriptions too.
    has_live_queries: bool,
}

/// A root field with its statements, for the plan cache.
#[derive(Debug)]
enum RelationalPlan<D: Database> {
    Once(Arc<D::Prepared>),
    /// A subscription to changes.
    Changes(Arc<ChangesPlan<Arc<D::Prepared>>>),
    /// A query that is answered anew when what it depends on has changed.
    Live(Arc<D::Prepared>, Dependencies),
}

impl<D: Database> FieldPlan for RelationalPlan<D> {
    fn weight_bytes(&self) -> usize {
        match self {
            Self::Once(prepared) => D::weight_bytes(prepared),
            Self::Live(prepared, dependencies) => D::weight_bytes(prepared) + dependencies.weight_bytes(),
            Self::Changes(plan) => {
                const PER_OUTPUT: usize = 256;
                let statements = plan.statements().map(|prepared| D::weight_bytes(prepared)).sum::<usize>();
                statements + plan.outputs.len() * PER_OUTPUT
            }
        }
    }
}

impl<D: Database> RelationalSource<D> {
    pub fn new(discovered: Discovered, settings: &RelationalSettings, database: Arc<D>) -> Self {
        let Discovered { model, changes } = discovered;
        let schema = RelationalSchema {
            roots: RootIndex::new(&model),
            model,
            changes,
            database,
            has_live_queries: settings.common.subscriptions,
        };
        Self { schema: Arc::new(schema) }
    }

    pub fn model(&self) -> &Arc<Model> {
        &self.schema.model
    }

    pub fn database(&self) -> &Arc<D> {
        &self.schema.database
    }
}

impl<D: Database> Source for RelationalSource<D> {
    fn product(&self) -> &'static str {
        D::PRODUCT
    }

    fn schema(&self, _reserved: &ReservedNames) -> Arc<dyn SourceSchema> {
        Arc::<RelationalSchema<D>>::clone(&self.schema)
    }

    fn attach(&self) -> Rc<dyn SourceSession> {
        let schema = Arc::clone(&self.schema);
        let session = Rc::new(schema.database.attach());
        Rc::new(RelationalSession { schema, session })
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        self.schema.database.metrics(name)
    }
}

impl<D: Database> SourceSchema for RelationalSchema<D> {
    fn contribution(&self) -> Contribution {
        let mut contribution = contribution(&self.model);
        changes::contribution::add(&self.model, &self.changes, &mut contribution);
        if self.has_live_queries {
            contribution.subscription.extend(contribution.query.iter().cloned());
        }
        contribution
    }

    /// Collisions resolved, tables left out, columns served as text.
    fn notes(&self) -> &[String] {
        &self.model.notes
    }

    fn contents(&self) -> String {
        self.model.contents()
    }

    fn list_fields(&self) -> Vec<&str> {
        self.model.tables.iter().map(|table| &*table.list_name).collect()
    }

    fn example(&self) -> Option<String> {
        self.model.example()
    }

    fn plan(&self, &FieldRequest { kind, field }: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        let lowered = |kind| lower(&self.model, &self.roots, kind, field);
        let plan = match (kind, self.changes.find(&field.name)) {
            (OperationKind::Subscription, Some(names)) => self.plan_changes(names, field)?,
            (OperationKind::Subscription, None) => {
                let root = lowered(OperationKind::Query)?;
                let dependencies = Dependencies::of(&self.model, &root.root);
                RelationalPlan::Live(self.prepare(root)?, dependencies)
            }
            (kind, _) => RelationalPlan::Once(self.prepare(lowered(kind)?)?),
        };
        Ok(PreparedField::new(plan))
    }
}

impl<D: Database> RelationalSchema<D> {
    fn prepare(&self, root: RootPlan) -> Result<Arc<D::Prepared>, GraphqlError> {
        self.database.prepare(&self.model, root).map(Arc::new)
    }

    fn plan_changes(&self, names: &ChangeNames, field: &Field) -> Result<RelationalPlan<D>, GraphqlError> {
        let plan = ChangesPlan::lower(&self.model, names, field, |root, list| {
            self.database.prepare_given(&self.model, root, list).map(Arc::new)
        })?;
        Ok(RelationalPlan::Changes(Arc::new(plan)))
    }
}

/// One core's part of a served database.
#[derive(Debug)]
struct RelationalSession<D: Database> {
    schema: Arc<RelationalSchema<D>>,
    /// Subscriptions share it.
    session: Rc<D::Session>,
}

impl<D: Database> SourceSession for RelationalSession<D> {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(prepared) | RelationalPlan::Live(prepared, _) => {
                Box::pin(self.session.query(prepared, variables))
            }
            RelationalPlan::Changes(plan) => {
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
        let prepared = |field: &&PreparedField| match field.plan::<RelationalPlan<D>>() {
            RelationalPlan::Once(prepared) | RelationalPlan::Live(prepared, _) => Arc::clone(prepared),
            RelationalPlan::Changes(_) => unreachable!("a mutation has no events"),
        };
        Box::pin(self.session.mutate(fields.iter().map(prepared).collect(), variables))
    }

    /// Events of all changes that are committed after this returns.
    fn subscribe(&self, field: &PreparedField, variables: &Variables) -> Result<Events, GraphqlError> {
        let RelationalPlan::Changes(plan) = field.plan::<RelationalPlan<D>>() else {
            return Err(GraphqlError::new(ErrorCode::ValidationFailed, "the field has no events"));
        };
        let session = Rc::clone(&self.session);
        let watch = Watch {
            model: Arc::clone(&self.schema.model),
            plan: Arc::clone(plan),
            variables: variables.clone(),
            ask: Box::new(move |prepared: &Arc<D::Prepared>, variables| {
                let (session, prepared) = (Rc::clone(&session), Arc::clone(prepared));
                async move { session.query(&prepared, &variables).await }.boxed_local()
            }),
        };
        Ok(watch.events(self.schema.database.changes().subscribe(&[plan.table])))
    }

    fn change_signal(&self, field: &PreparedField) -> Option<Box<dyn ChangeSignal>> {
        let RelationalPlan::Live(_, dependencies) = field.plan::<RelationalPlan<D>>() else { return None };
        Some(Box::new(dependencies.signal(self.schema.database.changes())))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(self.session.health())
    }
}
