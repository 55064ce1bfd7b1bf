//! The open store: writes are added to a frame of the log and seen once they are durable; readers go their own way.

use crate::catalog::{Catalog, CatalogLock as _};
use crate::engine::{Capabilities, Engine, EngineHealth, Figure, Read, submit_once};
use crate::error::{ReadError, Refusal, SealError, Unwritten, WriteError};
use crate::format::STORE;
use crate::ids::TimeMs;
use crate::listen::{Events, Listener};
use crate::memory::reading;
use crate::options::Options;
use crate::read::StoreSnapshot;
use crate::recover::{self, Loaded, Recovered};
use crate::sealer::{SealState, Sealer};
use crate::state::{SeriesState, Shared};
use crate::write::{Limits, Operation, SeriesWriter, Write};
use crate::write_queue::WriteQueue;
use prony_log::commit::CommitQueue;
use prony_log::error::{LogError, OpenError};
use prony_log::lock::{lock, lock_for_reading};
use prony_log::read_only_log::ReadOnlyLog;
use prony_log::recover::Recovery;
use prony_log::register::Registration;
use prony_log::ticket::{Settled, Ticket};
use prony_log::{Durability, durability_text};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::SystemTime;

/// How an open store fares.
#[derive(Debug, Clone)]
pub struct Health {
    /// Why the log could not be written the last time that was tried, and when; none once it has taken something again.
    pub log_failure: Option<(LogError, SystemTime)>,
    pub seals: SealState,
    /// Of the log that is read at a start.
    pub log_bytes: u64,
}

/// Series in a directory of their own. Dropped, it writes what is pending and closes.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    sealer: Arc<Sealer>,
    log: Option<JoinHandle<()>>,
    seals: Option<JoinHandle<()>>,
    options: Options,
    recovery: Recovery,
    /// Held as long as the store is open; none where it is only read.
    _lock: Option<File>,
}

impl Store {
    /// Opens the series in a directory, which is made where there is none.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        let lock = lock(directory, STORE)?;
        let Recovered { memory, log, recovery, manifest, removed } = recover::recover(directory, &options)?;
        let writer = SeriesWriter::new(memory.catalog.clone(), memory.last_number, Limits::default());
        let at = (log.number(), recovery.log_bytes);
        let shared = Arc::new(CommitQueue::new(SeriesState::new(memory), writer, options.durability, at));
        let sealer = Arc::new(Sealer::new(Arc::clone(&shared), directory, options.clone(), manifest));
        sealer.note_removed(removed);
        let mut store = Self {
            shared: Arc::clone(&shared),
            sealer: Arc::clone(&sealer),
            log: None,
            seals: None,
            options,
            recovery,
            _lock: Some(lock),
        };
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
            thread.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })
        };
        store.log = Some(start("series-log", Box::new(move || shared.run(log)))?);
        store.seals = Some(start("series-seal", Box::new(move || sealer.run()))?);
        Ok(store)
    }

    /// The series in a directory for who only reads them: nothing there is made, changed or locked, and another process may have them open.
    /// There are none where there is no such directory; they stay as they were when they were opened, and take no writes.
    pub fn look(directory: &Path, options: Options) -> Result<Self, OpenError> {
        let Loaded { memory, recovery, .. } = recover::look(directory, &options)?;
        let writer = SeriesWriter::new(memory.catalog.clone(), memory.last_number, Limits::default());
        let (state, at) = (SeriesState::new(memory), (0, recovery.log_bytes));
        let shared = Arc::new(CommitQueue::new(state, writer, Durability::Sync, at));
        let sealer = Arc::new(Sealer::new(Arc::clone(&shared), directory, options.clone(), 0));
        let of_log = Arc::clone(&shared);
        let log = std::thread::Builder::new().name("series-log".to_owned());
        let log = log.spawn(move || of_log.run(ReadOnlyLog));
        let log = log.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?;
        Ok(Self { shared, sealer, log: Some(log), seals: None, options, recovery, _lock: None })
    }

    /// What opening has found and mended.
    pub const fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Where its files are.
    pub fn directory(&self) -> &Path {
        self.sealer.directory()
    }

    /// How many segments there are, and their bytes.
    pub fn segments(&self) -> (usize, u64) {
        self.now().segments()
    }

    /// What keeps it from being durable, and from being kept short.
    pub fn health(&self) -> Health {
        let log_failure = self.shared.lock().log_failure.clone();
        Health { log_failure, seals: self.sealer.state(), log_bytes: self.sealer.log_bytes() }
    }

    /// The store as it is now.
    pub fn read(&self) -> Read {
        Read::new(self.now())
    }

    fn now(&self) -> StoreSnapshot {
        StoreSnapshot::new(&self.shared.state.memory, self.options.on_duplicate)
    }

    /// Makes a write, all or none; blocks where too much waits for the log. It is settled, and seen, when those who
    /// [`watch`](Self::watch) are told of it or of a later one.
    pub fn write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal> {
        WriteQueue::write_ticket(&*self.shared, operate)
    }

    /// As [`Self::write_ticket`]; never waits for the log.
    pub fn try_write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Unwritten> {
        submit_once(operate, |operation| Engine::submit(self, operation))
    }

    /// As [`Self::write_ticket`]; blocks until it is as durable as the store was opened for, and seen.
    pub fn write_and_wait<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, WriteError> {
        submit_once(operate, |operation| self.submit_and_wait(operation)).map(|(result, ())| result)
    }

    /// Calls `watcher` once for each batch of writes that became durable or was taken back, in order, from the log's
    /// thread: it should pass that on and return. One for each thread that writes is enough.
    pub fn watch(&self, watcher: impl Fn(&Settled) + Send + Sync + 'static) -> Registration {
        self.shared.watchers.add(Arc::new(watcher))
    }

    /// Calls `listener` with what is written from now on, in order, once it is durable and seen, and before those go on who wait for
    /// it; never with what was taken back. It is called from the log's thread, which all writes wait for.
    pub fn listen(&self, listener: impl Fn(&Events<'_>) + Send + Sync + 'static) -> Registration {
        self.shared.state.listeners.add(Arc::new(listener))
    }

    /// Takes all rows from memory and log into a segment. Blocks.
    pub fn seal(&self) -> Result<(), SealError> {
        self.sealer.seal()
    }

    /// Removes rows that are older than they are kept at a moment, and keeps aggregates of them where the type has any. That is done each
    /// minute of itself. Blocks.
    ///
    /// # Errors
    /// Nothing was removed of types that have aggregates.
    pub fn remove_old(&self, now_ms: TimeMs) -> Result<(), SealError> {
        self.sealer.remove_all_old(now_ms)
    }

    /// Puts all segments together, without what is deleted. Blocks.
    pub fn compact(&self) -> Result<(), SealError> {
        self.sealer.compact()
    }
}

impl Engine for Store {
    fn product(&self) -> &'static str {
        "series"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            transactions: true,
            upsert: true,
            partitions: true,
            geometry: false,
            parameters_max: usize::MAX,
            waiting_reads: None,
        }
    }

    fn names(&self, with: &mut dyn FnMut(&Catalog)) {
        self.shared.state.memory.with_catalog(with);
    }

    fn snapshot(&self) -> Result<Read, ReadError> {
        Ok(self.read())
    }

    fn submit(&self, operation: &mut Operation<'_>) -> Result<Ticket, Unwritten> {
        WriteQueue::submit(&*self.shared, operation)
    }

    fn submit_and_wait(&self, operation: &mut Operation<'_>) -> Result<(), WriteError> {
        WriteQueue::submit_and_wait(&*self.shared, operation)
    }

    fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        self.shared.poll_room(context)
    }

    fn watch(&self, watcher: Arc<dyn Fn(&Settled) + Send + Sync>) -> Registration {
        self.shared.watchers.add(watcher)
    }

    fn listen(&self, listener: Arc<Listener>) -> Registration {
        self.shared.state.listeners.add(listener)
    }

    fn health(&self) -> EngineHealth {
        let Health { log_failure, seals, .. } = Self::health(self);
        let shown = |error: SealError| Arc::from(with_causes(&error));
        EngineHealth {
            write_failure: log_failure,
            upkeep_failure: seals.failure.map(|(error, at)| (shown(error), at)),
        }
    }

    fn figures(&self) -> Vec<Figure> {
        let now = self.now();
        let (segments, segment_bytes) = now.segments();
        let figure = |name, help, value| Figure { name, help, value };
        vec![
            figure("prony_series_rows", "Rows, about", now.row_count()),
            figure(
                "prony_series_log_bytes",
                "Bytes of the log that is read at a start",
                self.sealer.log_bytes(),
            ),
            figure(
                "prony_series_aggregates",
                "Aggregates of rows that retention has removed, about",
                now.aggregate_count(),
            ),
            figure("prony_series_segments", "Segments", segments as u64),
            figure("prony_series_segment_bytes", "Bytes of the segments", segment_bytes),
        ]
    }

    fn durability_text(&self) -> String {
        durability_text(self.options.durability)
    }

    fn directory(&self) -> Option<&Path> {
        Some(Self::directory(self))
    }
}

/// The error and what lies beneath it, in one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(deeper) = cause {
        text.push_str(": ");
        text.push_str(&deeper.to_string());
        cause = deeper.source();
    }
    text
}

impl Drop for Store {
    fn drop(&mut self) {
        self.sealer.close();
        self.shared.close();
        for thread in [self.seals.take(), self.log.take()].into_iter().flatten() {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// What a check has found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What was read. Bytes at the log's end that were being written are no problem.
    pub recovery: Recovery,
    pub types: usize,
    pub entities: usize,
    pub segments: usize,
    pub rows: u64,
    /// Of rows that retention has removed.
    pub aggregates: u64,
    /// Blocks that cannot be read.
    pub problems: Vec<String>,
}

/// Reads the series in a directory as a start would, and every block of them. An error says that a start would be refused.
pub fn check(directory: &Path) -> Result<CheckReport, OpenError> {
    let _lock = lock_for_reading(directory, STORE)?;
    check_files(directory)
}

/// As [`check`], of a directory that nobody changes.
pub(crate) fn check_files(directory: &Path) -> Result<CheckReport, OpenError> {
    let loaded = recover::load(directory, &Options::new(Durability::Sync))?;
    let memory = loaded.memory;
    let mut report = CheckReport {
        recovery: loaded.recovery,
        types: memory.catalog.tables().filter(|(_, table)| !table.is_dropped).count(),
        entities: memory.catalog.series_count(),
        segments: memory.segments.len() + memory.aggregates.len(),
        rows: reading(&memory.active).row_count(),
        aggregates: memory.aggregates.iter().map(|segment| segment.entry.rows).sum(),
        problems: Vec::new(),
    };
    let mut buffer = Vec::new();
    report.rows += memory.segments.iter().map(|segment| segment.entry.rows).sum::<u64>();
    for segment in memory.segments.iter().chain(memory.aggregates.iter()) {
        for (place, block) in segment.blocks().iter().enumerate() {
            let wanted = crate::columns::Wanted::All;
            let read: Result<_, ReadError> = crate::segment::read_block(segment, place, wanted, &mut buffer);
            let is_named = (block.series.0 as usize) < memory.catalog.series_count();
            match read {
                Ok(_) if is_named => {}
                Ok(_) => report.problems.push(format!("a block in {} has no name", segment.path().display())),
                Err(error) => report.problems.push(error.to_string()),
            }
        }
    }
    Ok(report)
}
