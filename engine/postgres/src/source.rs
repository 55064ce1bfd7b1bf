//! A PostgreSQL database as a source.

use std::sync::Arc;

use prony_graphql::error::GraphqlError;
use prony_source::{Metric, Sample};

use crate::{
    ListenerState, OpenError, PostgresDatabase, Session,
    statement::{levels::LevelRead, mutation::Mutation, select::Read},
};
use prony_sql::{
    changes::Feed,
    database::Database,
    levels::LevelSelect,
    model::Model,
    plan::{MutationPlan, RowsPlan},
    settings::{RelationalSettings, SettingsFaults},
    source::{Discovered, RelationalSource},
};

/// A served PostgreSQL database.
pub type PostgresSource = RelationalSource<PostgresDatabase>;

/// Why a database cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PostgresSourceError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Settings(#[from] SettingsFaults),
}

/// Connects and finds out what there is.
///
/// # Errors
/// What is wrong with the address or the database, or settings that do not fit it.
pub async fn open(
    address: &str,
    settings: &RelationalSettings,
) -> Result<PostgresSource, PostgresSourceError> {
    let (mut database, catalog) = PostgresDatabase::open(address, settings).await?;
    let discovered = Discovered::new(&catalog, settings, None)?;
    if settings.listen {
        database.listen(&discovered.model).await?;
    }
    Ok(RelationalSource::new(discovered, settings, Arc::new(database)))
}

impl Database for PostgresDatabase {
    type Select = Read;
    type Level = LevelRead;
    type Mutation = Arc<Mutation>;
    type Session = Session;

    const PRODUCT: &'static str = "PostgreSQL";

    fn settings(&self) -> &RelationalSettings {
        &self.settings
    }

    fn select(&self, model: &Arc<Model>, rows: &RowsPlan, is_given: bool) -> Result<Read, GraphqlError> {
        Read::new(model, &self.settings, rows, is_given)
    }

    fn level(&self, model: &Arc<Model>, select: &LevelSelect<'_>) -> Result<LevelRead, GraphqlError> {
        LevelRead::new(model, &self.settings, select)
    }

    fn mutation(&self, model: &Arc<Model>, _response_key: &str, plan: &MutationPlan) -> Arc<Mutation> {
        Arc::new(Mutation::new(model, plan))
    }

    fn changes(&self) -> &Arc<Feed> {
        self.changes()
    }

    /// Begins to open the core's connections.
    fn attach(self: &Arc<Self>) -> Session {
        Session::new(&self.target, &self.settings, &self.order)
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        self.listener().map(|state| listener_metrics(name, state)).unwrap_or_default()
    }
}

/// Of a database that is listened to.
fn listener_metrics(name: &str, state: &ListenerState) -> Vec<Metric> {
    let sample = |value| vec![Sample::labelled("source", name, value)];
    vec![
        Metric::gauge(
            "prony_listener_connected",
            "Whether changes made by others in a database are heard of",
            sample(f64::from(u8::from(state.is_connected()))),
        ),
        Metric::counter(
            "prony_listener_connections",
            "How often the listening connection to a database was made",
            sample(state.connections() as f64),
        ),
        Metric::counter(
            "prony_listener_changes",
            "Row changes that were read from a database's triggers",
            sample(state.changes() as f64),
        ),
    ]
}
