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
const BEYOND: Duration = Duration::from_secs(1);
/// How often those who wait look whether a call is to be given up.
const LOOK: Duration = Duration::from_millis(250);
/// Threads at calls that were given up, each of which needs a processor: so many are replaced at a time.
const MAX_LOST: usize = 8;

/// The threads; they begin with the first call and end when this is dropped.
pub(crate) struct Workers {
    programs: Programs,
    limits: InterceptorLimits,
    started: OnceLock<(SyncSender<Job>, Arc<Crew>)>,
}

struct Job {
    call: InterceptorCall,
    done: oneshot::Sender<InterceptorResult>,
}

/// The threads that take calls.
struct Crew {
    programs: Programs,
    limits: InterceptorLimits,
    /// Gone with the last thread.
    jobs: Weak<Jobs>,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    /// Of those that take calls, or will when theirs has ended.
    seats: Vec<Seat>,
    /// Those that are at calls which were given up.
    lost: usize,
}

/// What one thread is at. It is taken by the thread when the call has ended, or by who gives the call up.
type Seat = Arc<Mutex<Option<Held>>>;

struct Held {
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
        let (sender, crew) = self.started.get_or_init(|| start(&self.programs, &self.limits));
        match sender.try_send(Job { call, done }) {
            Ok(()) => Ok(awaited(Arc::clone(crew), result)),
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
async fn awaited(crew: Arc<Crew>, mut result: oneshot::Receiver<InterceptorResult>) -> InterceptorResult {
    loop {
        match tokio::time::timeout(LOOK, &mut result).await {
            Ok(result) => return result.unwrap_or_else(|_| Err(gone())),
            Err(_) if crew.relieve() == 0 => return result.try_recv().unwrap_or_else(|_| Err(gone())),
            Err(_) => {}
        }
    }
}

fn start(programs: &Programs, limits: &InterceptorLimits) -> (SyncSender<Job>, Arc<Crew>) {
    let (sender, receiver) = sync_channel(limits.queue);
    let jobs = Arc::new(Mutex::new(receiver));
    let crew = Arc::new(Crew {
        programs: Arc::clone(programs),
        limits: limits.clone(),
        jobs: Arc::downgrade(&jobs),
        threads: Mutex::default(),
    });
    let mut threads = lock(&crew.threads);
    for _ in 0..limits.threads {
        crew.hire(&mut threads, &jobs);
    }
    drop(threads);
    (sender, crew)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Crew {
    /// Starts a thread that takes calls.
    fn hire(self: &Arc<Self>, threads: &mut Threads, jobs: &Arc<Jobs>) {
        let seat = Seat::default();
        let (crew, jobs, of_thread) = (Arc::clone(self), Arc::clone(jobs), Arc::clone(&seat));
        let thread = thread::Builder::new().name(format!("interceptors-{}", threads.seats.len()));
        match thread.spawn(move || crew.work(&of_thread, &jobs)) {
            Ok(_) => threads.seats.push(seat),
            Err(error) => tracing::error!(%error, "a thread for interceptors cannot be started"),
        }
    }

    fn work(&self, seat: &Seat, jobs: &Jobs) {
        let mut machines: HashMap<ModuleId, Machine> = HashMap::new();
        loop {
            let job = lock(jobs).recv();
            let Ok(Job { call, done }) = job else { return };
            // Nobody waits for it any more.
            if done.is_closed() {
                continue;
            }
            let (module, phase) = (call.module, call.phase);
            *lock(seat) = Some(Held { until: Instant::now() + self.patience(), module, phase, done });
            let result = answer(&self.programs, &self.limits, &mut machines, call);
            let held = lock(seat).take();
            if let Some(held) = held {
                // The client may have gone meanwhile.
                let _ = held.done.send(result);
            } else if !self.takes_back(seat) {
                return;
            }
        }
    }

    /// How long a thread may be at a call, for which it may have to evaluate the module.
    fn patience(&self) -> Duration {
        self.limits.timeout.max(LEAST_EVALUATION) + self.limits.timeout + BEYOND
    }

    /// Gives up calls that do not end, and has other threads take the places of theirs; how many there are then that take calls.
    fn relieve(self: &Arc<Self>) -> usize {
        let now = Instant::now();
        let mut threads = lock(&self.threads);
        let mut given_up = Vec::new();
        for seat in mem::take(&mut threads.seats) {
            let held = lock(&seat).take_if(|held| held.until <= now);
            match held {
                Some(held) => given_up.push(held),
                None => threads.seats.push(seat),
            }
        }
        for Held { module, phase, done, .. } in given_up {
            let name = self.programs[module.0 as usize].name();
            let _ = done.send(Err(InterceptorError::Failed(format!("{name}: {}: {TOO_LONG}", phase.name()))));
            threads.lost += 1;
            if threads.lost <= MAX_LOST
                && let Some(jobs) = self.jobs.upgrade()
            {
                self.hire(&mut threads, &jobs);
            }
        }
        threads.seats.len()
    }

    /// Whether a thread whose call was given up takes others again, now that it has ended after all: where nobody has its place.
    fn takes_back(&self, seat: &Seat) -> bool {
        let mut threads = lock(&self.threads);
        threads.lost -= 1;
        let is_free = threads.seats.len() < self.limits.threads;
        if is_free {
            threads.seats.push(Arc::clone(seat));
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
