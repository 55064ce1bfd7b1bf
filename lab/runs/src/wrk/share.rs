//! A wrk script on several machines: what workers are handed of it, the threads that each runs, and what comes back for `done`.
//!
//! `setup` and `done` run on the coordinator, which has a state for each thread of all workers.

use super::{WrkGiven, page_given, settings};
use crate::kind::OnStuck;
use crate::url::{Page, UrlGiven, UrlHanded};
use prony_load::{RunError, RunOptions, Url, run_workload};
use prony_model::{Plan, ResultFile};
use prony_script_wrk::{ScriptError, ScriptFiles, ThreadValues, WrkScript};
use prony_workers::{Bundle, Counter, LoadKind, Merge, Recruited, Share, Unpacked, WorkersError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::error::Error;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A script whose threads are on workers.
#[derive(Debug)]
pub struct SharedScript {
    path: PathBuf,
    url: Url,
    load: WrkLoad,
    arguments: Vec<String>,
    script: WrkScript,
    /// By worker.
    threads: Vec<u32>,
    files: Arc<Mutex<BTreeSet<PathBuf>>>,
    on_stuck: OnStuck,
}

/// What says where a script's requests go and how its users begin.
#[derive(Debug, Clone)]
pub enum WrkLoad {
    /// The flags of `prony run`.
    Flags(Box<UrlGiven>),
    /// An address without flags, whose load is another with each run.
    Page(Page),
}

/// Why a script cannot be run on workers.
#[derive(Debug, thiserror::Error)]
pub enum SharedScriptError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
    #[error(transparent)]
    Url(#[from] crate::url::UrlBundleError),
}

impl SharedScript {
    /// Calls `setup` and `init` for each thread of all workers; what the script reads meanwhile travels with it.
    pub fn prepare(
        path: &Path,
        given: &WrkGiven,
        load: &WrkLoad,
        threads: Vec<u32>,
    ) -> Result<Self, ScriptError> {
        let files = Arc::default();
        let noted = ScriptFiles::Noted(Arc::clone(&files));
        let settings = settings(path, given, threads.iter().sum(), noted)?;
        let script = WrkScript::prepare_elsewhere(settings, given.on_stuck)?;
        let (url, arguments) = (given.url.clone(), given.arguments.clone());
        Ok(Self {
            path: path.to_owned(),
            url,
            load: load.clone(),
            arguments,
            script,
            threads,
            files,
            on_stuck: given.on_stuck,
        })
    }

    /// Runs the load to its end.
    pub fn run(
        &self,
        recruited: &mut Recruited,
        plan: &Plan,
        options: RunOptions,
    ) -> Result<ResultFile, SharedScriptError> {
        let (load, mut paths) = match &self.load {
            WrkLoad::Flags(given) => {
                let (handed, paths) = UrlHanded::of(&self.url, given)?;
                (LoadHanded::Flags(Box::new(handed)), paths)
            }
            WrkLoad::Page(page) => (LoadHanded::Page(page.clone()), Vec::new()),
        };
        let mut given = self.script.given().into_iter();
        let handed = WrkHanded {
            load,
            script: Bundle::place(&self.path)?,
            working_folder: Bundle::place(Path::new("."))?,
            arguments: self.arguments.clone(),
            threads: self
                .threads
                .iter()
                .map(|count| given.by_ref().take(*count as usize).collect())
                .collect(),
        };
        let read = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        paths.extend(read.iter().filter(|path| path.is_file()).cloned());
        paths.push(self.path.clone());
        let bundle = Bundle::pack(&WrkKind { on_stuck: self.on_stuck }, json!(handed), &paths)?;
        drop(read);
        Ok(recruited.run(plan, &bundle, &ThreadMerge(self), options)?)
    }

    /// Of all workers together, for `done`.
    pub const fn script(&self) -> &WrkScript {
        &self.script
    }
}

/// What workers are handed of a script beside its files.
#[derive(Debug, Serialize, Deserialize)]
struct WrkHanded {
    load: LoadHanded,
    script: String,
    working_folder: String,
    arguments: Vec<String>,
    /// By worker, of each of its threads.
    threads: Vec<Vec<ThreadValues>>,
}

#[derive(Debug, Serialize, Deserialize)]
enum LoadHanded {
    Flags(Box<UrlHanded>),
    Page(Page),
}

impl LoadHanded {
    /// The plan, and what the script is given.
    fn ready(
        &self,
        came: &Unpacked<'_>,
        arguments: Vec<String>,
        on_stuck: OnStuck,
    ) -> Result<(Plan, WrkGiven), Box<dyn Error>> {
        match self {
            Self::Page(page) => Ok((page.share_plan(came)?, page_given(page, on_stuck)?)),
            Self::Flags(url) => {
                let given = WrkGiven {
                    url: url.url()?,
                    headers: url.given.headers()?,
                    method: url.given.method().to_owned(),
                    body: url.body.clone(),
                    arguments,
                    connect_timeout: Duration::from_nanos(url.given.timeout().0),
                    on_stuck,
                };
                Ok((came.changed(url.plan(came.folder)?)?, given))
            }
        }
    }
}

/// wrk scripts as a kind of load.
#[derive(Debug)]
pub(crate) struct WrkKind {
    /// A thread that hangs in Lua does not come back: nothing but the end of the process ends it.
    pub(crate) on_stuck: OnStuck,
}

impl LoadKind for WrkKind {
    fn name(&self) -> &'static str {
        "wrk"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        open(came, self.on_stuck).map_err(|error| error.to_string())
    }
}

fn open(came: &Unpacked<'_>, on_stuck: OnStuck) -> Result<Box<dyn Share>, Box<dyn Error>> {
    let WrkHanded { load, script, working_folder, arguments, mut threads } =
        WrkHanded::deserialize(came.settings)?;
    let number = came.share.number() as usize;
    let values = if number < threads.len() { threads.swap_remove(number) } else { Vec::new() };
    let (plan, given) = load.ready(came, arguments, on_stuck)?;
    let threads = NonZeroUsize::new(values.len()).ok_or("it has no threads for this worker")?;
    let working_folder = Path::new("/").join(working_folder);
    let files = ScriptFiles::Beneath { root: came.folder.to_owned(), working_folder };
    let settings = settings(&came.folder.join(script), &given, values.len() as u32, files)?;
    let script = WrkScript::prepare_share(settings, given.on_stuck, came.share, values)?;
    Ok(Box::new(WrkShare { script: Rc::new(script), plan, threads, is_over: Rc::default() }))
}

/// The threads of one worker.
#[derive(Debug)]
struct WrkShare {
    script: Rc<WrkScript>,
    plan: Plan,
    threads: NonZeroUsize,
    is_over: Rc<Cell<bool>>,
}

impl Share for WrkShare {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&self, options: RunOptions) -> Result<ResultFile, RunError> {
        let result = run_workload(&self.plan, &*self.script, RunOptions { threads: self.threads, ..options });
        self.is_over.set(true);
        self.script.flush().map_err(|error| RunError::Program(error.into()))?;
        result
    }

    /// What threads keep for `done` is read once they have ended.
    fn counter(&self) -> Counter {
        let (script, is_over) = (Rc::clone(&self.script), Rc::clone(&self.is_over));
        Box::new(move || is_over.get().then(|| json!(script.changed().map_err(|error| error.to_string()))))
    }
}

/// Takes what threads have kept for `done`.
struct ThreadMerge<'a>(&'a SharedScript);

impl Merge for ThreadMerge<'_> {
    fn take(&self, worker: u32, counted: &Value) -> Result<(), String> {
        let changed = Result::<Vec<ThreadValues>, String>::deserialize(counted)
            .map_err(|error| error.to_string())??;
        let first = self.0.threads.iter().take(worker as usize).sum::<u32>() as usize;
        self.0.script.take_back(first, &changed).map_err(|error| error.to_string())
    }
}
