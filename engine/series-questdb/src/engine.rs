//! The engine: what the seam of series asks for, by a thread that commits, one that keeps order, and connections for those who read.

use crate::address::QuestAddress;
use crate::commit::Committer;
use crate::error::OpenError;
use crate::freshness::Freshness;
use crate::http::Sender;
use crate::read::{DatabaseSnapshot, TIMES};
use crate::registry::{FORMAT, Registry};
use crate::settings::QuestSettings;
use crate::shared::Shared;
use crate::upkeep::Upkeep;
use prony_series_database::{Condition, Database, Fault, SessionSettings};
use prony_series_store::{
    Capabilities, Catalog, Engine, EngineHealth, Figure, Limits, Listener, Operation, Read, ReadError,
    Registration, Retention, Settled, Ticket, TimeRange, Unwritten, WriteError, WritesElsewhere,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Columns of a table, beside those of every row: each is a file of each part.
const ATTRIBUTES_MAX: usize = 1000;
/// What QuestDB sends one row with by itself.
const SEND_BYTES: usize = 1 << 20;
/// Of that, what is for the names of the row's entity and for what each value needs beside itself.
const SEND_BYTES_BESIDE: usize = 32 << 10;
/// Statements of QuestDB have no parameters here: values stand in them.
const PARAMETERS_MAX: usize = 0;

/// Series in a QuestDB. Dropped, it writes what is pending and closes.
#[derive(Debug)]
pub struct QuestEngine {
    shared: Arc<Shared>,
    settings: QuestSettings,
    retention: Arc<[Retention]>,
    condition: Arc<Condition>,
    upkeep: Arc<Upkeep>,
    threads: Vec<JoinHandle<()>>,
}

/// How often QuestDB is asked again for its parameters.
const PROBES_MORE: u32 = 5;
const PROBE_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What QuestDB says of itself: that it is one, and how long a row may be.
async fn probe(database: &Database) -> Result<(String, usize), Fault> {
    let session = database.session().await?;
    let rows = session.query_typed("select version()", &[]).await?;
    let version: String = rows.first().map(|row| row.try_get(0)).transpose()?.unwrap_or_default();
    if !version.contains("QuestDB") {
        return Ok((version, 0));
    }
    let sql = "select value from (show parameters) where property_path = 'pg.send.buffer.size'";
    let mut rows = session.query_typed(sql, &[]).await;
    // QuestDB 9.3 makes the list of its parameters when it is first asked, and fails where several ask at that moment.
    for _ in 0..PROBES_MORE {
        if rows.is_ok() {
            break;
        }
        tokio::time::sleep(PROBE_AGAIN_AFTER).await;
        rows = session.query_typed(sql, &[]).await;
    }
    let rows = rows?;
    let bytes: Option<&str> = rows.first().map(|row| row.try_get(0)).transpose()?;
    let bytes = bytes.and_then(|text| text.parse().ok()).unwrap_or(SEND_BYTES);
    database.give_back(session);
    Ok((version, bytes))
}

fn limits(send_bytes: usize) -> Limits {
    Limits {
        attributes_max: ATTRIBUTES_MAX,
        row_bytes_max: send_bytes.saturating_sub(SEND_BYTES_BESIDE),
        text_in_row_bytes_max: usize::MAX,
        times: TIMES,
        // A timestamp has microseconds.
        time_values: TimeRange { from_ms: i64::MIN / 1000 + 1, to_ms: i64::MAX / 1000 },
        keeps_all_numbers: false,
        keeps_nul: false,
    }
}

impl QuestEngine {
    /// Opens the series of a QuestDB, whose tables are made where there are none, unless it is for reading only. Blocks, on any thread.
    ///
    /// # Errors
    /// QuestDB cannot be asked, or has series of a later version.
    pub fn open(settings: QuestSettings) -> Result<Self, OpenError> {
        // A thread that runs asynchronous work, as the caller's may, may not wait for other such work.
        let opened =
            thread::Builder::new().spawn(move || Self::open_here(settings)).map_err(OpenError::Thread)?;
        opened.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    fn open_here(settings: QuestSettings) -> Result<Self, OpenError> {
        let address = QuestAddress::read(&settings.url)?;
        let sessions = SessionSettings {
            setup: String::new(),
            statement_timeout: settings.statement_timeout,
            idle_max: settings.connections + 2,
        };
        let database = Database::new(&address.pg_url, sessions)?;
        let description = Arc::clone(&database.description);
        let cannot_open = |fault: Fault| OpenError::Database {
            database: description.to_string(),
            why: fault.why.to_string(),
        };
        let (found, send_bytes) = database.wait(probe(&database)).map_err(cannot_open)?;
        if send_bytes == 0 {
            return Err(OpenError::OtherProduct { database: description.to_string(), found });
        }
        let sender = Sender::new(address.clone());
        sender.ping().map_err(|fault| OpenError::Http {
            address: sender.place().to_owned(),
            why: fault.why.to_string(),
        })?;
        let shared = Arc::new(Shared {
            database,
            sender,
            registry: Registry { prefix: address.prefix },
            freshness: Freshness::default(),
            writes: WritesElsewhere::new(limits(send_bytes)),
            longest: (!settings.statement_timeout.is_zero()).then_some(settings.statement_timeout),
            is_opening: AtomicBool::new(true),
        });
        let retention: Arc<[Retention]> = settings.retention.clone().into();
        let condition = Arc::new(Condition::default());
        let upkeep = Arc::new(Upkeep {
            shared: Arc::clone(&shared),
            retention: if settings.is_read_only { Arc::default() } else { Arc::clone(&retention) },
            condition: Arc::clone(&condition),
        });
        let committer = Committer::new(Arc::clone(&shared), settings.on_duplicate);
        let mut engine = Self { shared, settings, retention, condition, upkeep, threads: Vec::new() };
        let of_commit = Arc::clone(&engine.shared);
        engine.start("series-commit", move || of_commit.writes.run(committer))?;
        let format = engine.read_names().map_err(cannot_open)?;
        if let Some(found) = format.filter(|format| *format > FORMAT) {
            return Err(OpenError::Newer { database: description.to_string(), found, known: FORMAT });
        }
        let upkeep = Arc::clone(&engine.upkeep);
        engine.start("series-upkeep", move || upkeep.run())?;
        Ok(engine)
    }

    fn start(&mut self, name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), OpenError> {
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(OpenError::Thread)?;
        self.threads.push(thread);
        Ok(())
    }

    /// All that QuestDB has names for.
    fn read_names(&self) -> Result<Option<i64>, Fault> {
        let Shared { database, registry, freshness, writes, longest, is_opening, sender } = &*self.shared;
        let is_read_only = self.settings.is_read_only;
        let found = database.wait(async {
            let session = database.session().await?;
            if is_read_only && !registry.is_there(&session).await? {
                database.give_back(session);
                return Ok(None);
            }
            freshness.note(&registry.table());
            if !is_read_only {
                registry.prepare(&session).await?;
            }
            freshness.wait(&session, &registry.table(), *longest).await?;
            let found = registry.load(&session).await?;
            database.give_back(session);
            Ok(Some(found))
        })?;
        let (format, missing) =
            found.map_or(Ok((None, Vec::new())), |found| registry.take_in(&found, writes))?;
        if !is_read_only {
            for sql in missing {
                self.shared.execute(&sql)?;
            }
            if format.is_none() {
                sender.send(&registry.format_line())?;
            }
        }
        is_opening.store(false, Ordering::Release);
        Ok(format)
    }

    /// Lets go what is not kept, now. Blocks; may be called on threads that run no asynchronous work.
    ///
    /// # Errors
    /// QuestDB has not done it.
    pub fn put_in_order(&self) -> Result<(), ReadError> {
        self.upkeep.put_in_order().map_err(|fault| fault.of_read(&self.shared.database.description))
    }

    /// `host:port/database`.
    pub fn description(&self) -> &str {
        &self.shared.database.description
    }
}

impl Engine for QuestEngine {
    fn product(&self) -> &'static str {
        "series on QuestDB"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            transactions: false,
            // A row as a whole, which is not what is asked for.
            upsert: false,
            partitions: true,
            geometry: false,
            parameters_max: PARAMETERS_MAX,
            waiting_reads: Some(self.settings.connections),
        }
    }

    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.shared.writes.names(with);
    }

    fn snapshot(&self) -> Result<Read, ReadError> {
        let (shared, retention) = (Arc::clone(&self.shared), Arc::clone(&self.retention));
        Ok(Read::new(DatabaseSnapshot { shared, retention }))
    }

    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten> {
        self.shared.writes.submit(operation)
    }

    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError> {
        self.shared.writes.submit_and_wait(operation)
    }

    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.shared.writes.poll_room(context)
    }

    fn watch(&self, watcher: Arc<dyn Fn(&Settled) + Send + Sync>) -> Registration {
        self.shared.writes.watch(watcher)
    }

    fn listen(&self, listener: Arc<Listener>) -> Registration {
        self.shared.writes.listen(listener)
    }

    fn health(&self) -> EngineHealth {
        self.condition.health(&self.shared.database.description, &self.shared.writes)
    }

    fn figures(&self) -> Vec<Figure> {
        let rows = self.condition.rows.load(Ordering::Relaxed);
        vec![Figure { name: "prony_series_rows", help: "Rows, about", value: rows }]
    }

    fn durability_text(&self) -> String {
        "acknowledged by QuestDB".to_owned()
    }

    fn directory(&self) -> Option<&Path> {
        None
    }
}

impl Drop for QuestEngine {
    fn drop(&mut self) {
        self.condition.stop();
        self.shared.writes.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}
