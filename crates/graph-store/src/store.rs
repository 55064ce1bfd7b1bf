//! The open store: one writer at a time changes the memory and queues the change for the log; readers go their own way.

use crate::Durability;
use crate::commit::Shared;
use crate::error::{OpenError, Refusal, WriteError};
use crate::events::Event;
use crate::read::Read;
use crate::recover::{self, Recovered, Recovery};
use crate::register::Registration;
use crate::settle::{Settled, Ticket};
use crate::snapshot::{self, SnapshotError, SnapshotReport};
use crate::write::Write;
use crate::writer::Writer;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub durability: Durability,
    /// Goes on without what is damaged, and says what that was.
    pub recover: bool,
}

impl Options {
    pub const fn new(durability: Durability) -> Self {
        Self { durability, recover: false }
    }
}

/// A graph in a directory of its own. Dropped, it writes what is pending and closes.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    directory: PathBuf,
    thread: Option<JoinHandle<()>>,
    recovery: Recovery,
    /// Held as long as the store is open.
    _lock: File,
    snapshots: Mutex<()>,
    /// Bytes of the log that the last snapshot has made needless.
    bytes_in_snapshot: AtomicU64,
}

impl Store {
    /// Opens the graph in a directory, which is made where there is none.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        Self::start(directory, options, true)
    }

    /// As [`Self::open`], for work that is done whole or not at all: what is written reaches the disk with the next
    /// [`Self::snapshot`], all of it at one stroke, and nothing of it where none is taken.
    pub fn open_for_snapshot(directory: &Path, recover: bool) -> Result<Self, OpenError> {
        Self::start(directory, Options { recover, ..Options::new(Durability::Off) }, false)
    }

    fn start(directory: &Path, options: Options, is_logged: bool) -> Result<Self, OpenError> {
        let lock = recover::lock(directory)?;
        let Recovered { memory, state, mut log, recovery } = recover::recover(directory, options)?;
        if !is_logged {
            log.leave_to_snapshot();
        }
        let writer = Writer { state, ..Writer::default() };
        let shared = Arc::new(Shared::new(memory, writer, options.durability, recovery.log_bytes));
        let for_log = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("graph-log".to_owned()).spawn(move || for_log.run(log));
        let thread = thread.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?;
        Ok(Self {
            shared,
            directory: directory.to_owned(),
            thread: Some(thread),
            recovery,
            _lock: lock,
            snapshots: Mutex::new(()),
            bytes_in_snapshot: AtomicU64::new(0),
        })
    }

    /// What opening has found and mended.
    pub const fn recovery(&self) -> &Recovery {
        &self.recovery
    }

    pub fn durability(&self) -> Durability {
        self.shared.durability
    }

    /// Of the log since the last snapshot.
    pub fn log_bytes(&self) -> u64 {
        let all = self.shared.log_bytes.load(Ordering::Relaxed);
        all.saturating_sub(self.bytes_in_snapshot.load(Ordering::Relaxed))
    }

    /// A look at the graph. What one call of it returns is true at one moment; never waits.
    pub fn read(&self) -> Read {
        Read::new(self.shared.memory.load())
    }

    /// Makes changes, all or none. `done` is called from the log's thread once they are as durable as the store was
    /// opened for, or were taken back; it is not called where the operation was refused.
    ///
    /// A thread that has many writes waiting at a time is told of them more cheaply through [`Self::write_ticket`].
    pub fn write<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
        done: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut queue = self.shared.lock_with_room();
        let result = queue.writer.operate(&self.shared.memory, operate)?;
        if self.shared.is_acknowledged_at_once(&queue) {
            self.shared.submit(queue);
            done(Ok(()));
            return Ok(result);
        }
        queue.writer.pending.waiters.push(Box::new(done));
        queue.writer.ticket += 1;
        self.shared.submit(queue);
        Ok(result)
    }

    /// As [`Self::write`]; gives the write's place instead of calling back. It is settled when those who
    /// [`watch`](Self::watch) hear of it or of a later one: keep what waits in the order of its tickets, and take from
    /// the front. One thread that writes and hears on itself needs no look at what was settled before.
    pub fn write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal> {
        let mut queue = self.shared.lock_with_room();
        let result = queue.writer.operate(&self.shared.memory, operate)?;
        let ticket = if self.shared.is_acknowledged_at_once(&queue) {
            Ticket::SETTLED
        } else {
            queue.writer.ticket += 1;
            Ticket(queue.writer.ticket)
        };
        self.shared.submit(queue);
        Ok((result, ticket))
    }

    /// Calls `watcher` once for each batch of writes that became durable or was taken back, in order, from the log's
    /// thread: it should pass that on and return. One for each thread that writes is enough.
    pub fn watch(&self, watcher: impl Fn(&Settled) + Send + Sync + 'static) -> Registration {
        self.shared.watchers.add(Arc::new(watcher))
    }

    /// Calls `listener` with what is changed from now on, in order and once it is durable; never with what was taken
    /// back. It is called from the log's thread, and all writes wait for it.
    pub fn listen(&self, listener: impl Fn(&[Event<'_>]) + Send + Sync + 'static) -> Registration {
        let mut queue = self.shared.lock();
        let registration = self.shared.listeners.add(Arc::new(listener));
        queue.writer.listen_from_here(&self.shared.memory);
        registration
    }

    /// As [`Self::write`]; blocks until it is durable.
    pub fn write_and_wait<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, WriteError> {
        let (sender, receiver) = sync_channel(1);
        let result = self.write(operate, move |outcome| {
            // The receiver waits below.
            let _ = sender.send(outcome);
        })?;
        receiver.recv().unwrap_or(Err(WriteError::Closed))?;
        Ok(result)
    }

    /// Writes the whole graph into a snapshot, after which the log before it is removed. Readers and writers go on;
    /// only one snapshot is taken at a time. Blocks.
    pub fn snapshot(&self) -> Result<SnapshotReport, SnapshotError> {
        let _one = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let (number, bytes_before) = self.shared.turn_log().map_err(SnapshotError::Turn)?;
            let before = self.shared.rollbacks.load(Ordering::SeqCst);
            let written = snapshot::write(&self.directory, number, || self.shared.memory.load_full())?;
            // All that the snapshot has seen must be in the log before it counts.
            self.shared.sync_log().map_err(SnapshotError::Log)?;
            if self.shared.rollbacks.load(Ordering::SeqCst) == before {
                let report = written.publish(&self.directory)?;
                self.bytes_in_snapshot.store(bytes_before, Ordering::Relaxed);
                return Ok(report);
            }
            // It has seen writes that were taken back since.
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.close();
        if let Some(thread) = self.thread.take() {
            // A log thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}
