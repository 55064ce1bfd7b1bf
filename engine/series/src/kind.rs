//! Series as a kind of source.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use prony_series_postgres::{OpenError, PostgresEngine};
use prony_series_questdb::QuestEngine;
use prony_series_store::{Engine, OnDuplicate, Store};
use prony_source::{
    Source,
    config::{
        AddressForm, ConfigOption, DURABILITY, Faults, Opening, OptionOf, RECOVER, ServerDefault,
        SourceEntry, SourceKind, SourceOpener, SourceUrl, ValueKind, all,
    },
};

use crate::{
    series::{Series, with_causes},
    settings::{CacheWord, OnPostgresSettings, SeriesSettings, aggregates, each_once, retention},
    source::{ROWS, SeriesSource},
};

/// Sources at `series:DIRECTORY`, `series+postgres://…` and `series+questdb://…`.
#[derive(Debug)]
pub struct SeriesKind;

/// Where series are, and how they are opened.
#[derive(Debug)]
struct SeriesOpener {
    place: Place,
    settings: SeriesSettings,
    /// Nothing is served: what is there is read, and left as it is.
    only_looks: bool,
}

#[derive(Debug, Clone)]
enum Place {
    Directory(PathBuf),
    /// With the address that its driver reads.
    Postgres(SourceUrl),
    /// The same of a QuestDB.
    QuestDb(SourceUrl),
}

const PREFIX: &str = "series:";
const POSTGRES_PREFIXES: [&str; 2] = ["series+postgres://", "series+postgresql://"];
const QUESTDB_PREFIX: &str = "series+questdb://";
/// Before the address of a database.
const ON: &str = "series+";

#[rustfmt::skip]
static OPTIONS: &[OptionOf<SeriesSettings>] = &[
    OptionOf::DEFAULT_LIMIT,
    OptionOf::MAX_LIMIT,
    OptionOf::STATEMENT_TIMEOUT_MS,
    OptionOf::MAX_RESPONSE_BYTES,
    OptionOf::SUBSCRIPTIONS,
    OptionOf::READ_ONLY,
    OptionOf::with(DURABILITY, |series, value| { series.durability = prony_series_store::durability(&value.text())?; Ok(()) }),
    OptionOf::with(RECOVER, |series, value| { series.recover = value.boolean(); Ok(()) }),
    OptionOf::new("seal_at_log_bytes", None, ValueKind::Number(4096, 1 << 40), "67108864", "Bytes of the log of series after which rows go into a segment", |series, value| { series.seal_at_log_bytes = value.number(); Ok(()) }),
    OptionOf::new("on_duplicate", None, ValueKind::Word(&["append", "keep", "replace"]), "\"append\"", "What becomes of a row that an entity has at the same time already: append (there are two), keep (the earlier one keeps its values, and is given what it had not), replace (the later one's values take their place)", |series, value| { series.on_duplicate = on_duplicate(&value.text()); Ok(()) }),
    OptionOf::new("retention", None, ValueKind::List, "[]", "How long rows of entity types are kept, as \"Room=30d\", with \"*=365d\" for all other types; s, m, h and d are units", |series, value| { series.retention = each_once(&value.list(), retention, |of| of.type_name.as_deref())?; Ok(()) }),
    OptionOf::new("aggregates", None, ValueKind::List, "[]", "What is kept of rows that retention removes: for each entity, attribute and period count, sum, least and greatest, as \"Room=hour\", with \"*=day\" for all other types, and for how long as \"*=day:3650d\"; second, minute, hour, day, month and year are periods", |series, value| { series.aggregates = each_once(&value.list(), aggregates, |of| of.type_name.as_deref())?; Ok(()) }),
    OptionOf::new("keep_metadata", None, ValueKind::Boolean, "false", "Series: whether the metadata of attributes are kept with their values; `options=metadata` shows them", |series, value| { series.keep_metadata = value.boolean(); Ok(()) }),
    OptionOf::new("keep_time_attribute", None, ValueKind::Boolean, "false", "Series: whether it is kept with each row which attribute gave its time; `options=timeAttribute` shows it", |series, value| { series.keep_time_attribute = value.boolean(); Ok(()) }),
    OptionOf::new("metadata_cache", Some("metadata-cache"), ValueKind::Word(&["none", "memory", "redis"]), "\"memory\"", "Series on PostgreSQL: who knows of types, attributes and entities that other servers of the same database have added: none (each read and each group of writes asks the database), memory (this server asks it once a second), redis (each read asks the Redis of metadata_redis)", |series, value| { series.on_postgres.metadata_cache = cache(&value.text()); Ok(()) }),
    OptionOf::new("metadata_redis", Some("metadata-redis"), ValueKind::Text, "\"\"", "Series on PostgreSQL: the Redis that servers of the same database share, for metadata_cache = \"redis\": redis://:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS", |series, value| { series.on_postgres.metadata_redis = SourceUrl(value.text()); Ok(()) }),
    OptionOf::new("connection_reuse", Some("connection-reuse"), ValueKind::Boolean, "true", "Series on PostgreSQL: whether connections are used again; else each read and each group of writes opens one", |series, value| { series.on_postgres.connection_reuse = value.boolean(); Ok(()) }),
    OptionOf::new("series_connections", Some("series-connections"), ValueKind::Number(1, 1000), "8", "Series on PostgreSQL and QuestDB: reads that are made at a time, each on a connection; writes and upkeep have one more each", |series, value| { series.on_postgres.connections = value.number() as usize; Ok(()) }),
    OptionOf::new("version", None, ValueKind::Text, "\"1.0.1-dev\"", "What series say at /version, for clients that ask", |series, value| { series.version = value.text(); Ok(()) }),
];

/// Where it listens when nothing else is served: its clients' port. A notification may have many entities.
const SERVER_DEFAULTS: &[ServerDefault] = &[ServerDefault {
    key: "listen",
    value: "127.0.0.1:8668",
    only_alone: true,
    help: "port 8668 where only series are served",
}];

fn cache(word: &str) -> CacheWord {
    match word {
        "none" => CacheWord::None,
        "redis" => CacheWord::Redis,
        _ => CacheWord::Memory,
    }
}

fn on_duplicate(word: &str) -> OnDuplicate {
    match word {
        "keep" => OnDuplicate::Keep,
        "replace" => OnDuplicate::Replace,
        _ => OnDuplicate::Append,
    }
}

impl SourceKind for SeriesKind {
    fn address(&self) -> AddressForm {
        AddressForm {
            prefixes: &[PREFIX, POSTGRES_PREFIXES[0], POSTGRES_PREFIXES[1], QUESTDB_PREFIX],
            short: "series:DIRECTORY",
            whole: "series:DIRECTORY, series+postgres://USER:PASSWORD@HOST/DATABASE or series+questdb://HOST?http=HOST:9000",
        }
    }

    fn address_of(&self, path: &Path) -> Option<String> {
        prony_series_store::is_store(path).then(|| format!("{PREFIX}{}", path.display()))
    }

    /// Both databases are read as addresses of PostgreSQL's.
    fn secrets(&self, address: &str) -> Vec<Range<usize>> {
        let Some((_, rest)) = address.strip_prefix(ON).and_then(|address| address.split_once("://")) else {
            return Vec::new();
        };
        let before = address.len() - rest.len();
        let places = prony_series_postgres::secrets(rest).into_iter();
        places.map(|place| place.start + before..place.end + before).collect()
    }

    fn options(&self) -> Vec<&'static dyn ConfigOption> {
        all(OPTIONS)
    }

    fn server_defaults(&self) -> &'static [ServerDefault] {
        SERVER_DEFAULTS
    }

    fn only_one(&self) -> Option<&'static str> {
        Some(
            "there can be one source of series: its directory or database holds as many tenants and types as are notified",
        )
    }

    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>> {
        let place = match (entry.url.0.strip_prefix(PREFIX), entry.url.0.strip_prefix(ON)) {
            (Some(""), _) => {
                let message = "`series:` lacks its directory; write series:DIRECTORY";
                faults.push(entry.url_origin.clone(), message);
                return None;
            }
            (Some(directory), _) => Place::Directory(directory.into()),
            (None, url) if entry.url.0.starts_with(QUESTDB_PREFIX) => {
                Place::QuestDb(SourceUrl(url?.to_owned()))
            }
            (None, url) => Place::Postgres(SourceUrl(url?.to_owned())),
        };
        let mut settings = SeriesSettings::default();
        entry.apply(OPTIONS, &mut settings);
        settings.common.check(entry, faults);
        let in_database = match &place {
            Place::Directory(_) => None,
            Place::Postgres(_) => Some("PostgreSQL"),
            Place::QuestDb(_) => Some("QuestDB"),
        };
        if let Some(database) = in_database.filter(|_| !settings.aggregates.is_empty()) {
            let message = format!(
                "aggregates of rows that retention removes are kept by series in a directory alone, not on {database}; leave `aggregates` out"
            );
            faults.push(entry.url_origin.clone(), message);
        }
        for message in settings.check_aggregates() {
            faults.push(entry.url_origin.clone(), message);
        }
        let OnPostgresSettings { metadata_cache, metadata_redis, .. } = &settings.on_postgres;
        if *metadata_cache == CacheWord::Redis && metadata_redis.0.is_empty() {
            let message = "metadata_cache = \"redis\" needs metadata_redis, the address of the Redis: redis://HOST:PORT";
            faults.push(entry.url_origin.clone(), message);
            return None;
        }
        Some(Arc::new(SeriesOpener { place, settings, only_looks: false }))
    }
}

impl SourceOpener for SeriesOpener {
    fn open(&self) -> Opening<'_> {
        Box::pin(async {
            let started = Instant::now();
            let mut of_database = self.settings.clone();
            of_database.common.read_only |= self.only_looks;
            let engine: Arc<dyn Engine> = match &self.place {
                Place::Directory(directory) if self.only_looks => {
                    Arc::new(Store::look(directory, self.settings.options())?)
                }
                Place::Directory(directory) => {
                    let store = Store::open(directory, self.settings.options())?;
                    log_opened(&store, started);
                    Arc::new(store)
                }
                Place::Postgres(url) => match PostgresEngine::open(of_database.on_postgres(url.0.clone())) {
                    // As of a directory that is not there: nothing is made, and there are none.
                    Err(OpenError::Absent { .. }) if self.only_looks => {
                        Arc::new(Store::look(Path::new(""), self.settings.options())?)
                    }
                    opened => {
                        let engine = opened?;
                        let database = engine.description().to_owned();
                        in_database(Arc::new(engine), &database, started)
                    }
                },
                Place::QuestDb(url) => {
                    let engine = QuestEngine::open(of_database.on_questdb(url.0.clone()))?;
                    let database = engine.description().to_owned();
                    in_database(Arc::new(engine), &database, started)
                }
            };
            let series = Arc::new(Series::new(engine, self.settings.clone()));
            Ok(Arc::new(SeriesSource::new(series)) as Arc<dyn Source>)
        })
    }

    fn only_looking(&self) -> Option<Arc<dyn SourceOpener>> {
        let (place, settings) = (self.place.clone(), self.settings.clone());
        Some(Arc::new(Self { place, settings, only_looks: true }))
    }
}

/// Says what a database has.
fn in_database(engine: Arc<dyn Engine>, database: &str, started: Instant) -> Arc<dyn Engine> {
    let entities = engine.with_catalog(prony_series_store::Catalog::series_count);
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(database, entities, milliseconds, "opened series");
    engine
}

/// Says what is there, and what the last end has cost.
fn log_opened(store: &Store, started: Instant) {
    let recovery = store.recovery();
    let rows = store.figures().iter().find(|figure| figure.name == ROWS).map_or(0, |figure| figure.value);
    let entities = store.read().with_catalog(prony_series_store::Catalog::series_count);
    let durability = prony_series_store::durability_text(store.options().durability);
    let milliseconds = started.elapsed().as_millis() as u64;
    tracing::info!(rows, entities, durability, milliseconds, "opened series");
    if recovery.torn_bytes > 0 {
        let (bytes, frames) = (recovery.torn_bytes, recovery.torn_frames);
        tracing::warn!(
            bytes,
            frames,
            "cut off the end of the log, which was probably being written when the last process or the machine died; whether a \
             write in it had been acknowledged is unknown"
        );
    }
    if let Some((error, _)) = store.health().seals.failure {
        let error = with_causes(&error);
        tracing::warn!(%error, "needless files could not be removed; that is tried again with the next segment");
    }
    for loss in &recovery.lost {
        let (path, offset, bytes) = (loss.path.display(), loss.offset, loss.bytes);
        let kept = loss.kept.as_ref().map(|path| path.display().to_string());
        tracing::error!(%path, offset, bytes, why = loss.why, kept, "lost a part of the series");
    }
}
