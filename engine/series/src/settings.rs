//! What a user can set for series, and how it is written.

use std::time::Duration;

use prony_series_postgres::{MetadataCache, PostgresSettings};
use prony_series_questdb::QuestSettings;
use prony_series_store::{Durability, OnDuplicate, Options, Retention, SEAL_AT_LOG_BYTES};
use prony_source::{CommonSettings, config::SourceUrl};

/// How series are opened.
#[derive(Debug, Clone)]
pub struct SeriesSettings {
    pub common: CommonSettings,
    pub durability: Durability,
    /// Whether to go on without what is damaged.
    pub recover: bool,
    /// Length of the log at which rows go into a segment.
    pub seal_at_log_bytes: u64,
    pub on_duplicate: OnDuplicate,
    pub retention: Vec<Retention>,
    /// What `GET /version` says.
    pub version: String,
    pub on_postgres: OnPostgresSettings,
}

/// What is set for series on PostgreSQL alone.
#[derive(Debug, Clone)]
pub struct OnPostgresSettings {
    pub metadata_cache: CacheWord,
    /// The Redis of names, which may have a password.
    pub metadata_redis: SourceUrl,
    /// Whether connections are used again.
    pub connection_reuse: bool,
    /// Reads at a time, also on QuestDB.
    pub connections: usize,
}

/// Who knows of names that other servers have added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheWord {
    None,
    Memory,
    Redis,
}

impl Default for OnPostgresSettings {
    fn default() -> Self {
        Self {
            metadata_cache: CacheWord::Memory,
            metadata_redis: SourceUrl(String::new()),
            connection_reuse: true,
            connections: 8,
        }
    }
}

impl Default for SeriesSettings {
    fn default() -> Self {
        Self {
            common: CommonSettings::default(),
            durability: Durability::Sync,
            recover: false,
            seal_at_log_bytes: SEAL_AT_LOG_BYTES,
            on_duplicate: OnDuplicate::default(),
            retention: Vec::new(),
            version: "1.0.1-dev".to_owned(),
            on_postgres: OnPostgresSettings::default(),
        }
    }
}

impl AsMut<CommonSettings> for SeriesSettings {
    fn as_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }
}

impl SeriesSettings {
    pub(crate) fn options(&self) -> Options {
        Options {
            durability: self.durability,
            recover: self.recover,
            seal_at_log_bytes: Some(self.seal_at_log_bytes),
            on_duplicate: self.on_duplicate,
            retention: self.retention.clone(),
        }
    }

    /// Of the series in a database, by the address that its driver reads.
    pub(crate) fn on_postgres(&self, url: String) -> PostgresSettings {
        let OnPostgresSettings { metadata_cache, metadata_redis, connection_reuse, connections } =
            &self.on_postgres;
        PostgresSettings {
            on_duplicate: self.on_duplicate,
            retention: self.retention.clone(),
            metadata_cache: match metadata_cache {
                CacheWord::None => MetadataCache::None,
                CacheWord::Memory => MetadataCache::Memory,
                CacheWord::Redis => MetadataCache::Redis(metadata_redis.0.clone()),
            },
            reuses_connections: *connection_reuse,
            connections: *connections,
            statement_timeout: Duration::from_millis(self.common.statement_timeout_ms.into()),
            ..PostgresSettings::new(url)
        }
    }

    /// Of the series in a QuestDB, by the address behind `series+`.
    pub(crate) fn on_questdb(&self, url: String) -> QuestSettings {
        QuestSettings {
            on_duplicate: self.on_duplicate,
            retention: self.retention.clone(),
            connections: self.on_postgres.connections,
            statement_timeout: Duration::from_millis(self.common.statement_timeout_ms.into()),
            ..QuestSettings::new(url)
        }
    }
}

/// Reads `TYPE=30d`, or `*=365d` for all types that are not named; with `s`, `m`, `h`, `d` for seconds to days.
///
/// # Errors
/// What to write instead.
pub fn retention(text: &str) -> Result<Retention, String> {
    let wrong = || {
        format!(
            "`{text}` is no retention; write \"TYPE=30d\", or \"*=365d\" for all other types, with s, m, h or d"
        )
    };
    let (name, keep) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (number, unit) =
        keep.trim().split_at_checked(keep.trim().len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
    let keep = number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)?;
    let name = name.trim();
    if name.is_empty() {
        return Err(wrong());
    }
    Ok(Retention { type_name: (name != "*").then(|| name.to_owned()), keep })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retentions_are_read() {
        let days = |days: u64| Duration::from_secs(days * 86_400);
        assert_eq!(
            retention("Room=30d").unwrap(),
            Retention { type_name: Some("Room".to_owned()), keep: days(30) }
        );
        assert_eq!(retention("*=48h").unwrap(), Retention { type_name: None, keep: days(2) });
        for wrong in ["Room", "Room=", "Room=d", "=3d", "Room=0d", "Room=3w", "Room=-1d"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
    }
}
