//! A SQLite file as a source.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};
use prony_source::{Metric, NotReady};

use crate::{
    OpenError, SqliteDatabase,
    file::catalog_reader::SqliteCatalogReader,
    read::{reader::Reader, session::Session},
    statement::{
        bind::{self, Values},
        compile,
        mutation::mutation,
        program::{LevelProgram, MutationProgram, RowsProgram},
    },
    write::writer::Mutations,
};
use prony_sql::{
    changes::Feed,
    database::{Database, DatabaseSession, StatementPlan, WrittenStatement},
    discovered::Discovered,
    follow::CatalogVersion,
    levels::{Key, LevelRows, LevelSelect, MergeKey},
    model::Model,
    plan::{MutationPlan, RowsPlan},
    settings::{RelationalSettings, SettingsFaults},
    source::RelationalSource,
};

/// A served SQLite file.
pub type SqliteSource = RelationalSource<SqliteDatabase>;

/// Why a file cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum SqliteSourceError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Settings(#[from] SettingsFaults),
}

/// Opens a file and finds out what there is.
///
/// # Errors
/// What is wrong with the file, or settings that do not fit it.
pub fn open(path: &Path, settings: &RelationalSettings) -> Result<SqliteSource, SqliteSourceError> {
    let (database, catalog) = SqliteDatabase::open(path, settings)?;
    let not_listening = settings.listen.then(|| {
        "`listen` is for PostgreSQL: what other programs change in a SQLite database is not heard of"
            .to_owned()
    });
    let discovered = Discovered::new(&catalog, settings, not_listening)?;
    Ok(RelationalSource::new(discovered, settings, Arc::new(database)))
}

/// One core's reader; mutations and health are the database's, which all cores share.
#[derive(Debug)]
pub struct SqliteSession {
    reader: Reader,
    database: Arc<SqliteDatabase>,
}

impl Database for SqliteDatabase {
    type Select = Arc<RowsProgram>;
    type Level = Arc<LevelProgram>;
    type Mutation = Arc<MutationProgram>;
    type Session = SqliteSession;
    type CatalogReader = SqliteCatalogReader;

    const PRODUCT: &'static str = "SQLite";

    fn settings(&self) -> &RelationalSettings {
        self.settings()
    }

    fn select(
        &self,
        model: &Arc<Model>,
        rows: &RowsPlan,
        is_given: bool,
    ) -> Result<Arc<RowsProgram>, GraphqlError> {
        Ok(Arc::new(compile::rows(model, rows, is_given)))
    }

    fn level(&self, model: &Arc<Model>, select: &LevelSelect<'_>) -> Result<Arc<LevelProgram>, GraphqlError> {
        Ok(Arc::new(compile::level(model, select)))
    }

    fn mutation(&self, model: &Arc<Model>, response_key: &str, plan: &MutationPlan) -> Arc<MutationProgram> {
        Arc::new(mutation(model, response_key, plan))
    }

    fn changes(&self) -> &Arc<Feed> {
        self.changes()
    }

    fn follow(self: &Arc<Self>) -> (SqliteCatalogReader, CatalogVersion) {
        SqliteDatabase::follow(self)
    }

    fn description(&self) -> String {
        self.path().display().to_string()
    }

    fn written_directory(&self) -> Option<PathBuf> {
        self.written_directory()
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        self.metrics(name)
    }

    fn attach(self: &Arc<Self>) -> SqliteSession {
        SqliteSession { reader: self.reader(), database: Arc::clone(self) }
    }
}

impl DatabaseSession<SqliteDatabase> for SqliteSession {
    async fn select(
        &self,
        model: &Arc<Model>,
        program: &Arc<RowsProgram>,
        variables: &Variables,
    ) -> Result<FieldResult, GraphqlError> {
        self.reader.run(program, model, variables, Session::rows).await
    }

    async fn level(
        &self,
        model: &Arc<Model>,
        program: &Arc<LevelProgram>,
        keys: Arc<[Key]>,
        variables: &Variables,
    ) -> Result<LevelRows, GraphqlError> {
        let read = move |session: &mut Session, program: &LevelProgram, values: Values<'_>| {
            session.level(program, &keys, values)
        };
        self.reader.run(program, model, variables, read).await
    }

    fn merge_key(
        &self,
        model: &Model,
        program: &Arc<LevelProgram>,
        variables: &Variables,
    ) -> Result<MergeKey, GraphqlError> {
        let values = Values { model, variables, settings: &self.reader.settings };
        let mut key = bind::fingerprint(program.text(), values)?;
        key.push_str(&program.fingerprint);
        Ok(MergeKey(key.into_bytes().into()))
    }

    async fn mutate(
        &self,
        model: &Arc<Model>,
        programs: Vec<&Arc<MutationProgram>>,
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let programs = programs.into_iter().map(Arc::clone).collect();
        let mutations = Mutations { model: Arc::clone(model), programs };
        self.database.mutate(mutations, variables.clone()).await
    }

    /// On a thread that may block.
    async fn plan(
        &self,
        statement: WrittenStatement<'_>,
        _variables: &Variables,
    ) -> Result<StatementPlan, GraphqlError> {
        self.database.plan(statement.sql).await
    }

    async fn health(&self) -> Result<(), String> {
        self.database.health().await.map_err(|error| error.detail.unwrap_or(error.message))
    }

    async fn readiness(&self) -> Result<(), NotReady> {
        self.database.readiness().await
    }
}
