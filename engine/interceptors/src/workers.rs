//! Threads that call functions of modules, and the bounded queue before them. A thread has its own copy of each module that it has
//! called; one that has run out of time or memory begins anew. QuickJS asks for the time between the steps of a program, and some of its
//! own functions are a single step: who waits for such a call is told that it took too long, and another thread takes the place.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt, mem,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

use prony_source::interceptors::{
    InterceptorCall, InterceptorError, InterceptorLimits, InterceptorPhase, InterceptorResult, ModuleId,
};
use tokio::sync::oneshot;

use crate::{
    machine::{LEAST_EVALUATION, Machine, TOO_LONG},
    program::Program,
};

/// By [`ModuleId`].
pub(crate) type Programs = Arc<[Arc<Program>]>;

type Jobs = Mutex<Receiver<Job>>;

/// How long a call may go on beyond its time before it is given up: a busy machine may keep a thread from its processor.
const GRACE: Duration = Duration::from_secs(1);
/// How often those who wait look whether a call is to be given up.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);
/// Threads at calls that were given up, each of which needs a processor: so many are replaced at a time.
const MAX_GIVEN_UP: usize = 8;

/// The threads; they begin with the first call and end when this is dropped.
pub(crate) struct Workers {
    programs: Programs,
    limits: InterceptorLimits,
    started: OnceLock<(SyncSender<Job>, Arc<ThreadPool>)>,
}

struct Job {
    call: InterceptorCall,
    done: oneshot::Sender<InterceptorResult>,
}

/// The threads that take calls.
struct ThreadPool {
    programs: Programs,
    limits: InterceptorLimits,
    /// Gone with the last thread.
    jobs: Weak<Jobs>,
    state: Mutex<PoolState>,
}

#[derive(Default)]
struct PoolState {
    /// Of each thread that takes calls, or will when its own has ended.
    calls: Vec<CurrentCall>,
    /// Threads that are at calls which were given up.
    given_up: usize,
}

/// The call that one thread is at. It is taken by the thread when it has ended, or by who gives it up.
type CurrentCall = Arc<Mutex<Option<RunningCall>>>;

struct RunningCall {
    until: Instant,
    module: ModuleId,
    phase: InterceptorPhase,
    done: oneshot::Sender<InterceptorResult>,
}

impl Workers {
    pub(crate) fn new(programs: Programs, limits: InterceptorLimits) -> Self {
        Self { programs, limits, started: OnceLock::new() }
    }

    /// Has a call made; the future is what it comes to.
    ///
    /// # Errors
    /// `Overloaded` where too many wait.
    pub(crate) fn send(
        &self,
        call: InterceptorCall,
    ) -> Result<impl Future<Output = InterceptorResult> + Send + use<>, InterceptorError> {
        let (done, result) = oneshot::channel();
        let (sender, pool) = self.started.get_or_init(|| start(&self.programs, &self.limits));
        match sender.try_send(Job { call, done }) {
            Ok(()) => Ok(awaited(Arc::clone(pool), result)),
            Err(TrySendError::Full(_)) => Err(InterceptorError::Overloaded { limit: self.limits.queue }),
            Err(TrySendError::Disconnected(_)) => Err(gone()),
        }
    }
}

/// A thread could not be started, or has panicked.
fn gone() -> InterceptorError {
    InterceptorError::Failed("no thread is there that calls interceptors".to_owned())
}

impl fmt::Debug for Workers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Workers").field("modules", &self.programs.len()).finish_non_exhaustive()
    }
}

/// What a call comes to. Those who wait look after the threads, as nobody else has to.
async fn awaited(
    pool: Arc<ThreadPool>,
    mut result: oneshot::Receiver<InterceptorResult>,
) -> InterceptorResult {
    loop {
        match tokio::time::timeout(CHECK_INTERVAL, &mut result).await {
            Ok(result) => return result.unwrap_or_else(|_| Err(gone())),
            Err(_) if pool.replace_overdue() == 0 => {
                return result.try_recv().unwrap_or_else(|_| Err(gone()));
            }
            Err(_) => {}
        }
    }
}

fn start(programs: &Programs, limits: &InterceptorLimits) -> (SyncSender<Job>, Arc<ThreadPool>) {
    let (sender, receiver) = sync_channel(limits.queue);
    let jobs = Arc::new(Mutex::new(receiver));
    let pool = Arc::new(ThreadPool {
        programs: Arc::clone(programs),
        limits: limits.clone(),
        jobs: Arc::downgrade(&jobs),
        state: Mutex::default(),
    });
    let mut state = lock(&pool.state);
    for _ in 0..limits.threads {
        pool.start_thread(&mut state, &jobs);
    }
    drop(state);
    (sender, pool)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ThreadPool {
    /// Starts a thread that takes calls.
    fn start_thread(self: &Arc<Self>, state: &mut PoolState, jobs: &Arc<Jobs>) {
        let current = CurrentCall::default();
        let (pool, jobs, of_thread) = (Arc::clone(self), Arc::clone(jobs), Arc::clone(&current));
        let thread = thread::Builder::new().name(format!("interceptors-{}", state.calls.len()));
        match thread.spawn(move || pool.work(&of_thread, &jobs)) {
            Ok(_) => state.calls.push(current),
            Err(error) => tracing::error!(%error, "a thread for interceptors cannot be started"),
        }
    }

    fn work(&self, current: &CurrentCall, jobs: &Jobs) {
        let mut machines: HashMap<ModuleId, Machine> = HashMap::new();
        loop {
            let job = lock(jobs).recv();
            let Ok(Job { call, done }) = job else { return };
            // Nobody waits for it any more.
            if done.is_closed() {
                continue;
            }
            let (module, phase) = (call.module, call.phase);
            let until = Instant::now() + self.patience();
            *lock(current) = Some(RunningCall { until, module, phase, done });
            let result = answer(&self.programs, &self.limits, &mut machines, call);
            let running = lock(current).take();
            if let Some(running) = running {
                // The client may have gone meanwhile.
                let _ = running.done.send(result);
            } else if !self.rejoins(current) {
                return;
            }
        }
    }

    /// How long a thread may be at a call, for which it may have to evaluate the module.
    fn patience(&self) -> Duration {
        self.limits.timeout.max(LEAST_EVALUATION) + self.limits.timeout + GRACE
    }

    /// Gives up calls that do not end, and has other threads take the places of theirs; how many there are then that take calls.
    fn replace_overdue(self: &Arc<Self>) -> usize {
        let now = Instant::now();
        let mut state = lock(&self.state);
        let mut overdue = Vec::new();
        for current in mem::take(&mut state.calls) {
            let running = lock(&current).take_if(|running| running.until <= now);
            match running {
                Some(running) => overdue.push(running),
                None => state.calls.push(current),
            }
        }
        for RunningCall { module, phase, done, .. } in overdue {
            let name = self.programs[module.0 as usize].name();
            let _ = done.send(Err(InterceptorError::Failed(format!("{name}: {}: {TOO_LONG}", phase.name()))));
            state.given_up += 1;
            if state.given_up <= MAX_GIVEN_UP
                && let Some(jobs) = self.jobs.upgrade()
            {
                self.start_thread(&mut state, &jobs);
            }
        }
        state.calls.len()
    }

    /// Whether a thread whose call was given up takes others again, now that it has ended after all: where no other has its place.
    fn rejoins(&self, current: &CurrentCall) -> bool {
        let mut state = lock(&self.state);
        state.given_up -= 1;
        let is_free = state.calls.len() < self.limits.threads;
        if is_free {
            state.calls.push(Arc::clone(current));
        }
        is_free
    }
}

fn answer(
    programs: &Programs,
    limits: &InterceptorLimits,
    machines: &mut HashMap<ModuleId, Machine>,
    call: InterceptorCall,
) -> InterceptorResult {
    let InterceptorCall { module, phase, values, context } = call;
    let machine = match machines.entry(module) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(vacant) => {
            let program = &programs[module.0 as usize];
            let made = Machine::new(program, limits);
            vacant.insert(made.map_err(|fault| {
                InterceptorError::Failed(format!("{}: {}", program.name(), fault.message))
            })?)
        }
    };
    let (result, is_spoilt) = machine.call(phase, values, context);
    if is_spoilt {
        machines.remove(&module);
    }
    result
}
