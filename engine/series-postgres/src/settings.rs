//! How series on PostgreSQL are served.

use prony_series_store::{OnDuplicate, Retention};
use std::fmt;
use std::time::Duration;

/// Who knows of names that others have added: types, attributes, entities.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum MetadataCache {
    /// The database alone: each read and each group of writes asks it whether there are any.
    None,
    /// This process: it asks once a second.
    #[default]
    Memory,
    /// A Redis that all who serve the database share, by its address: each read asks it.
    Redis(String),
}

/// Without the address, which may have a password.
impl fmt::Debug for MetadataCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Memory => "Memory",
            Self::Redis(_) => "Redis",
        })
    }
}

/// How series on PostgreSQL are served.
#[derive(Clone)]
pub struct PostgresSettings {
    /// As the driver reads it.
    pub url: String,
    pub on_duplicate: OnDuplicate,
    /// How long rows of types are kept.
    pub retention: Vec<Retention>,
    pub metadata_cache: MetadataCache,
    /// Whether a connection is used again; else each read and each group of writes opens one.
    pub reuses_connections: bool,
    /// Reads that are made at a time, each on a connection of its own; there is one more for writes, and one for upkeep.
    pub connections: usize,
    /// The longest that a statement may take; there is no limit where it is zero.
    pub statement_timeout: Duration,
    /// Whether tables have parts by month.
    pub has_partitions: bool,
    /// Whether nothing of the database is made, changed or let go; what others write is seen.
    pub is_read_only: bool,
}

/// Without the address, which may have a password.
impl fmt::Debug for PostgresSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresSettings")
            .field("on_duplicate", &self.on_duplicate)
            .field("retention", &self.retention)
            .field("metadata_cache", &self.metadata_cache)
            .field("reuses_connections", &self.reuses_connections)
            .field("connections", &self.connections)
            .field("statement_timeout", &self.statement_timeout)
            .field("has_partitions", &self.has_partitions)
            .field("is_read_only", &self.is_read_only)
            .finish_non_exhaustive()
    }
}

impl PostgresSettings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            on_duplicate: OnDuplicate::default(),
            retention: Vec::new(),
            metadata_cache: MetadataCache::default(),
            reuses_connections: true,
            connections: 8,
            statement_timeout: Duration::from_secs(30),
            has_partitions: true,
            is_read_only: false,
        }
    }
}
