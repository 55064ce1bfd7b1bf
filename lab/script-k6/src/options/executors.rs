//! The six executors of k6: their keys, defaults and what each of them refuses.

use super::duration::Span;
use super::kind::Kind;
use super::written::{Faults, WrittenScenario};
use prony_model::Nanos;
use prony_model::load::USERS_MAX;

/// Scenarios that count iterations end after this time unless they say otherwise.
const MAX_DURATION: Span = Span::from_secs(600);
const GRACEFUL_RAMP_DOWN: Span = Span::from_secs(30);
const TIME_UNIT: Span = Span::from_secs(1);
/// k6 takes no shorter test.
const DURATION_MIN: Span = Span::from_secs(1);

/// A checked executor.
#[derive(Debug, Clone, PartialEq)]
pub enum Executor {
    SharedIterations { vus: u32, iterations: u64, max_duration: Nanos },
    PerVuIterations { vus: u32, iterations: u64, max_duration: Nanos },
    ConstantVus { vus: u32, duration: Nanos },
    RampingVus { start_vus: u32, stages: Vec<ExecutorStage>, graceful_ramp_down: Nanos },
    ConstantArrivalRate { rate: u64, time_unit: Nanos, duration: Nanos, users: ArrivalUsers },
    RampingArrivalRate { start_rate: u64, time_unit: Nanos, stages: Vec<ExecutorStage>, users: ArrivalUsers },
}

/// A line to `target` users, or starts a time unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExecutorStage {
    pub duration: Nanos,
    pub target: u64,
}

/// Who serves the starts of an arrival rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArrivalUsers {
    pub pre_allocated: u32,
    /// Never below `pre_allocated`, and never 0.
    pub max: u32,
}

impl Executor {
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SharedIterations { .. } => Kind::SharedIterations.name(),
            Self::PerVuIterations { .. } => Kind::PerVuIterations.name(),
            Self::ConstantVus { .. } => Kind::ConstantVus.name(),
            Self::RampingVus { .. } => Kind::RampingVus.name(),
            Self::ConstantArrivalRate { .. } => Kind::ConstantArrivalRate.name(),
            Self::RampingArrivalRate { .. } => Kind::RampingArrivalRate.name(),
        }
    }

    /// Nothing where its faults were noted.
    pub(super) fn check(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<Self> {
        match written.kind {
            Kind::SharedIterations => {
                let (vus, iterations, max_duration) = counted(written, faults)?;
                if iterations < u64::from(vus) {
                    faults.add(&format!(
                        "{iterations} iterations are fewer than the {vus} users that share them"
                    ));
                }
                Some(Self::SharedIterations { vus, iterations, max_duration })
            }
            Kind::PerVuIterations => {
                let (vus, iterations, max_duration) = counted(written, faults)?;
                Some(Self::PerVuIterations { vus, iterations, max_duration })
            }
            Kind::ConstantVus => {
                let vus = positive("vus", written.integer("vus").unwrap_or(1), faults);
                let duration = duration("duration", written.span("duration"), faults);
                Some(Self::ConstantVus { vus: vus?, duration: duration? })
            }
            Kind::RampingVus => ramping_vus(written, faults),
            Kind::ConstantArrivalRate => {
                let rate = match written.integer("rate") {
                    None => none(faults, "`rate` is missing: how many iterations begin in each `timeUnit`"),
                    Some(rate @ ..=0) => none(faults, &format!("`rate` must be above 0, and is {rate}")),
                    Some(rate) => Some(rate as u64),
                };
                let duration = duration("duration", written.span("duration"), faults);
                let (time_unit, users) = (time_unit(written, faults), arrival_users(written, faults));
                Some(Self::ConstantArrivalRate {
                    rate: rate?,
                    time_unit: time_unit?,
                    duration: duration?,
                    users: users?,
                })
            }
            Kind::RampingArrivalRate => {
                let start_rate = not_negative("startRate", written.integer("startRate").unwrap_or(0), faults);
                let stages = stages(written, faults);
                let (time_unit, users) = (time_unit(written, faults), arrival_users(written, faults));
                let (start_rate, stages) = (start_rate?, stages?);
                if start_rate == 0 && stages.iter().all(|stage| stage.target == 0) {
                    faults.add("the rate is 0 throughout; give `startRate` or a stage's `target` some");
                }
                Some(Self::RampingArrivalRate { start_rate, time_unit: time_unit?, stages, users: users? })
            }
        }
    }
}

fn none<T>(faults: &mut Faults<'_>, message: &str) -> Option<T> {
    faults.add(message);
    None
}

fn counted(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<(u32, u64, Nanos)> {
    let vus = positive("vus", written.integer("vus").unwrap_or(1), faults);
    let iterations = match written.integer("iterations").unwrap_or(1) {
        count @ ..=0 => none(faults, &format!("`iterations` must be above 0, and is {count}")),
        count => Some(count as u64),
    };
    let max = duration("maxDuration", Some(written.span("maxDuration").unwrap_or(MAX_DURATION)), faults);
    Some((vus?, iterations?, max?))
}

fn ramping_vus(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<Executor> {
    let start_vus = not_negative("startVUs", written.integer("startVUs").unwrap_or(1), faults);
    let stages = stages(written, faults);
    let ramp_down = written.span("gracefulRampDown").unwrap_or(GRACEFUL_RAMP_DOWN);
    let graceful_ramp_down = faults.span("gracefulRampDown", ramp_down);
    let (start_vus, stages) = (start_vus?, stages?);
    let highest = stages.iter().map(|stage| stage.target).chain([start_vus]).max().unwrap_or(0);
    if highest == 0 {
        faults.add("`startVUs` or the `target` of a stage must be above 0");
    }
    let start_vus = count("startVUs", start_vus, faults)?;
    count("target", highest, faults)?;
    Some(Executor::RampingVus { start_vus, stages, graceful_ramp_down })
}

fn stages(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<Vec<ExecutorStage>> {
    let stages = written.stages();
    if stages.is_empty() {
        return none(faults, "`stages` is missing: a list of {duration, target} with at least one");
    }
    let checked = stages.iter().enumerate().map(|(index, stage)| {
        let number = index + 1;
        let duration = match stage.duration.map(|span| (span, span.nanos())) {
            None => none(faults, &format!("stage {number} has no `duration`")),
            Some((span, None)) => {
                none(faults, &format!("the duration of stage {number} cannot be negative, and is {span}"))
            }
            Some((_, nanos)) => nanos,
        };
        let target = match stage.target {
            None => none(faults, &format!("stage {number} has no `target`")),
            Some(target @ ..=-1) => {
                none(faults, &format!("the target of stage {number} cannot be negative, and is {target}"))
            }
            Some(target) => Some(target as u64),
        };
        Some(ExecutorStage { duration: duration?, target: target? })
    });
    // All are looked at, so that the faults of all are noted.
    checked.collect::<Vec<_>>().into_iter().collect()
}

fn duration(key: &str, span: Option<Span>, faults: &mut Faults<'_>) -> Option<Nanos> {
    match span {
        None => none(faults, &format!("`{key}` is missing; write for example \"30s\"")),
        Some(span) if span < DURATION_MIN => {
            none(faults, &format!("`{key}` must be at least {DURATION_MIN}, and is {span}"))
        }
        Some(span) => span.nanos(),
    }
}

fn time_unit(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<Nanos> {
    match written.span("timeUnit").unwrap_or(TIME_UNIT) {
        span if span <= Span(0) => none(faults, &format!("`timeUnit` must be above 0, and is {span}")),
        span => span.nanos(),
    }
}

fn arrival_users(written: &WrittenScenario, faults: &mut Faults<'_>) -> Option<ArrivalUsers> {
    let Some(pre_allocated) = written.integer("preAllocatedVUs") else {
        return none(faults, "`preAllocatedVUs` is missing: the users that are ready before the start");
    };
    let pre_allocated = not_negative("preAllocatedVUs", pre_allocated, faults)
        .and_then(|number| count("preAllocatedVUs", number, faults));
    let max = match written.integer("maxVUs") {
        None => pre_allocated,
        Some(max) => not_negative("maxVUs", max, faults).and_then(|number| count("maxVUs", number, faults)),
    };
    let (pre_allocated, max) = (pre_allocated?, max?);
    if max < pre_allocated {
        return none(
            faults,
            &format!("`maxVUs` ({max}) cannot be below `preAllocatedVUs` ({pre_allocated})"),
        );
    }
    if max == 0 {
        return none(faults, "`preAllocatedVUs` and `maxVUs` are 0: nobody could serve a start");
    }
    Some(ArrivalUsers { pre_allocated, max })
}

fn positive(key: &str, number: i64, faults: &mut Faults<'_>) -> Option<u32> {
    if number <= 0 {
        return none(faults, &format!("`{key}` must be above 0, and is {number}"));
    }
    count(key, number as u64, faults)
}

fn not_negative(key: &str, number: i64, faults: &mut Faults<'_>) -> Option<u64> {
    u64::try_from(number)
        .map_or_else(|_| none(faults, &format!("`{key}` cannot be negative, and is {number}")), Some)
}

fn count(key: &str, number: u64, faults: &mut Faults<'_>) -> Option<u32> {
    match u32::try_from(number) {
        Ok(number) if number <= USERS_MAX => Some(number),
        _ => none(faults, &format!("`{key}` of {number} users is more than the limit of {USERS_MAX}")),
    }
}
