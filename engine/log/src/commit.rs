//! The log's thread: takes what was changed since it last looked, has it written as one frame, and tells those who wait.
//! What a file is asked for is in `file.rs`, what the frames mean is the state's.

use crate::Durability;
use crate::error::LogError;
use crate::file::NextFile;
use crate::frame_log::FrameLog;
use crate::frames::LOG_FRAME_HEAD_BYTES;
use crate::group_commit::{GroupCommit, WAIT_MAX};
use crate::positions::Positions;
use crate::register::Register;
use crate::ticket::{Settled, Ticket};
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// What is called once a write is as durable as was asked for, or was taken back.
pub type Waiter = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// What a log makes durable.
pub trait Logged: fmt::Debug + Send + Sync + Sized + 'static {
    /// What only writers change, behind the queue's lock.
    type Writer: Default + Send;
    /// What belongs to a frame that is being gathered, beside its bytes.
    type Attached: Attached;

    /// Room on the disk is kept for what makes room, and other writes are refused where there is no other.
    const KEEPS_RESERVE: bool = false;

    /// What was written since the log's thread took something.
    fn pending(writer: &Self::Writer) -> &Batch<Self::Attached>;

    fn pending_mut(writer: &mut Self::Writer) -> &mut Batch<Self::Attached>;

    /// The log's thread has taken a batch and is about to write it.
    fn taken(&self, writer: &mut Self::Writer, attached: &mut Self::Attached) {
        let _ = (writer, attached);
    }

    /// A batch, which may have an empty frame, is as durable as was asked for; those who wait for it are told afterwards. Called by the
    /// log's thread, with the lock, which it may give back.
    fn logged(&self, queue: MutexGuard<'_, Queue<Self>>, batch: &mut Batch<Self::Attached>);

    /// Neither the batch that was taken nor what is pending has become durable: both are to be taken back; gives those who wait
    /// for what was pending.
    fn roll_back(&self, writer: &mut Self::Writer) -> Vec<Waiter>;

    /// There is no room on the disk for a frame, of which this is what was put into it: whether some was made, so that it is to be tried again.
    fn make_room(&self, payload: &[u8]) -> bool {
        let _ = payload;
        false
    }

    /// The log goes on in another file; all before it is durable and was given to [`logged`](Self::logged). Called by the log's thread.
    fn rotated(&self) {}

    /// So much was written to the log since the store was opened, beside what it had then.
    fn note_log_bytes(&self, bytes: u64) {
        let _ = bytes;
    }
}

/// Memory that a batch has beside its frame, to be used again.
pub trait Attached: Default + Send {
    fn capacity_bytes(&self) -> usize;
    /// Lets go of what changes that are durable now have attached, also where its room is not kept. The log's thread calls it, so that
    /// what takes long is done elsewhere.
    fn clear(&mut self);
}

impl Attached for () {
    fn capacity_bytes(&self) -> usize {
        0
    }

    fn clear(&mut self) {}
}

/// Changes that go into one frame.
#[derive(Default)]
pub struct Batch<A> {
    /// Begins with room for a frame's head, where it is not empty.
    pub frame: Vec<u8>,
    pub attached: A,
    pub waiters: Vec<Waiter>,
}

impl<A> fmt::Debug for Batch<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("bytes", &self.frame.len())
            .field("waiters", &self.waiters.len())
            .finish_non_exhaustive()
    }
}

/// What the store, its writers and the log's thread share.
#[derive(Debug)]
pub struct CommitQueue<S: Logged> {
    pub state: S,
    pub durability: Durability,
    queue: Mutex<Queue<S>>,
    /// Tells the log's thread of work.
    has_work: Condvar,
    /// Tells writers of room.
    has_room: Condvar,
    /// All that was ever written to the files of the log that there were at the start, and since.
    pub log_bytes: AtomicU64,
    /// Of the file that is appended to.
    pub log_number: AtomicU64,
    pub positions: Positions,
    pub watchers: Register<dyn Fn(&Settled) + Send + Sync>,
}

/// Behind the lock.
pub struct Queue<S: Logged> {
    pub writer: S::Writer,
    /// The last one that was given out.
    pub ticket: u64,
    requests: Vec<Request>,
    is_closing: bool,
    log: ThreadState,
    /// The log's thread goes on as soon as this ticket was given out.
    awaited: u64,
    writers_without_room: usize,
    /// As [`Self::writers_without_room`], of those that do not block.
    wakers_without_room: Vec<Waker>,
    /// Why the log's last frame could not be written, and when. Nothing is acknowledged before the log has it until the
    /// log has taken something again.
    pub log_failure: Option<(LogError, SystemTime)>,
    /// Why writes were taken back the last time.
    pub(crate) last_failure: Option<LogError>,
    /// There was no room for the last frame, and none has been found since; only where a [reserve](Logged::KEEPS_RESERVE) is kept. Only
    /// what removes is to be written, and one other write at a time to find out whether there is room.
    pub is_full: bool,
    /// That one write is on its way, and all others wait for it.
    pub is_probing: bool,
    /// For how many writes wait, see [`CommitQueue::pause_writes`].
    pub(crate) pauses: usize,
}

impl<S: Logged> fmt::Debug for Queue<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("pending", S::pending(&self.writer))
            .field("ticket", &self.ticket)
            .finish_non_exhaustive()
    }
}

/// Whether the log's thread has to be woken.
#[derive(Debug, Default, PartialEq, Eq)]
enum ThreadState {
    /// It looks by itself.
    #[default]
    Busy,
    /// It waits for the first change.
    Idle,
    /// It waits for more, so that one frame has many.
    Gathering,
    /// It has taken the last that it writes.
    Ended,
}

/// What the log's thread is asked for, once all that was pending is written.
#[derive(Debug)]
enum Request {
    /// To go on in a new file: its number, and all bytes that were written before it.
    Rotate(NextFile, SyncSender<io::Result<(u64, u64)>>),
    /// To have everything on the disk, however the store was opened.
    Sync(SyncSender<Result<(), LogError>>),
}

/// What is to be done at a time.
struct Work<A> {
    batch: Batch<A>,
    requests: Vec<Request>,
    ticket: u64,
    is_closing: bool,
}

// ---- what others ask for

impl<S: Logged> CommitQueue<S> {
    /// `log_bytes` are those of the log that the store was opened with.
    pub fn new(
        state: S,
        writer: S::Writer,
        durability: Durability,
        (log_number, log_bytes): (u64, u64),
    ) -> Self {
        let queue = Queue {
            writer,
            ticket: 0,
            requests: Vec::new(),
            is_closing: false,
            log: ThreadState::default(),
            awaited: 0,
            writers_without_room: 0,
            wakers_without_room: Vec::new(),
            log_failure: None,
            last_failure: None,
            is_full: false,
            is_probing: false,
            pauses: 0,
        };
        Self {
            state,
            durability,
            queue: Mutex::new(queue),
            has_work: Condvar::new(),
            has_room: Condvar::new(),
            log_bytes: AtomicU64::new(log_bytes),
            log_number: AtomicU64::new(log_number),
            positions: Positions::default(),
            watchers: Register::default(),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, Queue<S>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Once there is room for a write.
    pub fn lock_with_room(&self) -> MutexGuard<'_, Queue<S>> {
        let mut queue = self.lock();
        while !queue.has_room() {
            queue.writers_without_room += 1;
            queue = self.has_room.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.writers_without_room -= 1;
        }
        queue
    }

    /// As [`Self::lock_with_room`]; none where there is no room.
    pub fn try_lock_with_room(&self) -> Option<MutexGuard<'_, Queue<S>>> {
        Some(self.lock()).filter(|queue| queue.has_room())
    }

    /// Ready where there is room for a write; else the task is woken when there may be.
    pub fn poll_room(&self, context: &Context<'_>) -> Poll<()> {
        let mut queue = self.lock();
        if queue.has_room() {
            return Poll::Ready(());
        }
        queue.wakers_without_room.push(context.waker().clone());
        Poll::Pending
    }

    /// True where what was written may be acknowledged before the log has it.
    pub fn is_acknowledged_at_once(&self, queue: &Queue<S>) -> bool {
        self.durability == Durability::Off && queue.log_failure.is_none()
    }

    /// The next write's place, for whoever holds the lock and has written it.
    pub fn next_ticket(&self, queue: &mut Queue<S>) -> Ticket {
        if self.is_acknowledged_at_once(queue) {
            return Ticket::SETTLED;
        }
        queue.ticket += 1;
        Ticket(queue.ticket)
    }

    /// Ends the writing; wakes the log's thread where it would not look by itself.
    pub fn submit(&self, mut queue: MutexGuard<'_, Queue<S>>) {
        let is_woken = match queue.log {
            ThreadState::Busy | ThreadState::Ended => false,
            ThreadState::Idle => true,
            ThreadState::Gathering => queue.ticket >= queue.awaited || queue.is_urgent(),
        };
        if is_woken {
            queue.log = ThreadState::Busy;
            drop(queue);
            self.has_work.notify_one();
        }
    }

    /// The log goes on in a new file; its number, and the bytes of the log before it.
    pub fn rotate_log(&self, next: NextFile) -> io::Result<(u64, u64)> {
        let (sender, receiver) = sync_channel(1);
        self.request(Request::Rotate(next, sender));
        receiver.recv().unwrap_or_else(|_| Err(io::Error::other("the store is being closed")))
    }

    /// All that was written before this is on the disk when it returns.
    pub fn sync_log(&self) -> Result<(), LogError> {
        let (sender, receiver) = sync_channel(1);
        self.request(Request::Sync(sender));
        receiver.recv().unwrap_or(Err(LogError::Closed))
    }

    /// Behind the end a request is dropped, so that whoever has made it does not wait.
    fn request(&self, request: Request) {
        let mut queue = self.lock();
        if queue.log != ThreadState::Ended {
            queue.requests.push(request);
            self.has_work.notify_one();
        }
    }

    /// Whether writes that add are refused, as they would take the room that a snapshot needs.
    pub fn set_full(&self, is_full: bool) {
        self.lock().is_full = S::KEEPS_RESERVE && is_full;
    }

    pub fn close(&self) {
        let mut queue = self.lock();
        queue.is_closing = true;
        self.tell_of_room(queue);
        self.has_work.notify_one();
    }
}

// ---- the thread

impl<S: Logged> CommitQueue<S> {
    /// The log's thread: returns once the queue is [closed](Self::close) and all that was pending is written.
    pub fn run(&self, mut file: impl FrameLog) {
        let (mut spare, mut group_commit, mut last) = (Batch::default(), GroupCommit::default(), 0);
        loop {
            let awaited = last + group_commit.size();
            let mut work = self.next_work(&file, std::mem::take(&mut spare), awaited);
            group_commit.record(work.ticket - last);
            last = work.ticket;
            let outcome = self.commit_or_give_up(&mut file, &mut work);
            if file.sync_if_due().is_err() {
                // Nobody waits for it, and all that comes is refused.
                self.lock().log_failure = file.suspect().map(|error| (error.clone(), SystemTime::now()));
            }
            self.serve_all(&mut file, work.requests, &outcome);
            if work.is_closing {
                let _ = file.close();
                return;
            }
            spare = work.batch.emptied();
        }
    }

    /// Where a panic ended the thread, those who wait for it would do so for ever, and so would all who come later.
    fn commit_or_give_up(
        &self,
        file: &mut impl FrameLog,
        work: &mut Work<S::Attached>,
    ) -> Result<(), LogError> {
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(file, work)));
        committed.unwrap_or_else(|_| {
            file.give_up();
            self.take_back(std::mem::take(&mut work.batch.waiters), &LogError::Broken);
            Err(LogError::Broken)
        })
    }

    /// As with a commit, a panic is told by the log and not by its silence; who has asked hears that the store is being closed.
    fn serve_all(&self, file: &mut impl FrameLog, requests: Vec<Request>, committed: &Result<(), LogError>) {
        let serve = || requests.into_iter().for_each(|request| self.serve(file, request, committed));
        if catch_unwind(AssertUnwindSafe(serve)).is_err() {
            file.give_up();
            self.lock().log_failure = Some((LogError::Broken, SystemTime::now()));
        }
    }

    fn commit(&self, file: &mut impl FrameLog, work: &mut Work<S::Attached>) -> Result<(), LogError> {
        let batch = &mut work.batch;
        // An operation that changed nothing waits for those before it, and writes nothing itself.
        if batch.frame.len() > LOG_FRAME_HEAD_BYTES {
            let mut appended = file.append(&mut batch.frame);
            // Of a frame whose fate is unknown there is no second try.
            while matches!(&appended, Err(error @ LogError::Write { .. }) if error.is_disk_full())
                && self.state.make_room(&batch.frame[LOG_FRAME_HEAD_BYTES..])
            {
                appended = file.append(&mut batch.frame);
            }
            if let Err(error) = appended {
                self.take_back(std::mem::take(&mut batch.waiters), &error);
                return Err(error);
            }
            let more = batch.frame.len() as u64;
            self.state.note_log_bytes(self.log_bytes.fetch_add(more, Ordering::Relaxed) + more);
        }
        let mut queue = self.lock();
        if std::mem::take(&mut queue.is_probing) && batch.frame.len() > LOG_FRAME_HEAD_BYTES {
            queue.is_full = false;
            self.has_room.notify_all();
            std::mem::take(&mut queue.wakers_without_room).into_iter().for_each(Waker::wake);
        }
        // What only removes says nothing of the room that other writes need.
        if !queue.is_full {
            queue.log_failure = file.suspect().map(|error| (error.clone(), SystemTime::now()));
        }
        // Before anybody is told, so that who is told and reads then waits for nothing.
        self.positions.settle(Ticket(work.ticket));
        self.state.logged(queue, batch);
        for done in batch.waiters.drain(..) {
            done(Ok(()));
        }
        self.watchers.each(|watcher| watcher(&Settled { up_to: Ticket(work.ticket), outcome: Ok(()) }));
        Ok(())
    }

    fn serve(&self, file: &mut impl FrameLog, request: Request, committed: &Result<(), LogError>) {
        // Whoever asked may have gone.
        match request {
            Request::Rotate(next, sender) => {
                let rotated = file.rotate(next);
                self.log_number.store(file.number(), Ordering::Relaxed);
                if rotated.is_ok() {
                    self.state.rotated();
                }
                let rotated = rotated.map(|()| (file.number(), self.log_bytes.load(Ordering::Relaxed)));
                let _ = sender.send(rotated);
            }
            Request::Sync(sender) => {
                let _ = sender.send(committed.clone().and_then(|()| file.sync()));
            }
        }
    }

    /// Waits until there is something to do. `spare` is memory to use again.
    fn next_work(&self, file: &impl FrameLog, spare: Batch<S::Attached>, awaited: u64) -> Work<S::Attached> {
        let mut queue = self.lock();
        while !queue.has_work() {
            queue.log = ThreadState::Idle;
            let (next, is_over) = self.wait(queue, file.sync_due_in());
            queue = next;
            if is_over {
                break;
            }
        }
        queue.awaited = awaited;
        queue = self.gather(queue);
        queue.log = if queue.is_closing { ThreadState::Ended } else { ThreadState::Busy };
        let mut batch = std::mem::replace(S::pending_mut(&mut queue.writer), spare);
        self.state.taken(&mut queue.writer, &mut batch.attached);
        let requests = std::mem::take(&mut queue.requests);
        let (ticket, is_closing) = (queue.ticket, queue.is_closing);
        self.tell_of_room(queue);
        Work { batch, requests, ticket, is_closing }
    }

    pub(crate) fn tell_of_room(&self, mut queue: MutexGuard<'_, Queue<S>>) {
        if queue.writers_without_room > 0 {
            self.has_room.notify_all();
        }
        let wakers = std::mem::take(&mut queue.wakers_without_room);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// One large frame costs less than many small ones.
    fn gather<'q>(&'q self, mut queue: MutexGuard<'q, Queue<S>>) -> MutexGuard<'q, Queue<S>> {
        // With the log as it should be, nobody waits for it where nothing is awaited.
        if self.is_acknowledged_at_once(&queue) {
            queue.awaited = u64::MAX;
        }
        let gathered_for = if queue.awaited == u64::MAX { GATHERED_FOR } else { WAIT_MAX };
        let until = Instant::now() + gathered_for;
        while queue.has_work() && queue.ticket < queue.awaited && !queue.is_urgent() {
            queue.log = ThreadState::Gathering;
            let left = until.saturating_duration_since(Instant::now());
            let (next, is_over) = self.wait(queue, left);
            queue = next;
            if is_over {
                break;
            }
        }
        queue
    }

    fn wait<'q>(
        &'q self,
        queue: MutexGuard<'q, Queue<S>>,
        timeout: Duration,
    ) -> (MutexGuard<'q, Queue<S>>, bool) {
        if timeout == Duration::MAX {
            return (self.has_work.wait(queue).unwrap_or_else(PoisonError::into_inner), false);
        }
        let (queue, timeout) =
            self.has_work.wait_timeout(queue, timeout).unwrap_or_else(PoisonError::into_inner);
        (queue, timeout.timed_out())
    }

    fn take_back(&self, waiters: Vec<Waiter>, error: &LogError) {
        let mut queue = self.lock();
        let later = self.state.roll_back(&mut queue.writer);
        queue.log_failure = Some((error.clone(), SystemTime::now()));
        queue.last_failure = Some(error.clone());
        queue.is_full = S::KEEPS_RESERVE && error.is_disk_full();
        queue.is_probing = false;
        let up_to = Ticket(queue.ticket);
        self.positions.fail(up_to);
        self.tell_of_room(queue);
        for done in waiters.into_iter().chain(later) {
            done(Err(error.clone()));
        }
        self.watchers.each(|watcher| watcher(&Settled { up_to, outcome: Err(error.clone()) }));
    }
}

impl<S: Logged> Queue<S> {
    /// A write need not wait for the log.
    fn has_room(&self) -> bool {
        let is_held_up = self.is_probing || self.pauses > 0;
        (S::pending(&self.writer).frame.len() <= PENDING_BYTES_MAX && !is_held_up) || self.is_closing
    }

    fn has_work(&self) -> bool {
        !S::pending(&self.writer).frame.is_empty() || !self.requests.is_empty() || self.is_closing
    }

    fn is_urgent(&self) -> bool {
        self.is_closing || !self.requests.is_empty() || S::pending(&self.writer).frame.len() >= GATHERED_BYTES
    }
}

impl<A: Attached> Batch<A> {
    /// Where changes are added to.
    pub fn begin(&mut self) -> &mut Vec<u8> {
        if self.frame.is_empty() {
            self.frame.resize(LOG_FRAME_HEAD_BYTES, 0);
        }
        &mut self.frame
    }

    fn emptied(mut self) -> Self {
        self.attached.clear();
        if self.frame.capacity() + self.attached.capacity_bytes() > KEPT_BYTES_MAX {
            return Self::default();
        }
        self.frame.clear();
        self.waiters.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::LogFile;
    use crate::frames::FileKind;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    /// Keeps nothing.
    #[derive(Debug, Default)]
    struct Nothing {
        is_faulty: bool,
    }

    impl Logged for Nothing {
        type Writer = Batch<()>;
        type Attached = ();

        fn pending(writer: &Batch<()>) -> &Batch<()> {
            writer
        }

        fn pending_mut(writer: &mut Batch<()>) -> &mut Batch<()> {
            writer
        }

        fn logged(&self, _: MutexGuard<'_, Queue<Self>>, _: &mut Batch<()>) {
            assert!(!self.is_faulty, "it is faulty");
        }

        fn roll_back(&self, writer: &mut Batch<()>) -> Vec<Waiter> {
            std::mem::take(writer).waiters
        }
    }

    /// Counts how often it is cleared.
    #[derive(Default)]
    struct Cleared(usize, Arc<AtomicUsize>);

    impl Attached for Cleared {
        fn capacity_bytes(&self) -> usize {
            self.0
        }

        fn clear(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What was attached to a large frame was dropped on the log's thread.
    #[test]
    fn what_is_attached_is_cleared_also_where_its_room_is_given_up() {
        for bytes in [0, KEPT_BYTES_MAX + 1] {
            let cleared = Arc::<AtomicUsize>::default();
            let attached = Cleared(bytes, Arc::clone(&cleared));
            let emptied = Batch { attached, ..Batch::default() }.emptied();
            assert_eq!(cleared.load(Ordering::Relaxed), 1, "{bytes}");
            assert_eq!(emptied.attached.0, if bytes == 0 { bytes } else { 0 });
        }
    }

    /// They were told only when the log took something, and nothing was left for it to take.
    #[test]
    fn those_who_wait_for_room_are_told_when_what_waits_is_taken_back() {
        let shared = CommitQueue::new(Nothing::default(), Batch::default(), Durability::Sync, (1, 0));
        shared.lock().writer.frame.resize(PENDING_BYTES_MAX + 1, 0);
        let context = Context::from_waker(Waker::noop());
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| drop(shared.lock_with_room()));
            while shared.lock().writers_without_room == 0 {
                std::thread::yield_now();
            }
            assert!(shared.poll_room(&context).is_pending() && shared.try_lock_with_room().is_none());
            shared.take_back(Vec::new(), &LogError::Closed);
            blocked.join().expect("it was told");
        });
        assert!(shared.poll_room(&context).is_ready() && shared.lock().wakers_without_room.is_empty());
        assert!(shared.lock().log_failure.is_some());
    }

    /// Takes all.
    struct Taking;

    impl FrameLog for Taking {
        fn append(&mut self, _: &mut [u8]) -> Result<(), LogError> {
            Ok(())
        }
    }

    /// The thread ended, and those who waited did so for ever, as did all who came later.
    #[test]
    fn a_fault_in_the_middle_of_a_commit_is_told() {
        let faulty = Nothing { is_faulty: true };
        let shared = CommitQueue::new(faulty, Batch::default(), Durability::Sync, (1, 0));
        let (sender, receiver) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(|| shared.run(Taking));
            for _ in 0..2 {
                let mut queue = shared.lock_with_room();
                queue.writer.begin().push(1);
                let sender = sender.clone();
                queue
                    .writer
                    .waiters
                    .push(Box::new(move |outcome| sender.send(outcome).expect("it is awaited")));
                shared.next_ticket(&mut queue);
                shared.submit(queue);
                assert!(matches!(receiver.recv(), Ok(Err(LogError::Broken))));
            }
            assert!(matches!(shared.lock().log_failure, Some((LogError::Broken, _))));
            shared.close();
        });
    }

    #[test]
    fn writes_wait_for_the_end_of_a_pause() {
        let shared = CommitQueue::new(Nothing::default(), Batch::default(), Durability::Sync, (1, 0));
        let context = Context::from_waker(Waker::noop());
        let pause = shared.pause_writes();
        assert!(shared.poll_room(&context).is_pending() && shared.try_lock_with_room().is_none());
        std::thread::scope(|scope| {
            let blocked = scope.spawn(|| drop(shared.lock_with_room()));
            while shared.lock().writers_without_room == 0 {
                std::thread::yield_now();
            }
            drop(pause);
            blocked.join().expect("it was told");
        });
        assert!(shared.poll_room(&context).is_ready() && shared.lock().wakers_without_room.is_empty());
        let _pause = shared.pause_writes();
        shared.close();
        assert!(shared.poll_room(&context).is_ready(), "whoever closes the store waits for nobody");
    }

    /// A store that was closed when a snapshot or a segment was begun waited for it for ever.
    #[test]
    fn requests_behind_the_end_are_refused() {
        let directory = tempfile::tempdir().expect("there is room");
        let kind = FileKind {
            store: "test",
            magic: *b"PRONYTST",
            version: 1,
            timed_from: 1,
            number: 1,
            prefix: "log-",
            is_log: true,
        };
        let log = LogFile::create(directory.path(), (kind, 1), 1, Durability::Sync).expect("it is made");
        let next = NextFile::create(directory.path(), kind, 2).expect("it is made");
        let shared = CommitQueue::new(Nothing::default(), Batch::default(), Durability::Sync, (1, 0));
        shared.close();
        shared.run(log);
        assert!(shared.rotate_log(next).is_err());
        assert!(matches!(shared.sync_log(), Err(LogError::Closed)));
    }
}
