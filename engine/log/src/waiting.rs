//! Waiting until a write is durable, on a thread that has many such: what waits is kept in the order of its tickets, and is notified
//! once of all that one sync has made durable, instead of once for each. A read that has seen a write waits as that one does.

use crate::error::LogError;
use crate::register::Registration;
use crate::ticket::{Settled, Ticket};
use futures_util::task::AtomicWaker;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{self, Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// What the log's thread has settled and the queue's thread has not read yet.
#[derive(Debug, Default)]
pub struct Inbox {
    settled: Mutex<Vec<Settled>>,
    waker: AtomicWaker,
    /// Writes in the queue; only its thread writes it.
    waiting: AtomicUsize,
    /// As [`Self::waiting`], of reads.
    waiting_reads: AtomicUsize,
}

impl Inbox {
    /// Writes that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Reads that wait until what they have seen is durable.
    pub fn waiting_reads(&self) -> usize {
        self.waiting_reads.load(Relaxed)
    }

    /// Wakes the task of the queue, which ends where the queue is gone.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

/// Those of one thread that wait for one log.
#[derive(Debug)]
pub struct WaitingWrites {
    waiting: RefCell<VecDeque<QueuedTicket>>,
    /// How many of them are of reads.
    reads: Cell<usize>,
    inbox: Arc<Inbox>,
    _registration: Registration,
}

/// One thread's queues, one for each store that it has written to. `T` is what a store is known by.
#[derive(Debug)]
pub struct WaitingQueues<T>(RefCell<Vec<(sync::Weak<T>, Rc<WaitingWrites>)>>);

/// A place in a queue.
#[derive(Debug)]
struct QueuedTicket {
    ticket: Ticket,
    is_read: bool,
    queued: Rc<QueuedWrite>,
}

/// One write in a queue, or a read that has seen it, shared with who waits for it.
#[derive(Debug, Default)]
struct QueuedWrite(RefCell<WriteState>);

#[derive(Debug, Default)]
enum WriteState {
    #[default]
    Unpolled,
    Awaited(Waker),
    Settled(Result<(), LogError>),
}

/// A write that was accepted, or a read that has seen it.
#[must_use]
#[derive(Debug)]
pub struct Waiting(Option<Rc<QueuedWrite>>);

impl Waiting {
    /// Nothing is to be waited for.
    pub const fn over() -> Self {
        Self(None)
    }

    /// It is known already what has become of it.
    pub fn settled(outcome: Result<(), LogError>) -> Self {
        Self(outcome.err().map(|error| Rc::new(QueuedWrite(RefCell::new(WriteState::Settled(Err(error)))))))
    }

    /// Whether there was nothing to wait for.
    pub const fn is_over(&self) -> bool {
        self.0.is_none()
    }

    /// Ready when it is as durable as the store keeps it, or was taken back.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), LogError>> {
        let Some(queued) = &self.0 else { return Poll::Ready(Ok(())) };
        let mut progress = queued.0.borrow_mut();
        match &mut *progress {
            WriteState::Settled(outcome) => {
                let outcome = outcome.clone();
                drop(progress);
                self.0 = None;
                return Poll::Ready(outcome);
            }
            WriteState::Awaited(waker) => waker.clone_from(context.waker()),
            unpolled @ WriteState::Unpolled => *unpolled = WriteState::Awaited(context.waker().clone()),
        }
        Poll::Pending
    }

    /// What has become of it.
    pub async fn outcome(mut self) -> Result<(), LogError> {
        poll_fn(|context| self.poll(context)).await
    }
}

/// What a store is given that calls of everything that is settled.
pub type Watcher = Box<dyn Fn(&Settled) + Send + Sync>;

impl<T> WaitingQueues<T> {
    pub const fn new() -> Self {
        Self(RefCell::new(Vec::new()))
    }

    /// The queue of a store, which is begun where there is none.
    pub fn of(&self, store: &Arc<T>, begin: impl FnOnce() -> Rc<WaitingWrites>) -> Rc<WaitingWrites> {
        let mut queues = self.0.borrow_mut();
        if let Some((_, queue)) = queues.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(store)))
        {
            return Rc::clone(queue);
        }
        // Those of stores that were dropped; their tasks end with them.
        for (_, gone) in queues.extract_if(.., |(of, _)| of.strong_count() == 0) {
            gone.inbox.wake();
        }
        let queue = begin();
        queues.push((Arc::downgrade(store), Rc::clone(&queue)));
        queue
    }
}

impl<T> Default for WaitingQueues<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl WaitingWrites {
    /// `watch` registers a watcher with the log.
    pub fn new(watch: impl FnOnce(Watcher) -> Registration) -> Rc<Self> {
        let inbox = Arc::new(Inbox::default());
        let of_log = Arc::clone(&inbox);
        let registration = watch(Box::new(move |settled| {
            of_log.settled.lock().unwrap_or_else(PoisonError::into_inner).push(settled.clone());
            of_log.waker.wake();
        }));
        let (waiting, reads) = (RefCell::default(), Cell::default());
        Rc::new(Self { waiting, reads, inbox, _registration: registration })
    }

    /// Wakes those whose writes are settled; to be run on the queue's thread. It ends once the queue is dropped and its inbox woken.
    pub fn task(self: &Rc<Self>) -> impl Future<Output = ()> + use<> {
        wake_settled(Rc::downgrade(self), Arc::clone(&self.inbox))
    }

    pub const fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }

    /// What a write with this ticket waits for, which was made after the queue was; tickets come in their order.
    pub fn wait_for(&self, ticket: Ticket) -> Waiting {
        if ticket == Ticket::SETTLED {
            return Waiting(None);
        }
        self.push(ticket, false)
    }

    /// What a read waits for that has seen the write with this ticket, which was not settled after the queue was made.
    pub fn wait_for_read(&self, ticket: Ticket) -> Waiting {
        self.push(ticket, true)
    }

    fn push(&self, ticket: Ticket, is_read: bool) -> Waiting {
        let queued = Rc::new(QueuedWrite::default());
        let mut waiting = self.waiting.borrow_mut();
        // What was read on another thread may have seen less than what this one has written or read since.
        let before = waiting.iter().rposition(|before| before.ticket <= ticket);
        let place = before.map_or(0, |before| before + 1);
        waiting.insert(place, QueuedTicket { ticket, is_read, queued: Rc::clone(&queued) });
        self.reads.set(self.reads.get() + usize::from(is_read));
        self.tell_length(waiting.len());
        Waiting(Some(queued))
    }

    fn settle(&self, settled: &Settled) {
        let mut waiting = self.waiting.borrow_mut();
        while waiting.front().is_some_and(|first| first.ticket <= settled.up_to) {
            let Some(QueuedTicket { is_read, queued, .. }) = waiting.pop_front() else { break };
            self.reads.set(self.reads.get() - usize::from(is_read));
            let state = WriteState::Settled(settled.outcome.clone());
            if let WriteState::Awaited(waker) = queued.0.replace(state) {
                waker.wake();
            }
        }
        self.tell_length(waiting.len());
    }

    fn tell_length(&self, length: usize) {
        let reads = self.reads.get();
        self.inbox.waiting.store(length - reads, Relaxed);
        self.inbox.waiting_reads.store(reads, Relaxed);
    }
}

/// Wakes those whose writes are settled; ends with the queue.
async fn wake_settled(queue: Weak<WaitingWrites>, inbox: Arc<Inbox>) {
    let mut settled = Vec::new();
    while queue.strong_count() > 0 {
        poll_fn(|context| {
            inbox.waker.register(context.waker());
            let mut inbox_settled = inbox.settled.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *inbox_settled, &mut settled);
            if settled.is_empty() && queue.strong_count() > 0 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        let Some(queue) = queue.upgrade() else { return };
        settled.drain(..).for_each(|settled| queue.settle(&settled));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::register::Register;

    fn queue(watchers: &Register<dyn Fn(&Settled) + Send + Sync>) -> Rc<WaitingWrites> {
        WaitingWrites::new(|watcher| watchers.add(Arc::new(watcher)))
    }

    #[test]
    fn a_read_waits_for_the_write_that_it_has_seen_and_for_no_later_one() {
        let watchers = Register::default();
        let queue = queue(&watchers);
        let context = &mut Context::from_waker(Waker::noop());
        let mut later = queue.wait_for(Ticket(7));
        // It ended on another thread, when this one had written already.
        let mut read = queue.wait_for_read(Ticket(3));
        assert_eq!((queue.inbox().waiting(), queue.inbox().waiting_reads()), (1, 1));
        queue.settle(&Settled { up_to: Ticket(2), outcome: Ok(()) });
        assert!(read.poll(context).is_pending() && later.poll(context).is_pending());
        queue.settle(&Settled { up_to: Ticket(3), outcome: Ok(()) });
        assert!(matches!(read.poll(context), Poll::Ready(Ok(()))) && later.poll(context).is_pending());
        assert_eq!((queue.inbox().waiting(), queue.inbox().waiting_reads()), (1, 0));
        let mut both = [queue.wait_for_read(Ticket(7)), queue.wait_for_read(Ticket(8))];
        queue.settle(&Settled { up_to: Ticket(8), outcome: Err(LogError::Closed) });
        for waiting in both.iter_mut().chain([&mut later]) {
            assert!(matches!(waiting.poll(context), Poll::Ready(Err(LogError::Closed))));
        }
        assert_eq!((queue.inbox().waiting(), queue.inbox().waiting_reads()), (0, 0));
    }
}
