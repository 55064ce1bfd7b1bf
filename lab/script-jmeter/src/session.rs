//! A plan from its file to what is run: properties, variables, loads, and the parts of its life.

use crate::compile::compile;
use crate::error::{ElementFault, JmeterError};
use crate::js::Engine;
use crate::loads::GroupSchedule;
use crate::plan::{Group, GroupKind};
use crate::properties;
use crate::run::TIMEOUT_MAX;
use crate::run::context::{Context, ThreadState};
use crate::run::data::DataSets;
use crate::run::files::Files;
use crate::run::groups::{GroupRun, GroupsWorkload};
use crate::run::program::GroupsProgram;
use crate::run::shared::{Properties, Shared, Variables};
use crate::run::sink::{OutputSpec, Sink};
use crate::run::timers::Rhythms;
use crate::text;
use crate::tree::{self, Element, Props};
use prony_jtl::{Format, Statistics, WriteError};
use prony_model::plan::PlanFaults;
use prony_model::plan::scenario::{FlowDraft, Grace, ScenarioDraft};
use prony_model::program::table::Tables;
use prony_model::program::{Program, ProgramError, RunControl, ThreadPlace, Workload};
use prony_model::{LoadModel, Nanos, Plan, PlanDraft, Target, WireOptions};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// A plan as a command line gives it.
#[derive(Debug, Clone, Default)]
pub struct Given {
    pub path: PathBuf,
    /// Of `-J`: names and values.
    pub properties: Vec<(String, String)>,
    /// Of `-q`.
    pub property_files: Vec<PathBuf>,
    /// Of `-l`.
    pub jtl: Option<PathBuf>,
}

/// The parts of a plan's life, each a run of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Setup,
    Main,
    Teardown,
}

impl Part {
    const fn kind(self) -> GroupKind {
        match self {
            Self::Setup => GroupKind::Setup,
            Self::Main => GroupKind::Main,
            Self::Teardown => GroupKind::Teardown,
        }
    }
}

/// A plan that can be run, again and again.
#[derive(Debug)]
pub struct JmeterPlan {
    given: Given,
    name: String,
    groups: Vec<Arc<Group>>,
    schedules: Vec<GroupSchedule>,
    properties: Vec<(String, String)>,
    variables: Variables,
    is_serial: bool,
}

/// What the parts of one life share: properties, files, results.
#[derive(Debug)]
pub struct Session<'a> {
    plan: &'a JmeterPlan,
    shared: Arc<Shared>,
    sink: Arc<Sink>,
}

/// Told when a run begins, from which its times are counted.
#[derive(Debug)]
pub struct SessionClock(Arc<Shared>);

impl SessionClock {
    pub fn begin(&self, epoch: Instant) {
        self.0.clock.begin(epoch);
    }
}

/// The users of one part.
#[derive(Debug)]
pub struct JmeterWorkload(GroupsWorkload);

impl JmeterPlan {
    /// Reads and checks all of it; no request is sent.
    pub fn open(given: Given) -> Result<Self, JmeterError> {
        let elements = tree::read_file(&given.path)?;
        let Some(plan) = elements.into_iter().find(|element| element.tag == "TestPlan") else {
            let message =
                "there is no Test Plan in it that is enabled; open it in JMeter and save it again".to_owned();
            return Err(JmeterError::Elements(vec![fault(&given.path, 1, "", "Test Plan", message)]));
        };
        let properties = properties_of(&given)?;
        let groups = compile(&given.path, &plan).map_err(JmeterError::Elements)?;
        let folder = given.path.parent().unwrap_or(Path::new("")).to_owned();
        let shared =
            Arc::new(Shared::new(plan.name.clone(), Properties::new(properties.clone()), Files::new(folder)));
        let (variables, schedules) = prepare(&given.path, &plan, &groups, &shared)?;
        Ok(Self {
            name: name_of(&given.path),
            groups: groups.into_iter().map(Arc::new).collect(),
            schedules,
            properties,
            variables,
            is_serial: plan.props.is("TestPlan.serialize_threadgroups"),
            given,
        })
    }

    /// The load of its main groups.
    pub fn plan(&self) -> Result<Plan, PlanFaults> {
        self.plan_of(Part::Main)
    }

    pub fn has(&self, part: Part) -> bool {
        self.groups.iter().any(|group| group.kind == part.kind())
    }

    pub fn plan_of(&self, part: Part) -> Result<Plan, PlanFaults> {
        let scenarios = self.of_part(part).map(|(index, group)| {
            let schedule = &self.schedules[index];
            let mut load = schedule.load.clone();
            let mut start = schedule.start;
            if self.is_serial && part == Part::Main {
                // Users wait for the groups before their own, and for their part in the ramp.
                let hold = Nanos::from_secs(24 * 3_600);
                load = LoadModel { budget: load.budget, ..LoadModel::constant(load.users_max(), hold) };
                start = Nanos::ZERO;
            }
            ScenarioDraft {
                start,
                flow: FlowDraft::Script,
                grace: Grace { stop: TIMEOUT_MAX, ramp_down: None },
                ..ScenarioDraft::new(&group.name, load)
            }
        });
        let draft = PlanDraft {
            name: self.name.clone(),
            targets: Vec::new(),
            timeout: TIMEOUT_MAX,
            // JMeter takes any certificate.
            wire: WireOptions { tls: insecure(), ..WireOptions::default() },
            scenarios: scenarios.collect(),
            ..PlanDraft::new(
                &self.name,
                Target::new("localhost", 80),
                LoadModel::constant(1, Nanos::from_secs(1)),
            )
        };
        draft.check()
    }

    fn of_part(&self, part: Part) -> impl Iterator<Item = (usize, &Arc<Group>)> {
        self.groups.iter().enumerate().filter(move |(_, group)| group.kind == part.kind())
    }

    /// A life of the plan; opens the files that its results go to.
    pub fn session(&self, writes_files: bool) -> Result<Session<'_>, WriteError> {
        let folder = self.given.path.parent().unwrap_or(Path::new("")).to_owned();
        let properties = Properties::new(self.properties.clone());
        let shared = Arc::new(Shared::new(self.name.clone(), properties, Files::new(folder)));
        let sink = if writes_files { self.open_outputs(&shared)? } else { Sink::default() };
        Ok(Session { plan: self, shared, sink: Arc::new(sink) })
    }

    fn open_outputs(&self, shared: &Arc<Shared>) -> Result<Sink, WriteError> {
        let is_xml =
            shared.properties.get("jmeter.save.saveservice.output_format").is_some_and(|text| text == "xml");
        let format = if is_xml { Format::Xml } else { Format::Csv };
        let of_all = self.given.jtl.clone().map(|path| OutputSpec {
            path,
            format,
            only_errors: false,
            only_successes: false,
        });
        let mut vars = self.variables.clone();
        let (engine, mut thread) = (Engine::default(), first_thread());
        let mut context = Context {
            vars: &mut vars,
            thread: &mut thread,
            shared,
            engine: &engine,
            evaluate_text: text::evaluate,
        };
        let of_listeners = self.groups.iter().map(|group| {
            let specs = group.listeners.iter().map(|listener| OutputSpec {
                path: listener.file.value(&mut context).trim().into(),
                format: if listener.is_xml { Format::Xml } else { Format::Csv },
                only_errors: listener.only_errors,
                only_successes: listener.only_successes,
            });
            specs.collect()
        });
        Sink::open(of_all, of_listeners.collect())
    }

    /// What would be run: the groups with their elements, for people.
    pub fn outline(&self) -> String {
        crate::outline::outline(&self.groups)
    }
}

impl Session<'_> {
    /// The users of a part of a plan that was made of [`JmeterPlan::plan_of`].
    pub fn workload(&self, part: Part, plan: &Plan) -> JmeterWorkload {
        let mut first_user = 0;
        let runs = self.plan.of_part(part).zip(plan.scenarios()).enumerate().map(
            |(at, ((index, group), scenario))| {
                let schedule = &self.plan.schedules[index];
                let users = scenario.load.users_max();
                let run = GroupRun {
                    group: Arc::clone(group),
                    index,
                    number: at + 1,
                    first_user,
                    users,
                    is_open: scenario.load.is_open(),
                    loops: scenario.load.budget.of_each_user(),
                    // A search has loads of its own, which last as long as they say.
                    duration: schedule
                        .duration
                        .filter(|_| self.plan.is_serial || scenario.load == schedule.load),
                    load: scenario.load.clone(),
                    start: schedule.start,
                    ramp: schedule.ramp,
                    active: AtomicU32::new(0),
                    done: AtomicU32::new(0),
                    began: std::sync::OnceLock::new(),
                    counts: group
                        .controllers
                        .iter()
                        .map(|_| [AtomicU64::new(0), AtomicU64::new(0)])
                        .collect(),
                };
                first_user += users;
                run
            },
        );
        JmeterWorkload(GroupsWorkload {
            groups: runs.collect(),
            shared: Arc::clone(&self.shared),
            tables: Tables::default(),
            data: DataSets::default(),
            rhythms: Rhythms::default(),
            sink: Arc::clone(&self.sink),
            variables: self.plan.variables.clone(),
            seed: plan.seed(),
            is_serial: self.plan.is_serial && part == Part::Main,
            all_active: AtomicU32::new(0),
            is_ending: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// The clock of the run that follows.
    pub fn clock(&self) -> SessionClock {
        SessionClock(Arc::clone(&self.shared))
    }

    /// What plans have logged since this was last asked for.
    pub fn take_log(&self) -> Vec<String> {
        self.shared.take_log()
    }

    /// Ends the files of results: what is missing of them.
    pub fn close(&self) -> Vec<String> {
        self.sink.close()
    }

    /// What was counted since this was last asked for, sample by sample as JMeter counts.
    pub fn take_statistics(&self) -> Statistics {
        self.sink.take_statistics()
    }
}

impl Workload for JmeterWorkload {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        Ok(Box::new(GroupsProgram::new(&self.0, thread)))
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.0.tables)
    }

    fn tick(&self, _elapsed: Nanos) -> RunControl {
        if self.0.is_stopping.load(Ordering::Relaxed) { RunControl::Stop } else { RunControl::Continue }
    }
}

// ---- what a plan is opened with

fn insecure() -> prony_model::plan::wire::TlsOptions {
    prony_model::plan::wire::TlsOptions { insecure: true, ..Default::default() }
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn fault(file: &Path, line: u32, place: &str, element: &str, message: String) -> ElementFault {
    ElementFault {
        file: file.to_owned(),
        line,
        place: place.to_owned(),
        element: element.to_owned(),
        message,
    }
}

/// Those of `user.properties` beside the plan, then of `-q`, then of `-J`.
fn properties_of(given: &Given) -> Result<Vec<(String, String)>, JmeterError> {
    let mut all = BTreeMap::new();
    let beside = given.path.with_file_name("user.properties");
    let files = beside.is_file().then_some(&beside).into_iter().chain(&given.property_files);
    for path in files {
        let text = fs::read(path).map_err(|cause| JmeterError::Unreadable { path: path.clone(), cause })?;
        all.extend(properties::read(&String::from_utf8_lossy(&text)));
    }
    all.extend(given.properties.iter().cloned());
    Ok(all.into_iter().collect())
}

/// Whoever evaluates what is known before the first user.
fn first_thread() -> ThreadState {
    ThreadState {
        group: "".into(),
        number: 1,
        name: "".into(),
        random: ChaCha8Rng::seed_from_u64(1),
        counters: FxHashMap::default(),
        rows: FxHashMap::default(),
        previous: None,
        sampler: String::new(),
        is_new_pass: false,
        iteration: 0,
    }
}

/// Variables of the plan, wherever they are defined, and the groups' loads.
fn prepare(
    path: &Path,
    plan: &Element,
    groups: &[Group],
    shared: &Arc<Shared>,
) -> Result<(Variables, Vec<GroupSchedule>), JmeterError> {
    let mut vars = Variables::default();
    let (engine, mut thread) = (Engine::default(), first_thread());
    let mut context = Context {
        vars: &mut vars,
        thread: &mut thread,
        shared,
        engine: &engine,
        evaluate_text: text::evaluate,
    };
    let mut faults = Vec::new();
    if let Some(arguments) = plan.props.element("TestPlan.user_defined_variables") {
        define(path, plan, arguments, &mut context, &mut faults);
    }
    define_all(path, &plan.children, &mut context, &mut faults);
    let mut schedules = Vec::new();
    for group in groups {
        match GroupSchedule::of(group, &mut context) {
            Ok(schedule) => schedules.push(schedule),
            Err(message) => {
                let place = format!("{} / {}", plan.name, group.name);
                let line = plan
                    .children
                    .iter()
                    .find(|child| *child.name == *group.name)
                    .map_or(1, |child| child.line);
                faults.push(fault(path, line, &place, "Thread Group", message));
            }
        }
    }
    if faults.is_empty() { Ok((vars, schedules)) } else { Err(JmeterError::Elements(faults)) }
}

fn define_all(path: &Path, elements: &[Element], context: &mut Context<'_>, faults: &mut Vec<ElementFault>) {
    for element in elements {
        if element.tag == "Arguments" {
            define(path, element, &element.props, context, faults);
        }
        define_all(path, &element.children, context, faults);
    }
}

fn define(
    path: &Path,
    element: &Element,
    arguments: &Props,
    context: &mut Context<'_>,
    faults: &mut Vec<ElementFault>,
) {
    // Their places are counted apart from those of the groups.
    let mut site = u32::MAX / 2;
    for argument in arguments.elements("Arguments.arguments") {
        let (name, raw) = (argument.text("Argument.name"), argument.text("Argument.value"));
        match text::read(raw, &mut site) {
            Ok(text) => {
                let value = text.value(context);
                context.vars.set(name, &value);
            }
            Err(error) => {
                let message = format!("the variable `{name}`: {error}");
                faults.push(fault(path, element.line, &element.name, "User Defined Variables", message));
            }
        }
    }
}
