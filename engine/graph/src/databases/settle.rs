//! Waiting until a write is durable: each core keeps its waiting requests in the order of their tickets, and is told once
//! for all that one sync has made durable, instead of once for each.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
};

use futures_util::task::AtomicWaker;
use prony_graph_store::{Refusal, Registration, Settled, Store, Ticket, Unwritten, Write, WriteError};

use super::Database;

thread_local! {
    /// This core's lines, one for each database that it has written to.
    static LINES: RefCell<Vec<(Weak<Database>, Rc<Line>)>> = const { RefCell::new(Vec::new()) };
}

/// Those of one core that wait for one database.
#[derive(Debug)]
struct Line {
    waiting: RefCell<VecDeque<(Ticket, Rc<Place>)>>,
    inbox: Arc<Inbox>,
    _registration: Registration,
}

/// What the log's thread has told and the core has not heard yet.
#[derive(Debug, Default)]
pub struct Inbox {
    settled: Mutex<Vec<Settled>>,
    waker: AtomicWaker,
    /// The line's length; only its core writes it.
    waiting: AtomicUsize,
}

impl Inbox {
    /// Requests of the core that wait.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Relaxed)
    }
}

/// One that waits.
#[derive(Debug, Default)]
struct Place(RefCell<Progress>);

#[derive(Debug, Default)]
enum Progress {
    #[default]
    Untold,
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
    // Before the write, so that it cannot be settled unheard.
    let line = line(database);
    let (result, ticket) = database.store.try_write_ticket(operate).map_err(|unwritten| match unwritten {
        Unwritten::Refused(refusal) => NotWritten::Refused(refusal),
        Unwritten::NoRoom(_) => NotWritten::NoRoom,
    })?;
    if ticket == Ticket::SETTLED {
        return Ok((result, Waiting(None)));
    }
    let place = Rc::new(Place::default());
    line.push(ticket, Rc::clone(&place));
    Ok((result, Waiting(Some(place))))
}

/// A write that was accepted.
#[must_use]
#[derive(Debug)]
pub struct Waiting(Option<Rc<Place>>);

impl Waiting {
    /// Whether there was nothing to wait for.
    pub const fn is_over(&self) -> bool {
        self.0.is_none()
    }

    /// Ready when it is as durable as the store keeps it, or was taken back.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), WriteError>> {
        let Some(place) = &self.0 else { return Poll::Ready(Ok(())) };
        let mut progress = place.0.borrow_mut();
        match &mut *progress {
            Progress::Settled(outcome) => {
                let outcome = outcome.clone();
                drop(progress);
                self.0 = None;
                return Poll::Ready(outcome);
            }
            Progress::Awaited(waker) => waker.clone_from(context.waker()),
            untold @ Progress::Untold => *untold = Progress::Awaited(context.waker().clone()),
        }
        Poll::Pending
    }
}

/// This core's line for the database.
fn line(database: &Arc<Database>) -> Rc<Line> {
    LINES.with_borrow_mut(|lines| {
        if let Some((_, line)) = lines.iter().find(|(of, _)| std::ptr::eq(of.as_ptr(), Arc::as_ptr(database)))
        {
            return Rc::clone(line);
        }
        // Those of databases that were dropped; their tasks end with them.
        for (_, gone) in lines.extract_if(.., |(of, _)| of.strong_count() == 0) {
            gone.inbox.waker.wake();
        }
        let line = Rc::new(Line::new(&database.store));
        database.joined(Arc::clone(&line.inbox));
        lines.push((Arc::downgrade(database), Rc::clone(&line)));
        tokio::task::spawn_local(attend(Rc::downgrade(&line), Arc::clone(&line.inbox)));
        line
    })
}

impl Line {
    fn new(store: &Store) -> Self {
        let inbox = Arc::new(Inbox::default());
        let of_log = Arc::clone(&inbox);
        let registration = store.watch(move |settled| {
            of_log.settled.lock().unwrap_or_else(PoisonError::into_inner).push(settled.clone());
            of_log.waker.wake();
        });
        Self { waiting: RefCell::default(), inbox, _registration: registration }
    }

    fn push(&self, ticket: Ticket, place: Rc<Place>) {
        let mut waiting = self.waiting.borrow_mut();
        waiting.push_back((ticket, place));
        self.inbox.waiting.store(waiting.len(), Relaxed);
    }

    fn settle(&self, settled: &Settled) {
        let mut waiting = self.waiting.borrow_mut();
        while waiting.front().is_some_and(|(ticket, _)| *ticket <= settled.up_to) {
            let Some((_, place)) = waiting.pop_front() else { break };
            let told = Progress::Settled(settled.outcome.clone());
            if let Progress::Awaited(waker) = place.0.replace(told) {
                waker.wake();
            }
        }
        self.inbox.waiting.store(waiting.len(), Relaxed);
    }
}

/// Wakes those whose writes are settled; ends with the line.
async fn attend(line: std::rc::Weak<Line>, inbox: Arc<Inbox>) {
    let mut heard = Vec::new();
    while line.strong_count() > 0 {
        poll_fn(|context| {
            inbox.waker.register(context.waker());
            let mut told = inbox.settled.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut *told, &mut heard);
            if heard.is_empty() && line.strong_count() > 0 { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        let Some(line) = line.upgrade() else { return };
        heard.drain(..).for_each(|settled| line.settle(&settled));
    }
}
