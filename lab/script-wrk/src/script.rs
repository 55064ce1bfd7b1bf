//! A script as a whole: its states are made and prepared, handed to the runner's threads, and asked for `done`.

use super::done::Reported;
use super::error::{Role, ScriptError};
use super::program::ScriptProgram;
use super::settings::Settings;
use super::share::ThreadValues;
use super::state::State;
use super::thread::{Reach, Shared, TargetAddress, ThreadHandle};
use super::watch::{OnStuck, Watch};
use prony_model::ResultFile;
use prony_model::program::{Program, ProgramError, RunShare, ThreadPlace, Workload};
use std::net::SocketAddr;
use std::sync::Arc;

/// A script that is ready to run: `setup` and `init` were called for each thread.
#[derive(Debug)]
pub struct WrkScript {
    watch: Watch,
    threads: Vec<Thread>,
    main: State,
    share: RunShare,
}

#[derive(Debug)]
struct Thread {
    state: State,
    shared: Arc<Shared>,
    /// Once `setup` was called for it, where other machines run it; where this one runs it for another, what it was handed.
    given: ThreadValues,
}

/// Whose threads the states of a script are.
#[derive(Debug, Clone)]
enum Threads {
    /// Those that run here.
    Here(u32),
    /// Those of all machines, which are prepared here and run elsewhere.
    Elsewhere(u32),
    /// A share of another machine's.
    Given(Vec<ThreadValues>),
}

impl WrkScript {
    /// `on_stuck` is called when a script hangs in a way that cannot be cut; it should end the process.
    pub fn prepare(
        settings: Settings,
        on_stuck: impl Fn(&ScriptError) + Send + Sync + 'static,
    ) -> Result<Self, ScriptError> {
        let threads = Threads::Here(settings.threads);
        Self::with_threads(settings, on_stuck, &threads, RunShare::WHOLE)
    }

    /// As [`Self::prepare`] for threads that run on other machines: what `setup` says of each is handed there, and `done` sees what
    /// comes back.
    pub fn prepare_elsewhere(
        settings: Settings,
        on_stuck: impl Fn(&ScriptError) + Send + Sync + 'static,
    ) -> Result<Self, ScriptError> {
        let threads = Threads::Elsewhere(settings.threads);
        Self::with_threads(settings, on_stuck, &threads, RunShare::WHOLE)
    }

    /// The threads of one machine, for which `setup` was called on another.
    pub fn prepare_share(
        settings: Settings,
        on_stuck: impl Fn(&ScriptError) + Send + Sync + 'static,
        share: RunShare,
        given: Vec<ThreadValues>,
    ) -> Result<Self, ScriptError> {
        Self::with_threads(settings, on_stuck, &Threads::Given(given), share)
    }

    fn with_threads(
        settings: Settings,
        on_stuck: impl Fn(&ScriptError) + Send + Sync + 'static,
        threads: &Threads,
        share: RunShare,
    ) -> Result<Self, ScriptError> {
        let settings = Arc::new(settings);
        let on_stuck: OnStuck = Arc::new(on_stuck);
        let watch = Watch::start(settings.script_name(), settings.limits.patience(), on_stuck);
        let service = settings.url.port.clone().unwrap_or_else(|| settings.url.scheme.clone());
        let target = Arc::new(TargetAddress::new(settings.url.host.clone(), service));
        let main = State::new(&settings, &watch, None)?;
        let mut script = Self { main, watch, threads: Vec::new(), share };
        let (count, given) = match threads {
            Threads::Here(count) | Threads::Elsewhere(count) => (*count as usize, Vec::new()),
            Threads::Given(given) => (given.len(), given.clone()),
        };
        let mut given = given.into_iter();
        for _ in 0..count {
            let shared = Arc::new(Shared::new(Arc::clone(&target)));
            let own = ThreadHandle { shared: Arc::clone(&shared), reach: Reach::Own };
            let state = State::new(&settings, &script.watch, Some(own))?;
            script.threads.push(Thread { state, shared, given: given.next().unwrap_or_default() });
        }
        let mut prepared = std::mem::take(&mut script.threads);
        for thread in &mut prepared {
            match threads {
                Threads::Here(_) => script.set_up(thread)?,
                Threads::Elsewhere(_) => {
                    script.set_up(thread)?;
                    thread.given = ThreadValues::read(&thread.state.lua, thread.shared.chosen())?;
                }
                Threads::Given(_) => {
                    thread.given.write(&thread.state.lua)?;
                    thread.shared.set_chosen(thread.given.address);
                }
            }
            Self::begin(thread, &settings)?;
        }
        script.threads = prepared;
        script.flush()?;
        Ok(script)
    }

    /// What other machines are handed of each thread.
    pub fn given(&self) -> Vec<ThreadValues> {
        self.threads.iter().map(|thread| thread.given.clone()).collect()
    }

    /// What has changed of each thread since it was handed over, for [`Self::take_back`] of the machine that did.
    pub fn changed(&self) -> Result<Vec<ThreadValues>, ScriptError> {
        let changed = self.threads.iter().map(|thread| {
            Ok(thread.given.changed_to(ThreadValues::read(&thread.state.lua, thread.shared.chosen())?))
        });
        changed.collect()
    }

    /// Takes what has changed of threads on another machine, from thread `first` on.
    pub fn take_back(&self, first: usize, changed: &[ThreadValues]) -> Result<(), ScriptError> {
        let threads = self.threads.iter().skip(first);
        threads.zip(changed).try_for_each(|(thread, values)| values.write(&thread.state.lua))
    }

    fn set_up(&self, thread: &Thread) -> Result<(), ScriptError> {
        let reach = Reach::Other(thread.state.lua.clone());
        let handle = ThreadHandle { shared: Arc::clone(&thread.shared), reach };
        self.main.call::<()>(Role::Setup, &self.main.functions().setup, handle)
    }

    fn begin(thread: &Thread, settings: &Settings) -> Result<(), ScriptError> {
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

impl WrkScript {
    /// Threads of a share have every so many numbers among those of all.
    fn thread(&self, place: ThreadPlace) -> Option<&Thread> {
        self.threads.get((place.number / self.share.parts()) as usize)
    }
}

impl Workload for WrkScript {
    fn program(&self, place: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        let prepared = self.threads.len();
        let thread = self.thread(place);
        let thread = thread.ok_or(ProgramError::Threads { prepared, threads: place.threads })?;
        thread.shared.start();
        Ok(Box::new(ScriptProgram::new(&thread.state, &thread.shared)?))
    }

    fn address(&self, place: ThreadPlace) -> Option<SocketAddr> {
        self.thread(place)?.shared.chosen()
    }
}
