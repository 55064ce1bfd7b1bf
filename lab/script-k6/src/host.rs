//! What native functions see of the user that runs: who it is, what it waits for, and what it sends.
//!
//! One [`Host`] a thread, reached from any native with [`host_of`]. The user that runs at the moment is
//! [`Host::user`]; its borrow must end before JavaScript is called again. Parts of `k6/` keep what is theirs in
//! [`Extensions`] under types of their own: a user's ([`UserState::data`]), a thread's ([`Host::thread`]), a script's
//! ([`Script::shared`]). A part needs no field here.

#![expect(unsafe_code, reason = "QuickJS's values are told how long Rust's live")]

use super::vm::{Memory, Phase, Script, Waits, throw_uncatchable};
use prony_metrics::{MetadataId, Recorder, TagSets, Tags};
use prony_model::measurement::counts::Computing;
use prony_model::program::call::AskId;
use prony_model::program::table::Tables;
use prony_model::program::{Outgoing, StopFlag};
use prony_model::units::Nanos;
use rquickjs::{Ctx, Exception, Function, JsLifetime, Persistent, Value};
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// How long a user computes before others of its thread run: an iteration that sleeps or waits for a response is late by no more,
/// and what the switch costs is a small part of it.
const TURN: Nanos = Nanos::from_millis(1);

/// Values of any type, one of each, made at its first use.
#[derive(Default)]
pub struct Extensions(Vec<(TypeId, Box<dyn Any>)>);

/// Everything that is one user's and no JavaScript value.
#[derive(Debug)]
pub struct UserState {
    /// `__VU`: from 1; 0 where options are read and in setup and teardown.
    pub vu: u32,
    /// `__ITER`: from 0, over all of its scenarios.
    pub iteration: u64,
    /// Index into the plan's scenarios.
    pub scenario: usize,
    /// When the iteration began, by [`Host::now`].
    pub began: Nanos,
    /// How long the iteration may take; looked at while it computes.
    pub time_limit: Nanos,
    /// The path of the group that runs: empty, or `::outer::inner`. Its tag is in `tags`.
    pub group: String,
    /// What all of the user's samples are tagged with: the run's tags, the scenario's, the group, and what the script
    /// added (`exec.vu.metrics.tags`).
    pub tags: Tags,
    /// What all of the user's samples carry beside tags (`exec.vu.metrics.metadata`); [`Host::set_metadata`] tells the
    /// recorder.
    pub metadata: BTreeMap<String, String>,
    /// Bytes of the wire since the iteration began.
    pub data_sent: u64,
    pub data_received: u64,
    /// What it waits for and what has come.
    pub waits: Waits,
    /// It computes, and goes on as soon as others have had their turn.
    pub(super) has_given_way: bool,
    /// How long it has computed since it last waited, up to where it last gave way.
    pub(super) computed: Nanos,
    /// What parts of `k6/` keep for a user.
    pub data: Extensions,
    /// Called when something comes; the iteration does not end while there are any.
    pub(super) callbacks: HashMap<AskId, Persistent<Function<'static>>>,
    /// Promises that were rejected and that nobody handles yet.
    pub(super) rejections: Vec<Rejection>,
    /// What a job of the queue threw.
    pub(super) job_error: Option<Persistent<Value<'static>>>,
}

/// A promise that was rejected.
#[derive(Debug)]
pub(super) struct Rejection {
    /// The promise's.
    pub(super) address: usize,
    pub(super) reason: Persistent<Value<'static>>,
    /// Where the reason was thrown, as QuickJS writes it.
    pub(super) backtrace: Option<String>,
}

/// Why a user is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The load model gives it no more time, or the run is stopped.
    Interrupted,
    /// It wanted more memory than [`super::vm::Limits::memory_bytes`].
    Memory,
    /// The script asked for it, such as by `exec.test.abort`; the part that asked knows the rest. Also set while what
    /// an iteration leaves is cleared away.
    Asked,
}

/// One thread's.
pub struct Host {
    pub script: Arc<Script>,
    clock: Clock,
    phase: Cell<Phase>,
    user: RefCell<Box<UserState>>,
    outgoing: RefCell<Outgoing>,
    thread: RefCell<Extensions>,
    recorder: RefCell<Recorder>,
    pub(super) memory: Rc<Memory>,
    pub(super) cut: Cell<Option<Cut>>,
    /// Where the JavaScript was that is being ended because it has no more time, as QuickJS writes it.
    pub(super) cut_backtrace: RefCell<Option<String>>,
    /// Frames on the stack when the innermost `require` that runs in init code was called; 0 where none does.
    pub(super) required_at: Cell<usize>,
    /// Ends whatever runs, init code too.
    stop: StopFlag,
    computing: RefCell<Computing>,
    /// How long the stretch of computing was whose place is noted.
    placed: Cell<Nanos>,
    /// When the thread was given to the user that runs.
    turn_began: Cell<Nanos>,
    /// The user's own JavaScript runs, and not what calls it, which must not be interrupted.
    pub(super) is_interruptible: Cell<bool>,
}

/// Time since the workload was made, the same for all threads.
#[derive(Debug, Clone)]
pub enum Clock {
    Real(Instant),
    /// For tests: what it says.
    Virtual(Rc<Cell<Nanos>>),
}

/// How QuickJS's runtime holds the host.
pub(super) struct HostHandle(pub(super) Rc<Host>);

// SAFETY: it holds no value with the lifetime of a context.
unsafe impl JsLifetime<'_> for HostHandle {
    type Changed<'to> = HostHandle;
}

/// The host of the thread that a native runs on.
pub fn host_of(ctx: &Ctx<'_>) -> Rc<Host> {
    let handle = ctx.userdata::<HostHandle>().expect("the host is stored before scripts run");
    Rc::clone(&handle.0)
}

impl Host {
    pub(super) fn new(script: Arc<Script>, clock: Clock, memory: Rc<Memory>, stop: StopFlag) -> Self {
        let recorder = RefCell::new(Recorder::new(&script.recorder));
        Self {
            script,
            clock,
            phase: Cell::new(Phase::Init),
            user: RefCell::new(Box::new(UserState::new(0))),
            outgoing: RefCell::default(),
            thread: RefCell::default(),
            recorder,
            memory,
            cut: Cell::new(None),
            cut_backtrace: RefCell::default(),
            required_at: Cell::new(0),
            stop,
            computing: RefCell::default(),
            placed: Cell::new(Nanos::ZERO),
            turn_began: Cell::new(Nanos::ZERO),
            is_interruptible: Cell::new(false),
        }
    }

    /// Time since the workload was made, the same for all threads.
    pub fn now(&self) -> Nanos {
        match &self.clock {
            Clock::Real(start) => Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            Clock::Virtual(now) => now.get(),
        }
    }

    /// True where what runs has no more time: its iteration's is over, or the run is stopped.
    pub(super) fn is_out_of_time(&self) -> bool {
        if !self.is_interruptible.get() {
            return false;
        }
        if self.stop.is_stopped() {
            return true;
        }
        if self.phase.get() == Phase::Init {
            return false;
        }
        let end = self.user.try_borrow().map(|user| user.began.plus(user.time_limit));
        end.is_ok_and(|end| end < Nanos::MAX && self.now() >= end)
    }

    /// The thread is given to a user.
    pub(super) fn begin_turn(&self) {
        let now = self.now();
        self.turn_began.set(now);
        self.recorder().set_now(now);
    }

    /// The user that runs gives way to others: what it has computed is counted, and its place noted where no user has computed for
    /// half as long.
    pub(super) fn note_computing(&self, place: impl FnOnce() -> Option<String>) {
        let (now, turn_began) = (self.now(), self.turn_began.get());
        // The place is looked for in JavaScript of its own.
        self.turn_began.set(now);
        let turn = now.since(turn_began);
        let stretch = {
            let mut user = self.user();
            user.has_given_way = true;
            user.computed = user.computed.plus(turn);
            user.computed
        };
        let mut computing = self.computing.borrow_mut();
        computing.total_ns = computing.total_ns.plus(turn);
        if stretch <= computing.longest_ns {
            return;
        }
        let is_far_longer = stretch.0 / 2 > self.placed.get().0;
        computing.longest_ns = stretch;
        drop(computing);
        if is_far_longer && let Some(place) = place() {
            self.placed.set(stretch);
            self.computing.borrow_mut().place = place;
        }
    }

    /// What users have computed since this was last asked.
    pub(super) fn take_computing(&self) -> Computing {
        self.placed.set(Nanos::ZERO);
        self.computing.take()
    }

    /// True where a user's iteration has computed for so long that others of the thread have to get their turn. False while a
    /// native function holds what other users need.
    pub(super) fn has_to_give_way(&self) -> bool {
        let is_iteration = self.is_interruptible.get() && self.phase.get() == Phase::Iteration;
        is_iteration
            && self.now() >= self.turn_began.get().plus(TURN)
            && self.user.try_borrow_mut().is_ok()
            && self.outgoing.try_borrow_mut().is_ok()
            && self.thread.try_borrow_mut().is_ok()
            && self.recorder.try_borrow_mut().is_ok()
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// The user that runs.
    pub fn user(&self) -> RefMut<'_, UserState> {
        RefMut::map(self.user.borrow_mut(), |user| &mut **user)
    }

    /// Targets and names of requests, by the indices that calls name them with.
    pub fn tables(&self) -> &Tables {
        &self.script.tables
    }

    /// Where the text and the asks of calls and sockets go.
    pub fn outgoing(&self) -> RefMut<'_, Outgoing> {
        self.outgoing.borrow_mut()
    }

    /// Where the thread's samples go, with the time at which the user was given the thread.
    pub fn recorder(&self) -> RefMut<'_, Recorder> {
        self.recorder.borrow_mut()
    }

    /// Tells the recorder of the running user's [`UserState::metadata`], once it is changed.
    pub fn set_metadata(&self) {
        let (mut user, mut recorder) = (self.user(), self.recorder());
        if user.tags.metadata == MetadataId::NONE {
            user.tags.metadata = recorder.new_metadata();
        }
        let pairs = user.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        recorder.set_metadata(user.tags.metadata, pairs);
    }

    /// What parts of `k6/` keep for a thread.
    pub fn thread(&self) -> RefMut<'_, Extensions> {
        self.thread.borrow_mut()
    }

    pub fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Throws where there is no iteration, or setup and the like, to wait in.
    pub fn require_running(&self, ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
        if self.phase.get() == Phase::Init {
            let message =
                format!("{what} cannot be called in the init context; call it in a function of the script");
            return Err(Exception::throw_type(ctx, &message));
        }
        Ok(())
    }

    /// Throws where the init context is over.
    pub fn require_init(&self, ctx: &Ctx<'_>, what: &str) -> rquickjs::Result<()> {
        if self.phase.get() != Phase::Init {
            let message = format!("{what} can only be called in the init context, at the top of the script");
            return Err(Exception::throw_type(ctx, &message));
        }
        Ok(())
    }

    /// Has the function called, with `id`, when something comes under this number. The iteration goes on until the
    /// last news of it, or until [`Self::off_news`].
    pub fn on_news<'js>(&self, ctx: &Ctx<'js>, id: AskId, function: Function<'js>) {
        self.user().callbacks.insert(id, Persistent::save(ctx, function));
    }

    pub fn off_news(&self, id: AskId) {
        // The function is freed after the borrow, because finalizers may look at the host.
        let function = self.user().callbacks.remove(&id);
        drop(function);
    }

    /// Ends the iteration of the user that runs, in a way that no `catch` and no `finally` sees: for natives to
    /// return.
    pub fn end_iteration(&self, ctx: &Ctx<'_>) -> rquickjs::Error {
        self.cut.set(Some(Cut::Asked));
        throw_uncatchable(ctx, "the iteration was ended by the script")
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.phase.set(phase);
    }

    /// Makes another user the one that runs.
    pub(super) fn swap_user(&self, user: &mut Box<UserState>) {
        std::mem::swap(&mut *self.user.borrow_mut(), user);
    }
}

impl UserState {
    /// A user that has done nothing yet. `vu` as in [`Self::vu`].
    pub fn new(vu: u32) -> Self {
        Self {
            vu,
            iteration: 0,
            scenario: 0,
            began: Nanos::ZERO,
            time_limit: Nanos::MAX,
            group: String::new(),
            tags: Tags { set: TagSets::ROOT, metadata: MetadataId::NONE },
            metadata: BTreeMap::new(),
            data_sent: 0,
            data_received: 0,
            waits: Waits::default(),
            has_given_way: false,
            computed: Nanos::ZERO,
            data: Extensions::default(),
            callbacks: HashMap::new(),
            rejections: Vec::new(),
            job_error: None,
        }
    }

    /// Lets go of all that an iteration left.
    pub(super) fn release(&mut self) {
        self.waits.clear();
        self.callbacks.clear();
        self.rejections.clear();
        self.job_error = None;
    }
}

impl Extensions {
    pub fn get<T: Default + 'static>(&mut self) -> &mut T {
        let id = TypeId::of::<T>();
        let index = self.0.iter().position(|(known, _)| *known == id).unwrap_or_else(|| {
            self.0.push((id, Box::new(T::default())));
            self.0.len() - 1
        });
        self.0[index].1.downcast_mut().expect("values are kept under their own types")
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extensions").field("count", &self.0.len()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("phase", &self.phase.get()).finish_non_exhaustive()
    }
}
