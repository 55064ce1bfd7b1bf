//! A PostgreSQL database as a source.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use prony_graphql::error::GraphqlError;
use prony_source::{Metric, Sample};

use crate::{
    ListenerState, OpenError, PostgresCatalogReader, PostgresDatabase, Session,
    connect::config::Target,
    statement::{levels::LevelRead, mutation::Mutation, select::Read},
};
use prony_sql::{
    changes::Feed,
    database::Database,
    discovered::Discovered,
    follow::CatalogVersion,
    levels::LevelSelect,
    model::Model,
    plan::{MutationPlan, RowsPlan},
    settings::{RelationalSettings, SettingsFaults},
    source::RelationalSource,
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
    type CatalogReader = PostgresCatalogReader;

    const PRODUCT: &'static str = "PostgreSQL";

    fn settings(&self) -> &RelationalSettings {
        &self.settings
    }

    fn select(&self, model: &Arc<Model>, rows: &RowsPlan, is_given: bool) -> Result<Read, GraphqlError> {
        Ok(Read::new(model, &self.settings, rows, is_given))
    }

    fn level(&self, model: &Arc<Model>, select: &LevelSelect<'_>) -> Result<LevelRead, GraphqlError> {
        Ok(LevelRead::new(model, &self.settings, select))
    }

    fn mutation(&self, model: &Arc<Model>, response_key: &str, plan: &MutationPlan) -> Arc<Mutation> {
        Arc::new(Mutation::new(model, response_key, plan))
    }

    fn changes(&self) -> &Arc<Feed> {
        self.changes()
    }

    fn follow(self: &Arc<Self>) -> (PostgresCatalogReader, CatalogVersion) {
        (PostgresCatalogReader::new(&self.target, &self.settings), self.version)
    }

    fn description(&self) -> String {
        self.target.description.clone()
    }

    /// Begins to open the core's connections.
    fn attach(self: &Arc<Self>) -> Session {
        Session::new(&self.target, &self.settings, &self.order)
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        let mut metrics = pool_metrics(name, &self.target);
        metrics.extend(self.listener().into_iter().flat_map(|state| listener_metrics(name, state)));
        metrics
    }
}

/// Of the connections of all cores together.
fn pool_metrics(name: &str, target: &Target) -> Vec<Metric> {
    let sample = |value| vec![Sample::labelled("source", name, value)];
    let count = |count: &AtomicU64| sample(count.load(Relaxed) as f64);
    let counts = &target.counts;
    vec![
        Metric::gauge(
            "prony_postgres_connections",
            "Connections to a database, open or being opened",
            sample(target.budget.taken() as f64),
        ),
        Metric::gauge(
            "prony_postgres_connections_max",
            "Connections that there may be (max_connections)",
            sample(target.budget.max() as f64),
        ),
        Metric::gauge(
            "prony_postgres_waiting",
            "Requests that wait for a connection to a database",
            count(&counts.waiting),
        ),
        Metric::counter(
            "prony_postgres_overloads",
            "Requests that were refused because too many waited for a connection (max_waiting), or for too long",
            count(&counts.refused),
        ),
        Metric::counter(
            "prony_postgres_connections_opened",
            "Connections to a database that were opened",
            count(&counts.opened),
        ),
        Metric::counter(
            "prony_postgres_connection_failures",
            "Attempts at a connection to a database that failed",
            count(&counts.failed),
        ),
        Metric::counter(
            "prony_postgres_failovers",
            "How often a server took no writes any more and another primary was looked for",
            sample(target.failovers() as f64),
        ),
    ]
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
