//! The search of one cell: how many users does the engine serve?

use prony_load::RunError;
use prony_model::search::{Interval, Search, SearchPlan};
use prony_model::{Nanos, Target};
use serde::Serialize;

use super::{
    display::RelationalDisplay,
    measure::{Load, RelationalSurroundings, SearchStep},
    study::{RelationalPace, Workload},
};

/// Connections of the probe: enough to keep the engine busy, few enough to cost it nothing.
const PROBE_USERS: u32 = 64;
/// Fewer users than this are no load.
const USERS_MIN: u32 = 10;
/// Half of the allowed time: where users that wait as long as the objective allows are about to fail.
const EXPECTED_WAIT: Nanos = Nanos::from_millis(250);

/// The answer for one cell, and how it came about.
#[derive(Debug, Clone, Serialize)]
pub struct Capacity {
    pub workload: Workload,
    pub processors: usize,
    /// Requests a second without think time: where the search began.
    pub saturation_per_second: f64,
    pub interval: Interval,
    /// In the order in which they were measured.
    pub steps: Vec<SearchStep>,
    /// Set when a failing step, or the end of the search, was no limit of the engine: then the engine serves at
    /// least the users that passed.
    pub outside_limit: Option<String>,
    /// Ended by the user before the interval was as narrow as it should be.
    pub stopped: bool,
}

impl Capacity {
    fn new(cell: &Cell<'_>, saturation_per_second: f64) -> Self {
        Self {
            workload: cell.workload,
            processors: cell.processors,
            saturation_per_second,
            interval: Interval::default(),
            steps: Vec::new(),
            outside_limit: None,
            stopped: false,
        }
    }

    /// The step with the most users that were served.
    pub fn best(&self) -> Option<&SearchStep> {
        self.steps.iter().filter(|step| Some(step.users) == self.interval.passed).rfind(|step| step.passed)
    }
}

/// What every step of one cell has in common.
pub(super) struct Cell<'a> {
    pub workload: Workload,
    pub processors: usize,
    pub pace: &'a RelationalPace,
    /// What the lab has descriptors for.
    pub users_max: u32,
    pub surroundings: &'a RelationalSurroundings<'a>,
    pub display: &'a RelationalDisplay,
}

/// Searches one cell: where steps are long, by short ones first.
pub(super) fn search(cell: &Cell<'_>) -> Result<Capacity, RunError> {
    let target = target_of(cell.surroundings);
    let saturation_per_second = probe(cell, &target)?;
    let mut plan = plan(&cell.workload, cell.pace, saturation_per_second, cell.users_max);
    if let Some(pace) = cell.pace.approach() {
        let approach = SearchPlan {
            growth: pace.growth,
            resolution: pace.resolution,
            steps_max: pace.steps_max,
            ..plan
        };
        let mut found = Capacity::new(cell, saturation_per_second);
        cell.steps(approach, &pace, &target, &mut found)?;
        plan = near(plan, found.interval);
    }
    let mut capacity = Capacity::new(cell, saturation_per_second);
    if !cell.surroundings.runs.stop.is_stopped() {
        cell.steps(plan, cell.pace, &target, &mut capacity)?;
    }
    capacity.stopped |= cell.surroundings.runs.stop.is_stopped();
    capacity.outside_limit = outside_limit(&capacity, cell.users_max);
    Ok(capacity)
}

/// A search that begins at what another has found, and goes on in small leaps: the limit is near.
fn near(plan: SearchPlan, found: Interval) -> SearchPlan {
    let Some(start) = found.passed.or(found.failed) else { return plan };
    SearchPlan { start, growth: plan.resolution, ..plan }
}

impl Cell<'_> {
    /// Measures the steps of one search and keeps them in `capacity`.
    fn steps(
        &self,
        plan: SearchPlan,
        pace: &RelationalPace,
        target: &Target,
        capacity: &mut Capacity,
    ) -> Result<(), RunError> {
        let Self { workload, processors, surroundings, display, .. } = self;
        let mut search = Search::new(plan);
        while let Some(users) = search.next_load() {
            let file = format!("{}-{processors}cpu-{users}{}.prony.json", label(workload), self.suffix(pace));
            let load = load(workload, target, users, pace, surroundings, &file)?;
            let watch = display.begin_step(workload, *processors, users, pace, search.steps_left());
            let Some(step) = surroundings.step(&load, file, watch)? else {
                capacity.stopped = true;
                break;
            };
            display.end_step(workload, *processors, &step);
            search.record(users, step.trial);
            capacity.interval = search.interval();
            capacity.steps.push(step);
        }
        Ok(())
    }

    /// Tells the files of short steps from those of the search itself.
    fn suffix(&self, pace: &RelationalPace) -> &'static str {
        if pace == self.pace { "" } else { "-approach" }
    }
}

fn load(
    workload: &Workload,
    target: &Target,
    users: u32,
    pace: &RelationalPace,
    surroundings: &RelationalSurroundings<'_>,
    file: &str,
) -> Result<Load, RunError> {
    let Some(scripts) = surroundings.scripts else {
        return Ok(Load::Plan(Box::new(workload.users(target, users, pace))));
    };
    let name = file.trim_end_matches(".prony.json");
    let summary = surroundings.runs.directory.join(format!("{name}.summary.json"));
    let address = format!("http://{}", surroundings.engine.address());
    Ok(Load::Script(Box::new(scripts.open(workload, &address, users, pace, &summary)?)))
}

pub(super) fn target_of(surroundings: &RelationalSurroundings<'_>) -> Target {
    Target::parse(&format!("http://{}", surroundings.engine.address())).expect("the engine's address is one")
}

/// For names of files: `no-nest-50`, `create`.
fn label(workload: &Workload) -> String {
    match workload.operation {
        super::study::Operation::Create => workload.operation.name().to_owned(),
        operation => format!("{}-{}", operation.name(), workload.limit),
    }
}

fn probe(cell: &Cell<'_>, target: &Target) -> Result<f64, RunError> {
    let Cell { workload, pace, surroundings, .. } = cell;
    let plan = workload.saturation(target, PROBE_USERS, pace.probe);
    let watch = cell.display.begin_probe(workload, pace);
    let result = surroundings.runs.run(&plan, &format!("{}-probe.prony.json", label(workload)), watch)?;
    Ok(result.headline().all.rate_per_s)
}

/// Users who think for `t` and wait for `w` ask `1 / (t + w)` times a second each, so an engine that answers
/// `r` requests a second makes `r * (t + w)` users wait for `w` (Little's law).
fn plan(
    workload: &Workload,
    pace: &RelationalPace,
    saturation_per_second: f64,
    users_max: u32,
) -> SearchPlan {
    let cycle = workload.operation.think_time().plus(EXPECTED_WAIT).as_secs_f64();
    SearchPlan {
        start: (saturation_per_second * cycle) as u32,
        lowest: USERS_MIN,
        highest: users_max,
        growth: pace.growth,
        resolution: pace.resolution,
        repeats: 1,
        steps_max: pace.steps_max,
    }
}

fn outside_limit(capacity: &Capacity, users_max: u32) -> Option<String> {
    if capacity.stopped {
        return None;
    }
    let Interval { failed, lab_limited, .. } = capacity.interval;
    let Some(ceiling) = [failed, lab_limited].into_iter().flatten().min() else {
        let reached = capacity.interval.passed == Some(users_max);
        return Some(if reached {
            format!("{users_max} users are as many as the limit of open files allows; `ulimit -Hn` raises it")
        } else {
            "the search ended before a number of users failed".to_owned()
        });
    };
    capacity.steps.iter().find(|step| step.users == ceiling)?.outside_limit.clone()
}

#[cfg(test)]
mod tests {
    use super::{super::study::Operation, *};

    #[test]
    fn the_search_begins_where_the_saturated_engine_would_be_about_to_fail() {
        let workload = Workload { operation: Operation::NoNest, limit: 50, rows: 100, seed: 1 };
        assert_eq!(plan(&workload, &RelationalPace::QUICK, 1_000.0, 60_000).start, 2_250);
        let create = Workload { operation: Operation::Create, ..workload };
        assert_eq!(plan(&create, &RelationalPace::QUICK, 1_000.0, 60_000).start, 1_250);
    }

    #[test]
    fn long_steps_begin_where_short_ones_ended() {
        let workload = Workload { operation: Operation::NoNest, limit: 50, rows: 100, seed: 1 };
        let far = plan(&workload, &RelationalPace::FULL, 1_000.0, 60_000);
        let found = |passed, failed| Interval { passed, failed, ..Interval::default() };
        let begin = |interval| (near(far, interval).start, near(far, interval).growth);
        assert_eq!(begin(found(Some(900), Some(1_000))), (900, 1.05));
        assert_eq!(begin(found(None, Some(10))), (10, 1.05));
        assert_eq!(begin(Interval::default()), (2_250, 1.1));
    }

    #[test]
    fn files_have_the_cells_names() {
        let workload = Workload { operation: Operation::NoNest, limit: 50, rows: 100, seed: 1 };
        assert_eq!(label(&workload), "no-nest-50");
        assert_eq!(label(&Workload { operation: Operation::Create, ..workload }), "create");
    }
}
