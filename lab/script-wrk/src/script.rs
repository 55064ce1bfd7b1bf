//! A script as a whole: its states are made and prepared, handed to the runner's threads, and asked for `done`.

use super::done::Reported;
use super::error::{Role, ScriptError};
use super::program::ScriptProgram;
use super::state::State;
use super::thread::{Reach, Shared, TargetAddress, ThreadHandle};
use super::watch::{OnStuck, Patience, Watch};
use prony_model::ResultFile;
use prony_model::program::{Program, ProgramError, ThreadPlace, Workload};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Lua cuts the names of longer sources short in its messages.
const NAME_LENGTH_MAX: usize = 50;

/// What a script is run with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// For messages, and for files that the script requires beside itself.
    pub path: PathBuf,
    pub source: Vec<u8>,
    pub url: WrkUrl,
    /// Of the command line.
    pub headers: Vec<(String, String)>,
    pub method: String,
    pub body: Option<Vec<u8>>,
    /// For `init`, without the URL.
    pub arguments: Vec<String>,
    pub threads: u32,
    /// Of `wrk.connect`.
    pub connect_timeout: Duration,
    pub limits: Limits,
}

/// The parts of the URL as scripts see them in `wrk`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrkUrl {
    /// As typed; `init` gets it as argument 0.
    pub text: String,
    pub scheme: String,
    /// Without brackets.
    pub host: String,
    /// Where the URL names one.
    pub port: Option<String>,
    /// With the query.
    pub path: String,
}

/// Beyond these a script is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For one call of `delay`, `request` or `response`: all users of a thread wait for it.
    pub running: Duration,
    /// For one call of `setup`, `init` or `done`, and for loading.
    pub preparing: Duration,
    /// Of one state.
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let (running, preparing) = (Duration::from_secs(10), Duration::from_secs(60));
        Self { running, preparing, memory_bytes: 1 << 30 }
    }
}

impl Limits {
    pub(super) fn patience(self) -> Patience {
        Patience { running: self.running, preparing: self.preparing }
    }
}

impl Settings {
    pub fn read_source(path: &Path) -> Result<Vec<u8>, ScriptError> {
        std::fs::read(path).map_err(|cause| ScriptError::Read { path: path.display().to_string(), cause })
    }

    /// The path, or the file's name alone where the path is long.
    pub(super) fn script_name(&self) -> String {
        let path = self.path.display().to_string();
        let name = self.path.file_name().map(|name| name.to_string_lossy().into_owned());
        if path.len() > NAME_LENGTH_MAX { name.unwrap_or(path) } else { path }
    }
}

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
