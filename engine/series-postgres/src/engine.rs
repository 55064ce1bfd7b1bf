//! The engine: what the seam of series asks for, by threads that commit and keep order, and by connections for those who read.

use crate::cache::NamesCache;
use crate::columns::{ATTRIBUTES_MAX, ROW_BYTES_MAX, TEXT_BYTES};
use crate::commit::Committer;
use crate::error::OpenError;
use crate::hear::{Hearing, Others};
use crate::mapping::Mapping;
use crate::names::{KnownNames, VERSION};
use crate::read::{DatabaseSnapshot, Transaction};
use crate::schema::{FORMAT, find, prepare};
use crate::settings::PostgresSettings;
use crate::upkeep::Upkeep;
use crate::wanted::Wanted;
use prony_series_database::{Condition, Database, Fault, SessionSettings, TIMES};
use prony_series_store::{
    Capabilities, Catalog, Engine, EngineHealth, Figure, Limits, Listener, Operation, Read, ReadError,
    Registration, Settled, Ticket, Unwritten, WriteError, WritesElsewhere,
};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, RwLock};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

/// Parameters of one statement: the protocol counts them with 16 bits.
const PARAMETERS_MAX: usize = 65_535;

/// Of what is written.
const LIMITS: Limits = Limits {
    attributes_max: ATTRIBUTES_MAX,
    row_bytes_max: ROW_BYTES_MAX,
    text_in_row_bytes_max: TEXT_BYTES,
    times: TIMES,
    time_values: TIMES,
    keeps_all_numbers: true,
    keeps_nul: false,
};

/// The longest that a change of tables waits for those who read them.
const LOCK_TIMEOUT_MS: u64 = 5000;

/// With what each connection begins.
fn setup(settings: &PostgresSettings) -> String {
    format!(
        "set timezone = 'UTC'; set extra_float_digits = 1; set lock_timeout = {LOCK_TIMEOUT_MS}; \
         set statement_timeout = {}; set client_min_messages = warning; {}\
         select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'",
        settings.statement_timeout.as_millis(),
        if settings.is_read_only { "set default_transaction_read_only = on; " } else { "" },
    )
}

/// Series in a PostgreSQL database. Dropped, it writes what is pending and closes.
#[derive(Debug)]
pub struct PostgresEngine {
    database: Arc<Database>,
    settings: PostgresSettings,
    writes: Arc<WritesElsewhere>,
    mapping: Arc<RwLock<Mapping>>,
    known: Arc<KnownNames>,
    cache: Arc<NamesCache>,
    condition: Arc<Condition>,
    upkeep: Arc<Upkeep>,
    others: Arc<Others>,
    threads: Vec<JoinHandle<()>>,
}

impl PostgresEngine {
    /// Opens the series of a database, whose tables are made where there are none, unless it is to be read only. Blocks, on any thread.
    ///
    /// # Errors
    /// The database cannot be asked, has series of a later version, or none where it is to be read only.
    pub fn open(settings: PostgresSettings) -> Result<Self, OpenError> {
        // A thread that runs asynchronous work, as the caller's may, may not wait for other such work.
        let opened =
            thread::Builder::new().spawn(move || Self::open_here(settings)).map_err(OpenError::Thread)?;
        opened.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn open_here(settings: PostgresSettings) -> Result<Self, OpenError> {
        let idle_max = if settings.reuses_connections { settings.connections + 1 } else { 0 };
        let sessions = SessionSettings {
            setup: setup(&settings),
            statement_timeout: settings.statement_timeout,
            idle_max,
        };
        let database = Arc::new(Database::new(&settings.url, sessions)?);
        let description = Arc::clone(&database.description);
        let cache = Arc::new(NamesCache::new(settings.metadata_cache.clone(), &description)?);
        let cannot_open = |fault: Fault| OpenError::Database {
            database: description.to_string(),
            why: fault.why.to_string(),
        };
        let format = database.wait(async {
            let session = database.session().await?;
            let format =
                if settings.is_read_only { find(&session).await? } else { Some(prepare(&session).await?) };
            database.give_back(session);
            Ok(format)
        });
        let absent = || OpenError::Absent { database: description.to_string() };
        let found = format.map_err(cannot_open)?.ok_or_else(absent)?;
        if found > FORMAT {
            return Err(OpenError::Newer { database: description.to_string(), found, known: FORMAT });
        }
        let writes = Arc::new(WritesElsewhere::new(LIMITS));
        let (mapping, known) = (Arc::new(RwLock::default()), Arc::new(KnownNames::default()));
        let (wanted, condition) = (Arc::new(Wanted::default()), Arc::new(Condition::default()));
        let upkeep = Arc::new(Upkeep {
            database: Arc::clone(&database),
            settings: settings.clone(),
            writes: Arc::clone(&writes),
            mapping: Arc::clone(&mapping),
            known: Arc::clone(&known),
            wanted: Arc::clone(&wanted),
            condition: Arc::clone(&condition),
        });
        let shared = (Arc::clone(&known), Arc::clone(&cache), wanted);
        let of_committer =
            (Arc::clone(&database), settings.clone(), Arc::clone(&writes), Arc::clone(&mapping));
        let (of_database, of_settings, of_writes, of_mapping) = of_committer;
        let others = Arc::new(Others::new());
        let committer =
            Committer::new(of_database, of_settings, of_writes, of_mapping, shared, Arc::clone(&others));
        let mut engine = Self {
            database,
            settings,
            writes,
            mapping,
            known,
            cache,
            condition,
            upkeep,
            others,
            threads: Vec::new(),
        };
        let writes = Arc::clone(&engine.writes);
        engine.start("series-commit", move || writes.run(committer))?;
        let refreshed = engine.refresh();
        refreshed.map_err(cannot_open)?;
        let upkeep = Arc::clone(&engine.upkeep);
        engine.start("series-upkeep", move || upkeep.run())?;
        let hearing = engine.hearing();
        engine.start("series-hear", move || hearing.run())?;
        Ok(engine)
    }

    fn hearing(&self) -> Hearing {
        Hearing {
            database: Arc::clone(&self.database),
            writes: Arc::clone(&self.writes),
            mapping: Arc::clone(&self.mapping),
            known: Arc::clone(&self.known),
            others: Arc::clone(&self.others),
        }
    }

    fn start(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), OpenError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(OpenError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    fn refresh(&self) -> Result<(), Fault> {
        self.known.refresh(&self.database, &self.writes, &self.mapping)
    }

    /// Makes parts that are due, and lets go what is old or deleted, now. Blocks; may be called on threads that run no asynchronous work.
    ///
    /// # Errors
    /// The database has not done it.
    pub fn put_in_order(&self) -> Result<(), ReadError> {
        let done = self.database.wait(self.upkeep.put_in_order());
        done.map_err(|fault| fault.of_read(&self.database.description))
    }

    /// `host:port/database`.
    pub fn description(&self) -> &str {
        &self.database.description
    }

    /// Whether others have added names, as the setting says whom to ask.
    fn is_behind(&self, transaction: &Transaction) -> Result<bool, ReadError> {
        if self.cache.asks_redis() {
            let shared = self.database.wait(async { Ok(self.cache.version().await) });
            if let Ok(Some(version)) = shared {
                return Ok(version != self.known.version());
            }
        } else if !self.cache.asks_database() {
            return Ok(false);
        }
        let rows = transaction.query(VERSION, &[])?;
        let version: i64 = rows.first().map_or(0, |row| row.get(0));
        if self.cache.asks_redis() {
            self.database.spawn({
                let cache = Arc::clone(&self.cache);
                async move { cache.publish(version).await }
            });
        }
        Ok(version != self.known.version())
    }
}

impl Engine for PostgresEngine {
    fn product(&self) -> &'static str {
        "series on PostgreSQL"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            transactions: true,
            upsert: true,
            partitions: self.settings.has_partitions,
            geometry: false,
            parameters_max: PARAMETERS_MAX,
            waiting_reads: Some(self.settings.connections),
        }
    }

    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.writes.names(with);
    }

    fn snapshot(&self) -> Result<Read, ReadError> {
        let transaction = || Transaction::new(Arc::clone(&self.database), self.settings.reuses_connections);
        let mut of_read = transaction();
        if self.is_behind(&of_read)? {
            self.refresh().map_err(|fault| fault.of_read(&self.database.description))?;
            // What the names are of may have come after the transaction has begun.
            of_read = transaction();
        }
        Ok(Read::new(DatabaseSnapshot {
            transaction: of_read,
            writes: Arc::clone(&self.writes),
            mapping: Arc::clone(&self.mapping),
        }))
    }

    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten> {
        self.writes.submit(operation)
    }

    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError> {
        self.writes.submit_and_wait(operation)
    }

    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.writes.poll_room(context)
    }

    fn watch(&self, watcher: Arc<dyn Fn(&Settled) + Send + Sync>) -> Registration {
        self.writes.watch(watcher)
    }

    fn listen(&self, listener: Arc<Listener>) -> Registration {
        let registration = self.writes.listen(listener);
        self.others.say();
        registration
    }

    fn health(&self) -> EngineHealth {
        self.condition.health(&self.database.description, &self.writes)
    }

    fn figures(&self) -> Vec<Figure> {
        let rows = self.condition.rows.load(Ordering::Relaxed);
        vec![Figure { name: "prony_series_rows", help: "Rows, about", value: rows }]
    }

    fn durability_text(&self) -> String {
        "committed".to_owned()
    }

    fn directory(&self) -> Option<&Path> {
        None
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        self.condition.stop();
        self.others.stop();
        self.writes.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}
