//! The result file: everything that is known of a run, in a schema with a version.
//!
//! `docs/run.md` describes it for people. Fields are only added within a version; a reader ignores unknown ones.

pub mod over_time;
mod progress;
mod second;
pub(crate) mod series;
mod watcher;
pub(crate) mod window;
mod worker;

pub use over_time::{OverTime, OverTimeTally};
pub use progress::{FailureCount, IterationsDone, Progress, TimesSoFar};
pub use second::SecondRow;
pub use watcher::{ResultWatcher, StandingResult};
pub use window::{NamedFigures, ScenarioFigures, TagFigures, WindowResult};
pub use worker::WorkerFigures;

use crate::data::variable::Order;
use crate::load::windows::{Window, WindowKind, Windows};
use crate::load::{LoadModel, Pacing, asked_per_s};
use crate::measurement::clock::ClockEvent;
use crate::measurement::counts::{CheckCount, Computing, Counts, FeederCount};
use crate::measurement::figures::{Figures, share};
use crate::measurement::observation::Observation;
use crate::measurement::tally::{ConnectionCounts, StartCounts, Tally, TallyCell};
use crate::plan::Plan;
use crate::plan::wire::{Spoken, WireOptions};
use crate::program::table::Tables;
use crate::subscription::figures::Subscribers;
use crate::units::Nanos;
use crate::verdict::Verdict;
use crate::verdict::conclusion::RunVerdict;
use crate::verdict::finding::Finding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub const SCHEMA: &str = "prony-result";
pub const SCHEMA_VERSION: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultFile {
    /// Always [`SCHEMA`].
    pub schema: String,
    pub schema_version: u32,
    pub state: RunState,
    pub origin: Origin,
    pub plan: PlanSummary,
    /// Findings that void the claim stand first.
    pub findings: Vec<Finding>,
    pub thresholds: Vec<Verdict>,
    /// What all of it comes to; absent in files of older versions until [`ResultFile::judge`].
    #[serde(default)]
    pub verdict: Option<RunVerdict>,
    /// Ramp, warm-up, steady state and after, as far as they exist, and the whole run last.
    #[serde(deserialize_with = "window::with_whole_run")]
    pub windows: Vec<WindowResult>,
    /// One row for each second, by when requests ended; in files a list for each column.
    #[serde(with = "crate::result::series")]
    pub series: Vec<SecondRow>,
    /// What ended in each interval; absent in files of older versions.
    #[serde(default, skip_serializing_if = "OverTime::is_empty")]
    pub over_time: OverTime,
    pub lab: LabFigures,
    /// What was seen beside the load: processes, databases, collectors, and the lab itself.
    #[serde(default)]
    pub observers: Vec<Observation>,
    /// Checks, rows and cut iterations.
    #[serde(default)]
    pub counted: Counted,
    /// Clients that subscribed; absent where the plan has none.
    #[serde(default, skip_serializing_if = "Subscribers::is_empty")]
    pub subscribers: Subscribers,
    /// The load generators that made it together; absent where it was one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerFigures>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Written while the run goes on; what a killed run leaves.
    Running,
    Completed,
    /// Ended early by the user.
    Stopped,
}

/// Where a result comes from. The runner fills it in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub prony_version: String,
    pub command_line: Vec<String>,
    pub started_at_unix_ms: u64,
    pub machine: Machine,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    pub host_name: String,
    pub kernel: String,
    pub processor: String,
    /// Those that the lab may use.
    pub processors: u32,
    pub memory_bytes: u64,
}

/// What was run, as far as a reader of the result needs it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanSummary {
    pub name: String,
    /// The first is that of requests which name none.
    pub targets: Vec<String>,
    pub scenarios: Vec<ScenarioSummary>,
    pub timeout_ns: Nanos,
    pub wire: WireOptions,
    pub warm_up_ns: Nanos,
    pub seed: u64,
    pub requests: Vec<RequestSummary>,
    pub tags: BTreeMap<String, String>,
    /// The most requests a second that waits allow, were every answer immediate.
    pub rate_cap_per_s: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScenarioSummary {
    pub name: String,
    pub start_ns: Nanos,
    pub load: LoadModel,
    pub pacing: Pacing,
    pub tags: BTreeMap<String, String>,
}

/// Of a script's requests only the names are known: methods are empty, weights 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestSummary {
    pub name: String,
    pub method: String,
    pub weight: u32,
}

impl PlanSummary {
    /// `found`: what a script asked for while the run went.
    pub fn of(plan: &Plan, found: Option<&Tables>) -> Self {
        let mut summary = Self::planned(plan);
        if let Some(tables) = found {
            let targets = tables.targets.all();
            summary.targets.extend(targets.iter().map(ToString::to_string));
            let names = tables.names.all().into_iter().map(|name| RequestSummary {
                name: name.to_string(),
                method: String::new(),
                weight: 0,
            });
            summary.requests.extend(names);
        }
        summary
    }

    /// Whether a script makes the requests, and waits between them as it says.
    pub fn is_script(&self) -> bool {
        !self.requests.is_empty() && self.requests.iter().all(|request| request.method.is_empty())
    }

    fn planned(plan: &Plan) -> Self {
        let requests = plan.requests().iter().map(|request| RequestSummary {
            name: request.name.clone(),
            method: request.method.clone(),
            weight: request.weight,
        });
        let scenarios = plan.scenarios().iter().map(|scenario| ScenarioSummary {
            name: scenario.name.clone(),
            start_ns: scenario.start,
            load: scenario.load.clone(),
            pacing: scenario.pacing,
            tags: scenario.tags.clone(),
        });
        Self {
            name: plan.name().to_owned(),
            targets: plan.targets().iter().map(|target| target.target.to_string()).collect(),
            scenarios: scenarios.collect(),
            timeout_ns: plan.timeout(),
            wire: plan.wire().clone(),
            warm_up_ns: plan.warm_up(),
            seed: plan.seed(),
            requests: requests.collect(),
            tags: plan.tags().clone(),
            rate_cap_per_s: plan.rate_cap(),
        }
    }

    /// What open models ask for in the middle of a second; `None` where none is open.
    pub fn asked_per_s(&self, second: u64) -> Option<f64> {
        let scenarios = self.scenarios.iter().map(|scenario| (scenario.start_ns, &scenario.load));
        asked_per_s(scenarios, Nanos::from_secs(second).plus(Nanos::from_millis(500)))
    }

    pub fn is_open(&self) -> bool {
        self.scenarios.iter().any(|scenario| scenario.load.rate_max().is_some())
    }

    /// Over all scenarios.
    pub fn users(&self) -> u32 {
        self.scenarios.iter().map(|scenario| scenario.load.users_max()).sum()
    }
}

/// A check of one request over the whole run, or a value that its answers had to give.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFigures {
    pub request: String,
    pub name: String,
    #[serde(flatten)]
    pub count: CheckCount,
}

/// A variable that takes its values from rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeederFigures {
    pub name: String,
    /// The file, or `list`.
    pub origin: String,
    pub rows: u64,
    pub order: Order,
    #[serde(flatten)]
    pub count: FeederCount,
}

/// What a plan's program counted over the whole run, whatever the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Of checks, and of captures without a default.
    pub checks: Vec<CheckFigures>,
    pub feeders: Vec<FeederFigures>,
    /// Iterations that ended early because a request in them failed.
    pub iterations_cut: u64,
    #[serde(default)]
    pub computing: Computing,
}

impl Counted {
    pub fn of(plan: &Plan, counts: &Counts) -> Self {
        let names = plan
            .requests()
            .iter()
            .flat_map(|request| request.check_names().map(move |name| (request.name.clone(), name)));
        let checks = names.enumerate().map(|(index, (request, name))| {
            let count = counts.checks.get(index).copied().unwrap_or_default();
            CheckFigures { request, name, count }
        });
        let feeders = plan.variables().iter().enumerate().filter_map(|(index, variable)| {
            let feeder = variable.feeder()?;
            Some(FeederFigures {
                name: variable.name.clone(),
                origin: feeder.origin.clone(),
                rows: feeder.rows.len() as u64,
                order: feeder.order,
                count: counts.feeders.get(index).copied().unwrap_or_default(),
            })
        });
        let (checks, feeders) = (checks.collect(), feeders.collect());
        let computing = counts.computing.clone();
        Self { checks, feeders, iterations_cut: counts.iterations_cut, computing }
    }
}

/// Requests by something that several may share.
type Sets<K> = BTreeMap<K, Vec<usize>>;

/// Requests by group, and by key and value of tags.
fn sets(plan: &Plan) -> (Sets<String>, Sets<(String, String)>) {
    let (mut groups, mut tags) = (Sets::new(), Sets::new());
    for (index, request) in plan.requests().iter().enumerate() {
        if let Some(group) = &request.group {
            groups.entry(group.clone()).or_default().push(index);
        }
        for tag in plan.tags_of(index) {
            tags.entry(tag).or_default().push(index);
        }
    }
    (groups, tags)
}

/// What the lab says of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabFigures {
    pub threads: u32,
    /// With each of the plan's targets, in their order.
    #[serde(default)]
    pub spoken: Vec<Spoken>,
    /// Processor time over elapsed time, of the busiest thread, from 0 to 1.
    pub busiest_thread_share: f64,
    pub processor_time_ns: Nanos,
    pub memory_peak_bytes: u64,
    /// How late starts were, through the lab's own fault.
    pub lateness: crate::measurement::figures::LatencyFigures,
    pub connections: ConnectionCounts,
    /// The longest time without an answer while one was waited for: in it a closed loop asked less than users would have.
    pub longest_silence_ns: Nanos,
    /// Requests still without an answer when the run was stopped; in no other figure.
    pub unfinished: u64,
    /// Steps of the wall clock and times in which the machine slept.
    #[serde(default)]
    pub clock: Vec<ClockEvent>,
}

impl ResultFile {
    pub fn window(&self, kind: WindowKind) -> Option<&WindowResult> {
        self.windows.iter().find(|window| window.window.kind == kind)
    }

    /// The steady state where there is one, else the whole run.
    pub fn headline(&self) -> &WindowResult {
        let whole = || self.windows.last().expect("a result always holds the whole run");
        self.window(WindowKind::Steady).unwrap_or_else(whole)
    }

    /// The seconds that the run covers as a whole. What is left of one that did not end is no rate, and what ends after
    /// the load is none of it.
    pub fn whole_seconds(&self) -> &[SecondRow] {
        let seconds = self.end().0 / 1_000_000_000;
        let count = self.series.iter().take_while(|row| row.second < seconds).count();
        &self.series[..count]
    }

    /// When the run was over, or the time for which it was to start requests.
    pub(crate) fn end(&self) -> Nanos {
        self.windows.last().map_or(Nanos::ZERO, |whole| whole.window.to_ns)
    }
}

/// Figures for each window that has begun by `elapsed` (windows end there if they have not yet), the whole run last.
/// `found`: what a script asked for while the run went.
pub fn window_results(
    plan: &Plan,
    found: Option<&Tables>,
    windows: &Windows,
    tally: &Tally,
    elapsed: Nanos,
) -> Vec<WindowResult> {
    let (groups, tags) = sets(plan);
    let names = request_names(plan, found, tally);
    let all: Vec<usize> = (0..windows.all().len()).collect();
    let parts = windows.all().iter().enumerate().map(|(index, window)| (*window, vec![index]));
    let begun = parts
        .chain([(windows.whole(), all)])
        .filter(|(window, _)| window.from_ns < elapsed || window.kind == WindowKind::Whole);
    begun
        .map(|(window, indices)| {
            let window = Window { to_ns: window.to_ns.min(elapsed), ..window };
            let by_request = names.iter().map(|(index, name)| NamedFigures {
                name: name.clone(),
                figures: Figures::of(&tally.sum_of_request(&indices, *index), window.length()),
            });
            let scenarios = plan.scenarios().iter().enumerate().map(|(index, scenario)| ScenarioFigures {
                name: scenario.name.clone(),
                starts: tally.starts_of(&indices, index),
            });
            let sum = |requests: &[usize]| {
                let mut cell = TallyCell::default();
                for request in requests {
                    cell.merge(&tally.sum_of_request(&indices, *request));
                }
                Figures::of(&cell, window.length())
            };
            let by_group = groups
                .iter()
                .map(|(name, requests)| NamedFigures { name: name.clone(), figures: sum(requests) });
            let by_tag = tags.iter().map(|((key, value), requests)| TagFigures {
                key: key.clone(),
                value: value.clone(),
                figures: sum(requests),
            });
            WindowResult {
                window,
                by_group: by_group.collect(),
                by_tag: by_tag.collect(),
                by_request: by_request.collect(),
                by_scenario: scenarios.collect(),
                rate_reached: rate_reached(plan, tally, &indices),
                all: Figures::of(&tally.sum(&indices), window.length()),
            }
        })
        .collect()
}

/// The indices under which requests are counted, and their names. Of a script's, those that were sent.
pub fn request_names(plan: &Plan, found: Option<&Tables>, tally: &Tally) -> Vec<(usize, String)> {
    let planned = plan.requests().iter().map(|request| request.name.clone()).enumerate();
    let all: Vec<usize> = (0..tally.windows()).collect();
    let was_sent = |(index, _): &(usize, String)| tally.sum_of_request(&all, *index).requests() > 0;
    let found = found.map(|tables| tables.names.all()).unwrap_or_default();
    let found = found.into_iter().map(|name| name.to_string()).enumerate();
    planned.chain(found.filter(was_sent)).collect()
}

/// A start that waited for a user counts as reached: its wait is in its response time. One that was dropped does not.
fn rate_reached(plan: &Plan, tally: &Tally, windows: &[usize]) -> Option<f64> {
    let mut sum = StartCounts::default();
    for (index, scenario) in plan.scenarios().iter().enumerate() {
        if scenario.load.rate_max().is_some() {
            sum.merge(&tally.starts_of(windows, index));
        }
    }
    (sum.due > 0).then(|| share(sum.started, sum.due))
}

pub fn verdicts(plan: &Plan, windows: &[WindowResult], subscribers: &Subscribers) -> Vec<Verdict> {
    let steady = windows.iter().find(|window| window.window.kind == WindowKind::Steady);
    let Some(window) = steady.or(windows.last()) else { return Vec::new() };
    plan.thresholds().iter().map(|threshold| Verdict::of(threshold, window, subscribers)).collect()
}
