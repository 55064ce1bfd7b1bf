//! How many users a run needs at most and how long it may take, as k6 reckons: users whose scenarios do not overlap are
//! counted once.

use super::executors::{ArrivalUsers, Executor};
use super::scenario::Scenario;
use prony_model::Nanos;

/// What `k6 inspect --execution-requirements` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Requirements {
    pub users_max: u64,
    /// Graceful stops included.
    pub duration: Nanos,
}

impl Requirements {
    pub(super) fn of(scenarios: &[Scenario]) -> Self {
        let mut changes: Vec<(Nanos, usize, u64)> = Vec::new();
        for (index, scenario) in scenarios.iter().enumerate() {
            let steps = steps(scenario);
            changes.extend(steps.into_iter().map(|(at, users)| (scenario.start.plus(at), index, users)));
        }
        // Stable: several changes of one scenario at one time keep their order.
        changes.sort_by_key(|(at, index, _)| (*at, *index));
        let mut users = vec![0; scenarios.len()];
        let mut all = Self::default();
        for (at, index, count) in changes {
            users[index] = count;
            all.users_max = all.users_max.max(users.iter().sum());
            all.duration = at;
        }
        all
    }
}

/// The users that a scenario holds from each of these times on.
fn steps(scenario: &Scenario) -> Vec<(Nanos, u64)> {
    let stop = scenario.graceful_stop;
    let held = |users: u32, duration: Nanos| vec![(Nanos::ZERO, u64::from(users)), (duration.plus(stop), 0)];
    match &scenario.executor {
        Executor::SharedIterations { vus, max_duration, .. }
        | Executor::PerVuIterations { vus, max_duration, .. } => held(*vus, *max_duration),
        Executor::ConstantVus { vus, duration } => held(*vus, *duration),
        Executor::ConstantArrivalRate { duration, users: ArrivalUsers { max, .. }, .. } => {
            held(*max, *duration)
        }
        Executor::RampingArrivalRate { stages, users: ArrivalUsers { max, .. }, .. } => {
            held(*max, stages.iter().fold(Nanos::ZERO, |sum, stage| sum.plus(stage.duration)))
        }
        Executor::RampingVus { graceful_ramp_down, .. } => {
            let raw = scenario.executor.ramping_steps();
            let (end, users) = raw.last().copied().unwrap_or_default();
            // Who leaves last has the ramp-down's grace like those before.
            let last = if users == 0 { stop.min(*graceful_ramp_down) } else { stop };
            reserved(&raw, *graceful_ramp_down, end, end.plus(last))
        }
    }
}

/// Users that leave are held for the ramp-down's grace, unless they are needed again before; at the end for the stop's.
fn reserved(raw: &[(Nanos, u64)], grace: Nanos, end: Nanos, last: Nanos) -> Vec<(Nanos, u64)> {
    let mut times: Vec<_> = raw.iter().map(|(at, _)| *at).collect();
    times.extend(raw.iter().map(|(at, _)| at.plus(grace)).filter(|at| *at < last));
    times.sort_unstable();
    times.dedup();
    let held = |time: Nanos| {
        // The most that were active at any time within the grace before this one.
        let before = raw.iter().rfind(|(at, _)| at.plus(grace) <= time).map_or(0, |(_, users)| *users);
        let within = raw.iter().filter(|(at, _)| at.plus(grace) > time && *at <= time);
        within.map(|(_, users)| *users).chain([before]).max().unwrap_or(0)
    };
    let mut steps: Vec<_> = times.into_iter().filter(|at| *at < end).map(|at| (at, held(at))).collect();
    // What the end finds is held to the stop's grace.
    let at_end = raw.iter().rfind(|(at, _)| *at <= end).map_or(0, |(_, users)| *users).max(held(end));
    steps.push((end, at_end));
    steps.push((last, 0));
    steps
}
