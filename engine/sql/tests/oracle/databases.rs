//! Databases of generated data, and a source over one as a core of the server has it.

use std::{collections::BTreeMap, future::Future, rc::Rc, sync::Arc};

use prony_graphql::{
    document::{Operation, limits::Limits},
    response::{Detail, assemble},
    schema::{Schema, SourceId},
    selection::{OperationKind, Selection},
    variables::Variables,
};
use prony_source::{
    ChangeSignal, Events, FieldRequest, PreparedField, ReservedNames, Source, SourceSchema, SourceSession,
};
use prony_sql::settings::{RelationSettings, RelationalSettings, ResolverModel, TableSettings};
use prony_testkit::postgres::TestDatabase;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::LocalSet;

use super::{
    condition::{Role, USER},
    tables::Data,
};

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

enum Database {
    Sqlite(TempDir),
    Postgres(TestDatabase),
}

/// A database, and how its tables refer to each other: that is told by settings, so that the data of a role may refer to rows that
/// are not there.
pub(super) struct Made {
    database: Database,
    tables: BTreeMap<String, TableSettings>,
}

impl Kind {
    pub(super) fn make(self, data: &Data) -> Made {
        let database = match self {
            Self::Sqlite => {
                let directory = tempfile::tempdir().unwrap();
                let connection = rusqlite::Connection::open(directory.path().join("test.db")).unwrap();
                connection.execute_batch(&data.sql()).unwrap();
                Database::Sqlite(directory)
            }
            Self::Postgres => {
                let database = TestDatabase::create();
                database.execute(&data.sql());
                Database::Postgres(database)
            }
        };
        let tables = data.tables.iter().enumerate().map(|(index, table)| {
            let relation = |(reference, target): (usize, &usize)| RelationSettings {
                columns: vec![format!("r{reference}_id")],
                target: format!("t{target}"),
                target_columns: vec!["id".to_owned()],
                name: Some(format!("r{reference}")),
                reverse_name: Some(format!("of_t{index}_r{reference}")),
            };
            let settings = TableSettings {
                type_name: Some(format!("T{index}")),
                list_name: Some(format!("t{index}")),
                relations: table.references.iter().enumerate().map(relation).collect(),
                ..TableSettings::default()
            };
            (format!("t{index}"), settings)
        });
        Made { database, tables: tables.collect() }
    }
}

/// A source and one core's session with it.
pub(super) struct Server {
    session: Rc<dyn SourceSession>,
    source_schema: Arc<dyn SourceSchema>,
    schema: Schema,
}

impl Server {
    /// To a role, or to somebody who may do everything.
    pub(super) async fn open(made: &Made, resolver: ResolverModel, role: Option<&Role>) -> Self {
        Self::of(&*open(made, resolver).await, role)
    }

    /// To somebody who may do everything, and to a role that hears of what that one changes.
    pub(super) async fn open_both(made: &Made, role: &Role) -> (Self, Self) {
        let source = open(made, ResolverModel::Subquery).await;
        (Self::of(&*source, None), Self::of(&*source, Some(role)))
    }

    fn of(source: &dyn Source, role: Option<&Role>) -> Self {
        let reserved = ReservedNames::default();
        let source_schema = match role {
            Some(role) => source.schema_for(&reserved, &role.permissions()).unwrap(),
            None => source.schema(&reserved),
        };
        let schema = Schema::merge(vec![(SourceId(0), source_schema.contribution())]).unwrap();
        Self { session: source.attach(), source_schema, schema }
    }

    /// The response to a query or mutation.
    pub(super) async fn ask(&self, text: &str) -> String {
        let (selection, roots, variables) = self.plan(text);
        let roots: Vec<&PreparedField> = roots.iter().collect();
        let results = match selection.kind {
            OperationKind::Mutation => self.session.mutate(&roots, &variables).await,
            _ => self.session.query_all(&roots, &variables).await,
        };
        String::from_utf8(assemble(&selection.fields, &results, Detail::Shown)).unwrap()
    }

    /// The events of a subscription.
    pub(super) fn subscribe(&self, text: &str) -> Events {
        let (_, roots, variables) = self.plan(text);
        self.session.subscribe(&roots[0], &variables).unwrap()
    }

    /// What tells of a live query.
    pub(super) fn watch(&self, text: &str) -> Box<dyn ChangeSignal> {
        let (_, roots, _) = self.plan(text);
        self.session.change_signal(&roots[0]).unwrap()
    }

    fn plan(&self, text: &str) -> (Selection, Vec<PreparedField>, Variables) {
        let operation = Operation::parse(&self.schema, text, None, &Limits::default())
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let (variables, _) = operation.coerce(&self.schema, serde_json::Map::new()).unwrap();
        let selection = operation.select(&self.schema, &variables).unwrap();
        let variables = variables.with_session([json!(USER)].into());
        let plan = |field| {
            let request = FieldRequest { kind: selection.kind, field };
            self.source_schema.plan(&request).unwrap()
        };
        let roots = selection.fields.iter().map(plan).collect();
        (selection, roots, variables)
    }
}

async fn open(made: &Made, resolver: ResolverModel) -> Box<dyn Source> {
    let settings = RelationalSettings {
        resolver,
        tables: made.tables.clone(),
        connections_per_core: 1,
        ..RelationalSettings::default()
    };
    match &made.database {
        Database::Sqlite(directory) => {
            Box::new(prony_sqlite::open(&directory.path().join("test.db"), &settings).unwrap())
        }
        Database::Postgres(database) => {
            Box::new(prony_postgres::open(&database.url(), &settings).await.unwrap())
        }
    }
}

/// Runs a test as the server does: one thread, one `LocalSet`.
pub(super) fn on_a_core<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}
