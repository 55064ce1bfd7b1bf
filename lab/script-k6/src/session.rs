//! A script that is ready to run: its init code was run once, its options are known, and the plan that they make.

use super::exit::Exit;
use super::file::ScriptFile;
use super::host::Clock;
use super::http::settings::{HttpOptions, HttpSettings};
use super::measure::{BesideOthers, Measure, MeasureError, MeasureSettings, Unmeasured};
use super::metrics::binding::AddRules;
use super::modules::SharedArrays;
use super::modules::execution::{RunEnd, RunState};
use super::modules::log::Log;
use super::modules::log_settings::LogSettings;
use super::options::{Notes, Options, OptionsError, Scenario, Tier, Tiers};
use super::program::{Entry, ScenarioSpec, ScriptWorkload};
use super::vm::{Fault, Machine, Script, ScriptError, ToldLacks};
use super::wire::Wire;
use super::workload::Measured;
use prony_model::plan::PlanFaults;
use prony_model::plan::scenario::{FlowDraft, Grace, ScenarioDraft};
use prony_model::program::table::Tables;
use prony_model::program::{RunShare, StopFlag};
use prony_model::{LoadModel, Nanos, Plan, PlanDraft};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Instant, SystemTime};

/// How long `handleSummary` may take, as in k6.
pub(crate) const SUMMARY_TIMEOUT: Nanos = Nanos::from_secs(120);
/// What a request may take unless it says otherwise, as in k6.
const REQUEST_TIMEOUT: Nanos = Nanos::from_secs(60);

/// Options from everywhere but the script.
#[derive(Debug, Clone, Default)]
pub struct GivenOptions {
    pub configuration: Tier,
    pub variables: Tier,
    pub flags: Tier,
    /// Of reading them.
    pub notes: Notes,
}

/// A script with its options.
#[derive(Debug)]
pub struct Session {
    /// For results and their files.
    pub name: String,
    /// The script's text.
    pub text: Arc<str>,
    pub options: Options,
    pub measure: Arc<Measure>,
    script: Arc<Script>,
    /// As it was read.
    pub file: ScriptFile,
    /// Where the log goes.
    pub log: LogSettings,
    /// What should be said of the options before the run.
    pub warnings: Vec<String>,
    functions: Vec<String>,
    /// Must be there as long as plans made of the session are run.
    pub wire: Wire,
}

/// Why a script cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Measure(#[from] MeasureError),
    #[error(transparent)]
    Plan(#[from] PlanFaults),
    #[error("the script exports no function that could be run; write `export default function () {{ … }}`")]
    NoFunctions,
    /// Its init code called `exec.test.abort`; the message is k6's.
    #[error("{0}")]
    Aborted(String),
}

impl SessionError {
    pub const fn exit(&self) -> Exit {
        match self {
            // As k6, which has no code for it.
            Self::Script(ScriptError { fault: Fault::Rejected, .. }) | Self::NoFunctions => Exit::Other,
            Self::Script(_) => Exit::Exception,
            Self::Aborted(_) => Exit::Aborted,
            Self::Options(_) | Self::Measure(_) | Self::Plan(_) => Exit::Configuration,
        }
    }
}

/// A part of a script's life that is run as one user with one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Setup,
    Teardown,
    Summary,
}

impl Part {
    /// The exported function.
    pub const fn function(self) -> &'static str {
        match self {
            Self::Setup => "setup",
            Self::Teardown => "teardown",
            Self::Summary => "handleSummary",
        }
    }

    /// Where it does not come back in time.
    pub const fn timeout_exit(self) -> Exit {
        match self {
            Self::Setup => Exit::SetupTimeout,
            Self::Teardown => Exit::TeardownTimeout,
            Self::Summary => Exit::Timeout,
        }
    }
}

/// What goes on while a part runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// It is all that runs.
    Nothing,
    /// The load or another part may run.
    Others,
}

impl Session {
    /// Runs the script's init code for a user who does nothing, and consolidates what it exports with what was given.
    pub fn open(
        file: &ScriptFile,
        given: GivenOptions,
        settings: &MeasureSettings,
    ) -> Result<Self, SessionError> {
        // What it leaves behind is not what users find, but for shared arrays: it has run with the options not yet known.
        let first = Arc::new(file.script());
        let inspected = Machine::new(Arc::clone(&first), Clock::Real(Instant::now()))?.inspect();
        // Also where the script has caught what the call throws.
        if let Some(RunEnd::Aborted(message)) = first.shared::<RunState>().ended() {
            return Err(SessionError::Aborted(message));
        }
        let inspected = inspected?;
        if inspected.functions.is_empty() {
            return Err(SessionError::NoFunctions);
        }
        let GivenOptions { configuration, variables, flags, mut notes } = given;
        let tier = Tier::of_script(&inspected.options, &mut notes);
        let tiers = Tiers { configuration, script: tier, variables, flags };
        let is_exported = |name: &str| inspected.functions.iter().any(|known| known == name);
        let mut consolidated = tiers.consolidate(&is_exported, notes)?;
        consolidated.warnings.extend(file.warnings());
        let wire = Wire::new(&consolidated.options, &mut consolidated.warnings)?;
        let mut script = file.script();
        script.shared::<ToldLacks>().add(&first.shared::<ToldLacks>());
        script.shared::<SharedArrays>().take_over(&first.shared::<SharedArrays>());
        let shared = (script.shared::<Log>(), script.shared::<RunState>());
        let registry = &first.recorder.registry;
        let (measure, recorder) = Measure::new(&consolidated.options, registry, shared, settings)?;
        script.recorder = recorder;
        script.shared::<AddRules>().throws.store(consolidated.options.throw, Ordering::Relaxed);
        let instances = settings.share.map_or(1, RunShare::parts);
        script.shared::<HttpSettings>().set(HttpOptions::new(&consolidated.options, instances));
        Ok(Self {
            name: file.name.clone(),
            text: file.text().into(),
            options: consolidated.options,
            warnings: consolidated.warnings,
            measure: Arc::new(measure),
            script: Arc::new(script),
            file: file.clone(),
            log: file.log.clone(),
            functions: inspected.functions,
            wire,
        })
    }

    /// Targets and names of requests, as the script's users find them.
    pub fn tables(&self) -> &Tables {
        &self.script.tables
    }

    /// True where the script has this function, whether it is to be run or not.
    pub fn exports(&self, part: Part) -> bool {
        self.functions.iter().any(|name| name == part.function())
    }

    /// True where the script has this part and nothing forbids it.
    pub fn has(&self, part: Part) -> bool {
        let is_forbidden = match part {
            Part::Setup => self.options.no_setup,
            Part::Teardown => self.options.no_teardown,
            Part::Summary => false,
        };
        !is_forbidden && self.exports(part)
    }

    pub fn timeout(&self, part: Part) -> Nanos {
        match part {
            Part::Setup => self.options.setup_timeout,
            Part::Teardown => self.options.teardown_timeout,
            Part::Summary => SUMMARY_TIMEOUT,
        }
    }

    /// The plan that the options make.
    pub fn plan(&self) -> Result<Plan, SessionError> {
        Ok(self.plan_of(&self.name, self.options.scenario_drafts())?)
    }

    /// One user and one iteration, which ends when the part's time is over.
    pub fn part_plan(&self, part: Part) -> Plan {
        let load = LoadModel::per_user_iterations(1, 1, self.timeout(part));
        let scenario = ScenarioDraft {
            flow: FlowDraft::Script,
            grace: Grace::NONE,
            ..ScenarioDraft::new(part.function(), load)
        };
        self.plan_of(part.function(), vec![scenario]).expect("one user and one iteration make sense")
    }

    fn plan_of(&self, name: &str, scenarios: Vec<ScenarioDraft>) -> Result<Plan, PlanFaults> {
        let draft = PlanDraft {
            name: name.to_owned(),
            targets: Vec::new(),
            timeout: REQUEST_TIMEOUT,
            wire: self.wire.options.clone(),
            seed: 1,
            variables: Vec::new(),
            requests: Vec::new(),
            subscriptions: Vec::new(),
            scenarios,
            thresholds: Vec::new(),
            warm_up: Nanos::ZERO,
            tags: self.options.tags.clone(),
            observe: Vec::new(),
        };
        draft.check()
    }

    /// What the users of a plan do, which was made of [`Self::plan`]. `began` is when the life began; the flag is the one
    /// with which it is run.
    pub fn iterations(
        &self,
        plan: &Plan,
        setup_data: Option<Arc<str>>,
        began: Began,
        stop: &StopFlag,
    ) -> Measured {
        let mut workload = self.workload(Entry::Iterations, setup_data, began, stop);
        workload.scenarios = self.options.scenarios.iter().map(spec).collect();
        workload.users = self.users_prepared(plan);
        self.measured(workload)
    }

    /// `data` is what `setup` returned, or what the summary is made of.
    pub fn part(
        &self,
        part: Part,
        data: Option<Arc<str>>,
        began: Began,
        stop: &StopFlag,
        beside: Beside,
    ) -> Measured {
        let entry = match part {
            Part::Setup => Entry::Setup,
            Part::Teardown => Entry::Teardown,
            Part::Summary => Entry::Summary(data.clone().unwrap_or_else(|| "{}".into())),
        };
        let mut workload = self.workload(entry, data, began, stop);
        if part == Part::Summary {
            workload.watcher = Arc::new(Unmeasured(Arc::clone(&self.measure)));
        } else if beside == Beside::Others {
            workload.watcher = Arc::new(BesideOthers(Arc::clone(&self.measure)));
        }
        self.measured(workload)
    }

    fn measured(&self, workload: ScriptWorkload) -> Measured {
        Measured::new(workload, Arc::clone(&self.measure), self.wire.hosts.clone())
    }

    fn workload(
        &self,
        entry: Entry,
        data: Option<Arc<str>>,
        began: Began,
        stop: &StopFlag,
    ) -> ScriptWorkload {
        let watcher = Arc::clone(&self.measure);
        let mut workload = ScriptWorkload::new(Arc::clone(&self.script), entry, watcher);
        workload.setup_data = data;
        workload.began = began;
        workload.stop = stop.clone();
        workload.keeps_connections = !self.options.no_vu_connection_reuse;
        workload
    }

    /// All, but of a last scenario with an arrival rate those that it wants at first: users are numbered in the order
    /// of scenarios.
    fn users_prepared(&self, plan: &Plan) -> u32 {
        let users = |scenario: &prony_model::plan::scenario::Scenario| scenario.load.users_max();
        match (plan.scenarios(), &self.options.scenarios[..]) {
            ([before @ .., last], [.., wanted]) => {
                before.iter().map(users).sum::<u32>() + wanted.executor.users_prepared().min(users(last))
            }
            _ => plan.users(),
        }
    }
}

/// When a life began, on both clocks.
pub type Began = (Instant, SystemTime);

fn spec(scenario: &Scenario) -> ScenarioSpec {
    ScenarioSpec {
        name: scenario.name.clone(),
        exec: scenario.exec.as_str().into(),
        environment: scenario.env.clone().into_iter().collect(),
        tags: scenario.tags.clone().into_iter().collect(),
    }
}
