//! One thread of the load generator: wires what its users do ([`crate::users`]), what is sent for them
//! ([`prony_client::Client`]) and what is counted ([`crate::recorder`]) to the program, and reads the clock for all of them.
//!
//! [`events`] takes what the client tells, [`commands`] what waiting programs ask for; [`request`] says whose a request is.

mod commands;
mod events;
mod request;
#[cfg(test)]
mod tests;

use crate::error::WorkerError;
use crate::options::RunStart;
use crate::recorder::Recorder;
use crate::seconds::{Seconds, ThreadInterval};
use crate::users::{Action, AskReason, StartExchange, UserIndex, UserMachine};
use prony_client::targets::{TargetId, Targets};
use prony_client::{Client, ClientSettings, Part, PoolId, Pooling, RequestOptions, Route};
use prony_model::measurement::tally::TallyShape;
use prony_model::plan::wire::{Connections, Spoken};
use prony_model::program::call::WaitEvent;
use prony_model::program::{Event, Outgoing, Program, ProgramError, RunShare, Step, StopFlag, Workload};
use prony_model::{Nanos, Plan, Windows};
use request::{Context, Open, Purpose};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::SyncSender;

/// How often the flag to stop is read when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);

/// What all threads of a run share.
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) workload: &'a dyn Workload,
    /// By scenario: iterations that nobody has taken yet, where the load model has a budget that its users share.
    pub(crate) budgets: &'a [AtomicU64],
    pub(crate) exchange: &'a StartExchange,
    pub(crate) targets: &'a Targets,
    pub(crate) stop: &'a StopFlag,
    /// Of this process.
    pub(crate) threads: u32,
    /// Which users of the plan these threads have.
    pub(crate) share: RunShare,
    /// Of each tally that is handed over.
    pub(crate) shape: TallyShape,
}

pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    program: Box<dyn Program + 'a>,
    machine: UserMachine<'a>,
    client: Client<'a, Context>,
    recorder: Recorder<'a>,
    /// By user: what its program has asked for and waits for.
    open: Vec<Vec<Open>>,
    /// By the plan's targets: HTTP/2 is spoken with it.
    is_http2: Vec<bool>,
    outgoing: Outgoing,
    /// What a channel has received, while its user's program takes it.
    received: Vec<u8>,
    seconds: Seconds,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        number: u32,
        hand_over: SyncSender<ThreadInterval>,
    ) -> Result<Self, WorkerError> {
        let place = shared.share.thread(number, shared.threads);
        let named = shared.workload.tables().map(|tables| &tables.targets);
        let settings = ClientSettings {
            pooling: if named.is_some() { Pooling::Many } else { Pooling::One },
            keeps_connections: shared.plan.connections() == Connections::Kept,
            address: shared.workload.address(place),
        };
        Self::with_client(shared, number, Client::new(shared.targets, named, settings)?, hand_over)
    }

    fn with_client(
        shared: &'a Shared<'a>,
        number: u32,
        client: Client<'a, Context>,
        hand_over: SyncSender<ThreadInterval>,
    ) -> Result<Self, WorkerError> {
        let place = shared.share.thread(number, shared.threads);
        let machine = UserMachine::new(shared.plan, shared.budgets, shared.exchange, number, place);
        let waker = client.waker();
        shared.exchange.set_wake(number, move || waker.wake());
        Ok(Self {
            shared,
            program: shared.workload.program(place)?,
            open: machine.users().map(|_| Vec::new()).collect(),
            machine,
            client,
            recorder: Recorder::new(shared.windows, shared.shape),
            is_http2: shared.targets.all_spoken().into_iter().map(|spoken| spoken == Spoken::Http2).collect(),
            outgoing: Outgoing::default(),
            received: Vec::new(),
            seconds: Seconds::new(number, hand_over),
        })
    }

    /// Runs until the last response, the last timeout, the end of all grace, or the stop.
    pub(crate) fn run(mut self, start: RunStart) -> Result<(), WorkerError> {
        self.client.start(start.epoch);
        self.seconds.begin(start.from);
        if start.from > Nanos::ZERO {
            self.machine.join(start.from);
        }
        self.connect_early()?;
        let last_moment = self.machine.last_moment();
        loop {
            let mut now = self.client.now();
            self.hand_over_seconds(now);
            if self.is_over(now) || now >= last_moment || self.shared.stop.is_stopped() {
                return self.finish();
            }
            // Where more is due than a thread can serve, responses, seconds and the flag to stop have their turn all the same.
            let turn_ends = now.plus(STOP_CHECK);
            while now < turn_ends && self.machine.on_time(now, &mut self.recorder) {
                self.act()?;
                now = self.client.now();
            }
            let until = if self.is_over(now) {
                // What was done was the last: it is written, and there is nothing to wait for.
                now
            } else {
                now.plus(STOP_CHECK).min(self.seconds.end()).min(self.machine.next_moment(now))
            };
            self.client.wait(now, until)?;
            while let Some(event) = self.client.next_event()? {
                self.on_client_event(event)?;
            }
        }
    }

    fn is_over(&self, now: Nanos) -> bool {
        self.recorder.in_flight() == 0 && self.machine.is_over(now)
    }

    // ---- act

    /// Does what the machine wants, until it wants nothing more.
    fn act(&mut self) -> Result<(), WorkerError> {
        while let Some(action) = self.machine.next_action() {
            match action {
                Action::Ask { user, reason, due, now } => {
                    if reason == AskReason::Begin
                        && let Some(time_left) = self.machine.time_left(user, now)
                    {
                        self.program.limit_iteration(self.machine.place_of(user), time_left);
                    }
                    // In place: an event is long, and this is where most are made.
                    self.outgoing.clear();
                    let place = self.machine.place_of(user);
                    let step = self.program.next(place, reason.into(), &mut self.outgoing)?;
                    self.take_step(user, step, due, now)?;
                }
                Action::Wake { user } => self.notify(user, WaitEvent::Woken)?,
                Action::Interrupt { user } => {
                    self.next_step(user, Event::Waited(WaitEvent::Interrupted))?;
                    self.take_unfinished();
                }
                Action::Abandon { user } => self.abandon(user),
                Action::Leave { user } => self.close_all(user),
            }
        }
        Ok(())
    }

    fn next_step(&mut self, user: UserIndex, event: Event<'_>) -> Result<Step, WorkerError> {
        self.outgoing.clear();
        Ok(self.program.next(self.machine.place_of(user), event, &mut self.outgoing)?)
    }

    /// Tells the user's program of something, if it waits for events.
    fn notify(&mut self, user: UserIndex, event: WaitEvent<'_>) -> Result<(), WorkerError> {
        let Some(due) = self.machine.begin_event(user) else { return Ok(()) };
        let step = self.next_step(user, Event::Waited(event))?;
        let now = self.client.now();
        self.take_step(user, step, due, now)
    }

    fn take_step(&mut self, user: UserIndex, step: Step, due: Nanos, now: Nanos) -> Result<(), WorkerError> {
        self.take_records(user);
        self.begin_commands(user, step)?;
        let requests = self.outgoing.requests.len() as u32;
        self.machine.on_step(user, step, requests, now, &mut self.recorder);
        if step == Step::Send {
            self.send(user, due, now)?;
        }
        Ok(())
    }

    // ---- send

    /// Sends the requests that the program wrote.
    fn send(&mut self, user: UserIndex, scheduled: Nanos, started: Nanos) -> Result<(), WorkerError> {
        let (requests, timeout) = (&self.outgoing.requests, self.shared.plan.timeout());
        let Some(first) = requests.first() else {
            return Err(ProgramError::NoRequest.into());
        };
        self.recorder.sent(requests.len() as u32, started);
        let route = route(self.shared, &self.machine, &self.is_http2, user, first.target);
        let mut text_begin = 0;
        let mut parts = requests.iter().map(|sent| {
            let bytes_sent = (sent.text_end - text_begin) as u64;
            text_begin = sent.text_end;
            let options = RequestOptions {
                is_head: sent.is_head,
                keep: sent.keep,
                timeout,
                is_fresh: false,
                is_repeatable: false,
                wants_times: false,
                is_streamed: false,
            };
            let purpose = Purpose::Step { bytes_sent };
            let context = Context { user, request: sent.request, scheduled, purpose };
            Part { text_end: sent.text_end, options, context }
        });
        if requests.len() > 1 {
            self.client.send_all(route, &self.outgoing.text, parts, started)?;
        } else if let Some(Part { options, context, .. }) = parts.next() {
            self.client.send(route, &self.outgoing.text, options, started, context)?;
        }
        Ok(())
    }

    /// Users that only serve starts connect before the first is due, as they would have long before.
    fn connect_early(&mut self) -> Result<(), WorkerError> {
        let plan = self.shared.plan;
        if plan.connections() == Connections::Fresh || plan.targets().is_empty() {
            return Ok(());
        }
        for user in self.machine.users() {
            let scenario = self.machine.place_of(user).scenario;
            if plan.scenarios()[scenario].start == Nanos::ZERO && self.machine.is_free(user) {
                self.client.connect(route(self.shared, &self.machine, &self.is_http2, user, 0))?;
            }
        }
        Ok(())
    }

    // ---- hand over

    fn finish(&mut self) -> Result<(), WorkerError> {
        self.machine.finish(self.client.now(), &mut self.recorder);
        let interrupted = self.act();
        self.recorder.abandon_all(self.client.now());
        self.send_tally(true);
        interrupted
    }

    fn hand_over_seconds(&mut self, now: Nanos) {
        while now >= self.seconds.end() {
            self.send_tally(false);
        }
    }

    fn send_tally(&mut self, is_last: bool) {
        let until = self.client.now();
        let users_active = self.machine.users_active(until);
        let counts = self.program.end_second();
        let tally = self.recorder.take(users_active, counts, self.client.take_counts());
        self.seconds.hand_over(tally, until, is_last);
    }
}

/// Users have connections of their own; over HTTP/2 as many share one as the plan says.
fn route(
    shared: &Shared<'_>,
    machine: &UserMachine<'_>,
    is_http2: &[bool],
    user: UserIndex,
    target: usize,
) -> Route {
    let pool = if is_http2.get(target).copied().unwrap_or(false) {
        machine.users().len() as u32 + user.0 / shared.plan.wire().streams.max(1)
    } else {
        user.0
    };
    Route { pool: PoolId(pool), target: TargetId(target as u32), user: machine.place_of(user).number }
}
