//! A k6 script on several machines: what workers are handed of it, the share that each runs, and how what they measure is merged.
//!
//! `setup`, `teardown` and `handleSummary` run once, on the coordinator; what `setup` returns is handed to workers with the script.

use super::given::option_variables;
use super::{Given, GivenError, Life, LifeControl};
use prony_load::{RunError, RunOptions};
use prony_model::program::RunControl;
use prony_model::program::table::Tables;
use prony_model::{Nanos, Plan, ResultFile};
use prony_script_k6::{
    Counted, GivenOptions, LogSettings, Main, MeasureSettings, Notes, ScriptFile, SecretSources, Session,
    Tier,
};
use prony_workers::{Bundle, Counter, LoadKind, Merge, Recruited, Share, Unpacked, WorkersError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// Workers for the load of a script's life.
#[derive(Debug)]
pub struct ScriptWorkers<'a> {
    pub recruited: &'a mut Recruited,
    /// What the session was opened with.
    pub given: &'a Given,
    pub no_thresholds: bool,
}

impl ScriptWorkers<'_> {
    /// Runs the load to its end; the options tell the session of it.
    pub(super) fn run(
        self,
        session: &Session,
        plan: &Plan,
        setup_data: Option<Arc<str>>,
        options: RunOptions,
    ) -> Result<ResultFile, WorkersError> {
        let handed = self.handed(session, setup_data)?;
        let settings = serde_json::to_value(handed).expect("texts can be written");
        let mut files = session.file.files();
        files.extend(self.given.script_path());
        let bundle = Bundle::pack(&SCRIPTS, settings, &files)?;
        self.recruited.run(plan, &bundle, &ScriptMerge(session), options)
    }

    fn handed(&self, session: &Session, setup_data: Option<Arc<str>>) -> Result<Handed, WorkersError> {
        let (given, file) = (self.given, &session.file);
        let given_names: Vec<_> = given
            .environment
            .iter()
            .map(|text| text.split_once('=').map_or(text.as_str(), |(name, _)| name))
            .collect();
        let script = given.script_path().map(|path| Bundle::place(&path)).transpose()?;
        let unreadable = |error: GivenError| WorkersError::Handed(error.to_string());
        Ok(Handed {
            name: file.name.clone(),
            text: script.is_none().then(|| session.text.to_string()),
            script,
            working_folder: Bundle::place(file.working_folder())?,
            environment: file.environment_of(&|name| given_names.contains(&name)),
            configuration: given.configuration_file().map_err(unreadable)?,
            variables: option_variables(),
            flags: given.options.iter().map(|(name, texts)| ((*name).to_owned(), texts.clone())).collect(),
            secrets: file.secrets.clone(),
            memory_limit_bytes: given.memory_limit_bytes,
            user_memory_limit_bytes: given.user_memory_limit_bytes,
            is_verbose: given.log.is_verbose,
            log_format: given.log.format.clone(),
            no_thresholds: self.no_thresholds,
            setup_data: setup_data.map(|data| data.to_string()),
        })
    }
}

/// What workers are handed of a script beside its files.
#[derive(Debug, Serialize, Deserialize)]
struct Handed {
    name: String,
    /// The file that is run; a script from standard input has none, and its text is here.
    script: Option<String>,
    text: Option<String>,
    working_folder: String,
    /// `__ENV`.
    environment: BTreeMap<String, String>,
    /// A file of options, by its name, with its contents.
    configuration: Option<(String, Value)>,
    /// Those of k6's variables that set options.
    variables: BTreeMap<String, String>,
    flags: Vec<(String, Vec<String>)>,
    secrets: SecretSources,
    memory_limit_bytes: Option<usize>,
    user_memory_limit_bytes: Option<usize>,
    is_verbose: bool,
    log_format: Option<String>,
    no_thresholds: bool,
    /// What `setup` has returned, as JSON.
    setup_data: Option<String>,
}

impl Handed {
    fn file(&self, folder: &Path) -> Result<ScriptFile, Box<dyn Error>> {
        let working_folder = folder.join(&self.working_folder);
        fs::create_dir_all(&working_folder)?;
        let main = match &self.script {
            Some(script) => Main::read(&folder.join(script), &working_folder)?,
            None => Main::standard_input(self.text.clone().unwrap_or_default(), &working_folder),
        };
        let mut file = ScriptFile::load(&self.name, main.beneath(folder), self.environment.clone())?;
        let limits = &mut file.limits;
        limits.memory_bytes = self.memory_limit_bytes.unwrap_or(limits.memory_bytes);
        limits.user_memory_bytes = self.user_memory_limit_bytes.unwrap_or(limits.user_memory_bytes);
        file.log = LogSettings::parse(self.is_verbose, None, self.log_format.as_deref(), None)?;
        file.secrets = self.secrets.clone();
        Ok(file)
    }

    fn options(&self) -> GivenOptions {
        let mut notes = Notes::default();
        let configuration = self.configuration.as_ref();
        let configuration = configuration.map(|(path, json)| Tier::of_configuration(path, json, &mut notes));
        let variables = self.variables.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let variables = Tier::of_variables(variables, &mut notes);
        let flags = self.flags.iter().map(|(name, texts)| (name.as_str(), texts.clone()));
        let flags = Tier::of_flags(flags, &mut notes);
        GivenOptions { configuration: configuration.unwrap_or_default(), variables, flags, notes }
    }
}

/// Scripts as a kind of load.
#[derive(Debug)]
pub(crate) struct ScriptKind;

pub(crate) static SCRIPTS: ScriptKind = ScriptKind;

impl LoadKind for ScriptKind {
    fn name(&self) -> &'static str {
        "k6"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        open(came).map_err(|error| error.to_string())
    }
}

fn open(came: &Unpacked<'_>) -> Result<Box<dyn Share>, Box<dyn Error>> {
    let handed = Handed::deserialize(came.settings)?;
    let settings = MeasureSettings {
        no_thresholds: handed.no_thresholds,
        no_color: true,
        share: Some(came.share),
        ..MeasureSettings::default()
    };
    let session = Session::open(&handed.file(came.folder)?, handed.options(), &settings)?;
    let plan = came.changed(session.plan()?)?;
    let setup_data = handed.setup_data.map(Arc::from);
    Ok(Box::new(ScriptShare { session, plan, setup_data }))
}

/// The users of one worker.
#[derive(Debug)]
struct ScriptShare {
    session: Session,
    plan: Plan,
    setup_data: Option<Arc<str>>,
}

impl Share for ScriptShare {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn run(&self, options: RunOptions) -> Result<ResultFile, RunError> {
        let control = Arc::new(LifeControl::new(false));
        let life = Life::new(&self.session, options.stop.clone(), &control);
        let result = life.load_here(&self.plan, self.setup_data.clone(), options);
        self.session.measure.log().flush();
        result
    }

    fn counter(&self) -> Counter {
        let measure = Arc::clone(&self.session.measure);
        Box::new(move || Some(json!(measure.take_counted())))
    }
}

/// Merges what workers measure into the session of the coordinator.
struct ScriptMerge<'a>(&'a Session);

impl Merge for ScriptMerge<'_> {
    fn tables(&self) -> Option<&Tables> {
        Some(self.0.tables())
    }

    fn take(&self, _worker: u32, counted: &Value) -> Result<(), String> {
        let counted = Counted::deserialize(counted).map_err(|error| error.to_string())?;
        self.0.measure.add(&counted).map_err(|error| error.to_string())
    }

    fn tick(&self, elapsed: Nanos) -> RunControl {
        self.0.measure.tick(elapsed)
    }
}
