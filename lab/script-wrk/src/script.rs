//! A script as a whole: its states are made and prepared, handed to the runner's threads, and asked for `done`.

use super::done::Reported;
use super::error::{Role, ScriptError};
use super::program::ScriptProgram;
use super::settings::Settings;
use super::state::State;
use super::thread::{Reach, Shared, TargetAddress, ThreadHandle};
use super::watch::{OnStuck, Watch};
use prony_model::ResultFile;
use prony_model::program::{Program, ProgramError, ThreadPlace, Workload};
use std::net::SocketAddr;
use std::sync::Arc;

/// A script that is ready to run: `setup` and `init` were called for each thread.
#[derive(Debug)]
pub struct WrkScript {
    watch: Watch,
    threads: Vec<Thread>,
    main: State,
}

#[derive(Debug)]
struct Thread {
    state: State,
    shared: Arc<Shared>,
}

impl WrkScript {
    /// `on_stuck` is called when a script hangs in a way that cannot be cut; it should end the process.
    pub fn prepare(
        settings: Settings,
        on_stuck: impl Fn(&ScriptError) + Send + Sync + 'static,
    ) -> Result<Self, ScriptError> {
        let settings = Arc::new(settings);
        let on_stuck: OnStuck = Arc::new(on_stuck);
        let watch = Watch::start(settings.script_name(), settings.limits.patience(), on_stuck);
        let service = settings.url.port.clone().unwrap_or_else(|| settings.url.scheme.clone());
        let target = Arc::new(TargetAddress::new(settings.url.host.clone(), service));
        let mut script = Self { main: State::new(&settings, &watch, None)?, watch, threads: Vec::new() };
        for _ in 0..settings.threads {
            let shared = Arc::new(Shared::new(Arc::clone(&target)));
            let own = ThreadHandle { shared: Arc::clone(&shared), reach: Reach::Own };
            let state = State::new(&settings, &script.watch, Some(own))?;
            script.threads.push(Thread { state, shared });
        }
        for thread in &script.threads {
            script.set_up(thread, &settings)?;
        }
        script.flush()?;
        Ok(script)
    }

    fn set_up(&self, thread: &Thread, settings: &Settings) -> Result<(), ScriptError> {
        let reach = Reach::Other(thread.state.lua.clone());
        let handle = ThreadHandle { shared: Arc::clone(&thread.shared), reach };
        self.main.call::<()>(Role::Setup, &self.main.functions().setup, handle)?;
        let lua = &thread.state.lua;
        let own = |error: mlua::Error| ScriptError::Lua(error.to_string());
        let arguments = lua.create_table().map_err(own)?;
        let texts =
            [settings.url.text.as_str()].into_iter().chain(settings.arguments.iter().map(String::as_str));
        for (index, text) in texts.enumerate() {
            arguments.raw_set(index, text).map_err(own)?;
        }
        thread.state.call(Role::Init, &thread.state.functions().init, arguments)
    }

    /// Calls `done`, where the script has one, and shows what it prints. To be called once the run is over.
    pub fn done(&self, result: &ResultFile) -> Result<(), ScriptError> {
        let reported = Reported::of(result);
        let own = |error: mlua::Error| ScriptError::Lua(error.to_string());
        let summary = reported.summary(&self.main.lua).map_err(own)?;
        let arguments = (summary, reported.latency, reported.rates);
        self.main.call::<()>(Role::Done, &self.main.functions().done, arguments)?;
        self.flush()
    }

    /// Writes out what scripts have printed, so that it stands before what is printed next.
    pub fn flush(&self) -> Result<(), ScriptError> {
        self.main.call(Role::Done, &self.main.functions().flush, ())
    }
}

impl Workload for WrkScript {
    fn program(&self, place: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        let prepared = self.threads.len();
        let thread = self.threads.get(place.number as usize);
        let thread = thread.ok_or(ProgramError::Threads { prepared, threads: place.threads })?;
        thread.shared.start();
        Ok(Box::new(ScriptProgram::new(&thread.state, &thread.shared)?))
    }

    fn address(&self, place: ThreadPlace) -> Option<SocketAddr> {
        self.threads.get(place.number as usize)?.shared.chosen()
    }
}
