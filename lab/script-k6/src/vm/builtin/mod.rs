//! The modules that scripts find without a file: JavaScript text of ours over native functions.
//!
//! A folder of `k6/` adds its modules with a [`Builtin`] for each specifier and a [`Native`] for what they reach in
//! Rust; [`crate::builtins`] lists them all. Text is evaluated for each user, who has an own copy: keep it short.
//! Natives are made once a thread and shared by all users, so they keep nothing themselves: what belongs to a user or
//! a thread is reached through [`crate::host::Host`].
//!
//! # A worked example: `sleep`
//!
//! The text (`modules/basics.js`), with the three steps of each call that parks, *submit*, *park* and *result*:
//!
//! ```js
//! import vm from "prony:vm";
//! export function sleep(seconds) {
//!     vm.sleep(seconds);              // submit: an ordinary native function; may throw
//!     if (vm.park()) vm.unwind();     // park: true says that the iteration is cut; nothing may come in between
//! }                                   // result: another native, e.g. `return native.result(id)`; may throw
//! ```
//!
//! The native, an ordinary function of rquickjs, says what the user waits for and returns at once:
//!
//! ```text
//! fn sleep(ctx: Ctx<'_>, seconds: f64) -> rquickjs::Result<()> {
//!     let host = host_of(&ctx);
//!     host.require_running(&ctx, "sleep")?;
//!     let due = host.now().plus(Nanos::from_secs_f64(seconds));
//!     let mut user = host.user();
//!     let timer = user.waits.start_timer(due);
//!     user.waits.await_one(timer);            // or `await_any`
//!     Ok(())
//! }
//!
//! pub const NATIVES: &[Native] = &[Native { name: "prony:vm", install: |ctx, exports| {
//!     exports.set("sleep", Function::new(ctx.clone(), sleep)?)
//! } }];
//! pub const MODULES: &[Builtin] = &[Builtin { specifier: "k6", text: include_str!("basics.js") }];
//! ```
//!
//! An HTTP call is the same with `host.outgoing()` for the request text and its [`prony_model::program::call::Ask`], and a
//! third step that takes [`super::waits::Heard`] with `user.waits.take(id)`.
//!
//! What goes on without blocking (promises, sockets with events, timers) registers a callback,
//! `host.on_news(&ctx, id, function)`: the iteration does not end while one is registered, and each time something
//! comes it is called with `id`, and takes it with `user.waits.take(id)`. After the last news it is gone by itself;
//! `host.off_news(id)` removes it before.

pub(crate) mod natives;

use rquickjs::{Ctx, Object};

/// A module that scripts import.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// As scripts write it: `k6/http`.
    pub specifier: &'static str,
    /// An ES module.
    pub text: &'static str,
}

/// Native functions, for built-ins only.
#[derive(Clone, Copy)]
pub struct Native {
    /// Begins with `prony:`. The module has one export, `default`: the object that `install` fills.
    pub name: &'static str,
    pub install: for<'js> fn(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<()>,
}

/// A module that is another for those who mention something of it that few do: what each user has a copy of stays small.
#[derive(Debug, Clone, Copy)]
pub struct Fuller {
    /// As scripts write it.
    pub specifier: &'static str,
    /// Found in the text of a module that imports it.
    pub words: &'static [&'static str],
    /// The module that a script gets which names any of `words`.
    pub instead: &'static str,
}

/// All modules that a script finds without a file.
#[derive(Debug, Clone, Default)]
pub struct Builtins {
    pub modules: Vec<Builtin>,
    pub fuller: Vec<Fuller>,
    pub natives: Vec<Native>,
    /// Names on `globalThis`, with the module that exports them: it is evaluated for a user at its first look at one.
    pub globals: Vec<(&'static [&'static str], &'static str)>,
}

/// What the names of natives begin with.
pub(super) const NATIVE_PREFIX: &str = "prony:";

impl Builtins {
    /// With the modules and natives of one folder; where two have one name, the later counts.
    #[must_use]
    pub fn with(mut self, modules: &[Builtin], natives: &[Native]) -> Self {
        self.modules.extend_from_slice(modules);
        self.natives.extend_from_slice(natives);
        self
    }

    /// Has exports of a module of the table found on `globalThis`.
    #[must_use]
    pub fn with_globals(mut self, globals: &[(&'static [&'static str], &'static str)]) -> Self {
        self.globals.extend_from_slice(globals);
        self
    }

    #[must_use]
    pub fn with_fuller(mut self, fuller: Fuller) -> Self {
        self.fuller.push(fuller);
        self
    }

    /// What a module of a script gets under a specifier; `mentions` says whether its text has a word.
    pub(super) fn fuller(&self, specifier: &str, mentions: impl Fn(&str) -> bool) -> Option<&'static str> {
        let fuller = self.fuller.iter().find(|fuller| fuller.specifier == specifier)?;
        fuller.words.iter().any(|word| mentions(word)).then_some(fuller.instead)
    }

    pub fn module(&self, specifier: &str) -> Option<&Builtin> {
        self.modules.iter().rfind(|module| module.specifier == specifier)
    }

    pub(super) fn native(&self, name: &str) -> Option<&Native> {
        self.natives.iter().rfind(|native| native.name == name)
    }
}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").field("name", &self.name).finish_non_exhaustive()
    }
}
