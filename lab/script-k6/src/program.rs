//! A script as a program of a load test: iterations begun, what is heard passed on, what came of them told.

use super::host::{Clock, UserState};
use super::modules::execution::{self, RunEnd, RunState};
use super::vm::{Call, Ended, Fault, Machine, Phase, Progress, Script, ScriptError, User, waits};
use prony_metrics::{Batch, SystemTag, TagSetId, TagSets};
use prony_model::measurement::counts::Counts;
use prony_model::program::call::{Ask, WaitEvent};
use prony_model::program::table::Tables;
use prony_model::program::{
    Event, Outgoing, Program, ProgramError, Step, StopFlag, ThreadPlace, UserPlace, Workload,
};
use prony_model::units::Nanos;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// What a user that computes leaves to the others of its thread each time: what is due in it is done before the user goes on.
const OTHERS_TURN: Nanos = Nanos(10_000);

/// Which part of a script's life is run. All but the iterations are run as one user with one iteration.
#[derive(Debug, Clone)]
pub enum Entry {
    /// `setup()`; its result, JSON, is [`ScriptWorkload::take_returned`].
    Setup,
    Iterations,
    /// `teardown(data)`.
    Teardown,
    /// `handleSummary(data)`, with this JSON; its result as with setup: an object of texts by file name, where bytes are
    /// `{"base64": "…"}`.
    Summary(Arc<str>),
}

/// What a scenario says of its users' script, by the plan's order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioSpec {
    pub name: String,
    /// The exported function that is called.
    pub exec: Arc<str>,
    /// Added to `__ENV` while its users run.
    pub environment: Vec<(String, String)>,
    pub tags: Vec<(String, String)>,
}

/// Told what becomes of iterations, on the thread of their user.
pub trait Watcher: Send + Sync {
    /// An iteration is over; its samples are recorded.
    fn ended(&self, iteration: &mut IterationEnd<'_>);

    /// The samples of a thread, once a second and at the thread's end, in exchange for an empty batch.
    fn samples(&self, thread: ThreadPlace, batch: Batch) -> Batch {
        let _ = thread;
        let mut batch = batch;
        batch.clear();
        batch
    }
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
    /// False where each iteration begins without any.
    pub keeps_connections: bool,
    /// Ends what computes at once.
    pub stop: StopFlag,
    /// When [`super::host::Host::now`] is zero, on both clocks.
    pub began: (Instant, SystemTime),
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
            keeps_connections: true,
            stop: StopFlag::default(),
            began: (Instant::now(), SystemTime::now()),
            returned: Mutex::default(),
        }
    }

    /// What the function of [`Entry::Setup`], [`Entry::Teardown`] or [`Entry::Summary`] returned, as JSON, or the
    /// error it ended with; none where it has not ended.
    pub fn take_returned(&self) -> Option<Ended> {
        self.returned.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    const fn phase(&self) -> Phase {
        match &self.entry {
            Entry::Setup => Phase::Setup,
            Entry::Iterations => Phase::Iteration,
            Entry::Teardown => Phase::Teardown,
            Entry::Summary(_) => Phase::Summary,
        }
    }

    fn call(&self, scenario: usize) -> Call {
        let (function, argument) = match &self.entry {
            Entry::Setup => ("setup".into(), None),
            Entry::Teardown => ("teardown".into(), self.setup_data.clone()),
            Entry::Summary(data) => ("handleSummary".into(), Some(Arc::clone(data))),
            Entry::Iterations => {
                let exec = self.scenarios.get(scenario).map(|scenario| Arc::clone(&scenario.exec));
                (exec.unwrap_or_else(|| "default".into()), self.setup_data.clone())
            }
        };
        let phase = self.phase();
        Call { phase, function, argument, returns: phase != Phase::Iteration }
    }
}

impl Workload for ScriptWorkload {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        let program = ScriptProgram::new(self, thread, Clock::Real(self.began.0))?;
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
    run: Arc<RunState>,
    machine: Machine,
    users: Vec<Option<UserSlot>>,
    /// By scenario: what its users' samples are tagged with at first.
    base_tags: Vec<TagSetId>,
    /// What is handed over next time.
    batch: Batch,
    /// Of the iteration that begins next.
    time_limit: Nanos,
}

#[derive(Debug)]
struct UserSlot {
    user: User,
    /// The scenario that it was set up for.
    scenario: Option<usize>,
}

impl<'a> ScriptProgram<'a> {
    pub fn new(workload: &'a ScriptWorkload, thread: ThreadPlace, clock: Clock) -> Result<Self, ScriptError> {
        let machine = Machine::of_run(Arc::clone(&workload.script), clock, workload.stop.clone())?;
        let base_tags = base_tags(&machine, workload);
        let users = Vec::new();
        let (run, batch) = (workload.script.shared(), Batch::default());
        let time_limit = Nanos::MAX;
        let mut program = Self { workload, thread, run, machine, users, base_tags, batch, time_limit };
        for index in 0..thread.count_of(workload.users) {
            let number = index as u32 * thread.threads + thread.number;
            program.make_user(number)?;
        }
        Ok(program)
    }

    fn make_user(&mut self, number: u32) -> Result<usize, ScriptError> {
        let index = self.thread.index_of(number);
        let is_iterations = self.workload.phase() == Phase::Iteration;
        let vu = if is_iterations { number + 1 } else { 0 };
        let user = self.machine.user(UserState::new(vu))?;
        if self.users.len() <= index {
            self.users.resize_with(index + 1, || None);
        }
        self.users[index] = Some(UserSlot { user, scenario: None });
        Ok(index)
    }

    fn begin(&mut self, place: UserPlace) -> Result<Step, ScriptError> {
        let is_ended = self.workload.phase() == Phase::Iteration && self.run.is_ended();
        if is_ended || self.machine.host().is_stopped() {
            return Ok(Step::StopThread);
        }
        let mut index = self.thread.index_of(place.number);
        if self.users.get(index).is_none_or(Option::is_none) {
            index = match self.make_user(place.number) {
                Ok(made) => made,
                // The run was stopped while its init code ran.
                Err(error) if error.fault == Fault::Interrupted => return Ok(Step::StopThread),
                Err(error) => return Err(error),
            };
        }
        self.activate(index, place.scenario)?;
        if !self.workload.keeps_connections {
            self.machine.host().outgoing().asks.push(Ask::CloseConnections);
        }
        let call = self.workload.call(place.scenario);
        let Self { machine, users, .. } = self;
        let user = &mut users[index].as_mut().expect("a user that runs was made").user;
        let progress = machine.begin(user, call)?;
        Ok(self.step(index, place, progress))
    }

    fn user(&mut self, index: usize) -> &mut User {
        &mut self.users[index].as_mut().expect("a user that runs was made").user
    }

    /// Makes the user one of a scenario; what its script put on its samples in another is gone.
    fn activate(&mut self, index: usize, scenario: usize) -> Result<(), ScriptError> {
        let Self { workload, machine, users, base_tags, time_limit, .. } = self;
        let place = users[index].as_mut().expect("a user that runs was made");
        let state = place.user.state();
        (state.data_sent, state.data_received) = (0, 0);
        state.time_limit = *time_limit;
        if place.scenario != Some(scenario) {
            let is_first = place.scenario.replace(scenario).is_none();
            state.scenario = scenario;
            state.metadata.clear();
            state.tags.set = base_tags.get(scenario).copied().unwrap_or(TagSets::ROOT);
            let environment = workload.scenarios.get(scenario).map_or(&[][..], |spec| &spec.environment);
            if !is_first || !environment.is_empty() {
                machine.set_environment(&mut place.user, environment)?;
            }
        }
        machine.number_samples(&mut place.user);
        Ok(())
    }

    /// What the runner does next for a user that has given up the thread.
    fn step(&mut self, index: usize, place: UserPlace, progress: Progress) -> Step {
        match progress {
            Progress::Parked => {
                if self.user(index).state().has_given_way {
                    return Step::Wait(Some(OTHERS_TURN));
                }
                let now = self.machine.host().now();
                Step::Wait(self.user(index).state().waits.next_due().map(|due| due.since(now)))
            }
            Progress::Ended => {
                let Some(ended) = self.user(index).take_ended() else { return Step::EndIteration };
                let is_interrupted = ended.as_ref().is_err_and(|error| error.fault == Fault::Interrupted);
                self.tell(index, place, ended);
                if is_interrupted { Step::EndInterrupted } else { Step::EndIteration }
            }
        }
    }

    fn tell(&mut self, index: usize, place: UserPlace, ended: Ended) {
        let now = self.machine.host().now();
        let Self { workload, run, machine, users, .. } = self;
        let state = users[index].as_mut().expect("a user that ran is there").user.state();
        let error = ended.as_ref().err();
        let phase = workload.phase();
        {
            let mut recorder = machine.host().recorder();
            recorder.record_data(state.tags, now, state.data_sent, state.data_received);
            let is_whole = error.is_none_or(|error| error.fault != Fault::Interrupted);
            if is_whole && phase == Phase::Iteration {
                recorder.record_iteration(state.tags, now, now.since(state.began));
            }
            if phase == Phase::Iteration {
                execution::end_iteration(run, is_whole);
            }
            if let Some(error) =
                error.filter(|error| error.fault == Fault::Memory && phase == Phase::Iteration)
            {
                run.end(RunEnd::Memory(error.message.clone()));
            }
        }
        workload.watcher.ended(&mut IterationEnd { user: place, state, ended: now, error });
        state.iteration += 1;
        if phase != Phase::Iteration {
            let mut returned = workload.returned.lock().unwrap_or_else(PoisonError::into_inner);
            *returned = Some(ended);
        }
    }

    fn resume(&mut self, place: UserPlace, event: WaitEvent<'_>) -> Step {
        let index = self.thread.index_of(place.number);
        let phase = self.workload.phase();
        let Some(UserSlot { user, .. }) = self.users.get_mut(index).and_then(Option::as_mut) else {
            return Step::EndIteration;
        };
        let progress = if matches!(event, WaitEvent::Interrupted) {
            self.machine.interrupt(user, phase);
            Progress::Ended
        } else {
            let state = user.state();
            if let WaitEvent::Answered { bytes, .. }
            | WaitEvent::Failed { bytes, .. }
            | WaitEvent::Socket { bytes, .. }
            | WaitEvent::Channel { bytes, .. } = &event
            {
                state.data_sent += bytes.sent;
                state.data_received += bytes.received;
            }
            if let Some((id, heard)) = waits::kept(event) {
                state.waits.push(id, heard);
            }
            self.machine.resume(user, phase)
        };
        self.step(index, place, progress)
    }

    fn hand_over(&mut self) {
        let batch = self.machine.host().recorder().hand_over(std::mem::take(&mut self.batch));
        self.batch = self.workload.watcher.samples(self.thread, batch);
    }
}

/// The tag sets of scenarios.
fn base_tags(machine: &Machine, workload: &ScriptWorkload) -> Vec<TagSetId> {
    let mut recorder = machine.host().recorder();
    let sets = recorder.sets();
    let group = match workload.entry {
        Entry::Iterations | Entry::Summary(_) => "",
        Entry::Setup => "::setup",
        Entry::Teardown => "::teardown",
    };
    let root = sets.with_system(TagSets::ROOT, SystemTag::Group, group);
    if workload.scenarios.is_empty() {
        return vec![root];
    }
    let base = |spec: &ScenarioSpec| {
        let tagged = spec.tags.iter().fold(root, |set, (name, value)| sets.with(set, name, value));
        sets.with_system(tagged, SystemTag::Scenario, &spec.name)
    };
    workload.scenarios.iter().map(base).collect()
}

impl Program for ScriptProgram<'_> {
    fn next(&mut self, user: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        std::mem::swap(out, &mut self.machine.host().outgoing());
        let step = match event {
            Event::Begin => self.begin(user),
            Event::Waited(event) => Ok(self.resume(user, event)),
            // Scripts wait in no other way than `Step::Wait`.
            Event::Paused | Event::Answered | Event::Failed(_) => Ok(Step::EndIteration),
        };
        std::mem::swap(out, &mut self.machine.host().outgoing());
        Ok(step?)
    }

    fn limit_iteration(&mut self, _user: UserPlace, time_left: Nanos) {
        self.time_limit = time_left;
    }

    fn end_second(&mut self) -> Counts {
        self.hand_over();
        Counts { computing: self.machine.host().take_computing(), ..Counts::default() }
    }
}

impl Drop for ScriptProgram<'_> {
    fn drop(&mut self) {
        self.hand_over();
        for place in self.users.drain(..).flatten() {
            self.machine.drop_user(place.user);
        }
    }
}

impl From<ScriptError> for ProgramError {
    fn from(error: ScriptError) -> Self {
        match error.fault {
            Fault::Interrupted => Self::Stopped,
            _ => Self::Script(error.to_string()),
        }
    }
}
