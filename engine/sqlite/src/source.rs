//! A SQLite file as a source.

use std::{path::Path, sync::Arc};

use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};

use crate::{OpenError, Prepared, Reader, SqliteDatabase};
use prony_sql::{
    changes::Feed,
    model::Model,
    plan::{ListPlan, RootPlan},
    settings::{RelationalSettings, SettingsFaults},
    source::{Database, DatabaseSession, Discovered, RelationalSource},
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
    type Prepared = Prepared;
    type Session = SqliteSession;

    const PRODUCT: &'static str = "SQLite";

    fn prepare(&self, model: &Arc<Model>, root: RootPlan) -> Result<Prepared, GraphqlError> {
        Ok(self.statements(model, &root))
    }

    fn prepare_given(
        &self,
        model: &Arc<Model>,
        root: &RootPlan,
        list: &ListPlan,
    ) -> Result<Prepared, GraphqlError> {
        Ok(Prepared::given(model, root, list))
    }

    fn weight_bytes(prepared: &Prepared) -> usize {
        prepared.weight_bytes()
    }

    fn changes(&self) -> &Arc<Feed> {
        self.changes()
    }

    fn attach(self: &Arc<Self>) -> SqliteSession {
        SqliteSession { reader: self.reader(), database: Arc::clone(self) }
    }
}

impl DatabaseSession for SqliteSession {
    type Prepared = Prepared;

    async fn query(&self, prepared: &Prepared, variables: &Variables) -> FieldResult {
        self.reader.query(prepared, variables).await
    }

    async fn mutate(&self, prepared: Vec<Arc<Prepared>>, variables: &Variables) -> Vec<FieldResult> {
        self.database.mutate(prepared, Arc::new(variables.clone())).await
    }

    async fn health(&self) -> Result<(), String> {
        self.database.health().await.map_err(|error| error.detail.unwrap_or(error.message))
    }
}
