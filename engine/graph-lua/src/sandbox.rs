//! The state that a script runs in: which of Lua's libraries are there, how much memory there is, and the hook that ends it.
//!
//! The JIT compiler is on only where the library `jit` is opened, and that is not. `ffi`, `debug`, `package` and `io` are not opened
//! either; what is left of the others the prelude says. Coroutines are not there: each has a stack of its own, so that one that runs
//! another, and so on, would overflow the thread's.

use std::sync::Arc;

use mlua::{HookTriggers, Lua, LuaOptions, StdLib, VmState, debug::Debug};

use crate::limits::{Limits, Stop};

/// Instructions between two looks at the limits. One may be a call that copies all of the memory that a script may have.
const INSTRUCTIONS_BETWEEN: u32 = 200;

/// A state with these limits, and nothing of ours in it.
pub(crate) fn state(limits: &Arc<Limits>) -> mlua::Result<Lua> {
    let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::OS;
    // Lua's own `pcall` catches what has panicked here. That of the prelude hands it back to us, which goes on with the panic, so that no
    // script catches it.
    let lua = Lua::new_with(libraries, LuaOptions::new())?;
    lua.set_memory_limit(limits.memory_bytes)?;
    let own = Arc::clone(limits);
    let look = move |lua: &Lua, _: &Debug<'_>| match own.check() {
        Ok(()) => Ok(VmState::Continue),
        Err(stop) => end(lua, stop),
    };
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(INSTRUCTIONS_BETWEEN), look)?;
    Ok(lua)
}

/// Raises the error, and raises it again at each instruction from now on: a script that catches it is ended all the same.
fn end(lua: &Lua, stop: Stop) -> mlua::Result<VmState> {
    let again = move |_: &Lua, _: &Debug<'_>| Err(mlua::Error::external(stop));
    lua.set_global_hook(HookTriggers::new().every_nth_instruction(1), again)?;
    Err(mlua::Error::external(stop))
}
