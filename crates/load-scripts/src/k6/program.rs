//! A script as a program of a load test: iterations begun, what is heard passed on, what came of them told.

use super::host::{Clock, UserState};
use super::vm::{Call, Ended, Machine, Phase, Progress, Script, ScriptError, User, waits};
use prony_load_model::call::News;
use prony_load_model::program::{
    Answer, Event, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace, Workload,
};
use prony_load_model::record::Outcome;
use prony_load_model::table::Tables;
use prony_load_model::units::Nanos;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Which part of a script's life is run. All but the iterations are run as one user with one iteration.
#[derive(Debug, Clone)]
pub enum Entry {
    /// `setup()`; its result, JSON, is [`ScriptWorkload::take_returned`].
    Setup,
    Iterations,
    /// `teardown(data)`.
    Teardown,
    /// `handleSummary(data)`, with this JSON; its result as with setup.
    Summary(Arc<str>),
}

/// What a scenario says of its users' script, by the plan's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioSpec {
    pub name: String,
    /// The exported function that is called.
    pub exec: String,
    /// Added to `__ENV` while its users run.
    pub environment: Vec<(String, String)>,
}

/// Told what becomes of iterations, on the thread of their user.
pub trait Watcher: Send + Sync {
    fn ended(&self, iteration: &mut IterationEnd<'_>);
}

/// An iteration that is over.
#[derive(Debug)]
pub struct IterationEnd<'a> {
    pub user: UserPlace,
    pub state: &'a mut UserState,
    pub ended: Nanos,
    pub error: Option<&'a ScriptError>,
}

/// A script with what is run of it.
pub struct ScriptWorkload {
    pub script: Arc<Script>,
    pub entry: Entry,
    pub scenarios: Vec<ScenarioSpec>,
    /// What `setup` returned, as JSON.
    pub setup_data: Option<Arc<str>>,
    /// Users whose init code runs before the load begins, over all threads. Others are made when they are needed.
    pub users: u32,
    pub watcher: Arc<dyn Watcher>,
    returned: Mutex<Option<Ended>>,
}

impl ScriptWorkload {
    pub fn new(script: Arc<Script>, entry: Entry, watcher: Arc<dyn Watcher>) -> Self {
        Self {
            script,
            entry,
            scenarios: Vec::new(),
            setup_data: None,
            users: 1,
            watcher,
            returned: Mutex::default(),
        }
    }

    /// What the function of [`Entry::Setup`], [`Entry::Teardown`] or [`Entry::Summary`] returned, as JSON, or the
    /// error it ended with; none where it has not ended.
    pub fn take_returned(&self) -> Option<Ended> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn call(&self, scenario: usize) -> Call {
        let (phase, function, argument) = match &self.entry {
            Entry::Setup => (Phase::Setup, "setup", None),
            Entry::Teardown => (Phase::Teardown, "teardown", self.setup_data.clone()),
            Entry::Summary(data) => (Phase::Summary, "handleSummary", Some(Arc::clone(data))),
            Entry::Iterations => {
                let exec = self.scenarios.get(scenario).map_or("default", |scenario| &scenario.exec);
                (Phase::Iteration, exec, self.setup_data.clone())
            }
        };
        Call { phase, function: function.to_owned(), argument, returns: phase != Phase::Iteration }
    }
}

impl Workload for ScriptWorkload {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        let program = ScriptProgram::new(self, thread, Clock::Real(Instant::now()))?;
        Ok(Box::new(program))
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.script.tables)
    }
}

impl fmt::Debug for ScriptWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptWorkload").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// The users of one thread.
#[derive(Debug)]
pub struct ScriptProgram<'a> {
    workload: &'a ScriptWorkload,
    thread: ThreadPlace,
    machine: Machine,
    users: Vec<Option<User>>,
}

impl<'a> ScriptProgram<'a> {
    pub fn new(workload: &'a ScriptWorkload, thread: ThreadPlace, clock: Clock) -> Result<Self, ScriptError> {
        let machine = Machine::new(Arc::clone(&workload.script), clock)?;
        let mut program = Self { workload, thread, machine, users: Vec::new() };
        for index in 0..thread.count_of(workload.users) {
            let number = index as u32 * thread.threads + thread.number;
            program.make_user(number)?;
        }
        Ok(program)
    }

    fn make_user(&mut self, number: u32) -> Result<usize, ScriptError> {
        let index = self.thread.index_of(number);
        let is_iterations = matches!(self.workload.entry, Entry::Iterations);
        let vu = if is_iterations { number + 1 } else { 0 };
        let user = self.machine.user(UserState { vu, ..UserState::default() })?;
        if self.users.len() <= index {
            self.users.resize_with(index + 1, || None);
        }
        self.users[index] = Some(user);
        Ok(index)
    }

    fn begin(&mut self, place: UserPlace) -> Result<Step, ScriptError> {
        let mut index = self.thread.index_of(place.number);
        if self.users.get(index).is_none_or(Option::is_none) {
            index = self.make_user(place.number)?;
        }
        let user = self.users[index].as_mut().expect("it was just made");
        user.state().scenario = place.scenario;
        let progress = self.machine.begin(user, self.workload.call(place.scenario))?;
        Ok(self.step(index, place, progress))
    }

    /// What the runner does next for a user that has given up the thread.
    fn step(&mut self, index: usize, place: UserPlace, progress: Progress) -> Step {
        let user = self.users[index].as_mut().expect("a user that ran is there");
        match progress {
            Progress::Parked => {
                let due = user.state().waits.next_due();
                Step::Wait(due.map(|due| due.since(self.machine.host().now())))
            }
            Progress::Ended => {
                if let Some(ended) = user.take_ended() {
                    self.tell(index, place, ended);
                }
                Step::EndIteration
            }
        }
    }

    fn tell(&mut self, index: usize, place: UserPlace, ended: Ended) {
        let now = self.machine.host().now();
        let user = self.users[index].as_mut().expect("a user that ran is there");
        let state = user.state();
        let error = ended.as_ref().err();
        self.workload.watcher.ended(&mut IterationEnd { user: place, state, ended: now, error });
        state.iteration += 1;
        if !matches!(self.workload.entry, Entry::Iterations) {
            let mut returned = self.workload.returned.lock().unwrap_or_else(PoisonError::into_inner);
            *returned = Some(ended);
        }
    }

    fn told(&mut self, place: UserPlace, news: News<'_>) -> Step {
        let index = self.thread.index_of(place.number);
        let phase = self.workload.call(place.scenario).phase;
        let Some(user) = self.users.get_mut(index).and_then(Option::as_mut) else {
            return Step::EndIteration;
        };
        let progress = if matches!(news, News::Interrupted) {
            self.machine.interrupt(user, phase);
            Progress::Ended
        } else {
            if let Some((id, heard)) = waits::kept(news) {
                user.state().waits.push(id, heard);
            }
            self.machine.resume(user, phase)
        };
        self.step(index, place, progress)
    }
}

impl Program for ScriptProgram<'_> {
    fn next(&mut self, user: UserPlace, event: Event, out: &mut Outgoing) -> Result<Step, ProgramError> {
        match event {
            Event::Begin => {
                std::mem::swap(out, &mut self.machine.host().outgoing());
                let step = self.begin(user);
                std::mem::swap(out, &mut self.machine.host().outgoing());
                Ok(step?)
            }
            // Scripts wait in no other way than `Step::Wait`.
            Event::Paused | Event::Answered | Event::Failed(_) => Ok(Step::EndIteration),
        }
    }

    fn judge(
        &mut self,
        _user: UserPlace,
        _request: usize,
        _answer: &Answer<'_>,
    ) -> Result<Outcome, ProgramError> {
        Ok(Outcome::Success)
    }

    fn hear(&mut self, user: UserPlace, news: News<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        std::mem::swap(out, &mut self.machine.host().outgoing());
        let step = self.told(user, news);
        std::mem::swap(out, &mut self.machine.host().outgoing());
        Ok(step)
    }
}

impl Drop for ScriptProgram<'_> {
    fn drop(&mut self) {
        for user in self.users.drain(..).flatten() {
            self.machine.drop_user(user);
        }
    }
}

impl From<ScriptError> for ProgramError {
    fn from(error: ScriptError) -> Self {
        Self(error.to_string())
    }
}
