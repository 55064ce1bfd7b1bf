//! One JavaScript runtime a thread, one context a user, one coroutine an iteration; all unsafe code of scripts.
//!
//! [`machine`] is the whole for one thread. [`builtin`] says how modules and native functions are added.

pub mod builtin;
mod context;
mod error;
mod fiber;
mod globals;
mod iteration;
mod limits;
mod loader;
mod machine;
mod memory;
mod modules;
pub mod natives;
mod stack;
mod thrown;
pub mod waits;

pub(super) use context::throw_uncatchable;
pub(super) use memory::Memory;

pub use builtin::{Builtin, Builtins, Fuller, Native};
pub use context::{bytes_of, is_array_buffer};
pub use error::{Fault, Frame, Phase, Place, ScriptError};
pub use globals::need_buffers;
pub use limits::Limits;
pub use loader::load;
pub use machine::{Call, Ended, Inspected, Machine, Progress, User};
pub use modules::{Modules, Script};
pub use waits::{Answered, Failed, Heard, SocketHeard, Waits};
