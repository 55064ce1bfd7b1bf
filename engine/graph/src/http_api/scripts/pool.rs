//! The threads that run scripts, one at a time each, and the queue before them. A thread has a runtime of its own, in which the calls
//! of its script wait for the disk.

use std::{
    collections::VecDeque,
    fmt,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Instant,
};

use prony_graph_lua::{Limits, STACK_BYTES, ScriptFault, run};
use prony_source::threads::lower_priority;
use tokio::{
    runtime::{Builder, Runtime},
    sync::oneshot,
    task::LocalSet,
};

use super::{
    calls::ScriptCalls,
    failure::{NotQueued, ScriptFailure, WAITING_MAX},
};
use crate::http_api::script_call::ScriptRequest;

/// More would take the processors from the cores.
const THREADS_MAX: usize = 4;

/// What scripts may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScriptSettings {
    pub(crate) max_memory_bytes: usize,
    pub(crate) max_response_bytes: usize,
}

/// What a script comes to.
pub(super) type Outcome = Result<Vec<u8>, ScriptFailure>;

/// A script that is to be run.
#[derive(Debug)]
pub(super) struct Job {
    request: ScriptRequest,
    script: Vec<u8>,
    settings: ScriptSettings,
    is_cancelled: Arc<AtomicBool>,
    sent: Instant,
    done: oneshot::Sender<Outcome>,
}

/// The threads. They begin with the first script, and end when this is dropped, with the scripts that they run.
#[derive(Debug, Default)]
pub(super) struct Pool(Arc<ScriptQueue>);

#[derive(Debug, Default)]
pub(super) struct ScriptQueue {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    /// Of scripts that run.
    running: Vec<Arc<AtomicBool>>,
    threads: Vec<JoinHandle<()>>,
    is_closed: bool,
}

impl fmt::Debug for State {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("State").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}

impl Pool {
    pub(super) fn queue(&self) -> Arc<ScriptQueue> {
        Arc::clone(&self.0)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for thread in self.0.close() {
            // It was said in the log why it has panicked.
            let _ = thread.join();
        }
    }
}

impl ScriptQueue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(self: &Arc<Self>, job: Job) -> Result<(), NotQueued> {
        let mut state = self.lock();
        if state.is_closed {
            return Err(NotQueued::Stopping);
        }
        // Nobody waits for those.
        state.waiting.retain(|job| !job.done.is_closed());
        if state.waiting.len() >= WAITING_MAX {
            return Err(NotQueued::Full);
        }
        if state.threads.is_empty() {
            state.threads = self.start();
        }
        if state.threads.is_empty() {
            return Err(NotQueued::NoThread);
        }
        state.waiting.push_back(job);
        self.has_changed.notify_one();
        Ok(())
    }

    fn start(self: &Arc<Self>) -> Vec<JoinHandle<()>> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..processors.min(THREADS_MAX)).filter_map(|number| {
            let queue = Arc::clone(self);
            let builder = thread::Builder::new().name(format!("lua-{number}")).stack_size(STACK_BYTES);
            let started = builder.spawn(move || work(&queue));
            started
                .inspect_err(|error| tracing::error!(%error, "a thread for scripts cannot be started"))
                .ok()
        });
        threads.collect()
    }

    /// The next script; none where there will be no more.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                state.running.push(Arc::clone(&job.is_cancelled));
                return Some(job);
            }
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn has_run(&self, is_cancelled: &Arc<AtomicBool>) {
        self.lock().running.retain(|running| !Arc::ptr_eq(running, is_cancelled));
    }

    /// Ends what runs, and forgets what waits.
    fn close(&self) -> Vec<JoinHandle<()>> {
        let mut state = self.lock();
        state.is_closed = true;
        state.waiting.clear();
        for is_cancelled in &state.running {
            is_cancelled.store(true, Ordering::Relaxed);
        }
        self.has_changed.notify_all();
        std::mem::take(&mut state.threads)
    }
}

fn work(queue: &ScriptQueue) {
    lower_priority();
    let runtime = match Builder::new_current_thread().enable_time().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "a thread for scripts has no runtime");
            return;
        }
    };
    let local = LocalSet::new();
    while let Some(job) = queue.next() {
        let is_cancelled = Arc::clone(&job.is_cancelled);
        job.run(&runtime, &local);
        queue.has_run(&is_cancelled);
    }
}

impl Job {
    pub(super) fn new(
        request: ScriptRequest,
        script: Vec<u8>,
        settings: ScriptSettings,
        is_cancelled: Arc<AtomicBool>,
        done: oneshot::Sender<Outcome>,
    ) -> Self {
        Self { request, script, settings, is_cancelled, sent: Instant::now(), done }
    }

    fn run(self, runtime: &Runtime, local: &LocalSet) {
        let Self { request, script, settings, is_cancelled, sent, done } = self;
        let time_limit = request.database.time_limit;
        if time_limit.is_some_and(|limit| sent.elapsed() >= limit) {
            let _ = done.send(Err(ScriptFailure::NotQueued(NotQueued::TooLate)));
            return;
        }
        let limits = Limits {
            memory_bytes: settings.max_memory_bytes,
            result_bytes: settings.max_response_bytes,
            time: time_limit.map(|limit| (limit, sent + limit)),
            is_cancelled,
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut calls = ScriptCalls::new(runtime, local, request, &limits);
            let outcome = run(&script, &mut calls, &limits);
            // What it wrote is told when it is durable, also where it has failed later.
            let settled = calls.settle().map_err(|error| ScriptFault::Call {
                status: error.status,
                line: None,
                message: error.message,
            });
            settled.and(outcome).map_err(|fault| match fault {
                // It may have written before, and what it waited for may be of that.
                ScriptFault::Cancelled => ScriptFailure::Ended,
                ScriptFault::Call { .. } if limits.is_cancelled.load(Ordering::Relaxed) => {
                    ScriptFailure::Ended
                }
                fault => ScriptFailure::Script(fault),
            })
        }));
        let outcome = outcome.unwrap_or_else(|_| {
            tracing::error!("a script has made a thread panic");
            Err(ScriptFailure::Panicked)
        });
        // The client may have gone meanwhile.
        let _ = done.send(outcome);
    }
}
