//! One user: passes of its group's loop, samples with what comes before and after them, and what ends them.

use crate::js::Engine;
use crate::plan::{Action, PreProcessor, Sampler, SamplerKind, Timer};
use crate::run::context::{Context, ThreadState};
use crate::run::exchange::{Exchange, Turn, Wire};
use crate::run::groups::{GroupRun, GroupsWorkload};
use crate::run::position::{LAST_SAMPLE_OK, Leave, Next, Position, Surroundings};
use crate::run::result::SampleResult;
use crate::run::shared::Variables;
use crate::run::sink::ThreadSink;
use crate::run::timers::Crowd;
use crate::run::web::Web;
use crate::run::websocket::{UserSocket, WebSocketSample};
use crate::run::{data, debug, dummy, scripts};
use crate::text;
use compact_str::CompactString;
use prony_model::Nanos;
use prony_model::measurement::record::TransportError;
use prony_model::program::call::{Ask, WaitEvent};
use prony_model::program::{Event, Outgoing, ProgramError, Step, UserPlace};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustc_hash::FxHashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Samplers in a row that wait for nothing: then others come first.
const IMMEDIATE_MAX: u32 = 1_000;
const GIVE_WAY: Nanos = Nanos::from_millis(1);
/// How often one that waits for others looks again.
const LOOK_AGAIN: Nanos = Nanos::from_millis(5);

#[derive(Debug)]
pub(crate) struct User {
    /// Index into the workload's groups.
    pub(super) group: usize,
    /// In the run, from 0.
    pub(super) number: u32,
    pub(super) vars: Variables,
    pub(super) thread: ThreadState,
    pub(super) position: Position,
    pub(super) web: Web,
    pub(super) socket: UserSocket,
    pub(super) doing: Doing,
    /// When what it waits for is over, if that has a time.
    pub(super) wake_at: Option<Nanos>,
    is_active: bool,
    /// When its present activity ends, where its group's users come and go.
    until: Option<Nanos>,
    /// When the first schedule ends of the Throughput Shaping Timers that it has come to.
    schedule_end: Option<Nanos>,
}

#[derive(Debug, Default)]
pub(super) enum Doing {
    #[default]
    Nothing,
    /// Groups before its own have not ended, or its part in the ramp has not come.
    Gate,
    /// In a timer before a sampler.
    Delay(usize),
    /// At a Synchronizing Timer before a sampler, until others come or this moment.
    Meeting {
        sampler: usize,
        site: u32,
        round: u64,
        until: Nanos,
        delay: Nanos,
    },
    /// Nothing but time passes.
    Pause,
    /// The time passes that a Dummy Sampler's sample has.
    Dummy(usize, Box<SampleResult>),
    Exchange(Box<Exchange>),
    WebSocket(Box<WebSocketSample>),
}

impl Doing {
    /// True of what the figures of the run have only when it is over.
    const fn is_counted_at_its_end(&self) -> bool {
        matches!(self, Self::Exchange(_) | Self::WebSocket(_))
    }
}

/// How a user goes on behind a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    EndPass,
    Leave,
}

/// How a sample was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SampleOrigin {
    /// Without a request.
    Here,
    Requested,
    /// No response came.
    Failing(TransportError),
}

/// What a user's steps are made with.
pub(crate) struct Runner<'a, 'b> {
    pub(crate) workload: &'a GroupsWorkload,
    pub(crate) engine: &'b Engine,
    pub(crate) sink: &'b mut ThreadSink<'a>,
    pub(crate) names: &'b mut FxHashMap<String, usize>,
    pub(crate) out: &'b mut Outgoing,
}

impl User {
    pub(crate) fn new(workload: &GroupsWorkload, engine: &Engine, place: UserPlace) -> Self {
        let run = &workload.groups[place.scenario];
        let mut random = ChaCha8Rng::seed_from_u64(workload.seed);
        random.set_stream(u64::from(place.number));
        let number = place.number - run.first_user + 1;
        let mut thread = ThreadState {
            group: Arc::clone(&run.group.name),
            number,
            name: format!("{} {}-{number}", run.group.name, run.number).into(),
            random,
            counters: FxHashMap::default(),
            counts: FxHashMap::default(),
            rows: FxHashMap::default(),
            previous: None,
            sampler: CompactString::default(),
            index_name: format!("__jm__{}__idx", run.group.name),
            iteration: 0,
        };
        let mut vars = workload.variables.clone();
        vars.set(LAST_SAMPLE_OK, "true");
        let web = {
            let mut context = Context {
                vars: &mut vars,
                thread: &mut thread,
                shared: &workload.shared,
                engine,
                evaluate_text: text::evaluate,
            };
            Web::new(&run.group, &mut context)
        };
        Self {
            group: place.scenario,
            number: place.number,
            vars,
            thread,
            position: Position::new(&run.group),
            web,
            socket: UserSocket::default(),
            doing: Doing::Nothing,
            wake_at: None,
            is_active: false,
            until: None,
            schedule_end: None,
        }
    }
}

/// A user's parts beside what it does, borrowed apart from each other.
macro_rules! parts {
    ($self:ident, $user:ident) => {{
        let run: &GroupRun = &$self.workload.groups[$user.group];
        let around = Surroundings {
            group: &run.group,
            data: &$self.workload.data,
            user: $user.number,
            shared_counts: &run.counts,
            turns: &run.turns,
        };
        let context = Context {
            vars: &mut $user.vars,
            thread: &mut $user.thread,
            shared: &$self.workload.shared,
            engine: $self.engine,
            evaluate_text: text::evaluate,
        };
        (run, around, context)
    }};
}

impl Runner<'_, '_> {
    pub(crate) fn next(&mut self, user: &mut User, event: Event<'_>) -> Result<Step, ProgramError> {
        let step = match event {
            Event::Begin => self.begin(user),
            Event::Waited(event) => self.waited(user, event),
            Event::Paused | Event::Answered | Event::Failed(_) => Ok(Step::EndIteration),
        }?;
        user.wake_at = match step {
            Step::Wait(Some(time)) => Some(self.now().plus(time)),
            _ => None,
        };
        Ok(step)
    }

    pub(super) fn run_of(&self, user: &User) -> &GroupRun {
        &self.workload.groups[user.group]
    }

    pub(super) fn now(&self) -> Nanos {
        self.workload.shared.clock.now()
    }

    // ---- passes

    fn begin(&mut self, user: &mut User) -> Result<Step, ProgramError> {
        if !user.is_active {
            if let Some(wait) = self.gate(user) {
                user.doing = Doing::Gate;
                return Ok(Step::Wait(Some(wait)));
            }
            user.is_active = true;
            self.run_of(user).active.fetch_add(1, Ordering::Relaxed);
            self.workload.all_active.fetch_add(1, Ordering::Relaxed);
        }
        self.begin_activity(user);
        if self.is_over(user) {
            return Ok(self.leave(user));
        }
        user.thread.iteration += 1;
        let (run, around, mut context) = parts!(self, user);
        let iteration = context.thread.iteration;
        context.vars.set(&context.thread.index_name, itoa::Buffer::new().format(iteration - 1));
        if user.web.begin_pass(&run.group, iteration == 1, &mut context) {
            self.out.asks.push(Ask::CloseConnections);
        }
        match user.position.begin(&around, &mut context) {
            None => self.advance(user),
            Some(Next::Fail(message)) => Err(ProgramError::Script(message)),
            Some(_) => Ok(self.leave(user)),
        }
    }

    /// Users that come and go end with their part of the load; those that serve starts are new ones each time.
    fn begin_activity(&mut self, user: &mut User) {
        let run = self.run_of(user);
        if run.is_open {
            let place = UserPlace { number: user.number, scenario: user.group };
            let fresh = User::new(self.workload, self.engine, place);
            (user.vars, user.web, user.position) = (fresh.vars, fresh.web, fresh.position);
            self.out.asks.extend(user.socket.open_id().map(Ask::DropCall));
            user.socket.forget();
            user.thread.begin_anew();
        } else if run.duration.is_some() {
            let now = self.now().since(run.start);
            let activities = run.load.activities_of(user.number - run.first_user);
            let active = activities.into_iter().find(|activity| now < activity.stop);
            user.until = active.map(|activity| run.start.plus(activity.stop));
        }
    }

    /// How long a user waits for the groups before its own, and for its part in the ramp.
    fn gate(&self, user: &User) -> Option<Nanos> {
        if !self.workload.is_serial {
            return None;
        }
        let before = &self.workload.groups[..user.group];
        if before.iter().any(|group| group.done.load(Ordering::Acquire) < group.own_users) {
            return Some(LOOK_AGAIN);
        }
        let run = self.run_of(user);
        let began = *run.began.get_or_init(|| self.now());
        let share = u64::from(user.number - run.first_user) * run.ramp.0 / u64::from(run.users.max(1));
        let wait = began.plus(run.start).plus(Nanos(share)).since(self.now());
        (wait > Nanos::ZERO).then_some(wait)
    }

    /// True where the test, the group's time or the schedule of the user's starts is over.
    fn is_over(&self, user: &User) -> bool {
        self.workload.is_ending.load(Ordering::Relaxed)
            || self.end_of(user).is_some_and(|end| self.now() >= end)
            || user.schedule_end.is_some_and(|end| self.now() >= end)
    }

    fn end_of(&self, user: &User) -> Option<Nanos> {
        let run = self.run_of(user);
        if self.workload.is_serial {
            return Some(run.began.get().copied()?.plus(run.start).plus(run.duration?));
        }
        user.until
    }

    fn leave(&mut self, user: &mut User) -> Step {
        self.cut_transactions(user);
        self.retire(user);
        Step::Leave
    }

    /// Leaves behind a sample. JMeter asks its controllers once more for what is next, so that transactions that end there are samples
    /// yet; where a parent is around, that one is cut.
    fn leave_behind(&mut self, user: &mut User) -> Step {
        // Transactions without samplers, in a loop without an end, would be followed by further ones for ever.
        for _ in 0..IMMEDIATE_MAX {
            if user.position.parent().is_some() {
                break;
            }
            let (_, around, mut context) = parts!(self, user);
            let Next::Transaction(transaction) = user.position.next(&around, &mut context) else { break };
            self.end_transaction(user, *transaction);
        }
        self.leave(user)
    }

    /// The user is no longer one of its group's.
    fn retire(&self, user: &mut User) {
        if mem::take(&mut user.is_active) {
            let run = self.run_of(user);
            run.active.fetch_sub(1, Ordering::Relaxed);
            self.workload.all_active.fetch_sub(1, Ordering::Relaxed);
            run.done.fetch_add(1, Ordering::Release);
        }
    }

    fn end_pass(&self, user: &mut User) -> Step {
        if self.run_of(user).loops.is_some_and(|loops| user.thread.iteration >= loops) {
            self.retire(user);
        }
        Step::EndIteration
    }

    // ---- what has come

    fn waited(&mut self, user: &mut User, event: WaitEvent<'_>) -> Result<Step, ProgramError> {
        match event {
            WaitEvent::Woken => self.woken(user),
            WaitEvent::Interrupted => {
                self.out.unfinished = u32::from(user.doing.is_counted_at_its_end());
                self.cut_transactions(user);
                self.retire(user);
                Ok(Step::EndInterrupted)
            }
            WaitEvent::Answered { .. } | WaitEvent::Failed { .. } => self.heard(user, event),
            WaitEvent::Socket { socket, event, bytes } => self.websocket_event(user, socket, event, bytes),
            WaitEvent::Channel { .. } => Ok(Step::Wait(None)),
        }
    }

    fn woken(&mut self, user: &mut User) -> Result<Step, ProgramError> {
        match mem::take(&mut user.doing) {
            Doing::Gate => self.begin(user),
            Doing::Nothing | Doing::Pause => self.advance(user),
            Doing::Delay(sampler) => self.sample_and_advance(user, sampler),
            Doing::Dummy(sampler, sample) => {
                let flow = self.finish(user, sampler, *sample, Vec::new(), SampleOrigin::Here);
                self.follow(user, flow)
            }
            Doing::Meeting { sampler, site, round, until, delay } => {
                let is_late = self.now() >= until || self.is_over(user);
                if !is_late && !self.workload.rhythms.is_met(site, round) {
                    user.doing = Doing::Meeting { sampler, site, round, until, delay };
                    return Ok(Step::Wait(Some(LOOK_AGAIN)));
                }
                if is_late {
                    self.workload.rhythms.give_up(site, round);
                }
                self.wait_or_sample(user, sampler, delay)
            }
            Doing::Exchange(exchange) => {
                user.doing = Doing::Exchange(exchange);
                Ok(Step::Wait(None))
            }
            Doing::WebSocket(sample) => self.websocket_woken(user, sample),
        }
    }

    fn heard(&mut self, user: &mut User, event: WaitEvent<'_>) -> Result<Step, ProgramError> {
        let Doing::Exchange(mut exchange) = mem::take(&mut user.doing) else { return self.advance(user) };
        let index = exchange.sampler;
        let (run, _, mut context) = parts!(self, user);
        let SamplerKind::Http(http) = &run.group.samplers[index].kind else { return Ok(Step::EndIteration) };
        let mut wire = Wire { tables: &self.workload.tables, out: self.out, web: &mut user.web, http };
        let turn = match event {
            WaitEvent::Answered { call, answer, times, bytes, .. } => {
                exchange.answered(call, answer, &times, bytes, &mut wire, &mut context)
            }
            WaitEvent::Failed { call, fault, times, bytes, .. } => {
                exchange.failed(call, &fault, &times, bytes, &mut wire, &mut context)
            }
            _ => Turn::Waits,
        };
        if matches!(turn, Turn::Waits) {
            user.doing = Doing::Exchange(exchange);
            return Ok(Step::Wait(None));
        }
        let made = exchange.transport.map_or(SampleOrigin::Requested, SampleOrigin::Failing);
        let (sample, parts) = exchange.end();
        let flow = self.finish(user, index, sample, parts, made);
        self.follow(user, flow)
    }

    /// Goes on behind a sample.
    pub(super) fn follow(&mut self, user: &mut User, flow: Flow) -> Result<Step, ProgramError> {
        match flow {
            Flow::On => self.advance(user),
            Flow::EndPass => Ok(self.end_pass(user)),
            Flow::Leave => Ok(self.leave_behind(user)),
        }
    }

    // ---- from sampler to sampler

    fn advance(&mut self, user: &mut User) -> Result<Step, ProgramError> {
        for _ in 0..IMMEDIATE_MAX {
            if self.is_over(user) {
                return Ok(self.leave_behind(user));
            }
            let (_, around, mut context) = parts!(self, user);
            let flow = match user.position.next(&around, &mut context) {
                Next::Sampler(index) => match self.before(user, index)? {
                    Some(step) => return Ok(step),
                    None => match self.sample(user, index) {
                        Ok(flow) => flow,
                        Err(step) => return Ok(step),
                    },
                },
                Next::Transaction(transaction) => {
                    self.end_transaction(user, *transaction);
                    Flow::On
                }
                Next::End => Flow::EndPass,
                Next::GiveWay => break,
                Next::StopThread => return Ok(self.leave(user)),
                Next::Fail(message) => return Err(ProgramError::Script(message)),
            };
            match flow {
                Flow::On => {}
                Flow::EndPass => return Ok(self.end_pass(user)),
                Flow::Leave => return Ok(self.leave_behind(user)),
            }
        }
        user.doing = Doing::Pause;
        Ok(Step::Wait(Some(GIVE_WAY)))
    }

    /// Pre-processors, then timers: the wait before the sample, where there is one.
    fn before(&mut self, user: &mut User, index: usize) -> Result<Option<Step>, ProgramError> {
        let (run, _, mut context) = parts!(self, user);
        let sampler: &Sampler = &run.group.samplers[index];
        context.thread.sampler = sampler.name.text(&mut context).into();
        for processor in &sampler.before {
            match &**processor {
                PreProcessor::Script(script) => drop(context.run_script(script, None)),
                PreProcessor::UserParameters(parameters) => data::user_parameters(parameters, &mut context),
            }
        }
        // A name may have what they have set; JMeter reads it before and behind them too.
        if sampler.name.as_literal().is_none() {
            context.thread.sampler = sampler.name.text(&mut context).into();
        }
        let crowd = Crowd {
            user: user.number,
            group: user.group,
            in_group: run.turns.all_of(run.active.load(Ordering::Relaxed)),
            in_all: self.workload.turns.all_of(self.workload.all_active.load(Ordering::Relaxed)),
        };
        let (mut delay, mut meeting) = (Nanos::ZERO, None);
        // A pause has no timers, as in JMeter it has.
        for timer in &sampler.timers {
            if let Timer::Synchronizing { size, timeout_ms, site } = &**timer {
                let size = size.number(&mut context).and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
                let size = match size {
                    0 => u64::from(run.own_users),
                    size => self.workload.rhythms.meeting_here(*site, size),
                };
                let timeout =
                    timeout_ms.number(&mut context).and_then(|time| u64::try_from(time).ok()).unwrap_or(0);
                meeting = Some((*site, size, timeout));
            } else {
                delay = delay.plus(self.workload.rhythms.delay(timer, crowd, &mut context));
                let end = self.workload.rhythms.schedule_end(timer);
                user.schedule_end = user.schedule_end.into_iter().chain(end).min();
            }
        }
        if let Some((site, size, timeout_ms)) = meeting
            && let Some(round) = self.workload.rhythms.meet(site, size)
        {
            let until =
                if timeout_ms == 0 { Nanos::MAX } else { self.now().plus(Nanos::from_millis(timeout_ms)) };
            user.doing = Doing::Meeting { sampler: index, site, round, until, delay };
            return Ok(Some(Step::Wait(Some(LOOK_AGAIN))));
        }
        // Who comes to a schedule that is over has nothing to wait for, and makes no sample.
        if delay > Nanos::ZERO || self.is_over(user) {
            return Ok(Some(self.wait_or_sample(user, index, delay)?));
        }
        Ok(None)
    }

    /// Waits, not past the group's end, or goes on at once.
    fn wait_or_sample(&mut self, user: &mut User, index: usize, delay: Nanos) -> Result<Step, ProgramError> {
        let delay = self.end_of(user).map_or(delay, |end| delay.min(end.since(self.now())));
        if delay == Nanos::ZERO {
            return self.sample_and_advance(user, index);
        }
        user.doing = Doing::Delay(index);
        Ok(Step::Wait(Some(delay)))
    }

    fn sample_and_advance(&mut self, user: &mut User, index: usize) -> Result<Step, ProgramError> {
        if self.is_over(user) {
            return Ok(self.leave(user));
        }
        match self.sample(user, index) {
            Ok(flow) => self.follow(user, flow),
            Err(step) => Ok(step),
        }
    }

    // ---- one sampler

    /// Makes a sample; the error is the step with which the user waits for it.
    fn sample(&mut self, user: &mut User, index: usize) -> Result<Flow, Step> {
        let (run, _, mut context) = parts!(self, user);
        let sampler = &run.group.samplers[index];
        let label = context.thread.sampler.clone();
        let sample = match &sampler.kind {
            SamplerKind::Http(http) => {
                let mut wire =
                    Wire { tables: &self.workload.tables, out: self.out, web: &mut user.web, http };
                match Exchange::begin(index, label, &mut wire, &mut context) {
                    Ok(Some(exchange)) => {
                        user.doing = Doing::Exchange(Box::new(exchange));
                        return Err(Step::Wait(None));
                    }
                    Ok(None) => return Ok(Flow::On),
                    Err(sample) => {
                        return Ok(self.finish(user, index, *sample, Vec::new(), SampleOrigin::Requested));
                    }
                }
            }
            SamplerKind::WebSocket(_) => return self.begin_websocket(user, index, label),
            SamplerKind::Action { action, duration_ms } => {
                let duration = duration_ms.number(&mut context).and_then(|time| u64::try_from(time).ok());
                return self.act(user, *action, Nanos::from_millis(duration.unwrap_or(0)));
            }
            SamplerKind::Debug { variables, properties } => {
                debug::sample(label, *variables, *properties, context.shared.clock.now(), &context)
            }
            SamplerKind::Script(script) => scripts::sample(script, label, &mut context),
            SamplerKind::Dummy(sampler) => {
                let sample = dummy::sample(label, sampler, &mut context);
                let time = sample.elapsed();
                if sampler.waits && time > Nanos::ZERO {
                    user.doing = Doing::Dummy(index, Box::new(sample));
                    return Err(Step::Wait(Some(time)));
                }
                sample
            }
        };
        Ok(self.finish(user, index, sample, Vec::new(), SampleOrigin::Here))
    }

    fn act(&mut self, user: &mut User, action: Action, duration: Nanos) -> Result<Flow, Step> {
        let group = Arc::clone(&self.run_of(user).group);
        match action {
            Action::Pause => {
                user.doing = Doing::Pause;
                Err(Step::Wait(Some(duration)))
            }
            Action::StopThread => Ok(Flow::Leave),
            Action::StopTest => Ok(self.stop_test(false)),
            Action::StopTestNow => Ok(self.stop_test(true)),
            Action::StartNextLoop | Action::NextOfCurrentLoop | Action::BreakCurrentLoop => {
                let leave = match action {
                    Action::StartNextLoop => Leave::All,
                    Action::NextOfCurrentLoop => Leave::Pass,
                    _ => Leave::Break,
                };
                let left = user.position.leave(&group, leave);
                self.end_left(user, left);
                Ok(match leave {
                    Leave::All => Flow::EndPass,
                    // The loop that is broken off is the group's.
                    Leave::Break if user.position.is_outside() => Flow::Leave,
                    _ => Flow::On,
                })
            }
        }
    }

    pub(super) fn stop_test(&self, at_once: bool) -> Flow {
        self.workload.is_ending.store(true, Ordering::Relaxed);
        if at_once {
            self.workload.is_stopping.store(true, Ordering::Relaxed);
        }
        Flow::Leave
    }
}
