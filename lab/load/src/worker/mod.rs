//! One thread of the lab: its users, their connections and one event loop.
//!
//! The road of a request: due ([`users`], [`starts`]) → its program writes it → (connect) → send → read → judge →
//! record ([`exchange`]) → what comes next. Programs that wait ask for [`calls`] and hear of them ([`listen`]). Nothing
//! waits anywhere but in [`Poller::wait`].

mod calls;
mod exchange;
mod http2;
mod listen;
mod sockets;
mod starts;
mod streams;
mod users;

use crate::alarm::Alarm;
use crate::calls::Calls;
use crate::connection::Slots;
use crate::options::StopFlag;
use crate::user::{State, User};
use prony_client::http1::head::HeadMemo;
use prony_client::http1::sink::Kept;
use prony_client::http2::pool::Http2Pool;
use prony_client::poller::Poller;
use prony_client::targets::{Destination, TargetId, Targets, Waker};
use prony_client::timers::Timers;
use prony_model::measurement::tally::{Tally, TallyShape};
use prony_model::program::{Outgoing, Program, ProgramError, ThreadPlace, Workload};
use prony_model::{LoadModel, Nanos, Plan, Windows};
use rustix::time::{ClockId, clock_gettime};
use starts::OpenStarts;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Sender;
use std::time::Instant;

const SECOND: Nanos = Nanos::from_secs(1);
/// How often the flag to stop is looked at when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// Shared by all connections of a thread, so that a user costs no buffer of its own.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// What all threads of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) workload: &'a dyn Workload,
    /// By scenario: iterations that nobody has taken yet, where the load model has a pot of them.
    pub(crate) pots: &'a [AtomicU64],
    pub(crate) network: &'a Targets,
    pub(crate) stop: &'a StopFlag,
    pub(crate) threads: u32,
}

/// A second of one thread's work.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) thread: u32,
    pub(crate) second: u64,
    /// The thread hands over nothing more.
    pub(crate) is_last: bool,
    pub(crate) tally: Tally,
    /// Processor time that the thread took in it.
    pub(crate) busy: Nanos,
}

/// Why a thread cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
}

pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    /// The start of the run, from which all times are counted.
    epoch: Instant,
    place: ThreadPlace,
    program: Box<dyn Program + 'a>,
    /// Where this thread's connections go instead of the targets' addresses.
    address: Option<SocketAddr>,
    users: Vec<User>,
    slots: Slots,
    http2: Http2Pool,
    calls: Calls,
    /// By index: targets that this thread has used.
    places: Vec<Option<Arc<Destination>>>,
    waker: Waker,
    /// By scenario; those of other load models never have any.
    open: Vec<OpenStarts>,
    poller: Poller,
    timers: Timers<(Alarm, u32)>,
    tally: Tally,
    hand_over: Sender<Handover>,
    /// When nothing is started any more.
    end: Nanos,
    second: u64,
    busy_before: Nanos,
    in_flight: u32,
    /// Users within an iteration of a program that waits.
    listening: u32,
    /// Users that have something left to do.
    alive: u32,
    /// The program wants no more starts on this thread.
    is_stopping: bool,
    /// The last moment at which an answer came or the first request after none began to wait.
    last_sign: Nanos,
    outgoing: Outgoing,
    heads: HeadMemo,
    spare: Vec<Kept>,
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        hand_over: Sender<Handover>,
    ) -> Result<Self, WorkerError> {
        let plan = shared.plan;
        let place = ThreadPlace { number, threads: shared.threads };
        let places = plan.user_places().filter(|user| place.has(user.number));
        let users: Vec<User> = places.map(|user| User::new(plan.seed(), user)).collect();
        let scenarios = plan.scenarios().iter().enumerate();
        let open = scenarios.map(|(index, scenario)| OpenStarts::new(scenario, index, plan.seed(), place));
        let mut worker = Self {
            shared,
            epoch: Instant::now(),
            place,
            program: shared.workload.program(place)?,
            address: shared.workload.address(place),
            slots: Slots::new(users.len(), plan.targets().len()),
            http2: Http2Pool::new(
                users.len(),
                plan.wire().streams,
                (0..plan.targets().len())
                    .map(|target| shared.network.planned(TargetId(target as u32)).is_tls()),
            ),
            calls: Calls::default(),
            places: Vec::new(),
            waker: Waker::new()?,
            alive: users.len() as u32,
            users,
            open: open.collect(),
            poller: Poller::new()?,
            timers: Timers::default(),
            tally: Tally::new(shared.windows, TallyShape::of(plan)),
            hand_over,
            end: plan.duration(),
            second: 0,
            busy_before: Nanos::ZERO,
            in_flight: 0,
            listening: 0,
            is_stopping: false,
            last_sign: Nanos::ZERO,
            outgoing: Outgoing::default(),
            heads: HeadMemo::default(),
            spare: Vec::new(),
            buffer: vec![0; READ_BUFFER_BYTES],
        };
        worker.poller.add_waker(worker.waker.descriptor())?;
        (0..worker.users.len() as u32).for_each(|user| worker.admit(user));
        Ok(worker)
    }

    /// Gets a user ready for its scenario's load model.
    fn admit(&mut self, user: u32) {
        let scenario = self.users[user as usize].place.scenario;
        match &self.shared.plan.scenarios()[scenario].load {
            LoadModel::Open { .. } => {
                self.users[user as usize].state = State::Free;
                self.open[scenario].free.push_back(user);
                self.alive -= 1;
            }
            LoadModel::PerUserIterations { iterations, .. } => {
                self.users[user as usize].iterations_left = *iterations;
                self.plan_activity(user, Nanos::ZERO);
            }
            LoadModel::SharedIterations { .. } | LoadModel::Closed { .. } => {
                self.plan_activity(user, Nanos::ZERO);
            }
        }
    }

    /// Runs until the last answer, the last timeout, the end of all grace, or the stop.
    pub(crate) fn run(mut self, epoch: Instant) -> Result<(), WorkerError> {
        self.epoch = epoch;
        self.busy_before = processor_time();
        self.connect_early()?;
        let last_moment = self.last_moment();
        loop {
            let now = self.now();
            self.hand_over_seconds(now);
            if self.is_over(now) || now >= last_moment || self.shared.stop.is_stopped() {
                return self.finish();
            }
            self.fire_alarms(now)?;
            self.serve_starts(now)?;
            self.drive_http2()?;
            self.drive_streams()?;
            self.tell_failed()?;
            self.wait()?;
            let mut index = 0;
            while let Some(ready) = self.poller.ready(index) {
                self.handle(ready)?;
                index += 1;
            }
            self.drive_http2()?;
            self.drive_streams()?;
        }
    }

    /// By then the last answer has come or was given up, and the last iteration of a script was interrupted.
    fn last_moment(&self) -> Nanos {
        let scripts = self.shared.plan.scenarios().iter().filter(|scenario| scenario.is_script());
        let grace = scripts.map(|scenario| scenario.end().plus(scenario.grace.stop)).max();
        let answers = self.end.plus(self.shared.plan.timeout());
        answers.max(grace.unwrap_or_default()).plus(SECOND)
    }

    fn is_over(&self, now: Nanos) -> bool {
        // A thread that was kept from its work near the end owes the starts that were due meanwhile: late, not unseen.
        let owes_starts = || self.open.iter().any(|starts| starts.next_due().is_some_and(|due| due <= now));
        let starts_no_more = self.is_stopping || now >= self.end && !owes_starts();
        let has_nothing_left = || self.alive == 0 && self.open.iter().all(|starts| starts.is_done(now));
        self.in_flight == 0 && self.listening == 0 && (starts_no_more || has_nothing_left())
    }

    fn now(&self) -> Nanos {
        Nanos(self.epoch.elapsed().as_nanos() as u64)
    }

    fn wait(&mut self) -> io::Result<()> {
        let now = self.now();
        let second = Nanos::from_secs(self.second + 1);
        let end = if now < self.end { self.end } else { Nanos::MAX };
        let alarm = self.timers.next().unwrap_or(Nanos::MAX);
        let start = self.open.iter().filter_map(OpenStarts::next_due).min().unwrap_or(Nanos::MAX);
        let soon = if self.calls.has_work() { now } else { now.plus(STOP_CHECK) };
        let until = soon.min(second).min(alarm).min(start).min(end);
        self.poller.wait(now, until)
    }

    fn fire_alarms(&mut self, now: Nanos) -> Result<(), WorkerError> {
        while let Some((at, (alarm, user))) = self.timers.pop_due(now) {
            match alarm {
                Alarm::Act => self.act(user, at)?,
                Alarm::Timeout => self.check_timeout(user, now)?,
                Alarm::Wake => self.wake(user, at, now)?,
                Alarm::Interrupt => self.check_grace(user, at, now)?,
                Alarm::Call => self.check_call(user, at, now),
                Alarm::Close => self.check_close(user, at, now),
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), WorkerError> {
        let interrupted = self.interrupt_all();
        self.tally.unfinished += u64::from(self.in_flight);
        self.drop_waiting_starts();
        self.send_tally(true);
        interrupted
    }

    fn hand_over_seconds(&mut self, now: Nanos) {
        while now >= Nanos::from_secs(self.second + 1) {
            self.send_tally(false);
        }
    }

    fn send_tally(&mut self, is_last: bool) {
        let fresh = Tally::new(self.shared.windows, TallyShape::of(self.shared.plan));
        let mut tally = mem::replace(&mut self.tally, fresh);
        tally.users_active = self.users_active();
        tally.counts = self.program.take_counts();
        let busy = processor_time();
        let handover = Handover {
            thread: self.place.number,
            second: self.second,
            is_last,
            tally,
            busy: busy.since(self.busy_before),
        };
        self.busy_before = busy;
        self.second += 1;
        // The collector only goes away when the run is being given up.
        let _ = self.hand_over.send(handover);
    }
}

pub(crate) fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}
