//! A run from its start to its result: limits, threads, seconds gathered, the result written.

use crate::collector::Collector;
use crate::error::{RunError, WorkerError};
use crate::flow::FlowWorkload;
use crate::machine;
use crate::options::{RecordBatch, RunOptions, RunStart};
use crate::seconds::{ThreadInterval, WAITING_SECONDS_MAX};
use crate::start_barrier::StartBarrier;
use crate::store::Store;
use crate::subscriptions::publications::PublicationQueue;
use crate::subscriptions::thread::{Subscribers, SubscribersShared};
use crate::subscriptions::threads_for;
use crate::users::StartExchange;
use crate::worker::{Shared, Worker};
use prony_client::targets::{TargetSettings, Targets};
use prony_model::measurement::snapshot::RequestNames;
use prony_model::measurement::tally::TallyShape;
use prony_model::plan::scenario::Scenario;
use prony_model::program::{ProgramError, RunControl, RunShare, Workload};
use prony_model::result::{Origin, Progress, RunState};
use prony_model::{Nanos, Plan, ResultFile};
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs a plan's own requests to its end, or until it is stopped, on threads of its own, and returns what was
/// measured. Blocks the calling thread.
pub fn run(plan: &Plan, options: RunOptions) -> Result<ResultFile, RunError> {
    let subscribers = threads_for(plan, options.share, options.threads.get() as u32);
    let publications = PublicationQueue::new(plan, subscribers, run_mark());
    let rows = options.rows.clone();
    let workload = FlowWorkload::new(plan, &publications, options.share, &rows);
    measure(plan, &workload, &publications, subscribers, options)
}

/// Tells the tokens of this run from those of others.
fn run_mark() -> u32 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u32
}

/// As [`run`], where users do what the workload says; of the plan's requests only the names count.
pub fn run_workload(
    plan: &Plan,
    workload: &dyn Workload,
    options: RunOptions,
) -> Result<ResultFile, RunError> {
    measure(plan, workload, &PublicationQueue::new(plan, 0, 0), 0, options)
}

/// Tries each of a plan's targets once, as a run does before it begins: its name is looked up and a connection opened.
pub fn reach(plan: &Plan) -> Result<(), RunError> {
    let targets = plan.targets().iter().map(|named| &named.target).collect();
    let settings =
        TargetSettings { targets, wire: plan.wire(), users: plan.users(), subscribers: 0, dynamic: None };
    Targets::prepare(&settings)?;
    Ok(())
}

fn measure(
    plan: &Plan,
    workload: &dyn Workload,
    publications: &PublicationQueue,
    subscriber_threads: u32,
    options: RunOptions,
) -> Result<ResultFile, RunError> {
    let targets = Targets::prepare(&target_settings(plan, workload, options.share))?;
    let windows = plan.windows();
    let share = options.share;
    let budgets = budgets(plan, share);
    // A thread without a user would only wait.
    let threads = (options.threads.get() as u32).clamp(1, share.users(0, plan.users()).max(1));
    let stop = options.stop.clone();
    let users = users_by_scenario(plan).map(|(first, users)| share.users(first, users));
    let exchange = &StartExchange::new(users, threads);
    let (barrier, budgets) = (StartBarrier::default(), &budgets);
    let tally = TallyShape { keeps_records: options.records.is_some(), ..TallyShape::of(plan) };
    let (windows, targets, stop) = (&windows, &targets, &stop);
    let shared =
        Shared { plan, windows, workload, budgets, exchange, targets, stop, threads, share, shape: tally };
    let users_running = AtomicU32::new(threads);
    let subscribed = SubscribersShared {
        plan,
        windows,
        targets,
        publications,
        stop,
        users_running: &users_running,
        share,
        threads: subscriber_threads,
    };
    drive(&shared, &subscribed, &barrier, options)
}

/// The number of each scenario's first user, and how many it has.
fn users_by_scenario(plan: &Plan) -> impl Iterator<Item = (u32, u32)> {
    plan.scenarios().iter().scan(0, |next, scenario| {
        let (first, users) = (*next, scenario.load.users_max());
        *next += users;
        Some((first, users))
    })
}

/// By scenario: the iterations of this share, where the load model has a budget that its users share.
fn budgets(plan: &Plan, share: RunShare) -> Vec<AtomicU64> {
    let scenarios = plan.scenarios().iter().zip(users_by_scenario(plan));
    let budget = |(scenario, (first, users)): (&Scenario, _)| {
        AtomicU64::new(share.positions(scenario.load.budget.shared().unwrap_or(0), first, users))
    };
    scenarios.map(budget).collect()
}

fn target_settings<'a>(plan: &'a Plan, workload: &'a dyn Workload, share: RunShare) -> TargetSettings<'a> {
    TargetSettings {
        targets: plan.targets().iter().map(|named| &named.target).collect(),
        wire: plan.wire(),
        users: share.users(0, plan.users()),
        // More than a number of users holds is too much for any limit.
        subscribers: u32::try_from(plan.subscriber_connections_of(share)).unwrap_or(u32::MAX),
        dynamic: workload.tables().map(|_| workload.hosts()),
    }
}

fn drive(
    shared: &Shared<'_>,
    subscribed: &SubscribersShared<'_>,
    barrier: &StartBarrier,
    mut options: RunOptions,
) -> Result<ResultFile, RunError> {
    let threads = shared.threads + subscribed.threads;
    let (sender, receiver) = mpsc::sync_channel(threads as usize * WAITING_SECONDS_MAX);
    thread::scope(|scope| {
        // It goes with this closure, also where that panics: no thread waits for room any more then.
        let receiver = receiver;
        let mut handles = Vec::new();
        for number in 0..threads {
            let sender = sender.clone();
            let work = move || {
                let guard = StopOthers { shared, barrier };
                match number.checked_sub(shared.threads) {
                    None => {
                        let _ended = UsersEnd(subscribed.users_running);
                        let worker = Worker::new(shared, number, sender)?;
                        if let Some(start) = barrier.enter() {
                            worker.run(start)?;
                        }
                    }
                    Some(index) => {
                        let subscribers = Subscribers::new(subscribed, number, index, sender)?;
                        if let Some(start) = barrier.enter() {
                            subscribers.run(start.epoch)?;
                        }
                    }
                }
                mem::forget(guard);
                Ok(())
            };
            let name = if number < shared.threads { "load" } else { "subs" };
            let handle =
                thread::Builder::new().name(format!("prony-{name}-{number}")).spawn_scoped(scope, work);
            handles.push(handle.map_err(|cause| {
                // The scope waits for the threads that already run.
                drop(StopOthers { shared, barrier });
                RunError::Thread(cause)
            })?);
        }
        drop(sender);
        let start = mem::replace(&mut options.start, Box::new(|| None));
        let begins = mem::replace(&mut options.begins, Box::new(|_| {}));
        // Without a start, one of the threads says why, or whoever was to agree on it has given the run up.
        let start = barrier.open(threads, start, begins);
        let RunStart { epoch, .. } = start.unwrap_or_else(|| {
            shared.stop.stop();
            RunStart::now()
        });
        if let Some(observe) = &mut options.observe {
            observe.start(epoch);
        }
        gather(shared, threads, epoch, options, &receiver, handles)
    })
}

/// Dropped by a thread of users that has ended, well or not: subscribers wait for all of them.
struct UsersEnd<'a>(&'a AtomicU32);

impl Drop for UsersEnd<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Dropped by a thread that fails or panics: the others would go on with a part of the load only.
struct StopOthers<'a> {
    shared: &'a Shared<'a>,
    barrier: &'a StartBarrier,
}

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.shared.stop.stop();
        self.barrier.fail();
    }
}

fn names_of<'a>(shared: &Shared<'a>) -> RequestNames<'a> {
    RequestNames { plan: shared.plan, found: shared.workload.tables() }
}

/// When the threads of a run handed over what they had last.
#[derive(Debug, Default)]
struct RunEnds {
    /// Those of users; subscribers stay after them, also where the run is stopped, for events that are due.
    users: Nanos,
    all: Nanos,
}

impl RunEnds {
    fn take(&mut self, shared: &Shared<'_>, interval: &ThreadInterval) {
        self.all = self.all.max(interval.until);
        let are_users = interval.thread < shared.threads;
        if are_users || shared.share.users(0, shared.plan.users()) == 0 {
            self.users = self.users.max(interval.until);
        }
    }

    /// How the run ended, and when.
    fn conclude(&self, shared: &Shared<'_>) -> (RunState, Nanos) {
        let was_stopped = shared.stop.is_stopped() && self.users < shared.plan.duration();
        if was_stopped { (RunState::Stopped, self.users) } else { (RunState::Completed, self.all) }
    }
}

fn gather(
    shared: &Shared<'_>,
    threads: u32,
    epoch: Instant,
    mut options: RunOptions,
    receiver: &Receiver<ThreadInterval>,
    handles: Vec<ScopedJoinHandle<'_, Result<(), WorkerError>>>,
) -> Result<ResultFile, RunError> {
    let elapsed = || Nanos(epoch.elapsed().as_nanos() as u64);
    let mut collector = Collector::new(
        shared.plan,
        shared.workload.tables(),
        shared.windows,
        origin(&options),
        machine::place_of(shared.targets),
        threads,
    )
    .with_spoken(shared.targets.all_spoken())
    .with_listeners(mem::take(&mut options.snapshots));
    let mut store = Store::new(options.output, options.seeks_findings);
    let (mut next_tick, mut ends) = (0, RunEnds::default());
    collector.record_clocks(machine::clocks(epoch));
    while let Ok(mut interval) = receiver.recv() {
        ends.take(shared, &interval);
        let records = mem::take(&mut interval.tally.records);
        if let Some(listener) = options.records.as_mut().filter(|_| !records.is_empty()) {
            listener(&RecordBatch { epoch, records: &records, names: names_of(shared) });
        }
        // Whichever thread ends a second first.
        if interval.second >= next_tick {
            next_tick = interval.second + 1;
            if shared.workload.tick(elapsed()) == RunControl::Stop {
                shared.stop.stop();
            }
        }
        if !collector.take(interval) {
            continue;
        }
        collector.record_clocks(machine::clocks(epoch));
        let now = elapsed();
        let (watcher, observe) = (options.watcher.as_deref(), &mut options.observe);
        let warning = store.keep(watcher, shared.plan.duration(), elapsed, |now| {
            let observers = observe.as_mut().map(|observe| observe.observations()).unwrap_or_default();
            ResultFile { observers, ..collector.result(RunState::Running, now) }
        });
        let warning = warning.or_else(|| collector.notice());
        (options.progress)(&collector.progress(now, warning));
    }
    let lost = join(handles);
    collector.close();
    collector.record_clocks(machine::clocks(epoch));
    if shared.targets.has_dynamic() {
        // The first target was not known before.
        collector.set_place(machine::place_of(shared.targets));
    }
    // What threads need to give back their memory is none of the run's time.
    let (state, ended) = ends.conclude(shared);
    let mut result = collector.result(state, ended);
    if let Some(observe) = &mut options.observe {
        observe.stop();
        result.observers = observe.observations();
    }
    let warning = store.write(&result);
    (options.progress)(&Progress { is_last: true, ..collector.progress(ended, warning) });
    lost.map_or(Ok(result), Err)
}

fn join(handles: Vec<ScopedJoinHandle<'_, Result<(), WorkerError>>>) -> Option<RunError> {
    let mut lost = None;
    for handle in handles {
        let error = match handle.join() {
            Ok(Ok(())) => continue,
            Ok(Err(WorkerError::Program(error))) => RunError::Program(error),
            Ok(Err(WorkerError::Request(error))) => RunError::Request(error),
            Ok(Err(WorkerError::System(error))) => RunError::ThreadLost { message: error.to_string() },
            Err(panic) => {
                let message = panic.downcast_ref::<String>().cloned();
                RunError::ThreadLost { message: message.unwrap_or_else(|| "it panicked".to_owned()) }
            }
        };
        // A thread that another one's failure has stopped does not say why.
        if lost.is_none() || !matches!(error, RunError::Program(ProgramError::Stopped)) {
            lost = Some(error);
        }
    }
    lost
}

fn origin(options: &RunOptions) -> Origin {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Origin {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: options.command_line.clone(),
        started_at_unix_ms: since_epoch.as_millis() as u64,
        machine: machine::describe(),
    }
}
