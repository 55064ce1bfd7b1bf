//! Scenarios in k6's words, as they stand above a run.

use super::duration::Span;
use super::executors::{ArrivalUsers, Executor, ExecutorStage};
use super::scenario::{DEFAULT_FUNCTION, Scenario};
use prony_model::Nanos;

impl Scenario {
    /// Such as `10 looping VUs for 30s (gracefulStop: 30s)`.
    pub fn description(&self) -> String {
        let (what, fact) = self.executor.description();
        let mut facts: Vec<String> = fact.into_iter().collect();
        if self.exec != DEFAULT_FUNCTION {
            facts.push(format!("exec: {}", self.exec));
        }
        for (name, time) in [("startTime", self.start), ("gracefulStop", self.graceful_stop)] {
            if time > Nanos::ZERO {
                facts.push(format!("{name}: {}", Span::from(time)));
            }
        }
        if facts.is_empty() { what } else { format!("{what} ({})", facts.join(", ")) }
    }
}

impl Executor {
    fn description(&self) -> (String, Option<String>) {
        let max_duration = |time: &Nanos| Some(format!("maxDuration: {}", Span::from(*time)));
        match self {
            Self::SharedIterations { vus, iterations, max_duration: max } => {
                (format!("{iterations} iterations shared among {vus} VUs"), max_duration(max))
            }
            Self::PerVuIterations { vus, iterations, max_duration: max } => {
                (format!("{iterations} iterations for each of {vus} VUs"), max_duration(max))
            }
            Self::ConstantVus { vus, duration } => {
                (format!("{vus} looping VUs for {}", Span::from(*duration)), None)
            }
            Self::RampingVus { start_vus, stages, graceful_ramp_down } => {
                let most = highest(u64::from(*start_vus), stages);
                let grace = format!("gracefulRampDown: {}", Span::from(*graceful_ramp_down));
                (format!("Up to {most} looping VUs for {}", over(stages)), Some(grace))
            }
            Self::ConstantArrivalRate { rate, time_unit, duration, users } => {
                let rate = *rate as f64 / time_unit.as_secs_f64();
                (format!("{rate:.2} iterations/s for {}", Span::from(*duration)), Some(max_users(*users)))
            }
            Self::RampingArrivalRate { start_rate, time_unit, stages, users } => {
                let rate = highest(*start_rate, stages) as f64 / time_unit.as_secs_f64();
                (format!("Up to {rate:.2} iterations/s for {}", over(stages)), Some(max_users(*users)))
            }
        }
    }
}

fn highest(start: u64, stages: &[ExecutorStage]) -> u64 {
    stages.iter().map(|stage| stage.target).chain([start]).max().unwrap_or(start)
}

fn over(stages: &[ExecutorStage]) -> String {
    let all = stages.iter().fold(Nanos::ZERO, |sum, stage| sum.plus(stage.duration));
    format!("{} over {} stages", Span::from(all), stages.len())
}

fn max_users(users: ArrivalUsers) -> String {
    let ArrivalUsers { pre_allocated, max } = users;
    if max > pre_allocated { format!("maxVUs: {pre_allocated}-{max}") } else { format!("maxVUs: {max}") }
}
