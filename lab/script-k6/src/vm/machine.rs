//! One thread's JavaScript: its runtime, the contexts of its users, and their iterations.

#![expect(unsafe_code, reason = "runtimes and contexts are handed out by pointers")]

use super::builtin::natives;
use super::context::{Handlers, RawContext, drain_jobs, install_handlers};
use super::error::thrown;
use super::error::{Phase, ScriptError};
use super::fiber::{Fiber, Parking, Switch};
use super::iteration::{Cache, Call, Ended, Iteration};
use super::loader::{Loader, evaluate};
use super::memory::accounts::AccountId;
use super::memory::{Bounded, Memory};
use super::modules::Script;
use crate::host::{Clock, Cut, Host, HostHandle, UserState};
use crate::source::common_js::WHOLE;
use crate::vm::context::globals::Globals;
use crate::vm::context::stacks::ErrorStacks;
use prony_metrics::SystemTag;
use prony_model::program::StopFlag;
use prony_model::units::Nanos;
use rquickjs::object::Property;
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Object, Persistent, Runtime, Value, qjs};
use std::cell::RefCell;
use std::fmt;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

/// Users that sleep as long keep none of the stack that they do not use meanwhile. It takes some microseconds to give it back and to
/// get it again.
const LONG_SLEEP: Nanos = Nanos::from_secs(1);

/// The order of fields is the order in which they go.
pub struct Machine {
    switch: Rc<Switch>,
    /// QuickJS has a pointer to it.
    _handlers: Box<Handlers>,
    loader: Box<Loader>,
    globals: Globals,
    stacks: ErrorStacks,
    /// What QuickJS tells of its collections through.
    collections: Option<Persistent<Value<'static>>>,
    /// The context of natives and of the anchor; held for them.
    _base_context: Context,
    raw_runtime: NonNull<qjs::JSRuntime>,
    host: Rc<Host>,
    _runtime: Runtime,
}

/// One user: a context in which the script's modules are evaluated.
pub struct User {
    /// Taken while the machine runs the user.
    state: Box<UserState>,
    account: AccountId,
    context: RawContext,
    exports: Option<Persistent<Object<'static>>>,
    fiber: Option<Fiber>,
    cache: Rc<RefCell<Cache>>,
    ended: Rc<RefCell<Option<Ended>>>,
}

/// Whether a user still has an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Parked,
    Ended,
}

/// What a script shows once its init code has run.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// The export `options`, or null.
    pub options: serde_json::Value,
    /// The names of exported functions.
    pub functions: Vec<String>,
}

/// How a user's stack is entered.
#[derive(Debug, Clone, Copy)]
enum Entered {
    /// An iteration begins; it says itself from when on it may be interrupted.
    First,
    /// Where it parked, to be ended for this reason if there is one.
    Again(Option<Cut>),
}

struct Park {
    host: Rc<Host>,
    runtime: NonNull<qjs::JSRuntime>,
}

impl Parking for Park {
    fn must_wait(&self) -> bool {
        let awaited = std::mem::take(&mut self.host.user().waits.awaited);
        // SAFETY: called by a user that runs, whose chain of frames is whole.
        unsafe { drain_jobs(self.runtime, &self.host) };
        let mut user = self.host.user();
        user.waits.awaited = awaited;
        if self.host.cut.get().is_some() {
            return false;
        }
        if !user.waits.is_met() && user.waits.next_due().is_some() {
            user.waits.ring(self.host.now());
        }
        !user.waits.is_met()
    }

    fn has_to_end(&self) -> bool {
        self.host.user().waits.end_park();
        self.host.cut.get().is_some()
    }
}

impl Machine {
    /// One that nothing ends.
    pub fn new(script: Arc<Script>, clock: Clock) -> Result<Self, ScriptError> {
        Self::of_run(script, clock, StopFlag::default())
    }

    /// One of several, each on its thread, that share the memory that there is for scripts. The flag ends what computes.
    pub fn of_run(script: Arc<Script>, clock: Clock, stop: StopFlag) -> Result<Self, ScriptError> {
        let refused = |what: &dyn fmt::Display| {
            ScriptError::system(Phase::Init, format!("cannot start JavaScript: {what}"))
        };
        let memory = Rc::new(Memory::new(script.limits, Arc::clone(&script.memory_taken)));
        let runtime =
            Runtime::new_with_alloc(Bounded(Rc::clone(&memory))).map_err(|error| refused(&error))?;
        let base_context = Context::full(&runtime).map_err(|error| refused(&error))?;
        let raw_runtime = NonNull::new(base_context.get_runtime_ptr()).expect("a context has a runtime");
        let host = Rc::new(Host::new(Arc::clone(&script), clock, memory, stop));
        let stored = base_context.with(|ctx| ctx.store_userdata(HostHandle(Rc::clone(&host))).is_ok());
        assert!(stored, "nothing reads a runtime's data before it is used");
        let base = base_context.as_raw();
        let park = Park { host: Rc::clone(&host), runtime: raw_runtime };
        // SAFETY: the fields below go in an order in which the runtime is the last; all of its JavaScript runs on
        // this thread, through this switch.
        let (switch, handlers, loader) = unsafe {
            let switch = Switch::new(base, Box::new(park)).map_err(|error| refused(&error))?;
            let handlers = Box::new(Handlers { host: Rc::clone(&host), switch: Rc::clone(&switch), base });
            install_handlers(raw_runtime, &handlers);
            (switch, handlers, Loader::install(script, base))
        };
        let (globals, stacks) = (Globals::default(), ErrorStacks::default());
        let made = switch.enter(|| {
            // SAFETY: the context is alive, and the loader as long as it.
            let (ctx, loader) = unsafe { (Ctx::from_raw(base), NonNull::from(&*loader)) };
            // SAFETY: as above; the host has the memory, and is alive while the runtime is.
            unsafe {
                globals.make(&ctx, loader)?;
                stacks.make(&ctx)?;
                host.memory.watch_collections(&ctx).map(|value| Persistent::save(&ctx, value))
            }
        });
        let collections = made.map_err(|error| refused(&error))?;
        Ok(Self {
            switch,
            _handlers: handlers,
            loader,
            globals,
            stacks,
            collections: Some(collections),
            _base_context: base_context,
            raw_runtime,
            host,
            _runtime: runtime,
        })
    }

    pub fn host(&self) -> &Rc<Host> {
        &self.host
    }

    /// A user with its modules evaluated; `state` says who it is.
    pub fn user(&self, state: UserState) -> Result<User, ScriptError> {
        self.switch.enter(|| {
            let account = self.host.memory.open_account();
            self.host.memory.switch_to(account);
            // SAFETY: the runtime is alive, and `enter` lets JavaScript run.
            let Some(context) = (unsafe { RawContext::new(self.raw_runtime) }) else {
                return Err(thrown::no_memory(&self.host, Phase::Init));
            };
            let mut user = User {
                state: Box::new(state),
                account,
                context,
                exports: None,
                fiber: None,
                cache: Rc::default(),
                ended: Rc::default(),
            };
            let evaluated = self.as_user(&mut user, Phase::Init, || self.evaluate(context));
            match evaluated {
                Ok(exports) => {
                    user.exports = Some(exports);
                    Ok(user)
                }
                Err(error) => {
                    self.free(user);
                    Err(error)
                }
            }
        })
    }

    /// Frees a user; an iteration that it has is cut.
    pub fn drop_user(&self, mut user: User) {
        self.interrupt(&mut user, Phase::Iteration);
        self.switch.enter(|| self.free(user));
    }

    /// Evaluates the script for a user who does nothing, and says what it exports.
    pub fn inspect(&self) -> Result<Inspected, ScriptError> {
        let mut user = self.user(UserState::new(0))?;
        let inspected = self.switch.enter(|| {
            let (context, exports) = (user.context, user.exports.clone().expect("it was evaluated"));
            self.as_user(&mut user, Phase::Init, || {
                // SAFETY: the context is alive, and its values stay in this call.
                let ctx = unsafe { context.ctx() };
                let read = exports.restore(&ctx).and_then(|exports| inspected(&ctx, &exports));
                read.map_err(|error| thrown::caught(&self.host, &ctx, &error))
            })
        });
        self.drop_user(user);
        inspected
    }

    /// Begins an iteration, and runs it until it waits or ends.
    pub fn begin(&self, user: &mut User, call: Call) -> Result<Progress, ScriptError> {
        let phase = call.phase;
        let exports = user.exports.clone().expect("a user has its modules evaluated");
        let (host, switch, runtime) = (Rc::clone(&self.host), Rc::clone(&self.switch), self.raw_runtime);
        let (context, cache, ended) = (user.context, Rc::clone(&user.cache), Rc::clone(&user.ended));
        let fiber = self.switch.fiber(move || {
            let iteration = Iteration { host, switch, runtime, context, cache };
            *ended.borrow_mut() = Some(iteration.run(exports, &call));
        });
        let fiber = fiber.map_err(|error| ScriptError::system(phase, format!("there is no stack for another user: {error}; at most vm.max_map_count memory maps can be made")))?;
        user.fiber = Some(fiber);
        (user.state.began, user.state.computed) = (self.host.now(), Nanos::ZERO);
        Ok(self.go_on(user, phase, Entered::First))
    }

    /// Goes on with a parked user where what it waits for has come, or where it computes and has given way to others.
    pub fn resume(&self, user: &mut User, phase: Phase) -> Progress {
        if user.state.waits.next_due().is_some() {
            user.state.waits.ring(self.host.now());
        }
        let has_given_way = std::mem::take(&mut user.state.has_given_way);
        if user.fiber.is_some() && !has_given_way && !user.state.waits.is_met() {
            return Progress::Parked;
        }
        if !has_given_way {
            user.state.computed = Nanos::ZERO;
        }
        self.go_on(user, phase, Entered::Again(None))
    }

    /// Ends a parked user's iteration, in a way that its JavaScript does not see.
    pub fn interrupt(&self, user: &mut User, phase: Phase) {
        if user.fiber.is_some() {
            let progress = self.go_on(user, phase, Entered::Again(Some(Cut::Interrupted)));
            assert_eq!(progress, Progress::Ended, "a user that is cut does not park");
        }
    }

    fn go_on(&self, user: &mut User, phase: Phase, entered: Entered) -> Progress {
        let Some(mut fiber) = user.fiber.take() else { return Progress::Ended };
        let is_over = self.switch.enter(|| {
            self.as_user(user, phase, || {
                if let Entered::Again(cut) = entered {
                    self.host.cut.set(cut);
                    self.host.is_interruptible.set(true);
                }
                fiber.go_on()
            })
        });
        if is_over {
            return Progress::Ended;
        }
        user.fiber = Some(fiber);
        if user.state.waits.sleeps_until().is_some_and(|due| due.since(self.host.now()) >= LONG_SLEEP) {
            self.switch.release_stack();
        }
        Progress::Parked
    }

    /// Does something in a user's name.
    fn as_user<R>(&self, user: &mut User, phase: Phase, work: impl FnOnce() -> R) -> R {
        self.host.swap_user(&mut user.state);
        self.host.set_phase(phase);
        self.host.begin_turn();
        self.host.memory.switch_to(user.account);
        let result = work();
        self.host.is_interruptible.set(false);
        self.host.memory.switch_to_machine();
        if self.host.memory.is_short() {
            // SAFETY: JavaScript may run, and the user's values are in use where they are reachable.
            unsafe { self.host.memory.collect_garbage(self.raw_runtime) };
            self.host.memory.forgive();
        }
        self.host.cut.set(None);
        self.host.set_phase(Phase::Init);
        self.host.swap_user(&mut user.state);
        result
    }

    fn evaluate(&self, context: RawContext) -> Result<Persistent<Object<'static>>, ScriptError> {
        // SAFETY: the context is alive, and its values stay in this call.
        let ctx = unsafe { context.ctx() };
        self.host.is_interruptible.set(true);
        let done = self.set_globals(&ctx).and_then(|()| {
            // SAFETY: JavaScript may run.
            unsafe { evaluate(&ctx, &self.loader, &self.host.script.entry) }
        });
        // SAFETY: as above.
        unsafe { drain_jobs(self.raw_runtime, &self.host) };
        let (promise, exports) = done.map_err(|error| thrown::caught(&self.host, &ctx, &error))?;
        match promise.state() {
            PromiseState::Resolved => {}
            PromiseState::Pending => {
                return Err(ScriptError::thrown(
                    Phase::Init,
                    "the init code awaits something that does not come: nothing can be waited for in the init context",
                ));
            }
            PromiseState::Rejected => {
                let reason = promise.result::<Value<'_>>();
                let error = reason.and_then(Result::err).unwrap_or(rquickjs::Error::Exception);
                thrown::forget(&self.host);
                return Err(thrown::caught(&self.host, &ctx, &error));
            }
        }
        if let Some(error) = thrown::unhandled(&self.host, &ctx) {
            return Err(error);
        }
        // A CommonJS file exports what it likes, and only once it has run.
        let whole = exports.get::<_, Option<Object<'_>>>(WHOLE).ok().flatten();
        Ok(Persistent::save(&ctx, whole.unwrap_or(exports)))
    }

    fn set_globals(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        self.new_environment(ctx, &[])?;
        self.globals.set(ctx)?;
        self.stacks.set(ctx)?;
        let globals = ctx.globals();
        // As in k6: bundles ask for it.
        globals.prop("global", Property::from(globals.clone()).writable().configurable())?;
        globals.set("__VU", self.host.user().vu)?;
        let natives: Object<'_> = self.loader.native_object(ctx, natives::VM)?;
        globals.set("open", natives.get::<_, Value<'_>>("open")?)
    }

    /// Has the numbers of the user and its iteration among what its samples carry, where option `systemTags` says so.
    pub fn number_samples(&self, user: &mut User) {
        let system = self.host.recorder().sets().system();
        let (has_vu, has_iteration) = (system.has(SystemTag::Vu), system.has(SystemTag::Iter));
        if !has_vu && !has_iteration {
            return;
        }
        let state = &mut *user.state;
        let mut set = |is_on: bool, tag: SystemTag, value: u64| {
            if is_on {
                state.metadata.insert(tag.as_str().to_owned(), value.to_string());
            }
        };
        // Setup and teardown run as none of the users.
        set(has_vu && state.vu > 0, SystemTag::Vu, state.vu.into());
        set(has_iteration, SystemTag::Iter, state.iteration);
        self.host.swap_user(&mut user.state);
        self.host.set_metadata();
        self.host.swap_user(&mut user.state);
    }

    /// Sets variables of `__ENV` beside those that the script has.
    pub fn set_environment(
        &self,
        user: &mut User,
        variables: &[(String, String)],
    ) -> Result<(), ScriptError> {
        let context = user.context;
        self.switch.enter(|| {
            self.as_user(user, Phase::Init, || {
                // SAFETY: the context is alive, and its values stay in this call.
                let ctx = unsafe { context.ctx() };
                let set = self.new_environment(&ctx, variables);
                set.map_err(|error| thrown::caught(&self.host, &ctx, &error))
            })
        })
    }

    fn new_environment(&self, ctx: &Ctx<'_>, more: &[(String, String)]) -> rquickjs::Result<()> {
        let environment = Object::new(ctx.clone())?;
        let own = self.host.script.environment.iter();
        for (name, value) in own.chain(more.iter().map(|(name, value)| (name, value))) {
            environment.set(name.as_str(), value.as_str())?;
        }
        ctx.globals().set("__ENV", environment)
    }

    /// Frees a user that has no iteration; JavaScript may run.
    fn free(&self, user: User) {
        let User { mut state, account, context, exports, cache, .. } = user;
        self.host.memory.switch_to(account);
        state.release();
        drop((exports, cache, state));
        // SAFETY: the context is alive, and what referred to it from outside is gone.
        unsafe { context.free() };
        self.host.memory.switch_to_machine();
        self.host.memory.close_account(account);
    }
}

impl User {
    pub fn state(&mut self) -> &mut UserState {
        &mut self.state
    }

    /// What came of the iteration that ended last; once.
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.borrow_mut().take()
    }

    pub fn has_iteration(&self) -> bool {
        self.fiber.is_some()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the runtime is alive.
        self.switch.enter(|| unsafe {
            self.globals.clear();
            self.stacks.clear();
            self.loader.clear();
            self.collections = None;
            self.host.memory.unwatch();
        });
    }
}

fn inspected<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<Inspected> {
    let options: Value<'js> = exports.get("options")?;
    let json = ctx.json_stringify(options)?.map(|text| text.to_string()).transpose()?;
    let options = json.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    let mut functions = Vec::new();
    for key in exports.keys::<String>() {
        let key = key?;
        if exports.get::<_, Value<'js>>(&key)?.is_function() {
            functions.push(key);
        }
    }
    Ok(Inspected { options, functions })
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("switch", &self.switch).finish_non_exhaustive()
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("state", &self.state).finish_non_exhaustive()
    }
}
