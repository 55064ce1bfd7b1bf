//! An open database: checked, its catalog read, shared by all cores.

use std::{sync::Arc, time::Duration};

use tokio::time::timeout;

use crate::{
    catalog_reader::{self, DISCOVERY_LIMIT},
    changes::listen::{Listener, ListenerState},
    connect::{
        config::{PlanMode, Target},
        session_setup,
        single::connect,
    },
    error::{OpenError, OpenErrorKind},
};
use prony_sql::{
    catalog::Catalog,
    changes::{Feed, order::Order},
    follow::CatalogVersion,
    model::Model,
    settings::{PoolMode, RelationalSettings},
};

/// Connections are opened per core, by [`attach`](prony_sql::database::Database::attach).
#[derive(Debug)]
pub struct PostgresDatabase {
    pub(crate) target: Arc<Target>,
    pub(crate) settings: Arc<RelationalSettings>,
    pub(crate) order: Arc<Order>,
    /// Of the catalog that was read when it was opened.
    pub(crate) version: CatalogVersion,
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
        let (version, catalog) = read_catalog(&target, settings).await?;
        let order = Order::new(Feed::new());
        let (target, settings) = (Arc::new(target), Arc::new(settings.clone()));
        Ok((Self { target, settings, order, version, listener: None }, catalog))
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

async fn read_catalog(
    target: &Target,
    settings: &RelationalSettings,
) -> Result<(CatalogVersion, Catalog), OpenError> {
    let patience = Duration::from_millis(settings.connect_wait_ms.into());
    let client = connect(target, patience).await?;
    let read = async {
        session_setup::apply(&client, target, PlanMode::Custom).await.map_err(|reason| {
            OpenError::new(OpenErrorKind::Discovery, &target.description, format!("its session: {reason}"))
        })?;
        let read = catalog_reader::read(&client, target, &settings.schemas).await;
        read.map_err(|error| OpenError::discovery(&target.description, &error))
    };
    timeout(DISCOVERY_LIMIT, read).await.unwrap_or_else(|_| {
        let reason = format!("reading its catalog took longer than {} s", DISCOVERY_LIMIT.as_secs());
        Err(OpenError::new(OpenErrorKind::Discovery, &target.description, reason))
    })
}
