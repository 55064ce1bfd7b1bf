//! An open database: checked, its catalog read, shared by all cores.

use std::{sync::Arc, time::Duration};

use prony_graphql::error::GraphqlError;
use tokio::time::timeout;
use tokio_postgres::Config;

use crate::{
    changes::listen::{Listener, ListenerState},
    connect::{
        config::{PlanMode, Target},
        single::connect,
    },
    discover::{DiscoverError, discover},
    error::{OpenError, OpenErrorKind},
    run::session::Session,
    statement::prepared::Prepared,
};
use prony_sql::{
    catalog::Catalog,
    changes::{Feed, order::Order},
    model::Model,
    plan::{ListPlan, RootPlan},
    settings::RelationalSettings,
};

/// Reading the catalog may take this long, also of a database with many thousand tables.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(60);

/// Connections are opened per core, by [`PostgresDatabase::session`].
#[derive(Debug)]
pub struct PostgresDatabase {
    target: Arc<Target>,
    settings: Arc<RelationalSettings>,
    order: Arc<Order>,
    listener: Option<Listener>,
}

impl PostgresDatabase {
    /// Connects to `postgres://…` or `host=… dbname=…` and reads the catalog, which is the caller's: of many tables it is large.
    ///
    /// # Errors
    /// What is wrong with the text, or why the database cannot be reached or read; never with the password.
    pub async fn open(address: &str, settings: &RelationalSettings) -> Result<(Self, Catalog), OpenError> {
        let config: Config = address.parse().map_err(|error| OpenError::unreadable(&error))?;
        let target = Target::new(config, settings)?;
        let catalog = read_catalog(&target, settings).await?;
        let order = Order::new(Feed::new(catalog.tables.len()));
        let (target, settings) = (Arc::new(target), Arc::new(settings.clone()));
        Ok((Self { target, settings, order, listener: None }, catalog))
    }

    /// Begins to hear of changes made by others; returns after the first attempt.
    ///
    /// # Errors
    /// Where no thread can be had.
    pub async fn listen(&mut self, model: &Arc<Model>) -> Result<(), OpenError> {
        let started = Listener::start(&self.target, model, self.order.feed()).await;
        let failed = |error: std::io::Error| {
            OpenError::new(OpenErrorKind::NotReady, &self.target.description, error.to_string())
        };
        self.listener = Some(started.map_err(failed)?);
        Ok(())
    }

    /// Where it listens.
    pub fn listener(&self) -> Option<&ListenerState> {
        self.listener.as_ref().map(|listener| &*listener.state)
    }

    /// What mutations change.
    pub fn changes(&self) -> &Arc<Feed> {
        self.order.feed()
    }

    /// Writes the statements of a root field; nothing is sent yet.
    ///
    /// # Errors
    /// Limits and offsets written in the document that are out of bounds.
    pub fn statements(&self, model: &Arc<Model>, plan: RootPlan) -> Result<Prepared, GraphqlError> {
        Prepared::new(model, &self.settings, plan)
    }

    /// As [`Self::statements`] for a list, of the one row that the variables give
    /// ([`prony_graphql::variables::Variables::with_given`]) by the table's columns, instead of those of the table.
    ///
    /// # Errors
    /// As [`Self::statements`].
    pub fn statements_of_given(
        &self,
        model: &Arc<Model>,
        plan: &RootPlan,
        list: &ListPlan,
    ) -> Result<Prepared, GraphqlError> {
        Prepared::given(model, &self.settings, plan, list)
    }

    /// Begins to open this core's connections. Call it on the core's thread, inside its `LocalSet`.
    pub fn session(&self) -> Session {
        Session::new(&self.target, &self.settings, &self.order)
    }
}

async fn read_catalog(target: &Target, settings: &RelationalSettings) -> Result<Catalog, OpenError> {
    let client = connect(target).await?;
    let setup = target.session_setup(PlanMode::Custom);
    let read = async {
        client.batch_execute(&setup).await?;
        // Catalogs of many thousand tables take longer than a request may.
        client.batch_execute("set statement_timeout = 0").await?;
        discover(&client, &settings.schemas).await
    };
    let catalog = timeout(DISCOVERY_LIMIT, read).await.map_err(|_| {
        let reason = format!("reading its catalog took longer than {} s", DISCOVERY_LIMIT.as_secs());
        OpenError::new(OpenErrorKind::Discovery, &target.description, reason)
    })?;
    catalog.map_err(|error: DiscoverError| OpenError::discovery(&target.description, &error))
}
