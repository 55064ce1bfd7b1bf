//! Waiting until a write is durable, on a thread that has many such: what waits is kept in the order of its tickets, and is notified
//! once of all that one sync has made durable, instead of once for each.

use crate::error::LogError;
use crate::register::Registration;
use crate::ticket::{Settled, Ticket};
use futures_util::task::AtomicWaker;
use std::cell::RefCell;
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
    /// The queue's length; only its thread writes it.
    waiting: AtomicUsize,
}

impl Inbox {
    /// Writes that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }

    /// Wakes the task of the queue, which ends where the queue is gone.
    pub fn wake(&self) {
        self.waker.wake();
    }
}

/// Those of one thread that wait for one log.
#[derive(Debug)]
pub struct WaitingWrites {
    waiting: RefCell<VecDeque<(Ticket, Rc<QueuedWrite>)>>,
    inbox: Arc<Inbox>,
    _registration: Registration,
}

/// One thread's queues, one for each store that it has written to. `T` is what a store is known by.
#[derive(Debug)]
pub struct WaitingQueues<T>(RefCell<Vec<(sync::Weak<T>, Rc<WaitingWrites>)>>);

/// One write in a queue, shared with who waits for it.
#[derive(Debug, Default)]
struct QueuedWrite(RefCell<WriteState>);

#[derive(Debug, Default)]
enum WriteState {
    #[default]
    Unpolled,
    Awaited(Waker),
    Settled(Result<(), LogError>),
}

/// A write that was accepted.
#[must_use]
#[derive(Debug)]
pub struct Waiting(Option<Rc<QueuedWrite>>);

impl Waiting {
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
        let waiting = RefCell::default();
        Rc::new(Self { waiting, inbox, _registration: registration })
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
        let queued = Rc::new(QueuedWrite::default());
        let mut waiting = self.waiting.borrow_mut();
        waiting.push_back((ticket, Rc::clone(&queued)));
        self.inbox.waiting.store(waiting.len(), Relaxed);
        Waiting(Some(queued))
    }

    fn settle(&self, settled: &Settled) {
        let mut waiting = self.waiting.borrow_mut();
        while waiting.front().is_some_and(|(ticket, _)| *ticket <= settled.up_to) {
            let Some((_, queued)) = waiting.pop_front() else { break };
            let state = WriteState::Settled(settled.outcome.clone());
            if let WriteState::Awaited(waker) = queued.0.replace(state) {
                waker.wake();
            }
        }
        self.inbox.waiting.store(waiting.len(), Relaxed);
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
