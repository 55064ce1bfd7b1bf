//! The log's thread: takes what was changed since it last looked, has it written as one frame, and tells those who wait
//! and those who listen. What a file is asked for is in `log.rs`.

use crate::Durability;
use crate::error::WriteError;
use crate::events::{self, Listener};
use crate::log::format::FRAME_HEAD_BYTES;
use crate::log::group_commit::{GroupCommit, WAIT_MAX};
use crate::log::settle::{Settled, Ticket};
use crate::log::{LogFile, NextFile};
use crate::memory::Memory;
use crate::register::Register;
use crate::snapshot::trigger::SnapshotTrigger;
use crate::writer::{Batch, Waiter, Writer};
use arc_swap::ArcSwap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

/// Changes that wait for the log may take this much memory; then writers wait too.
const PENDING_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Where nobody waits for the log, it is written when there is this much, or after [`GATHERED_FOR`].
const GATHERED_BYTES: usize = 256 * 1024;
const GATHERED_FOR: Duration = Duration::from_millis(5);
/// A batch that was greater gives its memory back.
const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// What the store, its writers and the log's thread share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) memory: ArcSwap<Memory>,
    pub(crate) durability: Durability,
    queue: Mutex<Queue>,
    /// Tells the log's thread of work.
    has_work: Condvar,
    /// Tells writers of room.
    has_room: Condvar,
    /// Counts how often writes were taken back.
    pub(crate) rollbacks: AtomicU64,
    /// All that was ever written to the files of the log that there were at the start, and since.
    pub(crate) log_bytes: AtomicU64,
    /// Of the file that is appended to.
    pub(crate) log_number: AtomicU64,
    pub(crate) trigger: SnapshotTrigger,
    pub(crate) listeners: Register<Listener>,
    pub(crate) watchers: Register<dyn Fn(&Settled) + Send + Sync>,
}

/// Behind the lock.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    pub(crate) writer: Writer,
    requests: Vec<Request>,
    is_closing: bool,
    log: LogState,
    /// The log's thread goes on as soon as this ticket was given out.
    awaited: u64,
    writers_without_room: usize,
    /// As [`Self::writers_without_room`], of those that do not block.
    wakers_without_room: Vec<Waker>,
    /// Why the log's last frame could not be written, and when. Nothing is acknowledged before the log has it until the
    /// log has taken something again.
    pub(crate) log_failure: Option<(WriteError, SystemTime)>,
}

/// Whether the log's thread has to be woken.
#[derive(Debug, Default, PartialEq, Eq)]
enum LogState {
    /// It looks by itself.
    #[default]
    Busy,
    /// It waits for the first change.
    Idle,
    /// It waits for more, so that one frame has many.
    Gathering,
}

/// What the log's thread is asked for, once all that was pending is written.
#[derive(Debug)]
enum Request {
    /// To go on in a new file: its number, and all bytes that were written before it.
    Rotate(NextFile, SyncSender<io::Result<(u64, u64)>>),
    /// To have everything on the disk, however the store was opened.
    Sync(SyncSender<Result<(), WriteError>>),
}

/// What is to be done at a time.
struct Work {
    batch: Batch,
    requests: Vec<Request>,
    ticket: u64,
    is_closing: bool,
}

// ---- what others ask for

impl Shared {
    pub(crate) fn new(
        memory: Memory,
        writer: Writer,
        durability: Durability,
        (log_number, log_bytes): (u64, u64),
    ) -> Self {
        Self {
            memory: ArcSwap::from_pointee(memory),
            durability,
            queue: Mutex::new(Queue { writer, ..Queue::default() }),
            has_work: Condvar::new(),
            has_room: Condvar::new(),
            rollbacks: AtomicU64::new(0),
            log_bytes: AtomicU64::new(log_bytes),
            log_number: AtomicU64::new(log_number),
            trigger: SnapshotTrigger::default(),
            listeners: Register::default(),
            watchers: Register::default(),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once there is room for a write.
    pub(crate) fn lock_with_room(&self) -> MutexGuard<'_, Queue> {
        let mut queue = self.lock();
        while !queue.has_room() {
            queue.writers_without_room += 1;
            queue = self.has_room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.writers_without_room -= 1;
        }
        queue
    }

    /// As [`Self::lock_with_room`]; none where there is no room.
    pub(crate) fn try_lock_with_room(&self) -> Option<MutexGuard<'_, Queue>> {
        Some(self.lock()).filter(|queue| queue.has_room())
    }

    /// Ready where there is room for a write; else the task is woken when there may be.
    pub(crate) fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let mut queue = self.lock();
        if queue.has_room() {
            return Poll::Ready(());
        }
        queue.wakers_without_room.push(context.waker().clone());
        Poll::Pending
    }

    /// True where what was written may be acknowledged before the log has it.
    pub(crate) fn is_acknowledged_at_once(&self, queue: &Queue) -> bool {
        self.durability == Durability::Off && queue.log_failure.is_none()
    }

    /// Ends the writing; wakes the log's thread where it would not look by itself.
    pub(crate) fn submit(&self, mut queue: MutexGuard<'_, Queue>) {
        let is_woken = match queue.log {
            LogState::Busy => false,
            LogState::Idle => true,
            LogState::Gathering => queue.writer.ticket >= queue.awaited || queue.is_urgent(),
        };
        if is_woken {
            queue.log = LogState::Busy;
            drop(queue);
            self.has_work.notify_one();
        }
    }

    /// The log goes on in a new file; its number, and the bytes of the log before it.
    pub(crate) fn rotate_log(&self, next: NextFile) -> io::Result<(u64, u64)> {
        let (sender, receiver) = sync_channel(1);
        self.request(Request::Rotate(next, sender));
        receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the store is being closed")))
    }

    /// All that was written before this is on the disk when it returns.
    pub(crate) fn sync_log(&self) -> Result<(), WriteError> {
        let (sender, receiver) = sync_channel(1);
        self.request(Request::Sync(sender));
        receiver.recv().unwrap_or(Err(WriteError::Closed))
    }

    fn request(&self, request: Request) {
        self.lock().requests.push(request);
        self.has_work.notify_one();
    }

    pub(crate) fn close(&self) {
        let mut queue = self.lock();
        queue.is_closing = true;
        self.tell_of_room(queue);
        self.has_work.notify_one();
    }
}

// ---- the thread

impl Shared {
    pub(crate) fn run(&self, mut file: LogFile) {
        let (mut spare, mut group_commit, mut last) = (Batch::default(), GroupCommit::default(), 0);
        loop {
            let awaited = last + group_commit.size();
            let mut work = self.next_work(&file, std::mem::take(&mut spare), awaited);
            group_commit.record(work.ticket - last);
            last = work.ticket;
            let outcome = self.commit(&mut file, &mut work);
            // Nobody waits for it: the next batch makes it known.
            let _ = file.sync_if_due();
            for request in work.requests {
                self.serve(&mut file, request, &outcome);
            }
            if work.is_closing {
                let _ = file.close();
                return;
            }
            spare = work.batch.emptied();
        }
    }

    fn commit(&self, file: &mut LogFile, work: &mut Work) -> Result<(), WriteError> {
        let batch = &mut work.batch;
        // An operation that changed nothing waits for those before it, and writes nothing itself.
        if batch.frame.len() > FRAME_HEAD_BYTES {
            if let Err(error) = file.append(&mut batch.frame) {
                self.take_back(std::mem::take(&mut batch.waiters), &error);
                return Err(error);
            }
            let more = batch.frame.len() as u64;
            self.trigger.note_log_bytes(self.log_bytes.fetch_add(more, Ordering::Relaxed) + more);
        }
        let mut queue = self.lock();
        let undo = queue.writer.in_flight.take().unwrap_or_default();
        queue.log_failure = file.unsure().map(|error| (error.clone(), SystemTime::now()));
        drop(queue);
        // Before those who wait: whoever keeps what it has read knows of a change when the one who made it does.
        if let Some((first, schema)) = batch.heard.take() {
            self.stop_listening_for_nobody();
            events::tell(&self.listeners, &batch.frame[FRAME_HEAD_BYTES..], &undo, first, schema);
        }
        for done in batch.waiters.drain(..) {
            done(Ok(()));
        }
        self.watchers.each(|watcher| watcher(&Settled { up_to: Ticket(work.ticket), outcome: Ok(()) }));
        batch.undo = undo;
        Ok(())
    }

    fn stop_listening_for_nobody(&self) {
        // Whoever begins to listen holds the lock meanwhile.
        let mut queue = self.lock();
        if self.listeners.is_empty() {
            queue.writer.is_listened_to = false;
        }
    }

    fn serve(&self, file: &mut LogFile, request: Request, committed: &Result<(), WriteError>) {
        // Whoever asked may have gone.
        match request {
            Request::Rotate(next, sender) => {
                let rotated = file.rotate(next);
                self.log_number.store(file.number(), Ordering::Relaxed);
                let rotated = rotated.map(|()| (file.number(), self.log_bytes.load(Ordering::Relaxed)));
                let _ = sender.send(rotated);
            }
            Request::Sync(sender) => {
                let _ = sender.send(committed.clone().and_then(|()| file.sync()));
            }
        }
    }

    /// Waits until there is something to do. `spare` is memory to use again.
    fn next_work(&self, file: &LogFile, spare: Batch, awaited: u64) -> Work {
        let mut queue = self.lock();
        while !queue.has_work() {
            queue.log = LogState::Idle;
            let timeout = match self.durability {
                Durability::Interval(_) => file.sync_due_in(),
                Durability::Sync | Durability::Off => Duration::MAX,
            };
            let (next, is_over) = self.wait(queue, timeout);
            queue = next;
            if is_over {
                break;
            }
        }
        queue.awaited = awaited;
        queue = self.gather(queue);
        queue.log = LogState::Busy;
        let mut batch = std::mem::replace(&mut queue.writer.pending, spare);
        queue.writer.in_flight = Some(std::mem::take(&mut batch.undo));
        let requests = std::mem::take(&mut queue.requests);
        let (ticket, is_closing) = (queue.writer.ticket, queue.is_closing);
        self.tell_of_room(queue);
        Work { batch, requests, ticket, is_closing }
    }

    fn tell_of_room(&self, mut queue: MutexGuard<'_, Queue>) {
        if queue.writers_without_room > 0 {
            self.has_room.notify_all();
        }
        let wakers = std::mem::take(&mut queue.wakers_without_room);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// One large frame costs less than many small ones.
    fn gather<'q>(&'q self, mut queue: MutexGuard<'q, Queue>) -> MutexGuard<'q, Queue> {
        // With the log as it should be, nobody waits for it where nothing is awaited.
        if self.is_acknowledged_at_once(&queue) {
            queue.awaited = u64::MAX;
        }
        let gathered_for = if queue.awaited == u64::MAX { GATHERED_FOR } else { WAIT_MAX };
        let until = Instant::now() + gathered_for;
        while queue.has_work() && queue.writer.ticket < queue.awaited && !queue.is_urgent() {
            queue.log = LogState::Gathering;
            let left = until.saturating_duration_since(Instant::now());
            let (next, is_over) = self.wait(queue, left);
            queue = next;
            if is_over {
                break;
            }
        }
        queue
    }

    fn wait<'q>(&'q self, queue: MutexGuard<'q, Queue>, timeout: Duration) -> (MutexGuard<'q, Queue>, bool) {
        if timeout == Duration::MAX {
            return (self.has_work.wait(queue).unwrap_or_else(PoisonError::into_inner), false);
        }
        let (queue, timeout) =
            self.has_work.wait_timeout(queue, timeout).unwrap_or_else(PoisonError::into_inner);
        (queue, timeout.timed_out())
    }

    fn take_back(&self, waiters: Vec<Waiter>, error: &WriteError) {
        let mut queue = self.lock();
        let later = queue.writer.roll_back(&self.memory);
        queue.log_failure = Some((error.clone(), SystemTime::now()));
        let up_to = Ticket(queue.writer.ticket);
        self.rollbacks.fetch_add(1, Ordering::SeqCst);
        self.tell_of_room(queue);
        for done in waiters.into_iter().chain(later) {
            done(Err(error.clone()));
        }
        self.watchers.each(|watcher| watcher(&Settled { up_to, outcome: Err(error.clone()) }));
    }
}

impl Queue {
    /// A write need not wait for the log.
    fn has_room(&self) -> bool {
        self.writer.pending.frame.len() <= PENDING_BYTES_MAX || self.is_closing
    }

    fn has_work(&self) -> bool {
        !self.writer.pending.frame.is_empty() || !self.requests.is_empty() || self.is_closing
    }

    fn is_urgent(&self) -> bool {
        self.is_closing || !self.requests.is_empty() || self.writer.pending.frame.len() >= GATHERED_BYTES
    }
}

impl Batch {
    fn emptied(mut self) -> Self {
        if self.frame.capacity() + self.undo.bytes.capacity() > KEPT_BYTES_MAX {
            return Self::default();
        }
        self.frame.clear();
        self.undo.clear();
        self.waiters.clear();
        self.heard = None;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bug of the first version: they were told only when the log took something, and nothing was left for it to take.
    #[test]
    fn those_who_wait_for_room_are_told_when_what_waits_is_taken_back() {
        let shared = Shared::new(Memory::default(), Writer::default(), Durability::Sync, (1, 0));
        shared.lock().writer.pending.frame.resize(PENDING_BYTES_MAX + 1, 0);
        let context = Context::from_waker(Waker::noop());
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| drop(shared.lock_with_room()));
            while shared.lock().writers_without_room == 0 {
                std::thread::yield_now();
            }
            assert!(shared.poll_room(&context).is_pending() && shared.try_lock_with_room().is_none());
            shared.take_back(Vec::new(), &WriteError::Closed);
            blocked.join().expect("it was told");
        });
        assert!(shared.poll_room(&context).is_ready() && shared.lock().wakers_without_room.is_empty());
        assert!(shared.lock().log_failure.is_some());
    }
}
