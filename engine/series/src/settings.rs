//! What a user can set for series, and how it is written.

use std::time::Duration;

use prony_series_postgres::{MetadataCache, PostgresSettings};
use prony_series_questdb::QuestSettings;
use prony_series_store::{
    Aggregates, Durability, OnDuplicate, Options, Retention, SEAL_AT_LOG_BYTES, calendar::Period,
};
use prony_source::{CommonSettings, config::SourceUrl};

use crate::hidden::Kept;

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
    pub aggregates: Vec<Aggregates>,
    /// Whether the metadata of attributes are kept.
    pub keep_metadata: bool,
    /// Whether it is kept what gave each row its time.
    pub keep_time_attribute: bool,
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
            aggregates: Vec::new(),
            keep_metadata: false,
            keep_time_attribute: false,
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
            aggregates: self.aggregates.clone(),
        }
    }

    /// What of the aggregates cannot be.
    pub(crate) fn check_aggregates(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for of in &self.aggregates {
            let name = of.type_name.as_deref().unwrap_or("*");
            let rows = match &of.type_name {
                Some(name) => Retention::of(&self.retention, name),
                None => self.retention.iter().map(|of| of.keep).max(),
            };
            match (rows, of.keep) {
                (None, _) => faults.push(format!(
                    "aggregates of `{name}` are kept in place of rows that retention removes, and retention has nothing for it; add \"{name}=30d\" to retention"
                )),
                (Some(rows), Some(keep)) if keep <= rows => faults.push(format!(
                    "aggregates of `{name}` are kept for {} s, and its rows for {} s; keep aggregates longer than rows",
                    keep.as_secs(),
                    rows.as_secs(),
                )),
                _ => {}
            }
        }
        faults
    }

    pub(crate) const fn kept(&self) -> Kept {
        Kept {
            metadata: self.keep_metadata,
            time_attribute: self.keep_time_attribute,
            on_duplicate: self.on_duplicate,
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
            is_read_only: self.common.read_only,
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
            is_read_only: self.common.read_only,
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
    let keep = duration(keep).ok_or_else(wrong)?;
    let type_name = type_name(name).ok_or_else(wrong)?;
    Ok(Retention { type_name, keep })
}

/// Reads `TYPE=hour`, or `*=day:3650d` for all types that are not named, whose aggregates go after that time.
///
/// # Errors
/// What to write instead.
pub fn aggregates(text: &str) -> Result<Aggregates, String> {
    let wrong = || {
        format!(
            "`{text}` is no setting of aggregates; write \"TYPE=hour\", or \"*=day:3650d\" for all other types and for so long, with second, minute, hour, day, month or year, and s, m, h or d"
        )
    };
    let (name, rest) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (period, keep) = match rest.split_once(':') {
        Some((period, keep)) => (period, Some(duration(keep).ok_or_else(wrong)?)),
        None => (rest, None),
    };
    let period = match period.trim() {
        "second" => Period::Second,
        "minute" => Period::Minute,
        "hour" => Period::Hour,
        "day" => Period::Day,
        "month" => Period::Month,
        "year" => Period::Year,
        _ => return Err(wrong()),
    };
    Ok(Aggregates { type_name: type_name(name).ok_or_else(wrong)?, period, keep })
}

/// Of a list with one setting for each type, which `of` tells.
///
/// # Errors
/// What cannot be read, and a type that stands twice: which of the two counts would be a matter of their order.
pub(crate) fn each_once<T>(
    texts: &[String],
    read: fn(&str) -> Result<T, String>,
    of: fn(&T) -> Option<&str>,
) -> Result<Vec<T>, String> {
    let mut all: Vec<T> = Vec::with_capacity(texts.len());
    for text in texts {
        let next = read(text)?;
        if all.iter().any(|other| of(other) == of(&next)) {
            return Err(format!("`{text}`: its type stands twice; write one for each type"));
        }
        all.push(next);
    }
    Ok(all)
}

/// Reads a number of seconds to days.
fn duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1))?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return None,
    };
    let number: u64 = number.parse().ok().filter(|number| *number > 0)?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Reads a type, or `*` for all others; none where nothing stands there.
#[expect(clippy::option_option, reason = "a type that is not named is none of the two")]
fn type_name(text: &str) -> Option<Option<String>> {
    let name = text.trim();
    (!name.is_empty()).then(|| (name != "*").then(|| name.to_owned()))
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

    #[test]
    fn a_type_has_one_retention() {
        let of = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            each_once(&texts, retention, |of| of.type_name.as_deref()).map(|all| all.len())
        };
        assert_eq!(of(&["Room=30d", "Street=1d", "*=365d"]), Ok(3));
        assert_eq!(
            of(&["Room=30d", "Room=1d"]),
            Err("`Room=1d`: its type stands twice; write one for each type".to_owned())
        );
        assert!(of(&["*=30d", "*=1d"]).is_err());
    }

    #[test]
    fn aggregates_are_read() {
        let of = |name: Option<&str>, period, keep: Option<u64>| Aggregates {
            type_name: name.map(str::to_owned),
            period,
            keep: keep.map(Duration::from_secs),
        };
        assert_eq!(aggregates("Room=hour").unwrap(), of(Some("Room"), Period::Hour, None));
        assert_eq!(aggregates("*=day:3650d").unwrap(), of(None, Period::Day, Some(3650 * 86_400)));
        assert_eq!(aggregates("a=b = month : 9h").unwrap(), of(Some("a=b"), Period::Month, Some(32_400)));
        for wrong in ["Room", "Room=", "=hour", "Room=hours", "Room=hour:", "Room=hour:0d", "Room=day:3"] {
            assert!(aggregates(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn aggregates_outlive_rows() {
        let of = |retentions: &[&str], all: &[&str]| {
            let retention = retentions.iter().map(|text| retention(text).unwrap()).collect();
            let aggregates = all.iter().map(|text| aggregates(text).unwrap()).collect();
            SeriesSettings { retention, aggregates, ..SeriesSettings::default() }.check_aggregates()
        };
        assert_eq!(of(&["Room=30d"], &["Room=hour", "*=day:31d"]), Vec::<String>::new());
        assert_eq!(of(&["*=30d"], &["Room=hour:3000d"]), Vec::<String>::new());
        assert!(of(&[], &["*=day"])[0].contains("`*`"));
        assert!(of(&["Street=1d"], &["Room=day"])[0].contains("\"Room=30d\""));
        assert!(of(&["*=30d"], &["Room=hour:30d"])[0].contains("2592000 s"));
    }
}
