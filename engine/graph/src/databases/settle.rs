//! Waiting until a write is durable: each core keeps its waiting requests in the order of their tickets, and is notified once
//! of all that one sync has made durable, instead of once for each.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    sync::{Arc, PoisonError, Weak, atomic::Ordering::Relaxed},
    task::{Context, Poll, Waker},
};

use prony_graph_store::{Refusal, Registration, Settled, Store, Ticket, Unwritten, Write, WriteError};

use super::{Database, inbox::Inbox};

thread_local! {
    /// This core's queues, one for each database that it has written to.
    static QUEUES: RefCell<Vec<(Weak<Database>, Rc<WriteQueue>)>> = const { RefCell::new(Vec::new()) };
}

/// Those of one core that wait for one database.
#[derive(Debug)]
struct WriteQueue {
    waiting: RefCell<VecDeque<(Ticket, Rc<QueuedWrite>)>>,
    inbox: Arc<Inbox>,
    _registration: Registration,
}

/// One write in a queue, shared with who waits for it.
#[derive(Debug, Default)]
struct QueuedWrite(RefCell<WriteState>);

#[derive(Debug, Default)]
enum WriteState {
    #[default]
    Unpolled,
    Awaited(Waker),
    Settled(Result<(), WriteError>),
}

/// Why nothing was changed.
#[derive(Debug)]
pub enum NotWritten {
    Refused(Refusal),
    /// Too much waits for the disk: to be tried again when there is [room](Store::room).
    NoRoom,
}

/// Makes changes, all or none; gives what is to be waited for. Call it on a core's thread, inside its `LocalSet`.
pub fn write<T>(
    database: &Arc<Database>,
    operate: impl FnOnce(&mut Write<'_>) -> Result<T, Refusal>,
) -> Result<(T, Waiting), NotWritten> {
    // Before the write, so that it cannot be settled unnoticed.
    let queue = queue(database);
    let (result, ticket) = database.store.try_write_ticket(operate).map_err(|unwritten| match unwritten {
        Unwritten::Refused(refusal) => NotWritten::Refused(refusal),
        Unwritten::NoRoom(_) => NotWritten::NoRoom,
    })?;
    if ticket == Ticket::SETTLED {
        return Ok((result, Waiting(None)));
    }
    let queued = Rc::new(QueuedWrite::default());
    queue.push(ticket, Rc::clone(&queued));
    Ok((result, Waiting(Some(queued))))
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
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
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

/// This core's queue for the database.
fn queue(database: &Arc<Database>) -> Rc<WriteQueue> {
    QUEUES.with_borrow_mut(|queues| {
        if let Some((_, queue)) =
            queues.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(database)))
        {
            return Rc::clone(queue);
        }
        // Those of databases that were dropped; their tasks end with them.
        for (_, gone) in queues.extract_if(.., |(of, _)| of.strong_count() == 0) {
            gone.inbox.waker.wake();
        }
        let queue = Rc::new(WriteQueue::new(&database.store));
        database.joined(Arc::clone(&queue.inbox));
        queues.push((Arc::downgrade(database), Rc::clone(&queue)));
        tokio::task::spawn_local(wake_settled(Rc::downgrade(&queue), Arc::clone(&queue.inbox)));
        queue
    })
}

impl WriteQueue {
    fn new(store: &Store) -> Self {
        let inbox = Arc::new(Inbox::default());
        let of_log = Arc::clone(&inbox);
        let registration = store.watch(move |settled| {
            of_log.settled.lock().unwrap_or_else(PoisonError::into_inner).push(settled.clone());
            of_log.waker.wake();
        });
        Self { waiting: RefCell::default(), inbox, _registration: registration }
    }

    fn push(&self, ticket: Ticket, queued: Rc<QueuedWrite>) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.push_back((ticket, queued));
        self.inbox.waiting.store(waiting.len(), Relaxed);
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
async fn wake_settled(queue: std::rc::Weak<WriteQueue>, inbox: Arc<Inbox>) {
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
