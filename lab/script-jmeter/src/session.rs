//! A plan from its file to what is run: properties, variables, loads, and the parts of its life.

use crate::compile::{Compiled, compile};
use crate::error::{ElementFault, JmeterError};
use crate::loads::GroupSchedule;
use crate::plan::{Group, GroupKind, IterationConfig};
use crate::properties;
use crate::run::TIMEOUT_MAX;
use crate::run::context::Context;
use crate::run::data::{DataSets, DataTurns, source_of};
use crate::run::files::{Files, Places};
use crate::run::groups::{GroupRun, GroupsWorkload};
use crate::run::program::GroupsProgram;
use crate::run::shared::{Logged, Properties, Shared, Variables};
use crate::run::sink::{OutputSpec, Sink, Wanted};
use crate::run::timers::{RhythmTurns, Rhythms};
use crate::run::turns::Turns;
use crate::text::Text;
use crate::tree;
use crate::variables::{evaluate_first, prepare, variable_files};
use prony_jtl::{Format, Statistics, WriteError};
use prony_model::plan::PlanFaults;
use prony_model::plan::hosts::{HostAddress, Hosts};
use prony_model::plan::scenario::{FlowDraft, Grace, ScenarioDraft};
use prony_model::program::table::Tables;
use prony_model::program::{Program, ProgramError, RunControl, RunShare, ThreadPlace, Workload};
use prony_model::{LoadModel, Nanos, Plan, PlanDraft, Target, WireOptions};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Instant;

/// The property that says how names of results' files begin that are beside the plan.
const PREFIX_OF_PLAN: &str = "jmeter.save.saveservice.base_prefix";

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
    /// Where files are that are not where the plan's names say.
    pub places: BTreeMap<String, PathBuf>,
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
    pub(crate) groups: Vec<Arc<Group>>,
    pub(crate) schedules: Vec<GroupSchedule>,
    properties: Vec<(String, String)>,
    variables: Variables,
    /// What names files that are read while it runs.
    pub(crate) file_names: Vec<Text>,
    /// Files of which it is made.
    pub(crate) included: Places,
    hosts: Hosts,
    is_serial: bool,
    tears_down_when_ended: bool,
}

/// What the parts of one life share: properties, files, results.
#[derive(Debug, Clone)]
pub struct Session {
    pub(crate) plan: Arc<JmeterPlan>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) sink: Arc<Sink>,
    /// Of the plan's users, those that run here.
    pub(crate) share: RunShare,
    /// The plan has ended its test, in its setUp or its main groups.
    pub(crate) is_ended: Arc<AtomicBool>,
}

/// Told when a run begins, from which its times are counted.
#[derive(Debug)]
pub struct SessionClock(Arc<Shared>);

impl SessionClock {
    pub fn begin(&self, epoch: Instant) {
        self.0.clock.begin(epoch);
    }
}

/// What the plan of a session logs.
#[derive(Debug)]
pub struct SessionLog(Arc<Shared>);

impl SessionLog {
    /// What was logged since this was last asked for.
    pub fn take(&self) -> Logged {
        self.0.take_log()
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
            let missing = ElementFault::new(&given.path, 1, "", "Test Plan", message);
            return Err(JmeterError::Elements(vec![missing]));
        };
        let properties = properties_of(&given)?;
        let Compiled { groups, mut file_names, included, variables, hosts: known } =
            compile(&given.path, &given.places, &plan).map_err(JmeterError::Elements)?;
        let shared = shared_of(&given, Properties::new(properties.clone()), RunShare::WHOLE);
        file_names.extend(variable_files(&plan));
        file_names.extend(variables.iter().flat_map(|(_, element)| variable_files(element)));
        let (variables, schedules) = prepare(&given.path, &plan, &variables, &groups, &shared)?;
        let mut hosts = Hosts::default();
        for (name, address) in known {
            hosts.insert(&name, HostAddress { address, port: None });
        }
        let opened = Self {
            hosts,
            name: name_of(&given.path),
            groups: groups.into_iter().map(Arc::new).collect(),
            schedules,
            properties,
            variables,
            file_names,
            included,
            is_serial: plan.props.is("TestPlan.serialize_threadgroups"),
            tears_down_when_ended: plan.props.is("TestPlan.tearDown_on_shutdown"),
            given,
        };
        if opened.has(Part::Main) {
            return Ok(opened);
        }
        let message = "no Thread Group of it has a thread and a loop, so nothing would be measured; give one of them both, with -J where \
                       they are properties";
        let (path, line) = (&opened.given.path, plan.line);
        let nothing = ElementFault::new(path, line, &plan.name, "Test Plan", message.to_owned());
        Err(JmeterError::Elements(vec![nothing]))
    }

    /// The load of its main groups.
    pub fn plan(&self) -> Result<Plan, PlanFaults> {
        self.plan_of(Part::Main)
    }

    pub fn has(&self, part: Part) -> bool {
        self.of_part(part).next().is_some()
    }

    /// Whether tearDown groups run where the plan itself has ended its test.
    pub fn tears_down_when_ended(&self) -> bool {
        self.tears_down_when_ended
    }

    pub fn plan_of(&self, part: Part) -> Result<Plan, PlanFaults> {
        let mut names = BTreeSet::new();
        let scenarios = self.of_part(part).map(|(index, group)| {
            let schedule = &self.schedules[index];
            let mut load = schedule.load.clone();
            let mut start = schedule.start;
            if self.is_serial {
                // Users wait for the groups before their own, and for their part in the ramp.
                let hold = Nanos::from_secs(24 * 3_600);
                load = LoadModel { budget: load.budget, ..LoadModel::constant(load.users_max(), hold) };
                start = Nanos::ZERO;
            }
            ScenarioDraft {
                start,
                flow: FlowDraft::Script,
                grace: Grace { stop: TIMEOUT_MAX, ramp_down: None },
                ..ScenarioDraft::new(&distinct(&group.name, &mut names), load)
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

    /// Those that have something to run: a group may be turned off by a number of threads or loops of 0.
    fn of_part(&self, part: Part) -> impl Iterator<Item = (usize, &Arc<Group>)> {
        let groups = self.groups.iter().enumerate().filter(move |(_, group)| group.kind == part.kind());
        groups.filter(move |(index, _)| !self.schedules[*index].is_empty())
    }

    /// The number of a group among those of its part, from 1; one that is turned off has one too.
    fn number_in_part(&self, index: usize) -> usize {
        let kind = self.groups[index].kind;
        self.groups[..=index].iter().filter(|group| group.kind == kind).count()
    }

    /// A life of the plan; opens the files that its results go to.
    pub fn session(self: &Arc<Self>, writes_files: bool) -> Result<Session, WriteError> {
        let properties = Properties::new(self.properties.clone());
        let shared = shared_of(&self.given, properties, RunShare::WHOLE);
        let sink = if writes_files { self.open_outputs(&shared)? } else { Sink::default() };
        Ok(self.session_with(shared, sink, RunShare::WHOLE))
    }

    pub(crate) fn session_with(
        self: &Arc<Self>,
        shared: Arc<Shared>,
        sink: Sink,
        share: RunShare,
    ) -> Session {
        let plan = Arc::clone(self);
        Session { plan, shared, sink: Arc::new(sink), share, is_ended: Arc::default() }
    }

    pub(crate) fn shared(&self, properties: BTreeMap<String, String>, share: RunShare) -> Arc<Shared> {
        shared_of(&self.given, Properties::new(properties), share)
    }

    /// The plan's file.
    pub fn path(&self) -> &Path {
        &self.given.path
    }

    /// The properties with which it was read.
    pub fn properties(&self) -> &[(String, String)] {
        &self.properties
    }

    /// Evaluates with what is known before the first user.
    pub(crate) fn evaluate<T>(
        &self,
        shared: &Arc<Shared>,
        evaluate: impl FnOnce(&mut Context<'_>) -> T,
    ) -> T {
        evaluate_first(&mut self.variables.clone(), shared, evaluate)
    }

    fn open_outputs(&self, shared: &Arc<Shared>) -> Result<Sink, WriteError> {
        let is_xml =
            shared.properties.get("jmeter.save.saveservice.output_format").is_some_and(|text| text == "xml");
        let format = if is_xml { Format::Xml } else { Format::Csv };
        let of_all = self.given.jtl.clone();
        let of_all = of_all.map(|path| OutputSpec { path, format, wanted: Wanted::default() });
        let prefix = shared.properties.get(PREFIX_OF_PLAN).unwrap_or_else(|| "~/".to_owned());
        let of_listeners = self.evaluate(shared, |context| {
            let of_groups = self.groups.iter().map(|group| {
                let specs = group.listeners.iter().map(|listener| OutputSpec {
                    path: self.place_of_results(&prefix, listener.file.value(context).trim()),
                    format: if listener.is_xml { Format::Xml } else { Format::Csv },
                    wanted: Wanted {
                        only_errors: listener.only_errors,
                        only_successes: listener.only_successes,
                    },
                });
                specs.collect()
            });
            of_groups.collect()
        });
        Sink::open(of_all, of_listeners)
    }

    /// Of a listener's file, whose name begins with a prefix where it is beside the plan.
    fn place_of_results(&self, prefix: &str, name: &str) -> PathBuf {
        match name.strip_prefix(prefix).filter(|_| !prefix.is_empty()) {
            Some(beside) => self.given.path.with_file_name(beside),
            None => name.into(),
        }
    }

    /// What would be run: the groups with their elements, for people.
    pub fn outline(&self) -> String {
        crate::outline::outline(&self.groups)
    }
}

/// The name of a group, with a number where others before it have the same one.
fn distinct(name: &str, known: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut all = std::iter::once(name.to_owned()).chain(numbered);
    let distinct = all.find(|name| !known.contains(name)).unwrap_or_default();
    known.insert(distinct.clone());
    distinct
}

impl Session {
    /// The users of a part of a plan that was made of [`JmeterPlan::plan_of`].
    pub fn workload(&self, part: Part, plan: &Plan) -> JmeterWorkload {
        let (mut first_user, share) = (0, self.share);
        let runs: Vec<GroupRun> = self
            .plan
            .of_part(part)
            .zip(plan.scenarios())
            .map(|((index, group), scenario)| {
                let schedule = &self.plan.schedules[index];
                let users = scenario.load.users_max();
                let run = GroupRun {
                    group: Arc::clone(group),
                    index,
                    number: self.plan.number_in_part(index),
                    first_user,
                    users,
                    own_users: share.users(first_user, users),
                    turns: Turns::of_users(share, &[(first_user, users)]),
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
            })
            .collect();
        let is_ending = if part == Part::Teardown { Arc::default() } else { Arc::clone(&self.is_ended) };
        JmeterWorkload(GroupsWorkload {
            data: DataSets::new(data_turns(self, &runs)),
            rhythms: Rhythms::new(rhythm_turns(share, &runs), plan.seed()),
            turns: Turns::of_users(share, &[(0, first_user)]),
            groups: runs,
            shared: Arc::clone(&self.shared),
            tables: Tables::default(),
            hosts: self.plan.hosts.clone(),
            sink: Arc::clone(&self.sink),
            variables: self.plan.variables.clone(),
            seed: plan.seed(),
            is_serial: self.plan.is_serial,
            all_active: AtomicU32::new(0),
            is_ending,
            is_stopping: AtomicBool::new(false),
        })
    }

    /// The clock of the run that follows.
    pub fn clock(&self) -> SessionClock {
        SessionClock(Arc::clone(&self.shared))
    }

    /// What plans log, for whoever tells it while they run.
    pub fn log(&self) -> SessionLog {
        SessionLog(Arc::clone(&self.shared))
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

    fn hosts(&self) -> Option<&Hosts> {
        Some(&self.0.hosts)
    }

    fn tick(&self, _elapsed: Nanos) -> RunControl {
        if self.0.is_stopping.load(Ordering::Relaxed) { RunControl::Stop } else { RunControl::Continue }
    }
}

/// Who reads which files, as far as their names are known beforehand.
fn data_turns(session: &Session, runs: &[GroupRun]) -> DataTurns {
    let mut readers: FxHashMap<String, Vec<(u32, u32)>> = FxHashMap::default();
    if session.share == RunShare::WHOLE {
        return DataTurns::default();
    }
    let shared = session.plan.shared(session.shared.properties.sorted(), RunShare::WHOLE);
    session.plan.evaluate(&shared, |context| {
        for run in runs {
            let sets = run.group.iteration_configs.iter().filter_map(|config| match config {
                IterationConfig::Csv(set) => Some(set),
                _ => None,
            });
            let sources = sets
                .map(|set| source_of(&set.sharing, &set.file.text(context), &run.group.name, 0).into_owned());
            for source in sources.collect::<BTreeSet<_>>() {
                readers.entry(source).or_default().push((run.first_user, run.users));
            }
        }
    });
    let of_files =
        readers.into_iter().map(|(source, users)| (source, Turns::of_users(session.share, &users)));
    DataTurns { of_files: of_files.collect(), of_machines: Turns::of_machines(session.share) }
}

/// Which timers stand before whose samplers.
fn rhythm_turns(share: RunShare, runs: &[GroupRun]) -> RhythmTurns {
    if share == RunShare::WHOLE {
        return RhythmTurns::default();
    }
    let sites = |run: &GroupRun| {
        let timers = run.group.samplers.iter().flat_map(|sampler| &sampler.timers);
        timers.filter_map(|timer| timer.site()).collect::<BTreeSet<_>>()
    };
    let groups: Vec<_> =
        runs.iter().enumerate().map(|(at, run)| (sites(run), at, (run.first_user, run.users))).collect();
    RhythmTurns::of(share, &groups)
}

// ---- what a plan is opened with

fn shared_of(given: &Given, properties: Properties, share: RunShare) -> Arc<Shared> {
    let folder = given.path.parent().unwrap_or(Path::new("")).to_owned();
    let turns = Turns::of_machines(share);
    let files = Files::new(folder, given.places.clone(), turns.clone());
    // As JMeter's `__TestPlanName` gives it.
    let name = given.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Arc::new(Shared::new(name, properties, files, turns))
}

fn insecure() -> prony_model::plan::wire::TlsOptions {
    prony_model::plan::wire::TlsOptions { insecure: true, ..Default::default() }
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
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
    for (name, value) in given.properties.iter().cloned() {
        // As in JMeter, `-Jname=` takes a property away.
        if value.is_empty() {
            all.remove(&name);
        } else {
            all.insert(name, value);
        }
    }
    Ok(all.into_iter().collect())
}
