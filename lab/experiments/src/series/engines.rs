//! Where rows are kept: the engines of series, the settings of each that a row of the tables is of, and what the study had in its place.

use std::{fmt, str::FromStr};

use serde::Serialize;

use super::{
    published::{self, PublishedRow},
    study::MetadataCache,
};
use crate::{
    choice::{ChoiceError, choose},
    durability::Durability,
};

/// An engine of series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesEngine {
    /// In a `PostgreSQL` database, `series+postgres://…`.
    Postgres,
    /// In a `QuestDB`, `series+questdb://…`.
    QuestDb,
    /// In a directory, `series:DIR`.
    Embedded,
}

impl SeriesEngine {
    pub const ALL: [Self; 3] = [Self::Postgres, Self::QuestDb, Self::Embedded];

    /// As the command line has it.
    const fn name(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::QuestDb => "questdb",
            Self::Embedded => "embedded",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::QuestDb => "QuestDB",
            Self::Embedded => "embedded",
        }
    }

    /// All settings that are measured of it.
    pub(super) fn settings(self, durabilities: &[Durability]) -> Vec<EngineSetting> {
        match self {
            Self::Postgres => EngineSetting::POSTGRES.to_vec(),
            Self::QuestDb => vec![EngineSetting::QuestDb],
            Self::Embedded => durabilities
                .iter()
                .map(|durability| EngineSetting::Embedded { durability: *durability })
                .collect(),
        }
    }

    /// As it is without settings: what is asked of the large table is asked of this one.
    pub(super) const fn usual(self) -> EngineSetting {
        match self {
            Self::Postgres => {
                EngineSetting::Postgres { metadata_cache: MetadataCache::Memory, connection_reuse: true }
            }
            Self::QuestDb => EngineSetting::QuestDb,
            Self::Embedded => EngineSetting::Embedded { durability: Durability::Sync },
        }
    }
}

impl FromStr for SeriesEngine {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        choose(text, "engine of series", &Self::ALL, Self::name)
    }
}

impl fmt::Display for SeriesEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An engine with its settings: a row of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
pub enum EngineSetting {
    Postgres { metadata_cache: MetadataCache, connection_reuse: bool },
    QuestDb,
    Embedded { durability: Durability },
}

impl EngineSetting {
    /// Those of the study, in its order, and then the engine's own defaults.
    const POSTGRES: [Self; 6] = [
        Self::postgres(MetadataCache::None, false),
        Self::postgres(MetadataCache::None, true),
        Self::postgres(MetadataCache::Redis, false),
        Self::postgres(MetadataCache::Memory, false),
        Self::postgres(MetadataCache::Redis, true),
        Self::postgres(MetadataCache::Memory, true),
    ];

    const fn postgres(metadata_cache: MetadataCache, connection_reuse: bool) -> Self {
        Self::Postgres { metadata_cache, connection_reuse }
    }

    /// Those that the study has figures of, and those that stand beside them.
    pub(super) fn of_study() -> impl Iterator<Item = Self> {
        Self::POSTGRES.into_iter()
    }

    pub(super) const fn engine(self) -> SeriesEngine {
        match self {
            Self::Postgres { .. } => SeriesEngine::Postgres,
            Self::QuestDb => SeriesEngine::QuestDb,
            Self::Embedded { .. } => SeriesEngine::Embedded,
        }
    }

    /// Whether these are the settings of an engine for which none are given.
    pub(super) fn is_usual(self) -> bool {
        self == self.engine().usual()
    }

    pub(super) const fn needs_redis(self) -> bool {
        matches!(self, Self::Postgres { metadata_cache: MetadataCache::Redis, .. })
    }

    /// For people: `PostgreSQL: metadata in Redis, connections used again`.
    pub(super) fn label(self) -> String {
        let of = self.engine().label();
        match self {
            Self::Postgres { metadata_cache, connection_reuse } => {
                let cache = match metadata_cache {
                    MetadataCache::None => "metadata asked for each time",
                    MetadataCache::Memory => "metadata in memory",
                    MetadataCache::Redis => "metadata in Redis",
                };
                let reuse =
                    if connection_reuse { "connections used again" } else { "a connection each time" };
                format!("{of}: {cache}, {reuse}")
            }
            Self::QuestDb => of.to_owned(),
            Self::Embedded { durability } => format!("{of}: {durability}"),
        }
    }

    /// For names of files: `postgres-redis-reuse`, `sync`.
    pub(super) fn name(self) -> String {
        match self {
            Self::Postgres { metadata_cache, connection_reuse } => {
                let reuse = if connection_reuse { "-reuse" } else { "" };
                format!("postgres-{}{reuse}", metadata_cache.name())
            }
            Self::QuestDb => self.engine().name().to_owned(),
            Self::Embedded { durability } => durability.to_string(),
        }
    }

    /// The study's row with the same settings.
    pub(super) fn published(self) -> Option<&'static PublishedRow> {
        match self {
            Self::Postgres { metadata_cache, connection_reuse } => published::ROWS
                .iter()
                .find(|row| (row.metadata_cache, row.connection_reuse) == (metadata_cache, connection_reuse)),
            Self::QuestDb | Self::Embedded { .. } => None,
        }
    }

    /// What the engine is started with, behind its source.
    pub(super) fn arguments(self, redis: Option<&str>) -> Vec<String> {
        match self {
            Self::Postgres { metadata_cache, connection_reuse } => {
                let mut arguments = vec![
                    "--metadata-cache".to_owned(),
                    metadata_cache.name().to_owned(),
                    format!("--connection-reuse={connection_reuse}"),
                ];
                let redis = redis.filter(|_| metadata_cache == MetadataCache::Redis);
                arguments
                    .extend(redis.iter().flat_map(|url| ["--metadata-redis".to_owned(), (*url).to_owned()]));
                arguments
            }
            Self::QuestDb => Vec::new(),
            Self::Embedded { durability } => vec!["--durability".to_owned(), durability.to_string()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_the_study_has_its_setting_in_its_order() {
        let found: Vec<_> =
            EngineSetting::POSTGRES.iter().filter_map(|setting| setting.published()).collect();
        let expected: Vec<_> = published::ROWS.iter().collect();
        assert_eq!(found, expected);
        assert_eq!(SeriesEngine::Embedded.usual().published(), None);
    }

    #[test]
    fn settings_are_arguments_of_the_engine() {
        let arguments = |setting: EngineSetting| setting.arguments(Some("redis://r")).join(" ");
        assert_eq!(
            arguments(EngineSetting::postgres(MetadataCache::Redis, false)),
            "--metadata-cache redis --connection-reuse=false --metadata-redis redis://r"
        );
        assert_eq!(
            arguments(SeriesEngine::Postgres.usual()),
            "--metadata-cache memory --connection-reuse=true"
        );
        assert_eq!(arguments(SeriesEngine::Embedded.usual()), "--durability sync");
    }

    #[test]
    fn engines_print_what_they_read_and_each_setting_has_its_own_names() {
        for engine in SeriesEngine::ALL {
            assert_eq!(engine.to_string().parse(), Ok(engine));
            let settings = engine.settings(&[Durability::Sync, Durability::Off]);
            for get in [EngineSetting::label, EngineSetting::name] {
                let mut names: Vec<String> = settings.iter().map(|setting| get(*setting)).collect();
                names.dedup();
                assert_eq!(names.len(), settings.len());
            }
            assert_eq!(settings.iter().filter(|setting| setting.is_usual()).count(), 1);
        }
    }
}
