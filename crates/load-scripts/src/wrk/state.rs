//! One Lua state with wrk's table, its script loaded, and the functions through which it is called.

use super::address::{Address, connects, lookup};
use super::error::{Role, ScriptError};
use super::script::Settings;
use super::thread::ThreadHandle;
use super::watch::{Pulse, Watch};
use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table};
use std::path::Path;
use std::sync::Arc;

const PRELUDE: &str = include_str!("prelude.lua");

#[derive(Debug)]
pub(super) struct State {
    pub lua: Lua,
    /// What Lua's messages call the script.
    script: String,
    functions: Functions,
    pulse: Arc<Pulse>,
    /// For the message when the script is cut.
    settings: Arc<Settings>,
}

/// Each calls the script's function of its name as it is at that moment.
#[derive(Debug)]
pub(super) struct Functions {
    pub setup: Function,
    pub init: Function,
    pub delay: Function,
    pub request: Function,
    pub response: Function,
    pub done: Function,
    pub defines: Function,
    pub flush: Function,
}

impl State {
    /// `thread` becomes `wrk.thread`; the state that prepares and reports has none.
    pub(super) fn new(
        settings: &Arc<Settings>,
        watch: &Watch,
        thread: Option<ThreadHandle>,
    ) -> Result<Self, ScriptError> {
        let own = |error: mlua::Error| ScriptError::Lua(error.to_string());
        // SAFETY: scripts get all of LuaJIT, `ffi`, `debug` and C modules included, as wrk gives it to them. They
        // are the user's own programs and as trusted as the command line.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) };
        lua.set_memory_limit(settings.limits.memory_bytes).map_err(own)?;
        let pulse = Arc::new(Pulse::default());
        watch.add(&lua, Arc::clone(&pulse)).map_err(own)?;
        let functions = prepare(&lua, settings, thread).map_err(own)?;
        let state =
            Self { lua, script: settings.script_name(), functions, pulse, settings: Arc::clone(settings) };
        let chunk = state.lua.load(code(&settings.source)).set_name(format!("@{}", state.script));
        state.run(Role::Load, || chunk.exec())?;
        Ok(state)
    }

    pub(super) fn functions(&self) -> &Functions {
        &self.functions
    }

    pub(super) fn call<R: FromLuaMulti>(
        &self,
        role: Role,
        function: &Function,
        arguments: impl IntoLuaMulti,
    ) -> Result<R, ScriptError> {
        self.run(role, || function.call(arguments))
    }

    pub(super) fn defines(&self, role: Role) -> bool {
        let name = role.function().unwrap_or_default();
        self.functions.defines.call(name).unwrap_or(false)
    }

    /// An error of the script in a function that came back; the place is where the function begins.
    pub(super) fn fault(&self, role: Role, message: &str) -> ScriptError {
        let function = role.function().and_then(|name| self.lua.globals().get::<Function>(name).ok());
        let line = function.and_then(|function| function.info().line_defined);
        let place = line.map(|line| format!("{}:{line}: ", self.script)).unwrap_or_default();
        let message = format!("{place}{message}");
        ScriptError::Raised { script: self.script.clone(), role, message }
    }

    fn run<R>(&self, role: Role, work: impl FnOnce() -> mlua::Result<R>) -> Result<R, ScriptError> {
        self.pulse.during(role, work).map_err(|error| {
            let raised = ScriptError::raised(&self.script, role, &error);
            match raised {
                ScriptError::Raised { script, role, message } if self.pulse.was_cut() => {
                    let limit = self.settings.limits.patience().with(role).as_secs_f64();
                    let message = format!("{message} ({limit} s)");
                    ScriptError::Raised { script, role, message }
                }
                other => other,
            }
        })
    }
}

/// Without a first line that is meant for the system's program loader, but with its line end.
fn code(source: &[u8]) -> &[u8] {
    match source.iter().position(|byte| *byte == b'\n') {
        Some(end) if source.starts_with(b"#") => &source[end..],
        _ => source,
    }
}

fn prepare(lua: &Lua, settings: &Settings, thread: Option<ThreadHandle>) -> mlua::Result<Functions> {
    let start = start_values(lua, settings, thread)?;
    let call: Table = lua.load(PRELUDE).set_name("=wrk").call(start)?;
    Ok(Functions {
        setup: call.get("setup")?,
        init: call.get("init")?,
        delay: call.get("delay")?,
        request: call.get("request")?,
        response: call.get("response")?,
        done: call.get("done")?,
        defines: call.get("defines")?,
        flush: call.get("flush")?,
    })
}

/// What the prelude builds `wrk` from.
fn start_values(lua: &Lua, settings: &Settings, thread: Option<ThreadHandle>) -> mlua::Result<Table> {
    let start = lua.create_table()?;
    let url = &settings.url;
    start.set("scheme", url.scheme.as_str())?;
    start.set("host", url.host.as_str())?;
    start.set("port", url.port.as_deref())?;
    start.set("path", url.path.as_str())?;
    start.set("method", settings.method.as_str())?;
    start.set("body", settings.body.as_deref().map(|body| lua.create_string(body)).transpose()?)?;
    let headers = lua.create_table()?;
    for (name, value) in &settings.headers {
        headers.set(name.as_str(), value.as_str())?;
    }
    start.set("headers", headers)?;
    start.set("thread", thread)?;
    let directory = settings.path.parent().filter(|path| *path != Path::new(""));
    start.set("directory", directory.unwrap_or(Path::new(".")).to_string_lossy())?;
    let find = |_: &Lua, (host, service): (String, Option<String>)| lookup(&host, service.as_deref());
    start.set("lookup", lua.create_function(find)?)?;
    let timeout = settings.connect_timeout;
    let connect = move |_: &Lua, address: Address| Ok(connects(address, timeout));
    start.set("connect", lua.create_function(connect)?)?;
    Ok(start)
}
