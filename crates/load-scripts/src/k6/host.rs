//! What native functions see of the user that runs: who it is, what it waits for, and what it sends.
//!
//! One [`Host`] a thread, reached from any native with [`host_of`]. The user that runs at the moment is
//! [`Host::user`]; its borrow must end before JavaScript is called again. Parts of `k6/` keep what is theirs in
//! [`Extensions`] under types of their own: a user's ([`UserState::data`]), a thread's ([`Host::thread`]), a script's
//! ([`Script::shared`]). A part needs no field here.

use super::vm::{Phase, Script, Waits};
use prony_load_model::call::AskId;
use prony_load_model::program::Outgoing;
use prony_load_model::table::Tables;
use prony_load_model::units::Nanos;
use rquickjs::{Ctx, Exception, Function, JsLifetime, Persistent, Value};
use std::any::{Any, TypeId};
use std::cell::{Cell, RefCell, RefMut};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Values of any type, one of each, made at its first use.
#[derive(Default)]
pub struct Extensions(Vec<(TypeId, Box<dyn Any>)>);

/// Everything that is one user's and no JavaScript value.
#[derive(Debug, Default)]
pub struct UserState {
    /// `__VU`: from 1; 0 where options are read and in setup and teardown.
    pub vu: u32,
    /// `__ITER`: from 0, over all of its scenarios.
    pub iteration: u64,
    /// Index into the plan's scenarios.
    pub scenario: usize,
    /// When the iteration began, by [`Host::now`].
    pub began: Nanos,
    /// The path of the group that runs: empty, or `::outer::inner`.
    pub group: String,
    /// Tags that the script put on all of the user's samples (`exec.vu.tags`).
    pub tags: BTreeMap<String, String>,
    /// What it waits for and what has come.
    pub waits: Waits,
    /// What parts of `k6/` keep for a user.
    pub data: Extensions,
    /// Called when something comes; the iteration does not end while there are any.
    pub(super) callbacks: HashMap<AskId, Persistent<Function<'static>>>,
    /// Promises that were rejected and that nobody handles yet, by address, with their reasons.
    pub(super) rejections: Vec<(usize, Persistent<Value<'static>>)>,
    /// What a job of the queue threw.
    pub(super) job_error: Option<Persistent<Value<'static>>>,
}

/// Why a user is being ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The load model gives it no more time.
    Interrupted,
    /// It computed longer than [`super::vm::Limits::run_time`].
    RunTime,
    /// The script asked for it, such as by `exec.test.abort`; the part that asked knows the rest.
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
    pub(super) cut: Cell<Option<Cut>>,
    /// Since when a user has run without parking; none until the first look at it.
    pub(super) running_since: Cell<Option<Instant>>,
}

/// Time since the run began.
#[derive(Debug, Clone)]
pub enum Clock {
    Real(Instant),
    /// For tests: what it says.
    Virtual(Rc<Cell<Nanos>>),
}

/// How QuickJS's runtime holds the host.
pub(super) struct Handle(pub(super) Rc<Host>);

// SAFETY: it holds no value with the lifetime of a context.
unsafe impl JsLifetime<'_> for Handle {
    type Changed<'to> = Handle;
}

/// The host of the thread that a native runs on.
pub fn host_of(ctx: &Ctx<'_>) -> Rc<Host> {
    let handle = ctx.userdata::<Handle>().expect("the host is stored before scripts run");
    Rc::clone(&handle.0)
}

impl Host {
    pub(super) fn new(script: Arc<Script>, clock: Clock) -> Self {
        Self {
            script,
            clock,
            phase: Cell::new(Phase::Init),
            user: RefCell::default(),
            outgoing: RefCell::default(),
            thread: RefCell::default(),
            cut: Cell::new(None),
            running_since: Cell::new(None),
        }
    }

    /// Time since the run began.
    pub fn now(&self) -> Nanos {
        match &self.clock {
            Clock::Real(start) => Nanos(u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX)),
            Clock::Virtual(now) => now.get(),
        }
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

    /// Ends the iteration of the user that runs at its next park or before, in a way that no `catch` sees.
    pub fn cut(&self, cut: Cut) {
        self.cut.set(Some(cut));
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
