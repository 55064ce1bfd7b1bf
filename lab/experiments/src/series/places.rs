//! Where an engine keeps its rows while it is measured: a directory or a database of its own, empty at first and gone afterwards; and the
//! servers behind that, with what is missing of them.

use std::time::Instant;

use prony_model::Nanos;
use serde::Serialize;
use tempfile::TempDir;

use super::engines::EngineSetting;
use crate::{
    databases::{
        DatabaseError, PostgresPlace, QuestPlace, RedisPlace, ScratchDatabase, ScratchTables,
        provide_postgres, provide_questdb, provide_redis,
    },
    disk::bytes_in,
    engine::Engine,
    error::LabError,
    frame::Ground,
    processors::{self, Assignment},
};

/// Longer than any query of the study takes: one that is given up says nothing of the engine's speed.
const STATEMENT_TIMEOUT_MS: u32 = 600_000;

/// The servers behind engines.
#[derive(Debug)]
pub(super) struct Places<'a> {
    ground: &'a Ground<'a>,
    assignment: &'a Assignment,
    postgres: Option<Result<PostgresPlace, String>>,
    redis: Option<Result<RedisPlace, String>>,
    questdb: Option<Result<QuestPlace, String>>,
}

/// Addresses that the user has given.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Given<'a> {
    pub postgres: Option<&'a str>,
    pub redis: Option<&'a str>,
    pub questdb: Option<&'a str>,
}

/// What is known of them, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Servers {
    /// `PostgreSQL 15.14`, where there is one.
    pub postgres: Option<String>,
    /// Whether the experiment has started it itself.
    pub postgres_is_own: bool,
    /// The directory of its files, where they are not beside the results.
    pub postgres_elsewhere: Option<String>,
    /// `Redis 7.0.15`
    pub redis: Option<String>,
    /// `QuestDB 9.3.1`
    pub questdb: Option<String>,
    pub questdb_is_own: bool,
}

/// Where one engine keeps its rows.
#[derive(Debug)]
pub(super) struct Storage<'a> {
    places: &'a Places<'a>,
    pub setting: EngineSetting,
    kept: Kept,
}

#[derive(Debug)]
enum Kept {
    Directory(TempDir),
    Database(ScratchDatabase),
    Tables(ScratchTables),
}

impl<'a> Places<'a> {
    /// Starts what the settings need, or finds it at the addresses, where they are given. What is not there is told, and is an error of no more than
    /// the rows that need it.
    pub(super) fn provide(
        ground: &'a Ground<'a>,
        assignment: &'a Assignment,
        given: Given<'_>,
        settings: &[EngineSetting],
    ) -> Result<Self, LabError> {
        // What is started from here on leaves the engine's processors alone.
        processors::bind_thread(&assignment.lab).map_err(LabError::io("bind the lab to its processors"))?;
        let folder = ground.folder.path();
        let needs_postgres = settings.iter().any(|setting| matches!(setting, EngineSetting::Postgres { .. }));
        let postgres = needs_postgres
            .then(|| told(ground, provide_postgres(given.postgres, folder, &folder.join("postgres.log"))));
        let needs_redis = settings.iter().any(|setting| setting.needs_redis());
        let redis = (needs_redis && matches!(postgres, Some(Ok(_))))
            .then(|| told(ground, provide_redis(given.redis, &folder.join("redis.log"))));
        let needs_questdb = settings.contains(&EngineSetting::QuestDb);
        let questdb = needs_questdb
            .then(|| told(ground, provide_questdb(given.questdb, folder, &folder.join("questdb.log"))));
        Ok(Self { ground, assignment, postgres, redis, questdb })
    }

    pub(super) fn servers(&self) -> Servers {
        let postgres = self.postgres.as_ref().and_then(|found| found.as_ref().ok());
        let redis = self.redis.as_ref().and_then(|found| found.as_ref().ok());
        let questdb = self.questdb.as_ref().and_then(|found| found.as_ref().ok());
        Servers {
            postgres: postgres.map(|place| format!("PostgreSQL {}", place.version)),
            postgres_is_own: postgres.is_some_and(|place| place.is_own),
            postgres_elsewhere: postgres
                .and_then(|place| place.elsewhere.as_ref())
                .map(|directory| directory.display().to_string()),
            redis: redis.map(|place| format!("Redis {}", place.version)),
            questdb: questdb.map(|place| format!("QuestDB {}", place.version)),
            questdb_is_own: questdb.is_some_and(|place| place.is_own),
        }
    }

    /// An empty place for the rows of an engine, or why there is none.
    pub(super) fn open(&'a self, setting: EngineSetting) -> Result<Result<Storage<'a>, String>, LabError> {
        let kept = match setting {
            EngineSetting::Embedded { .. } => Kept::Directory(self.ground.data_directory()?),
            EngineSetting::QuestDb => {
                let questdb = self.questdb.as_ref().expect("settings of QuestDB were provided for");
                match questdb {
                    Ok(place) => Kept::Tables(place.scratch()),
                    Err(why) => return Ok(Err(why.clone())),
                }
            }
            EngineSetting::Postgres { .. } => {
                let postgres = self.postgres.as_ref().expect("settings of PostgreSQL were provided for");
                let made = postgres
                    .as_ref()
                    .map_err(String::clone)
                    .and_then(|place| ScratchDatabase::create(&place.url).map_err(|error| error.to_string()));
                match (made, &self.redis) {
                    (Err(why), _) => return Ok(Err(why)),
                    (Ok(_), Some(Err(why))) if setting.needs_redis() => return Ok(Err(why.clone())),
                    (Ok(database), _) => Kept::Database(database),
                }
            }
        };
        Ok(Ok(Storage { places: self, setting, kept }))
    }

    fn redis(&self) -> Option<&RedisPlace> {
        self.redis.as_ref()?.as_ref().ok()
    }
}

fn told<T>(ground: &Ground<'_>, provided: Result<T, DatabaseError>) -> Result<T, String> {
    provided.map_err(|error| {
        let why = error.to_string();
        ground.display.line(&format!("not measured: {why}"));
        why
    })
}

impl Storage<'_> {
    /// Starts the engine on what is kept.
    pub(super) fn serve(&self) -> Result<Engine, LabError> {
        let of_database = |url: &str| {
            let timeout = STATEMENT_TIMEOUT_MS.to_string();
            vec![format!("series+{url}"), "--statement-timeout-ms".to_owned(), timeout]
        };
        let source = match &self.kept {
            Kept::Directory(directory) => vec![format!("series:{}", directory.path().display())],
            Kept::Database(database) => of_database(database.url()),
            Kept::Tables(tables) => of_database(&tables.url()),
        };
        let redis = self.places.redis().map(|place| &*place.url);
        let arguments = [vec!["serve".to_owned()], source, self.setting.arguments(redis)].concat();
        self.places.ground.start(arguments, self.places.assignment)
    }

    /// What is watched beside the engine's process.
    pub(super) fn observers(&self) -> Vec<String> {
        match &self.kept {
            Kept::Directory(_) | Kept::Tables(_) => Vec::new(),
            Kept::Database(database) => vec![format!("pg:{}", database.url())],
        }
    }

    /// Does what is done with rows that change no more, and returns how long it took. `None` where the user stopped it.
    pub(super) fn put_together(&self) -> Result<Option<Nanos>, LabError> {
        let began = Instant::now();
        match &self.kept {
            Kept::Directory(directory) => {
                let directory = directory.path().display().to_string();
                let compact = ["series", "compact", &directory].map(str::to_owned).to_vec();
                if self.places.ground.output(compact, self.places.assignment)?.is_none() {
                    return Ok(None);
                }
            }
            Kept::Database(database) => {
                database.ask("vacuum (analyze)")?;
            }
            // It does so by itself.
            Kept::Tables(_) => {}
        }
        Ok(Some(Nanos(began.elapsed().as_nanos() as u64)))
    }

    /// Of rows, names and indexes.
    pub(super) fn bytes(&self) -> Result<u64, LabError> {
        match &self.kept {
            Kept::Directory(directory) => Ok(bytes_in(directory.path())),
            Kept::Tables(tables) => Ok(tables.bytes()?),
            Kept::Database(database) => {
                let rows = database.ask(
                    "select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c \
                     join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'r' and n.nspname like 'prony\\_%'",
                )?;
                Ok(rows.iter().flatten().find_map(|bytes| bytes.parse().ok()).unwrap_or_default())
            }
        }
    }

    /// Removes it; an engine that was served from it has ended.
    pub(super) fn close(self) -> Result<(), LabError> {
        match self.kept {
            Kept::Directory(directory) => directory.close().map_err(LabError::io("remove the engine's data")),
            Kept::Tables(_) => Ok(()),
            Kept::Database(database) => {
                if self.setting.needs_redis()
                    && let Some(redis) = self.places.redis()
                {
                    redis.remove(&[format!("prony:series:{}:version", database.description())]);
                }
                Ok(())
            }
        }
    }
}
