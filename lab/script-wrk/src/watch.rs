//! Notices a script that does not come back, and cuts it: by a hook where Lua is interpreted, else by the owner's help.
//!
//! Hooks do not reach code that `LuaJIT` has compiled, and nothing reaches a script that waits in the system. What
//! the hook has not ended after a grace time is reported to the owner of the run, who can only end the process.

#![expect(unsafe_code, reason = "a hook is set in a state that another thread runs")]

use super::error::{Role, ScriptError};
use std::ffi::c_int;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How many looks a limit takes: a script is cut at most this part of its limit too late.
const LOOKS_PER_LIMIT: u32 = 8;
/// Said by the hook; the owner of the error puts the place before it.
const CUT_MESSAGE: &std::ffi::CStr = c"cut: it did not come back in time";

/// What one state is doing; written by its thread, read by the watch.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Odd while a function runs; each call adds two.
    calls: AtomicU64,
    role: AtomicU8,
    cut: AtomicBool,
}

impl Pulse {
    /// Marks the time in which `work` runs.
    pub(super) fn during<T>(&self, role: Role, work: impl FnOnce() -> T) -> T {
        let calls = self.calls.load(Ordering::Relaxed);
        self.role.store(role as u8, Ordering::Relaxed);
        self.calls.store(calls | 1, Ordering::Release);
        let outcome = work();
        self.calls.store((calls | 1).wrapping_add(1), Ordering::Release);
        outcome
    }

    pub(super) fn was_cut(&self) -> bool {
        self.cut.load(Ordering::Acquire)
    }

    fn role(&self) -> Role {
        Role::ALL[usize::from(self.role.load(Ordering::Relaxed)) % Role::ALL.len()]
    }
}

/// Told of a script that nothing can end.
pub(super) type OnStuck = Arc<dyn Fn(&ScriptError) + Send + Sync>;

/// How long a script may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Patience {
    /// For `delay`, `request` and `response`, for which all users of a thread wait.
    pub running: Duration,
    /// For the rest, which may read files or make all requests in advance.
    pub preparing: Duration,
}

impl Patience {
    pub(super) fn with(self, role: Role) -> Duration {
        match role {
            Role::Delay | Role::Request | Role::Response => self.running,
            Role::Load | Role::Setup | Role::Init | Role::Done => self.preparing,
        }
    }
}

/// A thread that looks at all states of a script from time to time, until it is dropped.
pub(super) struct Watch {
    states: Arc<Mutex<Vec<Watched>>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

struct Watched {
    pulse: Arc<Pulse>,
    /// Held so that `state` stays valid.
    #[expect(dead_code, reason = "keeps the state that the pointer is of")]
    lua: mlua::Lua,
    state: StatePointer,
    /// The call that was running at the last look, and since when.
    running: Option<(u64, Instant)>,
}

/// Used for `lua_sethook` alone.
struct StatePointer(*mut mlua::ffi::lua_State);

// SAFETY: the pointer is only given to `lua_sethook`, which LuaJIT allows from other threads (lj_record.c,
// rec_check_hook: "from a signal handler or another native thread").
unsafe impl Send for StatePointer {}

impl Watch {
    pub(super) fn start(script: String, patience: Patience, on_stuck: OnStuck) -> Self {
        let states = Arc::new(Mutex::new(Vec::new()));
        let over = Arc::new(AtomicBool::new(false));
        let rounds =
            Rounds { script, patience, on_stuck, states: Arc::clone(&states), over: Arc::clone(&over) };
        let thread = thread::Builder::new().name("prony-lua-watch".to_owned()).spawn(move || rounds.make());
        // Without a watch a script that loops is ended by Ctrl-C alone; that is no reason not to run one.
        Self { states, over, thread: thread.ok() }
    }

    pub(super) fn add(&self, lua: &mlua::Lua, pulse: Arc<Pulse>) -> mlua::Result<()> {
        let mut state = std::ptr::null_mut();
        // SAFETY: the closure only copies the pointer and leaves Lua's stack as it is.
        unsafe { lua.exec_raw::<()>((), |pointer| state = pointer) }?;
        let watched = Watched { pulse, lua: lua.clone(), state: StatePointer(state), running: None };
        self.states.lock().unwrap_or_else(PoisonError::into_inner).push(watched);
        Ok(())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It panics only where `on_stuck` does; that was said then.
            let _ = thread.join();
        }
    }
}

struct Rounds {
    script: String,
    patience: Patience,
    on_stuck: OnStuck,
    states: Arc<Mutex<Vec<Watched>>>,
    over: Arc<AtomicBool>,
}

impl Rounds {
    fn make(&self) {
        let pause = self.patience.running.min(self.patience.preparing) / LOOKS_PER_LIMIT;
        while !self.over.load(Ordering::Relaxed) {
            let now = Instant::now();
            let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(error) = states.iter_mut().find_map(|watched| self.look(watched, now)) {
                (self.on_stuck)(&error);
                return;
            }
            drop(states);
            thread::park_timeout(pause);
        }
    }

    /// Cuts a state that is over its time; an error where that has not helped.
    fn look(&self, watched: &mut Watched, now: Instant) -> Option<ScriptError> {
        let calls = watched.pulse.calls.load(Ordering::Acquire);
        if calls.is_multiple_of(2) {
            watched.running = None;
            return None;
        }
        let since = match watched.running {
            Some((call, since)) if call == calls => since,
            _ => now,
        };
        watched.running = Some((calls, since));
        let role = watched.pulse.role();
        let limit = self.patience.with(role);
        let passed = now.duration_since(since);
        if passed >= limit * 2 {
            let seconds = limit.as_secs_f64();
            return Some(ScriptError::Stuck { script: self.script.clone(), role, seconds });
        }
        if passed >= limit && !watched.pulse.cut.swap(true, Ordering::AcqRel) {
            let events = mlua::ffi::LUA_MASKCOUNT;
            // SAFETY: `watched.lua` keeps the state open, and LuaJIT lets other threads set hooks.
            unsafe { mlua::ffi::lua_sethook(watched.state.0, Some(cut), events, 1) };
        }
        None
    }
}

/// Raises an error in whatever runs. It stays set: a script that catches the error is cut again.
unsafe extern "C-unwind" fn cut(state: *mut mlua::ffi::lua_State, _: *mut mlua::ffi::lua_Debug) {
    let format = CUT_MESSAGE.as_ptr();
    let _: c_int = {
        // SAFETY: Lua calls hooks with its own running state, in which errors may be raised; the format has no
        // arguments.
        unsafe { mlua::ffi::luaL_error(state, format) }
    };
}
