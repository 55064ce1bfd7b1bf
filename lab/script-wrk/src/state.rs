//! One Lua state with wrk's table, its script loaded, and the functions through which it is called.

#![expect(unsafe_code, reason = "Lua's own stack is used where the safe interface copies")]

use super::address::{Address, connects, lookup};
use super::error::{Role, ScriptError};
use super::settings::Settings;
use super::thread::ThreadHandle;
use super::watch::{Pulse, Watch};
use mlua::{FromLuaMulti, Function, IntoLuaMulti, Lua, LuaOptions, StdLib, Table, ffi};
use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

/// Room that a table of headers has at first.
const HEADERS_USUAL: c_int = 8;
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

/// What `request` returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    /// The text that it returned last.
    Same,
    Changed,
    /// No text, but a value of this type of Lua's.
    Other(c_int),
}

impl Returned {
    /// For a message: "nothing", "a table".
    pub(super) const fn shown(self) -> &'static str {
        match self {
            Self::Same | Self::Changed => "a text",
            Self::Other(ffi::LUA_TNIL) => "nothing",
            Self::Other(ffi::LUA_TBOOLEAN) => "a boolean",
            Self::Other(ffi::LUA_TNUMBER) => "a number",
            Self::Other(ffi::LUA_TTABLE) => "a table",
            Self::Other(ffi::LUA_TFUNCTION) => "a function",
            Self::Other(_) => "a value of another kind",
        }
    }
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

    /// Calls `request`. Its text replaces `text` where it is another one; a million times a second that is worth a look
    /// at Lua's own memory.
    pub(super) fn ask_for_text(&self, text: &mut Vec<u8>) -> Result<Returned, ScriptError> {
        let mut returned = Returned::Same;
        let function = &self.functions.request;
        let call = |lua: *mut ffi::lua_State| {
            let mut length = 0;
            // SAFETY: `exec_raw` calls this in protected mode with the function on the stack, and room for more. The
            // slice is read while the string is on the stack. No value here needs to be dropped if Lua raises an error.
            let value = unsafe {
                ffi::lua_call(lua, 0, 1);
                let kind = ffi::lua_type(lua, -1);
                if kind != ffi::LUA_TSTRING {
                    returned = Returned::Other(kind);
                    return;
                }
                let start = ffi::lua_tolstring(lua, -1, &raw mut length);
                std::slice::from_raw_parts(start.cast::<u8>(), length)
            };
            if *value != **text {
                text.clear();
                text.extend_from_slice(value);
                returned = Returned::Changed;
            }
        };
        // SAFETY: as said in `call`; what it leaves on the stack is removed.
        self.run(Role::Request, || unsafe { self.lua.exec_raw::<()>(function, call) })?;
        Ok(returned)
    }

    /// Calls `response`. Of headers with one name the last is seen, as in wrk.
    pub(super) fn show_answer<'a>(
        &self,
        status: u16,
        headers: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        body: &[u8],
    ) -> Result<(), ScriptError> {
        let function = &self.functions.response;
        let call = |lua: *mut ffi::lua_State| {
            // SAFETY: `exec_raw` calls this in protected mode with the function on the stack and room for twenty values;
            // five at most are pushed. Lua copies the bytes. No value here needs to be dropped if Lua raises an error.
            let push =
                |bytes: &[u8]| unsafe { ffi::lua_pushlstring(lua, bytes.as_ptr().cast(), bytes.len()) };
            // SAFETY: as above.
            unsafe {
                ffi::lua_pushinteger(lua, status.into());
                ffi::lua_createtable(lua, 0, HEADERS_USUAL);
            }
            for (name, value) in headers {
                push(name);
                push(value);
                // SAFETY: the table is beneath the two.
                unsafe { ffi::lua_rawset(lua, -3) };
            }
            push(body);
            // SAFETY: the function and its three arguments are on the stack.
            unsafe { ffi::lua_call(lua, 3, 0) };
        };
        // SAFETY: as said in `call`.
        self.run(Role::Response, || unsafe { self.lua.exec_raw::<()>(function, call) })
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
        // Under another spelling it would be sent beside that of the URL.
        let name = if name.eq_ignore_ascii_case("host") { "Host" } else { name.as_str() };
        headers.set(name, value.as_str())?;
    }
    start.set("headers", headers)?;
    start.set("thread", thread)?;
    let directory = settings.path.parent().filter(|path| *path != Path::new(""));
    start.set("directory", directory.unwrap_or(Path::new(".")).to_string_lossy())?;
    start.set(
        "module_places",
        settings.files.module_places().iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>(),
    )?;
    if settings.files.is_asked() {
        let files = settings.files.clone();
        let place =
            move |_: &Lua, name: String| Ok(files.place(Path::new(&name)).to_string_lossy().into_owned());
        start.set("place", lua.create_function(place)?)?;
    }
    let find = |_: &Lua, (host, service): (String, Option<String>)| lookup(&host, service.as_deref());
    start.set("lookup", lua.create_function(find)?)?;
    let timeout = settings.connect_timeout;
    let connect = move |_: &Lua, address: Address| Ok(connects(address, timeout));
    start.set("connect", lua.create_function(connect)?)?;
    Ok(start)
}
