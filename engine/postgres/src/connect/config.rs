//! Where the database is, how many connections it may have, and what all of them know of each other.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prony_postgres_connect::{Address, Budget, Connector, Environment};
use prony_source::slow_statements::threshold;
use prony_sql::settings::{PoolMode, RelationalSettings};

use crate::{
    connect::{disk_space::DiskSpace, reachability::Reachability},
    error::OpenError,
};

/// What the server is told that we are.
const APPLICATION: &str = "prony";

/// How sessions plan prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum PlanMode {
    /// One plan for all values, kept: no planning per execution.
    Generic,
    /// A plan for each execution, made for its values.
    Custom,
}

impl PlanMode {
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Self::Generic => "force_generic_plan",
            Self::Custom => "force_custom_plan",
        }
    }
}

/// What has become of requests that needed a connection, over all cores, for the metrics.
#[derive(Debug, Default)]
pub(crate) struct PoolCounts {
    /// They wait for a connection.
    pub(crate) waiting: AtomicU64,
    /// They were refused, because too many waited, or they waited too long.
    pub(crate) refused: AtomicU64,
    /// Connections that were opened.
    pub(crate) opened: AtomicU64,
    /// Attempts at opening one that failed.
    pub(crate) failed: AtomicU64,
}

/// Everything that a new connection needs to know, and what connections tell each other.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) connector: Connector,
    /// `host:port/database`, for logs and errors.
    pub(crate) description: String,
    pub(crate) statement_timeout_ms: u32,
    pub(crate) lock_timeout_ms: u32,
    /// The database refuses whatever would change it.
    pub(crate) read_only: bool,
    /// The database runs on this machine: more busy backends than processors only take turns with the engine.
    pub(crate) shares_processors: bool,
    pub(crate) pool_mode: PoolMode,
    /// Of all cores together.
    pub(crate) budget: Arc<Budget>,
    pub(crate) counts: PoolCounts,
    pub(crate) disk_space: DiskSpace,
    pub(crate) reachability: Reachability,
    /// Statements that take so long are logged.
    pub(crate) slow_after: Duration,
    pub(crate) explains_slow: bool,
    /// Settings of sessions that the server has refused and that can be done without.
    refused: Mutex<BTreeSet<&'static str>>,
    /// How often a server that took writes was found to take none any more.
    demotions: AtomicU64,
}

impl Target {
    /// Reads the address, and what it leaves to services, variables and files.
    pub(crate) fn resolve(address: &str, settings: &RelationalSettings) -> Result<Self, OpenError> {
        let address = Address::resolve(address, &Environment::of_process(), APPLICATION)?;
        Ok(Self {
            description: address.description().to_owned(),
            shares_processors: address.is_on_this_machine(),
            connector: Connector::new(address),
            statement_timeout_ms: settings.common.statement_timeout_ms,
            lock_timeout_ms: settings.lock_timeout_ms,
            read_only: settings.common.read_only,
            pool_mode: settings.pool_mode,
            budget: Budget::new(settings.max_connections.into()),
            counts: PoolCounts::default(),
            disk_space: DiskSpace::default(),
            reachability: Reachability::default(),
            slow_after: threshold(settings.slow_statement_ms),
            explains_slow: settings.slow_statement_plan,
            refused: Mutex::default(),
            demotions: AtomicU64::new(0),
        })
    }

    /// The longest that an attempt may take from the first packet until the session is set up.
    pub(crate) fn attempt_limit(&self) -> Duration {
        self.connector.address().attempt_limit()
    }

    /// A number that changes when connections of before must not be used any more.
    pub(crate) fn generation(&self) -> u64 {
        self.demotions.load(Relaxed)
    }

    /// What became of an attempt to connect, with the reason where it failed.
    pub(crate) fn attempted(&self, failure: Option<&str>) {
        let count = if failure.is_some() { &self.counts.failed } else { &self.counts.opened };
        count.fetch_add(1, Relaxed);
        self.reachability.record(failure.map(Into::into), Instant::now());
    }

    /// How often another primary was looked for.
    pub(crate) fn failovers(&self) -> u64 {
        self.generation()
    }

    /// A connection of this generation, which took writes when it was opened, is refused them: the server is no primary any more,
    /// and another one is looked for. Told by many connections at once, it counts once.
    pub(crate) fn demoted(&self, generation: u64) {
        if self.demotions.compare_exchange(generation, generation + 1, Relaxed, Relaxed).is_ok() {
            tracing::warn!(
                database = %self.description,
                "the server takes no writes any more; looking for the new primary"
            );
        }
    }

    pub(crate) fn is_refused(&self, name: &str) -> bool {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    /// Remembers a setting that the server does not take; said once.
    pub(crate) fn refuse(&self, name: &'static str, reason: &str) {
        if self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(name) {
            let database = &self.description;
            tracing::warn!(%database, setting = name, reason, "the server refuses a setting; going on without it");
        }
    }
}
