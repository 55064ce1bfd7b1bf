//! One thread of the lab: its users, their connections and one event loop.
//!
//! The road of a request: due → (connect) → write → read → judge → record → think. Each is a method here,
//! in that order; nothing waits anywhere but in [`Poller::wait`].

use crate::connection::Connection;
use crate::http::request::{Prepared, Scratch};
use crate::http::scanner::Answer;
use crate::network::Network;
use crate::options::StopFlag;
use crate::poller::{Poller, Ready};
use crate::timers::{Alarm, Timers};
use crate::transport::{Fault, Progress, Read};
use crate::user::{InFlight, State, User};
use prony_load_model::Plan;
use prony_load_model::load::Pacing;
use prony_load_model::tally::{Tally, TallyShape};
use prony_load_model::variable::Drawn;
use prony_load_model::wire::Connections;
use prony_load_model::{Nanos, Outcome, Record, ThinkTime, TransportError, Windows};
use rand::RngExt as _;
use rustix::time::{ClockId, clock_gettime};
use rustls::HandshakeKind;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

const SECOND: Nanos = Nanos::from_secs(1);
/// How often the flag to stop is looked at when nothing else happens.
const STOP_CHECK: Nanos = Nanos::from_millis(100);
/// A user that could not connect waits this long: trying again at once would only burn processors.
const CONNECT_RETRY_PAUSE: Nanos = Nanos::from_millis(100);
/// Shared by all connections of a thread, so that a user costs no buffer of its own.
const READ_BUFFER_BYTES: usize = 256 * 1024;

/// What all threads of a run share.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) windows: &'a Windows,
    pub(crate) prepared: &'a [Prepared],
    /// How often each sequential variable was drawn.
    pub(crate) positions: &'a [AtomicU64],
    pub(crate) network: &'a Network,
    pub(crate) stop: &'a StopFlag,
    /// The start of the run, from which all times are counted.
    pub(crate) epoch: Instant,
    pub(crate) threads: u32,
}

impl Shared<'_> {
    fn think_time(&self) -> ThinkTime {
        match self.plan.scenarios()[0].pacing {
            Pacing::ThinkTime(think_time) => think_time,
            Pacing::Fixed { interval_ns } => ThinkTime::constant(interval_ns),
        }
    }
}

/// A second of one thread's work.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) thread: u32,
    pub(crate) second: u64,
    pub(crate) tally: Tally,
    /// Processor time that the thread took in it.
    pub(crate) busy: Nanos,
}

pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    number: u32,
    users: Vec<User>,
    poller: Poller,
    timers: Timers,
    tally: Tally,
    hand_over: Sender<Handover>,
    second: u64,
    busy_before: Nanos,
    in_flight: u32,
    /// The last moment at which an answer came or the first request after none began to wait.
    last_sign: Nanos,
    weights_sum: u32,
    drawn: Vec<Drawn<'a>>,
    scratch: Scratch,
    buffer: Vec<u8>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>, number: u32, hand_over: Sender<Handover>) -> io::Result<Self> {
        let plan = shared.plan;
        let users = (number..plan.users()).step_by(shared.threads as usize);
        let users: Vec<User> = users.map(|user| User::new(plan.seed(), user)).collect();
        let mut worker = Self {
            shared,
            number,
            users,
            poller: Poller::new()?,
            timers: Timers::default(),
            tally: Tally::new(shared.windows, TallyShape::of(plan)),
            hand_over,
            second: 0,
            busy_before: Nanos::ZERO,
            in_flight: 0,
            last_sign: Nanos::ZERO,
            weights_sum: plan.requests().iter().map(|request| request.weight).sum(),
            drawn: vec![Drawn::Integer(0); plan.variables().len()],
            scratch: Scratch::default(),
            buffer: vec![0; READ_BUFFER_BYTES],
        };
        (0..worker.users.len() as u32).for_each(|user| worker.plan_activity(user, Nanos::ZERO));
        Ok(worker)
    }

    /// Runs until the last answer, the last timeout, or the stop.
    pub(crate) fn run(mut self) -> io::Result<()> {
        self.busy_before = processor_time();
        let end = self.shared.plan.duration();
        let last_moment = end.plus(self.shared.plan.timeout()).plus(SECOND);
        loop {
            let now = self.now();
            self.hand_over_seconds(now);
            let is_over = now >= end && (self.in_flight == 0 || now >= last_moment);
            if is_over || self.shared.stop.is_stopped() {
                self.tally.unfinished += u64::from(self.in_flight);
                self.send_tally();
                return Ok(());
            }
            self.fire_alarms(now)?;
            self.wait(end)?;
            let mut index = 0;
            while let Some(ready) = self.poller.ready(index) {
                self.handle(ready)?;
                index += 1;
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.shared.epoch.elapsed().as_nanos() as u64)
    }

    fn wait(&mut self, end: Nanos) -> io::Result<()> {
        let now = self.now();
        let second = Nanos::from_secs(self.second + 1);
        let end = if now < end { end } else { Nanos::MAX };
        let alarm = self.timers.next().unwrap_or(Nanos::MAX);
        let until = now.plus(STOP_CHECK).min(second).min(alarm).min(end);
        self.poller.wait(now, until)
    }

    fn fire_alarms(&mut self, now: Nanos) -> io::Result<()> {
        while let Some((at, alarm, user)) = self.timers.pop_due(now) {
            match alarm {
                Alarm::Start => {
                    let started = self.now();
                    self.tally.lateness.record(started.since(at));
                    self.start(user, at, started)?;
                }
                Alarm::Timeout => self.check_timeout(user, now)?,
            }
        }
        Ok(())
    }

    // ---- due

    /// Sets the user's next start at `at`, or at its next activity where none holds `at`.
    fn plan_activity(&mut self, user: u32, at: Nanos) {
        let number = self.users[user as usize].number;
        let activities = self.shared.plan.scenarios()[0].load.activities_of(number);
        let next = activities.into_iter().find(|activity| at < activity.stop);
        let state = match next {
            None => State::Gone,
            Some(activity) => {
                self.timers.set(at.max(activity.start), Alarm::Start, user);
                self.users[user as usize].active_until = activity.stop;
                State::Thinking
            }
        };
        self.users[user as usize].state = state;
    }

    fn start(&mut self, user: u32, scheduled: Nanos, started: Nanos) -> io::Result<()> {
        let request = self.choose_request(user);
        self.tally.started += 1;
        if self.in_flight == 0 {
            self.last_sign = started;
        }
        self.in_flight += 1;
        let deadline = started.plus(self.shared.plan.timeout());
        let entry = &mut self.users[user as usize];
        entry.state = State::Waiting(InFlight::new(
            request,
            scheduled,
            started,
            deadline,
            self.shared.prepared[request].watch(),
        ));
        if !mem::replace(&mut entry.timeout_is_set, true) {
            self.timers.set(deadline, Alarm::Timeout, user);
        }
        match &entry.connection {
            Some(connection) if connection.transport.is_open() => self.write_request(user),
            Some(_) => Ok(()),
            None => self.connect(user),
        }
    }

    fn choose_request(&mut self, user: u32) -> usize {
        let requests = self.shared.plan.requests();
        if requests.len() == 1 {
            return 0;
        }
        let mut ticket = self.users[user as usize].random.random_range(0..self.weights_sum);
        let chosen = requests.iter().position(|request| {
            let hit = ticket < request.weight;
            ticket = ticket.saturating_sub(request.weight);
            hit
        });
        chosen.expect("the ticket is below the sum of all weights")
    }

    // ---- connect

    fn connect(&mut self, user: u32) -> io::Result<()> {
        let entry = &mut self.users[user as usize];
        let opened = self.shared.network.open(0, entry.number, entry.generation, None);
        entry.generation = entry.generation.wrapping_add(1);
        self.tally.connections.opened += 1;
        if mem::replace(&mut entry.has_connected, true) {
            self.tally.connections.reopened += 1;
        }
        match opened {
            Ok(transport) => {
                let token = u64::from(entry.generation) << 32 | u64::from(user);
                self.poller.add(transport.socket(), token)?;
                entry.connection = Some(Connection::new(transport));
                Ok(())
            }
            Err(fault) => self.connect_failed(user, &fault),
        }
    }

    fn connect_failed(&mut self, user: u32, fault: &Fault) -> io::Result<()> {
        match fault.cause.raw_os_error() {
            Some(libc::EADDRNOTAVAIL) => self.tally.connections.ports_exhausted += 1,
            Some(libc::ECONNREFUSED) => self.tally.connections.refused += 1,
            _ => {}
        }
        self.fail(user, fault.kind)
    }

    // ---- write

    fn write_request(&mut self, user: u32) -> io::Result<()> {
        let entry = &mut self.users[user as usize];
        let (State::Waiting(in_flight), Some(connection)) = (&mut entry.state, &mut entry.connection) else {
            return Ok(());
        };
        let prepared = &self.shared.prepared[in_flight.request];
        for variable in &prepared.variables {
            let drawn = &self.shared.plan.variables()[*variable];
            let position = if drawn.is_sequential() {
                self.shared.positions[*variable].fetch_add(1, Ordering::Relaxed)
            } else {
                0
            };
            self.drawn[*variable] = drawn.draw(&mut entry.random, position);
        }
        let bytes = prepared.bytes(&self.drawn, &mut self.scratch);
        connection.scanner.begin(prepared.is_head);
        in_flight.bytes_sent = bytes.len() as u64;
        in_flight.is_sent = true;
        match connection.transport.send(bytes) {
            Ok(()) => Ok(()),
            Err(fault) => self.fail(user, fault.kind),
        }
    }

    // ---- read

    fn handle(&mut self, ready: Ready) -> io::Result<()> {
        if Poller::is_timer(ready) {
            return Ok(());
        }
        let (user, generation) = (ready.token as u32, (ready.token >> 32) as u32);
        // An event of a connection that was given up a moment ago.
        if self.users[user as usize].generation != generation {
            return Ok(());
        }
        let connection = self.users[user as usize].connection.as_ref();
        if connection.is_some_and(|connection| !connection.transport.is_open()) {
            self.go_on_opening(user)?;
        } else if ready.writable {
            self.handle_writable(user)?;
        }
        if ready.readable && self.users[user as usize].generation == generation {
            self.handle_readable(user, ready.is_ending)?;
        }
        Ok(())
    }

    /// What was read along with the end of a handshake is told of by no event: the same event goes on to reading.
    fn go_on_opening(&mut self, user: u32) -> io::Result<()> {
        let Some(connection) = &mut self.users[user as usize].connection else { return Ok(()) };
        match connection.transport.progress() {
            Ok(Progress::Waiting) => Ok(()),
            Ok(Progress::Open) => {
                match connection.transport.handshake() {
                    None => {}
                    Some(HandshakeKind::Resumed) => self.tally.connections.tls_resumed += 1,
                    Some(_) => self.tally.connections.tls_full_handshakes += 1,
                }
                self.write_request(user)
            }
            Err(fault) => self.connect_failed(user, &fault),
        }
    }

    fn handle_writable(&mut self, user: u32) -> io::Result<()> {
        let Some(connection) = &mut self.users[user as usize].connection else { return Ok(()) };
        match connection.transport.flush() {
            Ok(()) => Ok(()),
            Err(fault) => self.fail(user, fault.kind),
        }
    }

    /// Reads until nothing is left: readiness is told once only.
    fn handle_readable(&mut self, user: u32, is_ending: bool) -> io::Result<()> {
        let mut buffer = mem::take(&mut self.buffer);
        let mut outcome = Ok(());
        while let Some(connection) = &mut self.users[user as usize].connection
            && connection.transport.is_open()
        {
            match connection.transport.read(&mut buffer) {
                Ok(Read::Bytes { count, is_all }) => {
                    outcome = self.handle_bytes(user, &buffer[..count]);
                    if is_all && !is_ending || outcome.is_err() {
                        break;
                    }
                }
                Ok(Read::Nothing) => break,
                Ok(Read::End) => {
                    outcome = self.handle_end(user);
                    break;
                }
                Err(fault) => {
                    outcome = self.fail(user, fault.kind);
                    break;
                }
            }
        }
        self.buffer = buffer;
        outcome
    }

    fn handle_bytes(&mut self, user: u32, bytes: &[u8]) -> io::Result<()> {
        let now = self.now();
        let entry = &mut self.users[user as usize];
        let (State::Waiting(in_flight), Some(connection)) = (&mut entry.state, &mut entry.connection) else {
            // Nobody asked for these bytes: the connection cannot be trusted any more.
            entry.drop_connection();
            return Ok(());
        };
        if !in_flight.is_sent {
            return self.fail(user, TransportError::Protocol);
        }
        in_flight.first_byte.get_or_insert(now);
        in_flight.bytes_received += bytes.len() as u64;
        match connection.scanner.feed(bytes, &mut in_flight.watch) {
            Ok(None) => Ok(()),
            Ok(Some(answer)) => self.answered(user, answer, bytes.len(), now),
            Err(_) => self.fail(user, TransportError::Protocol),
        }
    }

    fn handle_end(&mut self, user: u32) -> io::Result<()> {
        let now = self.now();
        let entry = &mut self.users[user as usize];
        let (State::Waiting(_), Some(connection)) = (&entry.state, &mut entry.connection) else {
            entry.drop_connection();
            return Ok(());
        };
        match connection.scanner.end() {
            Ok(answer) => self.answered(user, answer, 0, now),
            Err(_) => self.fail(user, TransportError::Read),
        }
    }

    // ---- judge

    fn answered(&mut self, user: u32, answer: Answer, fed: usize, now: Nanos) -> io::Result<()> {
        let entry = &mut self.users[user as usize];
        let State::Waiting(in_flight) = &entry.state else { return Ok(()) };
        let is_fresh = self.shared.plan.connections() == Connections::Fresh;
        let outcome = if !self.shared.prepared[in_flight.request].expect.accepts(answer.status) {
            Outcome::Status(answer.status)
        } else if in_flight.watch.is_failure() {
            Outcome::GraphQlErrors
        } else {
            Outcome::Success
        };
        // Bytes past the answer, and requests answered before they were written, spoil the connection.
        let has_unsent =
            entry.connection.as_ref().is_some_and(|connection| connection.transport.has_unsent());
        if !answer.keeps_connection || answer.consumed < fed || has_unsent || is_fresh {
            entry.drop_connection();
        }
        self.record(user, outcome, now)?;
        self.think(user, now)
    }

    fn fail(&mut self, user: u32, error: TransportError) -> io::Result<()> {
        let now = self.now();
        let entry = &mut self.users[user as usize];
        entry.drop_connection();
        if !matches!(entry.state, State::Waiting(_)) {
            return Ok(());
        }
        self.record(user, Outcome::Transport(error), now)?;
        let think = self.shared.think_time().draw(&mut self.users[user as usize].random);
        let is_opening = matches!(error, TransportError::Connect | TransportError::Tls);
        let pause = if is_opening { CONNECT_RETRY_PAUSE } else { Nanos::ZERO };
        self.plan_activity(user, now.plus(think.max(pause)));
        Ok(())
    }

    fn check_timeout(&mut self, user: u32, now: Nanos) -> io::Result<()> {
        let entry = &mut self.users[user as usize];
        entry.timeout_is_set = false;
        let State::Waiting(in_flight) = &entry.state else { return Ok(()) };
        if in_flight.deadline <= now {
            return self.fail(user, TransportError::Timeout);
        }
        entry.timeout_is_set = true;
        let deadline = in_flight.deadline;
        self.timers.set(deadline, Alarm::Timeout, user);
        Ok(())
    }

    // ---- record

    #[expect(clippy::unnecessary_wraps, reason = "the stages of a request have one shape")]
    fn record(&mut self, user: u32, outcome: Outcome, now: Nanos) -> io::Result<()> {
        let state = mem::replace(&mut self.users[user as usize].state, State::Thinking);
        let State::Waiting(in_flight) = state else { return Ok(()) };
        let record = Record {
            request: in_flight.request,
            scheduled: in_flight.scheduled,
            started: in_flight.started,
            first_byte: in_flight.first_byte,
            ended: now,
            outcome,
            bytes_sent: in_flight.bytes_sent,
            bytes_received: in_flight.bytes_received,
        };
        self.tally.record(self.shared.windows, &record);
        self.tally.longest_silence = self.tally.longest_silence.max(now.since(self.last_sign));
        self.last_sign = now;
        self.in_flight -= 1;
        Ok(())
    }

    // ---- think

    fn think(&mut self, user: u32, now: Nanos) -> io::Result<()> {
        let entry = &mut self.users[user as usize];
        let due = now.plus(self.shared.think_time().draw(&mut entry.random));
        if due >= entry.active_until {
            self.plan_activity(user, due);
            return Ok(());
        }
        if due == now && entry.connection.is_some() {
            return self.start(user, now, now);
        }
        self.timers.set(due, Alarm::Start, user);
        Ok(())
    }

    // ---- hand over

    fn hand_over_seconds(&mut self, now: Nanos) {
        while now >= Nanos::from_secs(self.second + 1) {
            self.send_tally();
        }
    }

    fn send_tally(&mut self) {
        let fresh = Tally::new(self.shared.windows, TallyShape::of(self.shared.plan));
        let tally = mem::replace(&mut self.tally, fresh);
        let busy = processor_time();
        let handover =
            Handover { thread: self.number, second: self.second, tally, busy: busy.since(self.busy_before) };
        self.busy_before = busy;
        self.second += 1;
        // The collector only goes away when the run is being given up.
        let _ = self.hand_over.send(handover);
    }
}

fn processor_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::from_secs(time.tv_sec as u64).plus(Nanos(time.tv_nsec as u64))
}
