//! What one instance runs of a scenario, where a test is divided.

use super::executors::{ArrivalUsers, Executor, ExecutorStage};
use super::scenario::Scenario;
use super::segment::Segment;
use prony_model::Nanos;
use prony_model::load::Stripe;

impl Scenario {
    /// None where the segment has nothing to do in it.
    pub(super) fn share(self, segment: &Segment) -> Option<Self> {
        let executor = self.executor.share(segment)?;
        let dealt = segment.dealt();
        let stripe = Some(Stripe { numbers: dealt.numbers.clone(), cycle: dealt.cycle });
        Some(Self { executor, stripe, ..self })
    }
}

impl Executor {
    fn share(self, segment: &Segment) -> Option<Self> {
        let users = |users: u32| segment.scale(u64::from(users)) as u32;
        let some = |count: u32| (count > 0).then_some(count);
        match self {
            Self::SharedIterations { vus, iterations, max_duration } => {
                let iterations = segment.scale_shared(u64::from(vus), iterations);
                let vus = some(users(vus)).filter(|_| iterations > 0)?;
                Some(Self::SharedIterations { vus, iterations, max_duration })
            }
            Self::PerVuIterations { vus, iterations, max_duration } => {
                Some(Self::PerVuIterations { vus: some(users(vus))?, iterations, max_duration })
            }
            Self::ConstantVus { vus, duration } => {
                Some(Self::ConstantVus { vus: some(users(vus))?, duration })
            }
            Self::RampingVus { graceful_ramp_down, .. } => {
                let (start_vus, stages) = share_of_ramp(&self.ramping_steps(), segment);
                let most = stages.iter().map(|stage| stage.target).chain([u64::from(start_vus)]).max();
                most.filter(|most| *most > 0)?;
                Some(Self::RampingVus { start_vus, stages, graceful_ramp_down })
            }
            Self::ConstantArrivalRate { rate, time_unit, duration, users } => {
                let users = users.share(segment)?;
                let (parts, time_unit) = scaled(segment, time_unit);
                Some(Self::ConstantArrivalRate {
                    rate: rate.saturating_mul(parts),
                    time_unit,
                    duration,
                    users,
                })
            }
            Self::RampingArrivalRate { start_rate, time_unit, stages, users } => {
                let users = users.share(segment)?;
                let (parts, time_unit) = scaled(segment, time_unit);
                let share = |stage: ExecutorStage| ExecutorStage {
                    target: stage.target.saturating_mul(parts),
                    ..stage
                };
                let (start_rate, stages) =
                    (start_rate.saturating_mul(parts), stages.into_iter().map(share).collect());
                Some(Self::RampingArrivalRate { start_rate, time_unit, stages, users })
            }
        }
    }
}

impl ArrivalUsers {
    fn share(self, segment: &Segment) -> Option<Self> {
        let scale = |users: u32| segment.scale(u64::from(users)) as u32;
        let max = scale(self.max);
        (max > 0).then_some(Self { pre_allocated: scale(self.pre_allocated), max })
    }
}

/// By how much a rate is multiplied, and in which time it is counted then: shares of a rate need be no whole number.
fn scaled(segment: &Segment, time_unit: Nanos) -> (u64, Nanos) {
    let dealt = segment.dealt();
    (dealt.numbers.len() as u64, Nanos(time_unit.0.saturating_mul(dealt.cycle)))
}

/// Each change of the number of users at the time at which the whole test has it.
fn share_of_ramp(steps: &[(Nanos, u64)], segment: &Segment) -> (u32, Vec<ExecutorStage>) {
    let first = steps.first().map_or(0, |(_, users)| segment.scale(*users));
    let (mut users, mut at, mut stages) = (first, Nanos::ZERO, Vec::new());
    for (time, all) in steps {
        let target = segment.scale(*all);
        if target != users {
            stages.push(ExecutorStage { duration: time.since(at), target: users });
            stages.push(ExecutorStage { duration: Nanos::ZERO, target });
            (users, at) = (target, *time);
        }
    }
    let end = steps.last().map_or(Nanos::ZERO, |(time, _)| *time);
    stages.push(ExecutorStage { duration: end.since(at), target: users });
    (first as u32, stages)
}
