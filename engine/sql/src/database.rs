//! What a driver provides: an open database, one core's connections to it, and the statements that it makes of a root field.
//! A driver knows neither names of GraphQL nor resolver models nor subscriptions.

use std::{fmt::Debug, path::PathBuf, sync::Arc};

use prony_graphql::{
    error::{GraphqlError, Position},
    response::FieldResult,
    variables::Variables,
};
use prony_source::{Metric, NotReady};

use crate::{
    builder::{ComparedTable, Parameter},
    changes::Feed,
    follow::{CatalogReader, CatalogVersion},
    levels::{FieldLevels, Key, LevelRows, LevelSelect, MergeKey},
    model::Model,
    plan::{MutationPlan, Root, RootPlan, RowsPlan},
    settings::{RelationalSettings, ResolverModel},
};

/// Told where the database has no room for what is written, whose transaction is rolled back then.
pub const DISK_FULL: &str =
    "nothing was changed: the disk of the database is full; try again when there is room";

/// The database's plan of a statement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatementPlan {
    pub lines: Vec<String>,
    /// Aliases of tables that it reads whole to find some of their rows.
    pub scanned: Vec<Box<str>>,
}

/// A statement as it can be explained.
#[derive(Debug, Clone)]
pub struct WrittenStatement<'s> {
    pub sql: &'s str,
    pub parameters: &'s [Parameter],
    /// As which its parameters are declared, in their order; empty where that is nothing to the database.
    pub types: Vec<&'s str>,
    /// What its conditions compare; empty where it writes.
    pub compared: &'s [ComparedTable],
}

/// Statements and how their rows become JSON; shared by all cores.
pub trait Statements: Debug + Send + Sync + 'static {
    /// In the order in which they run.
    fn written(&self) -> Vec<WrittenStatement<'_>>;

    /// Bytes that the plan cache accounts for.
    fn weight_bytes(&self) -> usize;
}

impl<S: Statements> Statements for Arc<S> {
    fn written(&self) -> Vec<WrittenStatement<'_>> {
        S::written(self)
    }

    fn weight_bytes(&self) -> usize {
        S::weight_bytes(self)
    }
}

/// An open database, shared by all cores.
pub trait Database: Debug + Send + Sync + Sized + 'static {
    /// Of a whole list or aggregate.
    type Select: Statements;
    /// Of one level of it.
    type Level: Statements;
    type Mutation: Statements;
    type CatalogReader: CatalogReader;
    type Session: DatabaseSession<Self>;

    /// The database's name, for people.
    const PRODUCT: &'static str;

    fn settings(&self) -> &RelationalSettings;

    /// Writes what reads a list or an aggregate with all that is below it; nothing is sent yet. Where the row is given, the
    /// list is that of the one row that the variables hold ([`Variables::with_given`]) by the table's columns.
    ///
    /// # Errors
    /// Limits and offsets written in the document that are out of bounds.
    fn select(
        &self,
        model: &Arc<Model>,
        rows: &RowsPlan,
        is_given: bool,
    ) -> Result<Self::Select, GraphqlError>;

    /// Writes what reads one level.
    ///
    /// # Errors
    /// As [`Self::select`].
    fn level(&self, model: &Arc<Model>, select: &LevelSelect<'_>) -> Result<Self::Level, GraphqlError>;

    /// Writes what changes a row.
    fn mutation(&self, model: &Arc<Model>, response_key: &str, plan: &MutationPlan) -> Self::Mutation;

    /// What changes in its tables, as far as it is known.
    fn changes(&self) -> &Arc<Feed>;

    /// Opens one core's connections; called on the core's thread, inside its `LocalSet`.
    fn attach(self: &Arc<Self>) -> Self::Session;

    /// What looks at its tables from now on, and the version of the catalog that was read when it was opened.
    fn follow(self: &Arc<Self>) -> (Self::CatalogReader, CatalogVersion);

    /// Where it is, for people who run the server; never with a password.
    fn description(&self) -> String;

    /// The directory of the files that it writes; none where it writes none, or another process does.
    fn written_directory(&self) -> Option<PathBuf> {
        None
    }

    /// For `/metrics`.
    fn metrics(&self, name: &str) -> Vec<Metric> {
        let _ = name;
        Vec::new()
    }
}

/// One core's connections to a database. Paths of errors begin below the root field; those without place and path are of the
/// whole field.
pub trait DatabaseSession<D: Database>: Debug + 'static {
    /// Answers a list or an aggregate. Dropping the future stops the work at the database.
    fn select(
        &self,
        model: &Arc<Model>,
        select: &D::Select,
        variables: &Variables,
    ) -> impl Future<Output = Result<FieldResult, GraphqlError>>;

    /// The rows of a level for keys, as [`Fetch::fetch`](crate::levels::Fetch::fetch) wants them.
    fn level(
        &self,
        model: &Arc<Model>,
        level: &D::Level,
        keys: Arc<[Key]>,
        variables: &Variables,
    ) -> impl Future<Output = Result<LevelRows, GraphqlError>>;

    /// Tells statements with their values from each other, the keys aside.
    ///
    /// # Errors
    /// As [`Fetch::merge_key`](crate::levels::Fetch::merge_key).
    fn merge_key(
        &self,
        model: &Model,
        level: &D::Level,
        variables: &Variables,
    ) -> Result<MergeKey, GraphqlError>;

    /// Runs mutations in order in one transaction: all or nothing. One result for each.
    fn mutate(
        &self,
        model: &Arc<Model>,
        mutations: Vec<&D::Mutation>,
        variables: &Variables,
    ) -> impl Future<Output = Vec<FieldResult>>;

    /// The plan that the database has for a statement of a query, without running it. Values are not in it.
    fn plan(
        &self,
        statement: WrittenStatement<'_>,
        variables: &Variables,
    ) -> impl Future<Output = Result<StatementPlan, GraphqlError>>;

    /// Whether the database can be asked now; the text is for people who run the server.
    fn health(&self) -> impl Future<Output = Result<(), String>>;

    /// Whether statements should be sent to it now, however many it has.
    fn readiness(&self) -> impl Future<Output = Result<(), NotReady>> {
        async { self.health().await.map_err(|_| NotReady::Unreachable) }
    }
}

/// A root field with its statements, ready to be run on any core.
#[derive(Debug)]
pub struct Prepared<D: Database> {
    pub(crate) model: Arc<Model>,
    pub(crate) response_key: Box<str>,
    pub(crate) position: Position,
    pub statements: FieldStatements<D>,
}

/// What is run for a root field.
#[derive(Debug)]
pub enum FieldStatements<D: Database> {
    /// The `subquery` model.
    Select(D::Select),
    /// The `per-nest` and `bucket` models.
    Levels(Arc<FieldLevels<D::Level>>),
    Mutation(D::Mutation),
}

impl<D: Database> Prepared<D> {
    /// # Errors
    /// As [`Database::select`].
    pub fn new(database: &D, model: &Arc<Model>, plan: &RootPlan) -> Result<Self, GraphqlError> {
        let statements = match &plan.root {
            Root::Read(rows) if database.settings().resolver == ResolverModel::Subquery => {
                database.select(model, rows, false).map(FieldStatements::Select)
            }
            Root::Read(rows) => {
                let write = |select: &LevelSelect<'_>| database.level(model, select);
                FieldLevels::new(model, rows, write).map(|levels| FieldStatements::Levels(Arc::new(levels)))
            }
            Root::Write(mutation) => {
                Ok(FieldStatements::Mutation(database.mutation(model, &plan.response_key, mutation)))
            }
        };
        Self::of(model, &plan.response_key, plan.position, statements)
    }

    /// A list of the one row that the variables give instead of those of the table.
    ///
    /// # Errors
    /// As [`Database::select`].
    pub fn given(
        database: &D,
        model: &Arc<Model>,
        (response_key, position): (&str, Position),
        rows: &RowsPlan,
    ) -> Result<Self, GraphqlError> {
        let statements = database.select(model, rows, true).map(FieldStatements::Select);
        Self::of(model, response_key, position, statements)
    }

    fn of(
        model: &Arc<Model>,
        response_key: &str,
        position: Position,
        statements: Result<FieldStatements<D>, GraphqlError>,
    ) -> Result<Self, GraphqlError> {
        let statements = statements.map_err(|error| error.of_field(response_key, position))?;
        Ok(Self { model: Arc::clone(model), response_key: response_key.into(), position, statements })
    }

    /// None where it is a query.
    pub(crate) fn mutation(&self) -> Option<&D::Mutation> {
        match &self.statements {
            FieldStatements::Mutation(mutation) => Some(mutation),
            FieldStatements::Select(_) | FieldStatements::Levels(_) => None,
        }
    }

    /// The texts of its statements, for logs and for looking at plans.
    pub fn texts(&self) -> Vec<&str> {
        self.all_statements().into_iter().flat_map(Statements::written).map(|written| written.sql).collect()
    }

    fn all_statements(&self) -> Vec<&dyn Statements> {
        match &self.statements {
            FieldStatements::Select(select) => vec![select],
            FieldStatements::Levels(levels) => {
                levels.levels.iter().map(|level| &level.statement as &dyn Statements).collect()
            }
            FieldStatements::Mutation(mutation) => vec![mutation],
        }
    }

    /// Bytes that the plan cache accounts for it.
    pub fn weight_bytes(&self) -> usize {
        let statements = self.all_statements().into_iter().map(Statements::weight_bytes).sum::<usize>();
        size_of::<Self>() + self.response_key.len() + statements
    }
}
