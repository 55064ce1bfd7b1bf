//! `thread`, as scripts see it: from the state that prepares and reports, and as `wrk.thread` from within.

use super::address::{Address, lookup};
use super::crossing::Crossing;
use mlua::{Lua, UserData, UserDataFields, UserDataMethods, Value};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What scripts and the runner agree on for one thread.
#[derive(Debug)]
pub(super) struct Shared {
    /// Chosen by the script; the target's where it is absent.
    chosen: Mutex<Option<SocketAddr>>,
    target: Arc<TargetAddress>,
    started: AtomicBool,
    stopped: AtomicBool,
}

impl Shared {
    pub(super) fn new(target: Arc<TargetAddress>) -> Self {
        let (started, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { chosen: Mutex::new(None), target, started, stopped }
    }

    pub(super) fn chosen(&self) -> Option<SocketAddr> {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_chosen(&self, address: Option<SocketAddr>) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }

    pub(super) fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn address(&self) -> mlua::Result<Address> {
        self.chosen().map_or_else(|| self.target.get(), |address| Ok(Address(address)))
    }

    fn choose(&self, address: Address) -> mlua::Result<()> {
        if self.started.load(Ordering::Relaxed) {
            let late = "thread.addr is read when the run begins: set it in `setup` or `init`";
            return Err(mlua::Error::runtime(late));
        }
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Some(address.0);
        Ok(())
    }

    fn stop(&self) -> mlua::Result<()> {
        if !self.started.load(Ordering::Relaxed) {
            return Err(mlua::Error::runtime(
                "thread:stop() is for threads that run, not for `setup` or `init`",
            ));
        }
        self.stopped.store(true, Ordering::Relaxed);
        Ok(())
    }
}

/// The first address of the target, looked up when a script first asks.
#[derive(Debug)]
pub(super) struct TargetAddress {
    pub host: String,
    pub service: String,
    found: OnceLock<SocketAddr>,
}

impl TargetAddress {
    pub(super) fn new(host: String, service: String) -> Self {
        Self { host, service, found: OnceLock::new() }
    }

    fn get(&self) -> mlua::Result<Address> {
        if let Some(found) = self.found.get() {
            return Ok(Address(*found));
        }
        let first = lookup(&self.host, Some(&self.service))?.first().copied();
        let first = first.ok_or_else(|| mlua::Error::runtime(format!("`{}` has no address", self.host)))?;
        Ok(Address(*self.found.get_or_init(|| first.0)))
    }
}

/// Which state a [`ThreadHandle`] reaches.
#[derive(Debug)]
pub(super) enum Reach {
    /// Another one than the script's that holds the handle.
    Other(Lua),
    /// The very one that holds the handle.
    Own,
}

#[derive(Debug)]
pub(super) struct ThreadHandle {
    pub shared: Arc<Shared>,
    pub reach: Reach,
}

impl ThreadHandle {
    fn state<'a>(&'a self, asking: &'a Lua) -> &'a Lua {
        match &self.reach {
            Reach::Other(state) => state,
            Reach::Own => asking,
        }
    }
}

impl UserData for ThreadHandle {
    fn add_fields<F: UserDataFields<Self>>(fields: &mut F) {
        fields.add_field_method_get("addr", |_, thread| thread.shared.address());
        fields.add_field_method_set("addr", |_, thread, address: Address| thread.shared.choose(address));
    }

    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("get", |lua, thread, name: String| {
            let value: Value = thread.state(lua).globals().raw_get(name.as_str())?;
            Crossing::read(&name, &value)?.write(lua)
        });
        methods.add_method("set", |lua, thread, (name, value): (String, Value)| {
            let state = thread.state(lua);
            let value = Crossing::read(&name, &value)?.write(state)?;
            state.globals().raw_set(name, value)
        });
        methods.add_method("stop", |_, thread, ()| thread.shared.stop());
    }
}
