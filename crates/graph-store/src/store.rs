//! The open store: one writer at a time changes the memory and queues the change for the log; readers go their own way.

use crate::Durability;
use crate::change::Change;
use crate::codec::Input;
use crate::error::{OpenError, Refusal, WriteError};
use crate::frames::FRAME_HEAD_BYTES;
use crate::log::LogFile;
use crate::memory::{Memory, WriterState};
use crate::read::Read;
use crate::recover::{self, Recovered, Recovery};
use crate::snapshot::{self, SnapshotError, SnapshotReport};
use crate::write::Write;
use arc_swap::ArcSwap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Changes that wait for the log may take this much memory; then writers wait too.
const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;

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
}

#[derive(Debug)]
pub(crate) struct Shared {
    memory: ArcSwap<Memory>,
    writer: Mutex<Writer>,
    /// Tells the log's thread of changes, and writers of room.
    changed: Condvar,
    durability: Durability,
    /// Counts how often writes were taken back.
    rollbacks: AtomicU64,
    log_bytes: AtomicU64,
}

#[derive(Debug)]
struct Writer {
    state: WriterState,
    pending: Batch,
    /// What the log's thread is writing at the moment, so that it can be taken back.
    in_flight: Option<Undo>,
    turns: Vec<SyncSender<io::Result<u64>>>,
    is_closing: bool,
}

type Waiter = Box<dyn FnOnce(Result<(), WriteError>) + Send>;

/// Changes that go into one frame.
#[derive(Default)]
struct Batch {
    /// Begins with room for a frame's head, where it is not empty.
    frame: Vec<u8>,
    undo: Undo,
    waiters: Vec<Waiter>,
}

/// What takes changes back, the last first.
#[derive(Debug, Default)]
struct Undo {
    bytes: Vec<u8>,
    steps: Vec<UndoStep>,
}

#[derive(Debug)]
enum UndoStep {
    /// The inverse change ends here in the bytes.
    Change(usize),
    /// The graph was cleared.
    Memory(Arc<Memory>, WriterState),
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch")
            .field("bytes", &self.frame.len())
            .field("waiters", &self.waiters.len())
            .finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the graph in a directory, which is made where there is none.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        Self::start(directory, options, true)
    }

    /// As [`Self::open`], for work that is done whole or not at all: what is written reaches the disk with the next
    /// [`Self::snapshot`], all of it at one stroke, and nothing of it where none is taken.
    pub fn open_for_snapshot(directory: &Path, recover: bool) -> Result<Self, OpenError> {
        Self::start(directory, Options { durability: Durability::Off, recover }, false)
    }

    fn start(directory: &Path, options: Options, is_logged: bool) -> Result<Self, OpenError> {
        let lock = recover::lock(directory)?;
        let Recovered { memory, state, mut log, recovery } = recover::recover(directory, options)?;
        if !is_logged {
            log.leave_to_snapshot();
        }
        let shared = Arc::new(Shared {
            memory: ArcSwap::from_pointee(memory),
            writer: Mutex::new(Writer {
                state,
                pending: Batch::default(),
                in_flight: None,
                turns: Vec::new(),
                is_closing: false,
            }),
            changed: Condvar::new(),
            durability: options.durability,
            rollbacks: AtomicU64::new(0),
            log_bytes: AtomicU64::new(log.length()),
        });
        let for_log = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("graph-log".to_owned()).spawn(move || for_log.log(log));
        let thread = thread.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?;
        Ok(Self {
            shared,
            directory: directory.to_owned(),
            thread: Some(thread),
            recovery,
            _lock: lock,
            snapshots: Mutex::new(()),
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
        self.shared.log_bytes.load(Ordering::Relaxed)
    }

    /// A look at the graph. What one call of it returns is true at one moment; never waits.
    pub fn read(&self) -> Read {
        Read::new(self.shared.memory.load())
    }

    /// Makes changes, all or none. `done` is called from the log's thread once they are as durable as the store was
    /// opened for, or were taken back; it is not called where the operation was refused.
    pub fn write<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
        done: impl FnOnce(Result<(), WriteError>) + Send + 'static,
    ) -> Result<T, Refusal> {
        let mut writer = self.shared.lock();
        while writer.pending.frame.len() > PENDING_BYTES_MAX && !writer.is_closing {
            writer = self.shared.changed.wait(writer).unwrap_or_else(PoisonError::into_inner);
        }
        let result = writer.operate(&self.shared.memory, operate)?;
        if self.shared.durability == Durability::Off {
            drop(writer);
            self.shared.changed.notify_all();
            done(Ok(()));
            return Ok(result);
        }
        writer.pending.waiters.push(Box::new(done));
        drop(writer);
        self.shared.changed.notify_all();
        Ok(result)
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
            let number = self.shared.turn_log()?;
            let before = self.shared.rollbacks.load(Ordering::SeqCst);
            let written = snapshot::write(&self.directory, number, || self.shared.memory.load_full())?;
            // All that the snapshot has seen must be in the log before it counts.
            self.write_and_wait(|_| Ok(())).map_err(SnapshotError::Log)?;
            if self.shared.rollbacks.load(Ordering::SeqCst) == before {
                return written.publish(&self.directory);
            }
            // It has seen writes that were taken back since.
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.shared.lock().is_closing = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A log thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

impl Writer {
    fn operate<T>(
        &mut self,
        memory: &ArcSwap<Memory>,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.pending.frame.is_empty() {
            self.pending.frame.resize(FRAME_HEAD_BYTES, 0);
        }
        let (frame_before, steps_before) = (self.pending.frame.len(), self.pending.undo.steps.len());
        let result = operate(&mut Write::new(self, memory));
        if result.is_err() {
            self.pending.frame.truncate(frame_before);
            let later = self.pending.undo.split_off(steps_before);
            later.run(&mut self.state, memory);
        }
        result
    }

    /// Takes back all that the log does not have; gives those who wait for it.
    fn roll_back(&mut self, memory: &ArcSwap<Memory>) -> Vec<Waiter> {
        let pending = std::mem::take(&mut self.pending);
        pending.undo.run(&mut self.state, memory);
        if let Some(undo) = self.in_flight.take() {
            undo.run(&mut self.state, memory);
        }
        pending.waiters
    }
}

/// What [`Write`] works on.
pub(crate) struct Place<'a> {
    writer: &'a mut Writer,
    memory: &'a ArcSwap<Memory>,
}

impl<'a> Write<'a> {
    fn new(writer: &'a mut Writer, memory: &'a ArcSwap<Memory>) -> Self {
        Self::at(memory.load_full(), Place { writer, memory })
    }
}

impl Place<'_> {
    pub(crate) const fn state(&mut self) -> &mut WriterState {
        &mut self.writer.state
    }

    /// Makes the change and queues it for the log.
    pub(crate) fn change(&mut self, memory: &Memory, change: &Change<'_>) {
        let guard = crossbeam_epoch::pin();
        let Writer { state, pending, .. } = &mut *self.writer;
        memory.apply(change, false, state, &mut pending.undo.bytes, &guard);
        pending.undo.steps.push(UndoStep::Change(pending.undo.bytes.len()));
        change.write(&mut pending.frame);
    }

    /// Nothing is left; the memory from now on.
    pub(crate) fn clear(&mut self) -> Arc<Memory> {
        let fresh = Arc::new(Memory::default());
        let old = self.memory.swap(Arc::clone(&fresh));
        let state = std::mem::take(&mut self.writer.state);
        self.writer.pending.undo.steps.push(UndoStep::Memory(old, state));
        Change::Clear.write(&mut self.writer.pending.frame);
        fresh
    }
}

impl Undo {
    fn split_off(&mut self, steps: usize) -> Self {
        let later = self.steps.split_off(steps);
        let begin = self.steps.iter().rev().find_map(|step| match step {
            UndoStep::Change(end) => Some(*end),
            UndoStep::Memory(..) => None,
        });
        let begin = begin.unwrap_or(0);
        let bytes = self.bytes.split_off(begin);
        let moved = later.into_iter().map(|step| match step {
            UndoStep::Change(end) => UndoStep::Change(end - begin),
            other @ UndoStep::Memory(..) => other,
        });
        Self { bytes, steps: moved.collect() }
    }

    fn run(self, state: &mut WriterState, memory: &ArcSwap<Memory>) {
        let Self { mut bytes, mut steps } = self;
        while let Some(step) = steps.pop() {
            match step {
                UndoStep::Memory(old, old_state) => {
                    memory.store(old);
                    *state = old_state;
                }
                UndoStep::Change(end) => {
                    let begin = steps.iter().rev().find_map(|before| match before {
                        UndoStep::Change(end) => Some(*end),
                        UndoStep::Memory(..) => None,
                    });
                    let begin = begin.unwrap_or(0);
                    let guard = crossbeam_epoch::pin();
                    let mut input = Input::new(&bytes[begin..end]);
                    // A change that had nothing to do has no inverse.
                    if let Ok(change) = Change::read(&mut input) {
                        memory.load().apply(&change, true, state, &mut Vec::new(), &guard);
                    }
                    bytes.truncate(begin);
                }
            }
        }
    }
}

// ---- the log's thread

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self, mut file: LogFile) {
        loop {
            let (mut batch, turns, is_closing) = self.next_batch(&file);
            let waiters = std::mem::take(&mut batch.waiters);
            // An operation that changed nothing waits for those before it, and writes nothing itself.
            let outcome =
                if batch.frame.len() > FRAME_HEAD_BYTES { file.append(&mut batch.frame) } else { Ok(()) };
            self.log_bytes.store(file.length(), Ordering::Relaxed);
            match outcome {
                Ok(()) => {
                    self.lock().in_flight = None;
                    for done in waiters {
                        done(Ok(()));
                    }
                }
                Err(error) => self.take_back(waiters, &error),
            }
            // An error to sync comes again with the next batch, whose writers hear of it.
            let _ = file.sync_if_due();
            for sender in turns {
                let turned = file.turn().map(|()| file.number());
                self.log_bytes.store(file.length(), Ordering::Relaxed);
                let _ = sender.send(turned);
            }
            if is_closing {
                let _ = file.close();
                return;
            }
        }
    }

    /// Waits until there is something to do.
    fn next_batch(&self, file: &LogFile) -> (Batch, Vec<SyncSender<io::Result<u64>>>, bool) {
        let mut writer = self.lock();
        loop {
            let has_work = !writer.pending.frame.is_empty() || !writer.turns.is_empty();
            if has_work || writer.is_closing {
                break;
            }
            writer = match self.durability {
                Durability::Interval(interval) if file.has_unsynced() => {
                    let waited = self.changed.wait_timeout(writer, interval.max(Duration::from_millis(1)));
                    let (writer, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                    if timeout.timed_out() {
                        return (Batch::default(), Vec::new(), writer.is_closing);
                    }
                    writer
                }
                _ => self.changed.wait(writer).unwrap_or_else(PoisonError::into_inner),
            };
        }
        let mut batch = std::mem::take(&mut writer.pending);
        writer.in_flight = Some(std::mem::take(&mut batch.undo));
        let turns = std::mem::take(&mut writer.turns);
        // Those who waited for room.
        self.changed.notify_all();
        (batch, turns, writer.is_closing)
    }

    fn take_back(&self, waiters: Vec<Waiter>, error: &WriteError) {
        let mut writer = self.lock();
        let later = writer.roll_back(&self.memory);
        self.rollbacks.fetch_add(1, Ordering::SeqCst);
        drop(writer);
        for done in waiters.into_iter().chain(later) {
            done(Err(error.clone()));
        }
    }

    /// The log goes on in a new file; its number.
    fn turn_log(&self) -> Result<u64, SnapshotError> {
        let (sender, receiver) = sync_channel(1);
        self.lock().turns.push(sender);
        self.changed.notify_all();
        let turned = receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the store is being closed")));
        turned.map_err(SnapshotError::Turn)
    }
}
