//! Executors as load models: the same schedule in the words of the lab.

use super::executors::{ArrivalUsers, Executor, ExecutorStage};
use super::requirements::Requirements;
use super::resolved::Options;
use super::scenario::Scenario;
use prony_model::load::{Spacing, Stage, Stripe};
use prony_model::plan::scenario::{FlowDraft, Grace, ScenarioDraft};
use prony_model::{LoadModel, Nanos, RateStage};

impl Options {
    pub fn requirements(&self) -> Requirements {
        Requirements::of(&self.scenarios)
    }

    /// The scenarios of a plan, in their order here.
    pub fn scenario_drafts(&self) -> Vec<ScenarioDraft> {
        let iteration_min = self.min_iteration_duration;
        let draft = |scenario: &Scenario| ScenarioDraft { iteration_min, ..scenario.draft() };
        self.scenarios.iter().map(draft).collect()
    }
}

impl Scenario {
    fn draft(&self) -> ScenarioDraft {
        let ramp_down = match self.executor {
            Executor::RampingVus { graceful_ramp_down, .. } => Some(graceful_ramp_down),
            _ => None,
        };
        let mut load = self.executor.load();
        if let Some(arrivals) = &mut load.arrivals {
            arrivals.stripe.clone_from(&self.stripe);
            if matches!(self.executor, Executor::RampingArrivalRate { .. }) {
                arrivals.stripe = Some(one_later(arrivals.stripe.take()));
            }
        }
        ScenarioDraft {
            start: self.start,
            flow: FlowDraft::Script,
            grace: Grace { stop: self.graceful_stop, ramp_down },
            users_ready: self.executor.users_prepared(),
            tags: self.tags.clone(),
            ..ScenarioDraft::new(&self.name, load)
        }
    }
}

impl Executor {
    /// The same load. Arrivals for which nobody is free are dropped at once, as k6 does.
    pub fn load(&self) -> LoadModel {
        match self {
            Self::SharedIterations { vus, iterations, max_duration } => {
                LoadModel::shared_iterations(*vus, *iterations, *max_duration)
            }
            Self::PerVuIterations { vus, iterations, max_duration } => {
                LoadModel::per_user_iterations(*vus, *iterations, *max_duration)
            }
            Self::ConstantVus { vus, duration } => LoadModel::constant(*vus, *duration),
            Self::RampingVus { start_vus, stages, .. } => {
                LoadModel::closed(lines(*start_vus, until_all_left(*start_vus, stages)))
            }
            Self::ConstantArrivalRate { rate, time_unit, duration, users } => {
                let rate = per_second(*rate, *time_unit);
                open(vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(*duration, rate)], *users)
            }
            Self::RampingArrivalRate { start_rate, time_unit, stages, users } => {
                let first = RateStage::new(Nanos::ZERO, per_second(*start_rate, *time_unit));
                let stage = |stage: &ExecutorStage| {
                    RateStage::new(stage.duration, per_second(stage.target, *time_unit))
                };
                open([first].into_iter().chain(stages.iter().map(stage)).collect(), *users)
            }
        }
    }

    /// Users whose context is made before the run; those of arrival rates beyond it when they are first needed.
    pub fn users_prepared(&self) -> u32 {
        match self {
            Self::ConstantArrivalRate { users, .. } | Self::RampingArrivalRate { users, .. } => {
                users.pre_allocated
            }
            _ => self.load().users_max(),
        }
    }

    /// Users that are there when the scenario begins.
    pub(crate) fn users_first(&self) -> u32 {
        match self {
            Self::RampingVus { start_vus, .. } => *start_vus,
            _ => self.users_prepared(),
        }
    }

    /// When the number of users changes, and to what: as k6 spreads the steps of a line.
    pub(super) fn ramping_steps(&self) -> Vec<(Nanos, u64)> {
        let Self::RampingVus { start_vus, stages, .. } = self else { return Vec::new() };
        let (mut at, mut users) = (Nanos::ZERO, u64::from(*start_vus));
        let mut steps = vec![(at, users)];
        for stage in until_all_left(*start_vus, stages) {
            let change = users.abs_diff(stage.target);
            for step in 1..=change {
                let passed = u128::from(stage.duration.0) * u128::from(step) / u128::from(change);
                users = if stage.target > users { users + 1 } else { users - 1 };
                steps.push((at.plus(Nanos(passed as u64)), users));
            }
            at = at.plus(stage.duration);
        }
        steps.push((at, users));
        steps
    }
}

/// The stages of a ramp until its last user has left for good, which is where k6 ends it.
fn until_all_left(start_vus: u32, stages: &[ExecutorStage]) -> &[ExecutorStage] {
    let to_some = stages.iter().rposition(|stage| stage.target > 0);
    let count = to_some.map_or(usize::from(start_vus > 0), |index| index + 2);
    &stages[..count.min(stages.len())]
}

fn open(stages: Vec<RateStage>, users: ArrivalUsers) -> LoadModel {
    LoadModel::arrivals(stages, Spacing::Even, users.max, Nanos::ZERO)
}

/// As k6 has it, a rate that changes begins with the start after the first: that is due when the rate has made one. A
/// constant rate has its first start at once.
fn one_later(stripe: Option<Stripe>) -> Stripe {
    let Stripe { numbers, cycle } = stripe.unwrap_or_else(|| Stripe { numbers: vec![0], cycle: 1 });
    Stripe { numbers: numbers.into_iter().map(|number| number + 1).collect(), cycle }
}

fn per_second(count: u64, time_unit: Nanos) -> f64 {
    count as f64 * 1e9 / time_unit.0 as f64
}

/// A line of ours loses its first user as soon as it falls; k6 stops one after each equal part of the time. Hence the
/// first part is held, and the rest falls to one above the target, at which the last one leaves.
fn lines(start_vus: u32, stages: &[ExecutorStage]) -> Vec<Stage> {
    let mut lines = vec![Stage::new(Nanos::ZERO, start_vus)];
    let mut users = start_vus;
    for stage in stages {
        let target = u32::try_from(stage.target).unwrap_or(u32::MAX);
        if target < users && stage.duration > Nanos::ZERO {
            let held = Nanos(stage.duration.0 / u64::from(users - target));
            lines.push(Stage::new(held, users));
            lines.push(Stage::new(stage.duration.since(held), target + 1));
            lines.push(Stage::new(Nanos::ZERO, target));
        } else {
            lines.push(Stage::new(stage.duration, target));
        }
        users = target;
    }
    lines
}
