//! What the users of one thread do and when, as a state machine: moments and what came of requests go in, actions come out.
//! It knows neither sockets nor clocks.
//!
//! [`iterations`] are a user's iterations under its load model and pacing and its steps within one, [`arrivals`] the starts of
//! open models, [`exchange`] what threads share of these, [`waits`] users whose program waits for events.

mod arrivals;
mod exchange;
mod iterations;
mod user;
mod waits;

#[cfg(test)]
mod tests;

pub(crate) use exchange::StartExchange;
pub(crate) use user::UserIndex;

use crate::recorder::Recorder;
use arrivals::Arrivals;
use prony_client::timers::Timers;
use prony_model::plan::scenario::Scenario;
use prony_model::program::{Event, ThreadPlace, UserPlace};
use prony_model::{Nanos, Plan, TransportError};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use user::{State, User};

/// What has to be done for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Its program is asked for the next step, and [`UserMachine::on_step`] hears of it.
    Ask { user: UserIndex, reason: AskReason, due: Nanos, now: Nanos },
    /// Its program is told that the time of its wait is over, and asked for the next step.
    Wake { user: UserIndex },
    /// Its program is told that its iteration ends at once; it does not count as completed.
    Interrupt { user: UserIndex },
    /// What it has open is abandoned.
    Abandon { user: UserIndex },
    /// It takes part no more: its idle connections are closed.
    Leave { user: UserIndex },
}

/// Why a program is asked for a step: the events of [`prony_model::program::Event`] that the machine decides on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskReason {
    Begin,
    Paused,
    Answered,
    Failed(TransportError),
}

impl From<AskReason> for Event<'_> {
    fn from(reason: AskReason) -> Self {
        match reason {
            AskReason::Begin => Self::Begin,
            AskReason::Paused => Self::Paused,
            AskReason::Answered => Self::Answered,
            AskReason::Failed(error) => Self::Failed(error),
        }
    }
}

#[derive(Debug)]
pub(crate) struct UserMachine<'a> {
    plan: &'a Plan,
    /// By scenario: iterations that nobody has taken yet, where the load model has a budget that its users share.
    budgets: &'a [AtomicU64],
    exchange: &'a StartExchange,
    /// Its number among the threads that share the exchange.
    thread: u32,
    users: Vec<User>,
    /// By scenario; those of other load models never have any.
    arrivals: Vec<Arrivals>,
    /// Scenarios of open models.
    open: Vec<usize>,
    /// Iterations of some scenario are those of a script.
    has_scripts: bool,
    timers: Timers<(Alarm, UserIndex)>,
    actions: VecDeque<Action>,
    /// When nothing is started any more.
    end: Nanos,
    /// Users within an iteration of a program that waits.
    listening: u32,
    /// Users that have something left to do.
    alive: u32,
    /// The program wants no more starts on this thread.
    is_stopping: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alarm {
    /// The user goes on: with an iteration, after a pause, or after a failure.
    Act,
    /// The time for which a program wants its user to wait is over.
    Wake,
    /// An iteration of a script may have no more time.
    Interrupt,
}

impl<'a> UserMachine<'a> {
    /// `thread`: its number among those that share the exchange; `place`: which users and starts of the run are its own.
    pub(crate) fn new(
        plan: &'a Plan,
        budgets: &'a [AtomicU64],
        exchange: &'a StartExchange,
        thread: u32,
        place: ThreadPlace,
    ) -> Self {
        let places = plan.user_places().filter(|user| place.has(user.number));
        let users: Vec<User> = places.map(|user| User::new(plan.seed(), user)).collect();
        let scenarios = plan.scenarios().iter().enumerate();
        let arrivals = scenarios.scan(0, |first_user, (index, scenario)| {
            let arrivals = Arrivals::new(scenario, index, plan.seed(), place, *first_user);
            *first_user += scenario.load.users_max();
            Some(arrivals)
        });
        let open = plan.scenarios().iter().enumerate().filter(|(_, scenario)| scenario.load.is_open());
        let mut machine = Self {
            plan,
            budgets,
            exchange,
            thread,
            alive: users.len() as u32,
            arrivals: arrivals.collect(),
            open: open.map(|(index, _)| index).collect(),
            has_scripts: plan.scenarios().iter().any(Scenario::is_script),
            users,
            timers: Timers::default(),
            actions: VecDeque::new(),
            end: plan.duration(),
            listening: 0,
            is_stopping: false,
        };
        (0..machine.users.len() as u32).for_each(|user| machine.admit(UserIndex(user)));
        machine.enter_exchange();
        machine
    }

    /// Its users and starts were another machine's until this moment: what was due before is none of its business. Before the first
    /// action is taken.
    pub(crate) fn join(&mut self, from: Nanos) {
        (self.timers, self.actions) = (Timers::default(), VecDeque::new());
        for user in self.users() {
            if !self.is_free(user) {
                self.plan_activity(user, from, from);
            }
        }
        self.skip_starts(from);
    }

    /// Gets a user ready for its scenario's load model: to serve starts, or to begin by itself within its budget.
    fn admit(&mut self, user: UserIndex) {
        let scenario = self.user(user).place.scenario;
        let load = &self.plan.scenarios()[scenario].load;
        if load.is_open() {
            return self.admit_serving(user);
        }
        self.user(user).iterations_left = load.budget.of_each_user().unwrap_or(u64::MAX);
        self.plan_activity(user, Nanos::ZERO, Nanos::ZERO);
    }

    fn user(&mut self, user: UserIndex) -> &mut User {
        &mut self.users[user.0 as usize]
    }

    pub(crate) fn place_of(&self, user: UserIndex) -> UserPlace {
        self.users[user.0 as usize].place
    }

    pub(crate) fn users(&self) -> impl ExactSizeIterator<Item = UserIndex> + use<> {
        (0..self.users.len() as u32).map(UserIndex)
    }

    /// True where the user only serves starts, and none is under way.
    pub(crate) fn is_free(&self, user: UserIndex) -> bool {
        self.users[user.0 as usize].state == State::Free
    }

    pub(crate) fn is_listening(&self, user: UserIndex) -> bool {
        self.users[user.0 as usize].state == State::Listening
    }

    /// Users in an iteration or between two; of those that serve starts, the busy ones.
    pub(crate) fn users_active(&self, now: Nanos) -> u32 {
        let is_active = |user: &&User| {
            !matches!(user.state, State::Gone | State::Departing | State::Free) && user.active_from <= now
        };
        self.users.iter().filter(is_active).count() as u32
    }

    /// What has to be done next.
    pub(crate) fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`UserMachine::on_time`] has something to do.
    pub(crate) fn next_moment(&self, now: Nanos) -> Nanos {
        let end = if now < self.end { self.end } else { Nanos::MAX };
        let alarm = self.timers.next().unwrap_or(Nanos::MAX);
        let starts = self.open.iter().filter_map(|scenario| self.arrivals[*scenario].next_due());
        let start = starts.min().unwrap_or(Nanos::MAX);
        let handed = if self.exchange.has_handed(self.thread) { now } else { Nanos::MAX };
        alarm.min(start).min(end).min(handed)
    }

    /// Time has passed: handles one alarm or start that is due; false where none is. What comes of one has to be done before
    /// the next, since it may free a user.
    pub(crate) fn on_time(&mut self, now: Nanos, recorder: &mut Recorder<'_>) -> bool {
        let Some((at, (alarm, user))) = self.timers.pop_due(now) else {
            return self.serve_start(now, recorder);
        };
        match alarm {
            Alarm::Act => self.act(user, at, now, recorder),
            Alarm::Wake => self.wake(user, at, now, recorder),
            Alarm::Interrupt => self.check_grace(user, at, now),
        }
        true
    }

    /// True where no user has anything left to do but to wait for responses.
    pub(crate) fn is_over(&self, now: Nanos) -> bool {
        let starts_no_more = self.is_stopping || now >= self.end && !self.owes_starts();
        let is_done = || (0..self.arrivals.len()).all(|scenario| self.is_done(scenario, now));
        let has_nothing_left = || self.alive == 0 && is_done();
        self.listening == 0
            && (starts_no_more || has_nothing_left())
            && !self.exchange.has_handed(self.thread)
    }

    /// By then the last response has come or was given up, and the last iteration of a script was interrupted.
    pub(crate) fn last_moment(&self) -> Nanos {
        let scripts = self.plan.scenarios().iter().filter(|scenario| scenario.is_script());
        let grace = scripts.map(|scenario| scenario.end().plus(scenario.grace.stop)).max();
        let responses = self.end.plus(self.plan.timeout());
        responses.max(grace.unwrap_or_default()).plus(Nanos::from_secs(1))
    }

    /// The run is over: iterations that wait for events are interrupted, starts that wait are dropped.
    pub(crate) fn finish(&mut self, now: Nanos, recorder: &mut Recorder<'_>) {
        if now >= self.end {
            self.drop_owed(recorder);
        }
        self.leave_exchange(now, recorder);
        for user in self.users() {
            if self.is_listening(user) {
                self.actions.push_back(Action::Interrupt { user });
                self.leave(user);
            }
        }
        self.drop_waiting(recorder);
    }
}
