//! wrk's Lua scripts: one `LuaJIT` state a thread and one for `setup` and `done`, with wrk's functions and tables.
//!
//! `docs/wrk.md` is the reference for people. The states are made, and `setup` and `init` called, one thread after
//! the other before the run begins, as wrk does; an error there ends the run before a request was sent.

mod address;
mod crossing;
mod done;
mod error;
mod program;
mod script;
mod settings;
mod share;
mod state;
mod text;
mod thread;
mod watch;

pub use error::{Role, ScriptError};
pub use script::WrkScript;
pub use settings::{Limits, ScriptFiles, Settings, WrkUrl};
pub use share::ThreadValues;
