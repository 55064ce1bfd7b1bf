//! One JavaScript runtime a thread, one context a user, one coroutine an iteration; all unsafe code of scripts.
//!
//! [`machine`] is the whole for one thread. [`builtin`] says how modules and native functions are added.

pub(crate) mod builtin;
mod context;
mod error;
mod evaluation;
mod fiber;
mod iteration;
mod limits;
mod loader;
mod machine;
mod memory;
mod modules;
mod raw;
mod text;
pub(crate) mod waits;

pub use builtin::{Builtin, Native};
pub(crate) use builtin::{Builtins, Fuller};
pub(crate) use context::globals::need_buffers;
pub use error::Fault;
pub use error::ScriptError;
pub(crate) use error::thrown::running_place;
pub(crate) use error::{Phase, Place};
pub(crate) use evaluation::{evaluated_module, stack_depth};
pub(crate) use iteration::Call;
pub use iteration::Ended;
pub use limits::Limits;
pub(crate) use loader::{ToldLacks, load};
pub use machine::Machine;
pub(crate) use machine::{Progress, User};
pub(crate) use memory::Memory;
pub use modules::{Modules, Script};
pub(crate) use raw::{bytes_of, is_array_buffer, throw_uncatchable};
pub(crate) use text::{text_of, well_formed};
pub(crate) use waits::{Answered, ChannelArrival, Failed, Heard, SocketHeard, Waits};
