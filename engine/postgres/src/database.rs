//! An open database: checked, its catalog read, shared by all cores.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use crate::{
    changes::listen::{Listener, ListenerState},
    connect::{
        config::{PlanMode, Target},
        session_setup,
        single::connect,
    },
    discover::{DiscoverError, discover},
    error::{OpenError, OpenErrorKind},
};
use prony_sql::{
    catalog::Catalog,
    changes::{Feed, order::Order},
    model::Model,
    settings::{PoolMode, RelationalSettings},
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
        let target = Target::resolve(address, settings)?;
        if settings.listen && target.pool_mode == PoolMode::Transaction {
            let reason = "listen needs a session of its own: with pool_mode = \"transaction\" there is none; \
                          connect past the pooler, or leave listen out";
            return Err(OpenError::new(OpenErrorKind::Config, &target.description, reason));
        }
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
    let patience = Duration::from_millis(settings.connect_wait_ms.into());
    let client = connect(target, patience).await?;
    let read = async {
        session_setup::apply(&client, target, PlanMode::Custom).await.map_err(|reason| {
            OpenError::new(OpenErrorKind::Discovery, &target.description, format!("its session: {reason}"))
        })?;
        let failed = |error| OpenError::discovery(&target.description, &DiscoverError::Postgres(error));
        // One transaction: a pooler may give the next one to another server's session. Catalogs of many thousand tables take longer
        // than a request may.
        let setup = session_setup::of_transaction(target).unwrap_or_default();
        client
            .batch_execute(&format!("begin; {setup}; set local statement_timeout = 0"))
            .await
            .map_err(failed)?;
        let catalog = discover(&client, &settings.schemas)
            .await
            .map_err(|error| OpenError::discovery(&target.description, &error))?;
        client.batch_execute("commit").await.map_err(failed)?;
        Ok(catalog)
    };
    timeout(DISCOVERY_LIMIT, read).await.unwrap_or_else(|_| {
        let reason = format!("reading its catalog took longer than {} s", DISCOVERY_LIMIT.as_secs());
        Err(OpenError::new(OpenErrorKind::Discovery, &target.description, reason))
    })
}
