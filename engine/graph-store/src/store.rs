//! The open store: one writer at a time changes the memory and queues the change for the log; readers go their own way.

use crate::detach::{Detached, Detacher};
use crate::error::{Refusal, WriteError};
use crate::events::Event;
use crate::format::STORE;
use crate::options::Options;
use crate::read::Read;
use crate::snapshot::check::{CheckReport, check_memory};
use crate::snapshot::recover::{self, Loaded, Recovered};
use crate::snapshot::snapshotter::{SnapshotState, Snapshotter};
use crate::snapshot::throttle::Share;
use crate::snapshot::{SnapshotError, SnapshotReport};
use crate::state::{self, GraphState, Shared};
use crate::types::id::Ref;
use crate::write::Write;
use crate::writer::Writer;
use prony_log::Durability;
use prony_log::commit::{CommitQueue, Queue};
use prony_log::error::{LogError, OpenError};
use prony_log::lock::lock;
use prony_log::read_fence::{BegunRead, Overtaken, ReadFence};
use prony_log::read_only_log::ReadOnlyLog;
use prony_log::recover::Recovery;
use prony_log::register::Registration;
use prony_log::ticket::{Settled, Ticket};
use std::fmt;
use std::fs::File;
use std::path::Path;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

/// So long a write that adds waits, where the disk is full, to be told whether there is room again: a disk that has not said so by then is
/// taken for one that has none.
pub const RESTORED_WITHIN: Duration = Duration::from_secs(5);

/// So often a read is made beside those who write. What they take back is over in some microseconds, so that the second seldom fails.
const READ_ATTEMPTS: usize = 4;

/// How an open store fares.
#[derive(Debug, Clone)]
pub struct Health {
    /// Why the log could not be written the last time that was tried, and when; none once it has taken something again.
    /// Writes are refused meanwhile. With [`Durability::Interval`] also why it could not be synced: writes go on, and what
    /// was acknowledged is sure again once a snapshot is taken.
    pub log_failure: Option<(LogError, SystemTime)>,
    pub snapshots: SnapshotState,
    /// Of the log since the last snapshot.
    pub log_bytes: u64,
}

/// A write of which nothing was done.
pub enum Unwritten<F> {
    Refused(Refusal),
    /// Too much waits for the log. Here is the operation, for when there is [room](Store::room).
    NoRoom(F),
}

impl<F> fmt::Debug for Unwritten<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => f.debug_tuple("Refused").field(refusal).finish(),
            Self::NoRoom(_) => f.write_str("NoRoom"),
        }
    }
}

/// A graph in a directory of its own. Dropped, it writes what is pending and closes.
#[derive(Debug)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
    snapshotter: Arc<Snapshotter>,
    /// Held while an index is made.
    pub(crate) making_index: Mutex<()>,
    detacher: Arc<Detacher>,
    log: Option<JoinHandle<()>>,
    snapshots: Option<JoinHandle<()>>,
    recovery: Recovery,
    /// Held as long as the store is open; none where it is only read.
    _lock: Option<File>,
}

impl Store {
    /// Opens the graph in a directory, which is made where there is none.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        Self::start(directory, options, true)
    }

    /// As [`Self::open`], for work that is done whole or not at all: what is written reaches the disk with the next
    /// [`Self::snapshot`], all of it at one stroke, and nothing of it where none is taken.
    pub fn open_for_snapshot(directory: &Path, recover: bool) -> Result<Self, OpenError> {
        let options = Options { durability: Durability::Off, recover, snapshot_at_log_bytes: None };
        Self::start(directory, options, false)
    }

    /// The graph in a directory for who only reads it: nothing there is made, changed or locked, and another process may have it open. It is
    /// empty where there is no such directory, stays as it was when it was opened, and takes no writes.
    pub fn look(directory: &Path) -> Result<Self, OpenError> {
        let Loaded { memory, state, recovery, .. } = recover::look(directory)?;
        let writer = Writer { state, ..Writer::default() };
        let state = GraphState::read_only(memory);
        let shared = Arc::new(CommitQueue::new(state, writer, Durability::Sync, (0, recovery.log_bytes)));
        let snapshotter = Snapshotter::new(Arc::clone(&shared), directory, None, recovery.snapshot_bytes);
        let of_log = Arc::clone(&shared);
        let log = std::thread::Builder::new().name("graph-log".to_owned());
        let log = log.spawn(move || of_log.run(ReadOnlyLog));
        Ok(Self {
            snapshotter: Arc::new(snapshotter),
            making_index: Mutex::new(()),
            detacher: Detacher::new(Arc::clone(&shared)),
            shared,
            log: Some(log.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })?),
            snapshots: None,
            recovery,
            _lock: None,
        })
    }

    fn start(directory: &Path, options: Options, is_logged: bool) -> Result<Self, OpenError> {
        let lock = lock(directory, STORE)?;
        let Recovered { memory, state, mut log, recovery, removed } = recover::recover(directory, options)?;
        if !is_logged {
            log.leave_to_snapshot();
        }
        let writer = Writer { state, ..Writer::default() };
        let at = (log.number(), recovery.log_bytes);
        let bytes = recovery.snapshot_bytes;
        let state = GraphState::new(memory, directory, bytes + recovery.log_bytes);
        let shared = Arc::new(CommitQueue::new(state, writer, options.durability, at));
        let snapshotter =
            Snapshotter::new(Arc::clone(&shared), directory, options.snapshot_at_log_bytes, bytes);
        snapshotter.note_removed(removed);
        let mut store = Self {
            shared: Arc::clone(&shared),
            snapshotter: Arc::new(snapshotter),
            making_index: Mutex::new(()),
            detacher: Detacher::new(Arc::clone(&shared)),
            log: None,
            snapshots: None,
            recovery,
            _lock: Some(lock),
        };
        let of_thread = Arc::clone(&store.snapshotter);
        let start = |name: &str, run: Box<dyn FnOnce() + Send>| {
            let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run);
            thread.map_err(|cause| OpenError::Write { path: directory.to_owned(), cause })
        };
        store.log = Some(start("graph-log", Box::new(move || shared.run(log)))?);
        store.snapshots = Some(start("graph-snapshot", Box::new(move || of_thread.run()))?);
        if !store.shared.state.memory.load().detaching.is_empty() {
            store.detacher.start();
        }
        if is_logged && recover::is_snapshot_damaged(directory, &store.recovery) {
            // Where it cannot be taken, the health says why.
            let _ = store.snapshot();
        }
        Ok(store)
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
        self.snapshotter.log_bytes()
    }

    /// What has become of the snapshots since it was opened.
    pub fn snapshots(&self) -> SnapshotState {
        self.snapshotter.state()
    }

    /// What keeps it from being durable, and from being kept short.
    pub fn health(&self) -> Health {
        let log_failure = self.shared.lock().log_failure.clone();
        Health { log_failure, snapshots: self.snapshotter.state(), log_bytes: self.log_bytes() }
    }

    /// A look at the graph. What one call of it returns is true at one moment; never waits.
    pub fn read(&self) -> Read {
        Read::new(self.shared.state.memory.load())
    }

    /// As [`Self::read`], for who tells of what was read once that is durable: when [`outcome`](Self::outcome) says so of the fence. Looks
    /// again where something was taken back meanwhile, in the end while writers wait: `look` is for what is short.
    pub fn read_fenced<T>(&self, mut look: impl FnMut(&Read) -> T) -> (T, ReadFence) {
        for _ in 0..READ_ATTEMPTS {
            if let Ok(read) = self.try_read_fenced(&mut look) {
                return read;
            }
        }
        self.shared.read_alone(|| look(&self.read()))
    }

    /// As [`Self::read_fenced`], for what may take long.
    ///
    /// # Errors
    /// Something was taken back meanwhile.
    pub fn try_read_fenced<T>(&self, look: impl FnOnce(&Read) -> T) -> Result<(T, ReadFence), Overtaken> {
        let begun = self.begin_read();
        let read = self.read();
        let seen = look(&read);
        let fence = self.shared.end_read_of(begun, || read.last_changed())?;
        Ok((seen, fence))
    }

    /// To be called before a write, which has read something where it is [refused](Self::end_refused).
    pub fn begin_read(&self) -> BegunRead {
        self.shared.begin_read()
    }

    /// What a write that was refused has seen, and tells by that.
    pub fn end_refused(&self, begun: BegunRead) -> ReadFence {
        self.shared.end_refused(begun)
    }

    /// What has become of all that a read may have seen; none while that is not known. Those who [watch](Self::watch) are told afterwards, of
    /// its [ticket](ReadFence::ticket) or a later one.
    pub fn outcome(&self, fence: ReadFence) -> Option<Result<(), LogError>> {
        self.shared.outcome(fence)
    }

    /// Makes changes, all or none. `done` is called from the log's thread once they are as durable as the store was
    /// opened for, or were taken back; it is not called where the operation was refused.
    ///
    /// A thread that has many writes waiting at a time is told of them more cheaply through [`Self::write_ticket`].
    pub fn write<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
        done: impl FnOnce(Result<(), LogError>) + Send + 'static,
    ) -> Result<T, Refusal> {
        self.write_with(self.lock_with_room(), operate, done)
    }

    /// As [`Self::write`]; never waits for the log, nor for what [`Self::restored`] waits for.
    pub fn try_write<T, F, D>(&self, operate: F, done: D) -> Result<T, Unwritten<(F, D)>>
    where
        F: FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
        D: FnOnce(Result<(), LogError>) + Send + 'static,
    {
        let Some(queue) = self.shared.try_lock_with_room() else {
            return Err(Unwritten::NoRoom((operate, done)));
        };
        self.write_with(queue, operate, done).map_err(Unwritten::Refused)
    }

    fn write_with<T>(
        &self,
        mut queue: MutexGuard<'_, Queue<GraphState>>,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
        done: impl FnOnce(Result<(), LogError>) + Send + 'static,
    ) -> Result<T, Refusal> {
        let result = self.operate(&mut queue, operate)?;
        if self.shared.is_acknowledged_at_once(&queue) {
            self.shared.submit(queue);
            done(Ok(()));
            return Ok(result);
        }
        queue.writer.pending.waiters.push(Box::new(done));
        queue.ticket += 1;
        self.shared.submit(queue);
        Ok(result)
    }

    /// As [`Self::write`], but blocks where too much waits for the log; gives the write's place instead of calling back. It is settled when those who
    /// [`watch`](Self::watch) hear of it or of a later one: keep what waits in the order of its tickets, and take from
    /// the front. One thread that writes and hears on itself needs no look at what was settled before.
    pub fn write_ticket<T>(
        &self,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal> {
        self.write_into(self.lock_with_room(), operate)
    }

    fn operate<T>(
        &self,
        queue: &mut Queue<GraphState>,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let result = state::operate(&self.shared, queue, |pending| operate(&mut Write::new(pending)))?;
        if !self.shared.state.memory.load().detaching.is_empty() {
            self.detacher.start();
        }
        Ok(result)
    }

    /// What is to be waited for where the ids of a deleted node's relationships are to be free for others.
    pub fn detached(&self, node: Ref) -> Detached {
        Detached::new(Arc::clone(&self.detacher), node)
    }

    fn write_into<T>(
        &self,
        mut queue: MutexGuard<'_, Queue<GraphState>>,
        operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    ) -> Result<(T, Ticket), Refusal> {
        let result = self.operate(&mut queue, operate)?;
        let ticket = self.shared.next_ticket(&mut queue);
        self.shared.submit(queue);
        Ok((result, ticket))
    }

    /// As [`Self::write_ticket`]; never waits for the log, nor for what [`Self::restored`] waits for.
    pub fn try_write_ticket<T, F>(&self, operate: F) -> Result<(T, Ticket), Unwritten<F>>
    where
        F: FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
    {
        let Some(queue) = self.shared.try_lock_with_room() else { return Err(Unwritten::NoRoom(operate)) };
        self.write_into(queue, operate).map_err(Unwritten::Refused)
    }

    /// Ready once a write need not wait for the log. Others may take the room first: try again, and wait again.
    pub fn room(&self) -> impl Future<Output = ()> + '_ {
        std::future::poll_fn(|context| self.shared.poll_room(context))
    }

    /// Whether a write that adds is refused at once with [`Refusal::DiskFull`], and may not be when it is made again after [`Self::restored`].
    pub fn lacks_room(&self) -> bool {
        self.shared.lock().is_full && !self.shared.state.reserve.is_whole()
    }

    /// Has the room taken again that is kept for a full disk, on another thread: true where there was room for it, or nothing lacks. Then a
    /// write that was refused with [`Refusal::DiskFull`] should be made again; where it is refused once more, others have been faster. Ready
    /// when that is known, however slow the disk is: wait no longer than [`RESTORED_WITHIN`].
    pub async fn restored(&self) -> bool {
        if !self.shared.lock().is_full {
            return true;
        }
        let reserve = &self.shared.state.reserve;
        let attempt = reserve.ask();
        std::future::poll_fn(|context| reserve.poll(attempt, context)).await
    }

    /// For a write that blocks and may add: where the disk is full, once it is known whether there is room by now.
    fn lock_with_room(&self) -> MutexGuard<'_, Queue<GraphState>> {
        let reserve = &self.shared.state.reserve;
        let mut until = None;
        loop {
            let queue = self.shared.lock_with_room();
            if !queue.is_full || reserve.is_whole() {
                return queue;
            }
            drop(queue);
            let until = *until.get_or_insert_with(|| Instant::now() + RESTORED_WITHIN);
            if !reserve.wait(reserve.ask(), until.saturating_duration_since(Instant::now())) {
                return self.shared.lock_with_room();
            }
        }
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
        let registration = self.shared.state.listeners.add(Arc::new(listener));
        queue.writer.listen_from_here(&self.shared.state.memory);
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
        receiver.recv().unwrap_or(Err(LogError::Closed))?;
        Ok(result)
    }

    /// Checks every invariant of the graph in memory; writers wait meanwhile.
    pub fn check(&self) -> CheckReport {
        let queue = self.shared.lock();
        let mut report = CheckReport { recovery: self.recovery.clone(), ..CheckReport::default() };
        check_memory(&self.shared.state.memory.load(), &queue.writer.state, &mut report);
        report
    }

    /// Writes the whole graph into a snapshot, after which the log before it is removed. Readers and writers go on;
    /// only one snapshot is taken at a time. Blocks.
    pub fn snapshot(&self) -> Result<SnapshotReport, SnapshotError> {
        self.snapshotter.take(Share::WAITED_FOR)
    }

    /// From now on no snapshot is taken, and one that is being written is given up: the directory goes, and another graph may get its name.
    pub fn stop_snapshots(&self) {
        self.snapshotter.close();
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.snapshotter.close();
        self.detacher.close();
        for (thread, close) in [(self.snapshots.take(), None), (self.log.take(), Some(&self.shared))] {
            if let Some(shared) = close {
                shared.close();
            }
            if let Some(thread) = thread {
                // A thread that panicked has said so itself.
                let _ = thread.join();
            }
        }
        // Whoever opens the graph next has the file.
        self.shared.state.reserve.close();
    }
}
