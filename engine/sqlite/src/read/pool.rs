//! Threads that may block, for statements that would hold up a core. Each has a reader connection of its own,
//! opened when it is first needed.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Condvar, Mutex, PoisonError, atomic::Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    response::FieldResult,
    variables::Variables,
};
use tokio::sync::oneshot;

use crate::{
    error::{self, unavailable},
    file::open::Opener,
    read::{
        session::{Session, Unfinished},
        slot::{Role, Slot},
        watch::{Cancelled, INLINE_BUDGET, Interruption},
    },
    statement::{
        bind::Values,
        prepare::{Program, Shared},
    },
};
use prony_sql::{
    nest::{Key, LevelRows},
    settings::RelationalSettings,
};

/// Statements that wait for a thread; more are refused, as they would run into their time limits.
const MAX_WAITING: usize = 1024;

/// Threads beside the cores: enough to overlap waiting for the disk, few enough not to crowd out the cores.
const MOST_THREADS: usize = 8;

/// What a thread is asked to do.
#[derive(Debug)]
pub(crate) enum Work {
    Rows,
    Level {
        level: usize,
        keys: Vec<Key>,
    },
    /// Reads something from the file.
    Health,
}

#[derive(Debug)]
pub(crate) enum Done {
    Rows(FieldResult),
    Level(LevelRows),
    Healthy,
}

struct Job {
    work: Work,
    /// `None` for health checks.
    prepared: Option<Arc<Shared>>,
    variables: Variables,
    deadline: Instant,
    cancelled: Cancelled,
    answer: oneshot::Sender<Result<Done, GraphqlError>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    is_closed: bool,
}

struct Exchange {
    queue: Mutex<Queue>,
    changed: Condvar,
    settings: Arc<RelationalSettings>,
}

/// The threads; they end when this is dropped.
pub(crate) struct Pool {
    exchange: Arc<Exchange>,
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
        });
        let cores = thread::available_parallelism().map_or(2, std::num::NonZero::get);
        let pool = Self { exchange };
        for number in 0..cores.clamp(2, MOST_THREADS) {
            let exchange = Arc::clone(&pool.exchange);
            let slot_opener = Arc::clone(opener);
            thread::Builder::new()
                .name(format!("sqlite-reader-{number}"))
                .spawn(move || serve(&exchange, slot_opener))?;
        }
        Ok(pool)
    }

    /// Has work done on another thread. Dropping the future interrupts it.
    pub(crate) async fn run(
        &self,
        work: Work,
        prepared: Option<Arc<Shared>>,
        variables: Variables,
    ) -> Result<Done, GraphqlError> {
        let (answer, answered) = oneshot::channel();
        let cancelled = Cancelled::default();
        let _guard = CancelOnDrop(Arc::clone(&cancelled));
        let limit = Duration::from_millis(u64::from(self.exchange.settings.common.statement_timeout_ms));
        let deadline = Instant::now() + limit;
        self.submit(Job { work, prepared, variables, deadline, cancelled, answer })?;
        answered.await.unwrap_or_else(|_| Err(unavailable("the database's threads have ended")))
    }

    fn submit(&self, job: Job) -> Result<(), GraphqlError> {
        let mut queue = lock(&self.exchange.queue);
        if queue.jobs.len() >= MAX_WAITING {
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
    let mut slot = Slot::new(opener, Role::Blocking);
    while let Some(job) = next(exchange) {
        let done = do_job(&mut slot, &job, &exchange.settings);
        // Nobody listens when the client is gone.
        let _unheard = job.answer.send(done);
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

fn do_job(slot: &mut Slot, job: &Job, settings: &RelationalSettings) -> Result<Done, GraphqlError> {
    if job.cancelled.load(Relaxed) {
        return Err(error::of_interruption(Interruption::Cancelled, settings));
    }
    if Instant::now() >= job.deadline {
        return Err(error::of_interruption(Interruption::Timeout, settings));
    }
    if matches!(job.work, Work::Health) {
        slot.distrust();
    }
    let session = slot.session().map_err(Unfinished::into_error)?;
    let started = Instant::now();
    session.watch().start_blocking(job.deadline, Some(Arc::clone(&job.cancelled)));
    let done = run(session, job, settings);
    session.watch().stop();
    if let Some(prepared) = &job.prepared
        && started.elapsed() < INLINE_BUDGET / 2
    {
        prepared.is_slow.store(false, Relaxed);
    }
    done.map_err(Unfinished::into_error)
}

fn run(session: &mut Session, job: &Job, settings: &RelationalSettings) -> Result<Done, Unfinished> {
    let Some(prepared) = &job.prepared else {
        let read = session.execute("SELECT count(*) FROM sqlite_schema");
        return read.map(|()| Done::Healthy).map_err(|error| Unfinished::Failed(error::of_sqlite(&error)));
    };
    let values = Values { model: &prepared.model, variables: &job.variables, settings };
    match (&job.work, &prepared.program) {
        (Work::Rows, Program::Rows(program)) => {
            session.rows(prepared.first_id, program, &prepared.response_key, values).map(Done::Rows)
        }
        (Work::Level { level, keys }, Program::Levels { program, .. }) => {
            session.level(prepared.level_id(*level), &program.levels[*level], keys, values).map(Done::Level)
        }
        _ => Err(Unfinished::Failed(GraphqlError::new(
            ErrorCode::SourceFailed,
            "the work does not fit the prepared field",
        ))),
    }
}
