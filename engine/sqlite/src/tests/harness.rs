//! A temporary database file, and requests against it.

use std::{path::PathBuf, sync::Arc};

use prony_graphql::{
    document::{Operation, limits::Limits},
    response::{Detail, FieldResult, assemble},
    schema::{Schema, SourceId},
    selection::{OperationKind, Selection},
    variables::Variables,
};
use prony_source::permissions::Permissions;
use rusqlite::Connection;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::SqliteDatabase;
use prony_sql::{
    catalog::Catalog,
    contribution::{contribution, contribution_for},
    database,
    lower::{RootIndex, lower},
    model::Model,
    restrict::Restrictions,
    session::FieldSession,
    settings::{RelationalSettings, ResolverModel},
};

pub(super) type Prepared = database::Prepared<SqliteDatabase>;

pub(super) const MODELS: [ResolverModel; 3] =
    [ResolverModel::Subquery, ResolverModel::PerNest, ResolverModel::Bucket];

/// Venues with meetups, members who attend them, and members who recruited members.
pub(super) const MEETUPS: &str = "
    CREATE TABLE venues (id INTEGER PRIMARY KEY, name TEXT NOT NULL, postal_code TEXT);
    CREATE TABLE meetups (id INTEGER PRIMARY KEY, title TEXT NOT NULL, start_at TIMESTAMP,
                          venue_id INTEGER REFERENCES venues (id));
    CREATE INDEX meetups_venue ON meetups (venue_id);
    CREATE TABLE members (id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE, score REAL, active BOOLEAN,
                          recruiter_id INTEGER REFERENCES members (id));
    CREATE TABLE meetups_members (meetup_id INTEGER NOT NULL REFERENCES meetups (id),
                                  member_id INTEGER NOT NULL REFERENCES members (id),
                                  PRIMARY KEY (meetup_id, member_id));
    CREATE VIEW busy AS SELECT meetup_id, count(*) AS attendance FROM meetups_members GROUP BY meetup_id;
    INSERT INTO venues VALUES (1, 'Hall', '10115'), (2, 'Loft', NULL), (3, 'Empty', '20095');
    INSERT INTO meetups VALUES (1, 'Rust', '2021-01-01T18:00:00', 1), (2, 'SQL', NULL, 1), (3, 'Go', NULL, 2),
                               (4, 'Lost', NULL, NULL), (5, 'Zig', NULL, 1);
    INSERT INTO members VALUES (1, 'ada@x', 1.5, 1, NULL), (2, 'bob@x', 2, 0, 1), (3, 'cy@x', NULL, NULL, 1),
                               (4, 'dee@x', -0.25, 1, 2);
    INSERT INTO meetups_members VALUES (1, 1), (1, 2), (2, 1), (3, 3), (5, 4), (5, 1);";

/// A database served with settings.
pub(super) struct Served {
    pub(super) database: Arc<SqliteDatabase>,
    pub(super) model: Arc<Model>,
    schema: Schema,
    roots: RootIndex,
    /// What every request is restricted by, and the variables of its session.
    restricted: Option<(Restrictions, Arc<[Json]>)>,
}

/// A directory with a database file made by SQL.
pub(super) struct Made {
    pub(super) directory: TempDir,
}

impl Made {
    pub(super) fn new(sql: &str) -> Self {
        let made = Self { directory: tempfile::tempdir().unwrap() };
        made.connection()
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; BEGIN; {sql}; COMMIT;"))
            .unwrap();
        made
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.path().join("test.db")
    }

    /// A connection beside the served one.
    pub(super) fn connection(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    pub(super) fn serve(&self, settings: &RelationalSettings) -> Served {
        Served::open(&self.path(), settings)
    }
}

pub(super) fn with_model(resolver: ResolverModel) -> RelationalSettings {
    RelationalSettings { resolver, ..RelationalSettings::default() }
}

impl Served {
    pub(super) fn open(path: &std::path::Path, settings: &RelationalSettings) -> Self {
        let (database, catalog) = SqliteDatabase::open(path, settings).unwrap();
        Self::over(database, &catalog, settings)
    }

    pub(super) fn over(database: SqliteDatabase, catalog: &Catalog, settings: &RelationalSettings) -> Self {
        let model = Model::build(catalog, settings).unwrap();
        let schema = Schema::merge(vec![(SourceId(0), contribution(&model))]).unwrap();
        let roots = RootIndex::new(&model);
        Self { database: Arc::new(database), model: Arc::new(model), schema, roots, restricted: None }
    }

    /// The same for a session, whose requests are restricted.
    pub(super) fn restricted(mut self, permissions: &Permissions, session: &[Json]) -> Self {
        let restrictions = Restrictions::new(&self.model, permissions).unwrap();
        let contribution = contribution_for(&self.model, &restrictions);
        // Where nothing can be asked for there is no schema; plans are restricted all the same.
        if let Ok(schema) = Schema::merge(vec![(SourceId(0), contribution)]) {
            self.schema = schema;
        }
        self.restricted = Some((restrictions, session.into()));
        self
    }

    pub(super) fn sdl(&self) -> String {
        self.schema.sdl()
    }

    /// What is wrong with permissions, one fault a line.
    pub(super) fn refused(&self, permissions: &Permissions) -> String {
        let faults = Restrictions::new(&self.model, permissions).unwrap_err();
        faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn plan(&self, text: &str, variables: &str) -> (Selection, Vec<Arc<Prepared>>, Variables) {
        let operation = Operation::parse(&self.schema, text, None, &Limits::default())
            .unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
        let given = serde_json::from_str(variables).unwrap();
        let (mut variables, _) = operation.coerce(&self.schema, given).unwrap();
        let selection = operation.select(&self.schema, &variables).unwrap();
        if let Some((_, session)) = &self.restricted {
            variables = variables.with_session(Arc::clone(session));
        }
        let prepared = selection.fields.iter().map(|field| {
            let mut plan = lower(&self.model, &self.roots, selection.kind, field).unwrap();
            if let Some((restrictions, _)) = &self.restricted {
                restrictions.apply(&self.model, &mut plan);
            }
            Arc::new(Prepared::new(&*self.database, &self.model, &plan).unwrap())
        });
        let prepared = prepared.collect();
        (selection, prepared, variables)
    }

    /// The response to a request.
    pub(super) fn answer(&self, text: &str, variables: &str) -> String {
        let runtime = runtime();
        runtime.block_on(async {
            let (selection, prepared, variables) = self.plan(text, variables);
            let results = self.results(&selection, prepared, variables).await;
            String::from_utf8(assemble(&selection.fields, &results, Detail::Hidden)).unwrap()
        })
    }

    async fn results(
        &self,
        selection: &Selection,
        prepared: Vec<Arc<Prepared>>,
        variables: Variables,
    ) -> Vec<FieldResult> {
        if selection.kind == OperationKind::Mutation {
            return self.mutate(&prepared, &variables).await;
        }
        let session = self.session();
        futures_util::future::join_all(prepared.iter().map(|field| session.query(field, &variables))).await
    }

    pub(super) async fn mutate(&self, prepared: &[Arc<Prepared>], variables: &Variables) -> Vec<FieldResult> {
        let prepared: Vec<&Prepared> = prepared.iter().map(|field| &**field).collect();
        self.session().mutate(&prepared, variables).await
    }

    /// A core's way to it.
    pub(super) fn session(&self) -> FieldSession<SqliteDatabase> {
        FieldSession::attach(&self.database)
    }
}

pub(super) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// The answer of all three models, which must be the same bytes.
pub(super) fn same_answer(made: &Made, text: &str, variables: &str) -> String {
    let answers = MODELS.map(|model| made.serve(&with_model(model)).answer(text, variables));
    assert_eq!(answers[0], answers[1], "subquery and per-nest differ for {text}");
    assert_eq!(answers[0], answers[2], "subquery and bucket differ for {text}");
    let [answer, ..] = answers;
    answer
}

/// The first column of the first row of hand-written SQL, as JSON.
pub(super) fn sql_json(connection: &Connection, sql: &str) -> Json {
    let text: String = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    serde_json::from_str(&text).unwrap()
}
