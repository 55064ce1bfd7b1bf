//! Threads that may block, for statements that would hold up a core. Each has a reader connection of its own,
//! opened when it is first needed.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use prony_graphql::error::GraphqlError;
use prony_source::threads::lower_priority;
use prony_sql::settings::RelationalSettings;
use tokio::sync::oneshot;

use crate::{
    error::{self, unavailable},
    file::open::Opener,
    read::{
        session::{Session, Unfinished},
        slot::{Role, Slot},
        watch::{Cancelled, Interruption},
    },
};

/// Statements that wait for a thread; more are refused, as they would run into their time limits.
const MAX_WAITING: usize = 1024;

/// Threads beside the cores: enough to overlap waiting for the disk, few enough not to crowd out the cores.
const MOST_THREADS: usize = 8;

/// What a thread is asked to do: it looks for the session to do it with, and answers.
type Job = Box<dyn FnOnce(&mut Slot, &RelationalSettings) + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

struct Exchange {
    queue: Mutex<Queue>,
    changed: Condvar,
    settings: Arc<RelationalSettings>,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    /// Threads that are at a statement.
    busy: AtomicUsize,
    /// Statements that were refused because too many waited.
    refused: AtomicU64,
}

/// How much the threads have to do, for the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolState {
    pub(crate) threads: usize,
    pub(crate) busy: usize,
    pub(crate) waiting: usize,
    pub(crate) refused: u64,
}

/// The threads; they end when this is dropped.
pub(crate) struct Pool {
    exchange: Arc<Exchange>,
    threads: usize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pool").finish_non_exhaustive()
    }
}

impl Pool {
    pub(crate) fn start(opener: &Arc<Opener>, settings: &Arc<RelationalSettings>) -> io::Result<Self> {
        let exchange = Arc::new(Exchange {
            queue: Mutex::default(),
            changed: Condvar::new(),
            settings: Arc::clone(settings),
            counts: Counts::default(),
        });
        let cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let pool = Self { exchange, threads: cores.clamp(2, MOST_THREADS) };
        for number in 0..pool.threads {
            let exchange = Arc::clone(&pool.exchange);
            let slot_opener = Arc::clone(opener);
            thread::Builder::new()
                .name(format!("sqlite-reader-{number}"))
                .spawn(move || serve(&exchange, slot_opener))?;
        }
        Ok(pool)
    }

    /// Has work done on another thread. Dropping the future interrupts it.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session, &RelationalSettings) -> Result<T, Unfinished> + Send + 'static,
    ) -> Result<T, GraphqlError> {
        self.run_with(work, false).await
    }

    /// Reads something from the file that is there now.
    pub(crate) async fn health(&self) -> Result<(), GraphqlError> {
        let read = |session: &mut Session, _: &RelationalSettings| {
            let read = session.execute("SELECT count(*) FROM sqlite_schema");
            read.map_err(|error| Unfinished::Failed(error::of_sqlite(&error)))
        };
        self.run_with(read, true).await
    }

    pub(crate) fn state(&self) -> PoolState {
        let Counts { busy, refused } = &self.exchange.counts;
        PoolState {
            threads: self.threads,
            busy: busy.load(Relaxed),
            waiting: lock(&self.exchange.queue).jobs.len(),
            refused: refused.load(Relaxed),
        }
    }

    /// Whether so much waits that more is refused.
    pub(crate) fn is_full(&self) -> bool {
        lock(&self.exchange.queue).jobs.len() >= MAX_WAITING
    }

    async fn run_with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session, &RelationalSettings) -> Result<T, Unfinished> + Send + 'static,
        checks_file: bool,
    ) -> Result<T, GraphqlError> {
        let (answer, answered) = oneshot::channel();
        let cancelled = Cancelled::default();
        let _guard = CancelOnDrop(Arc::clone(&cancelled));
        let limit = Duration::from_millis(u64::from(self.exchange.settings.common.statement_timeout_ms));
        let bounds = Bounds { deadline: Instant::now() + limit, cancelled };
        self.submit(Box::new(move |slot, settings| {
            if checks_file {
                slot.distrust();
            }
            // Nobody listens when the client is gone.
            let _unheard = answer.send(bounds.run(slot, settings, work));
        }))?;
        answered.await.unwrap_or_else(|_| Err(unavailable("the database's threads have ended")))
    }

    fn submit(&self, job: Job) -> Result<(), GraphqlError> {
        let mut queue = lock(&self.exchange.queue);
        if queue.jobs.len() >= MAX_WAITING {
            self.exchange.counts.refused.fetch_add(1, Relaxed);
            return Err(unavailable("too many slow statements wait for the database: try again"));
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.exchange.changed.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.exchange.queue).is_closed = true;
        self.exchange.changed.notify_all();
    }
}

struct CancelOnDrop(Cancelled);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn lock(queue: &Mutex<Queue>) -> std::sync::MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(exchange: &Exchange, opener: Arc<Opener>) {
    lower_priority();
    let mut slot = Slot::new(opener, Role::Blocking);
    while let Some(job) = next(exchange) {
        exchange.counts.busy.fetch_add(1, Relaxed);
        job(&mut slot, &exchange.settings);
        exchange.counts.busy.fetch_sub(1, Relaxed);
    }
}

fn next(exchange: &Exchange) -> Option<Job> {
    let mut queue = lock(&exchange.queue);
    loop {
        if queue.is_closed {
            return None;
        }
        if let Some(job) = queue.jobs.pop_front() {
            return Some(job);
        }
        queue = exchange.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Until when work may go on.
struct Bounds {
    deadline: Instant,
    cancelled: Cancelled,
}

impl Bounds {
    fn run<T>(
        self,
        slot: &mut Slot,
        settings: &RelationalSettings,
        work: impl FnOnce(&mut Session, &RelationalSettings) -> Result<T, Unfinished>,
    ) -> Result<T, GraphqlError> {
        if self.cancelled.load(Relaxed) {
            return Err(error::of_interruption(Interruption::Cancelled, settings));
        }
        if Instant::now() >= self.deadline {
            return Err(error::of_interruption(Interruption::Timeout, settings));
        }
        let session = slot.session().map_err(Unfinished::into_error)?;
        session.watch().start_blocking(self.deadline, Some(self.cancelled));
        let done = work(session, settings);
        session.watch().stop();
        done.map_err(Unfinished::into_error)
    }
}
