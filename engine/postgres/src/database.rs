//! An open database: checked, its catalog read, shared by all cores.

use std::{sync::Arc, time::Duration};

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
};
use prony_sql::{
    catalog::Catalog,
    changes::{Feed, order::Order},
    model::Model,
    settings::RelationalSettings,
};

/// Reading the catalog may take this long, also of a database with many thousand tables.
const DISCOVERY_LIMIT: Duration = Duration::from_secs(60);

/// Connections are opened per core, by [`attach`](prony_sql::database::Database::attach).
#[derive(Debug)]
pub struct PostgresDatabase {
    pub(crate) target: Arc<Target>,
    pub(crate) settings: Arc<RelationalSettings>,
    pub(crate) order: Arc<Order>,
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
