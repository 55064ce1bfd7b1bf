//! A PostgreSQL database as a source.

use std::sync::Arc;

use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};
use prony_source::{Metric, Sample};

use crate::{ListenerState, OpenError, PostgresDatabase, Prepared, Session};
use prony_sql::{
    changes::Feed,
    model::Model,
    plan::{ListPlan, RootPlan},
    settings::{RelationalSettings, SettingsFaults},
    source::{Database, DatabaseSession, Discovered, RelationalSource},
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
    type Prepared = Prepared;
    type Session = Session;

    const PRODUCT: &'static str = "PostgreSQL";

    fn prepare(&self, model: &Arc<Model>, root: RootPlan) -> Result<Prepared, GraphqlError> {
        self.statements(model, root)
    }

    fn prepare_given(
        &self,
        model: &Arc<Model>,
        root: &RootPlan,
        list: &ListPlan,
    ) -> Result<Prepared, GraphqlError> {
        self.statements_of_given(model, root, list)
    }

    fn weight_bytes(prepared: &Prepared) -> usize {
        prepared.weight_bytes()
    }

    fn changes(&self) -> &Arc<Feed> {
        self.changes()
    }

    fn attach(self: &Arc<Self>) -> Session {
        self.session()
    }

    fn metrics(&self, name: &str) -> Vec<Metric> {
        self.listener().map(|state| listener_metrics(name, state)).unwrap_or_default()
    }
}

impl DatabaseSession for Session {
    type Prepared = Prepared;

    async fn query(&self, prepared: &Prepared, variables: &Variables) -> FieldResult {
        self.query(prepared, variables).await
    }

    async fn mutate(&self, prepared: Vec<Arc<Prepared>>, variables: &Variables) -> Vec<FieldResult> {
        self.mutate(&prepared, variables).await
    }

    async fn health(&self) -> Result<(), String> {
        self.health()
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
