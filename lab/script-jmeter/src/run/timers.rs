//! Timers: how long a user waits before a sample. Those that many users share keep their rhythm here.

use crate::plan::{ThroughputMode, Timer};
use crate::run::context::Context;
use crate::run::locks::lock;
use prony_model::Nanos;
use rand::RngExt as _;
use rustc_hash::FxHashMap;
use std::f64::consts::TAU;
use std::sync::Mutex;

/// A longer delay is taken for a mistake of units.
const DELAY_MAX_MS: f64 = 86_400_000.0;

/// By the place of a timer and whose rhythm it is.
#[derive(Debug, Default)]
pub(crate) struct Rhythms {
    next: Mutex<FxHashMap<(u32, u64), Nanos>>,
    batches: Mutex<FxHashMap<u32, Batch>>,
    meetings: Mutex<FxHashMap<u32, Meeting>>,
}

/// The moments of one period of a Precise Throughput Timer, the last one first.
#[derive(Debug, Default)]
struct Batch {
    period: u64,
    moments: Vec<Nanos>,
}

/// Users that wait for each other.
#[derive(Debug, Default)]
struct Meeting {
    waiting: u64,
    /// How often all have gone on together.
    round: u64,
}

/// Who is active, as timers divide by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) user: u32,
    pub(crate) group: usize,
    pub(crate) in_group: u32,
    pub(crate) in_all: u32,
}

impl Rhythms {
    /// How long one timer has a user wait; synchronizing ones wait otherwise ([`Self::meet`]).
    pub(crate) fn delay(&self, timer: &Timer, crowd: Crowd, context: &mut Context<'_>) -> Nanos {
        let milliseconds = match timer {
            Timer::Constant { delay_ms } => number(delay_ms.value(context)),
            Timer::Uniform { delay_ms, range_ms } => {
                let range = number(range_ms.value(context));
                number(delay_ms.value(context)) + range * context.thread.random.random::<f64>()
            }
            Timer::Gaussian { delay_ms, deviation_ms } => {
                let deviation = number(deviation_ms.value(context));
                number(delay_ms.value(context)) + (deviation * normal(context)).abs()
            }
            Timer::Poisson { delay_ms, lambda_ms } => {
                let lambda = number(lambda_ms.value(context));
                number(delay_ms.value(context)) + poisson(lambda, context)
            }
            Timer::Throughput { per_minute, mode, site } => {
                let per_minute = number(per_minute.value(context));
                return self.throughput(per_minute, *mode, *site, crowd, context);
            }
            Timer::Precise { count, period_s, site } => {
                let (count, period_s) = (number(count.value(context)), number(period_s.value(context)));
                return self.precise(count, period_s, *site, context);
            }
            Timer::Script(script) => number(context.run_script(script, None).0),
            Timer::Synchronizing { .. } => 0.0,
        };
        Nanos::from_secs_f64(milliseconds.clamp(0.0, DELAY_MAX_MS) / 1e3)
    }

    fn throughput(
        &self,
        per_minute: f64,
        mode: ThroughputMode,
        site: u32,
        crowd: Crowd,
        context: &Context<'_>,
    ) -> Nanos {
        if per_minute <= 0.0 {
            return Nanos::ZERO;
        }
        let (whose, sharing) = match mode {
            ThroughputMode::ThisThread => (u64::from(crowd.user) + 1, 1),
            ThroughputMode::AllActive { in_group } => {
                (u64::from(crowd.user) + 1, if in_group { crowd.in_group } else { crowd.in_all })
            }
            ThroughputMode::Shared { in_group } => {
                (if in_group { (crowd.group as u64 + 1) << 32 } else { 0 }, 1)
            }
        };
        let interval = Nanos::from_secs_f64(60.0 / per_minute * f64::from(sharing.max(1)));
        let now = context.shared.clock.now();
        let mut all = lock(&self.next);
        // The first one goes at once.
        let due = all.get(&(site, whose)).map_or(now, |last| last.plus(interval).max(now));
        all.insert((site, whose), due);
        due.since(now)
    }

    /// So many moments in each period, each anywhere in it.
    fn precise(&self, count: f64, period_s: f64, site: u32, context: &mut Context<'_>) -> Nanos {
        const MOMENTS_MAX: f64 = 1_000_000.0;
        let period = Nanos::from_secs_f64(if period_s > 0.0 { period_s } else { 1.0 });
        if count <= 0.0 || period == Nanos::ZERO {
            return Nanos::ZERO;
        }
        let now = context.shared.clock.now();
        let mut all = lock(&self.batches);
        let batch =
            all.entry(site).or_insert_with(|| Batch { period: now.0 / period.0, moments: Vec::new() });
        if batch.moments.is_empty() {
            let begin = Nanos(batch.period * period.0);
            let random = &mut context.thread.random;
            let moments = (0..count.min(MOMENTS_MAX) as u64)
                .map(|_| begin.plus(Nanos(random.random_range(0..period.0))));
            batch.moments = moments.collect();
            batch.moments.sort_unstable_by(|a, b| b.cmp(a));
            batch.period += 1;
        }
        batch.moments.pop().map_or(Nanos::ZERO, |due| due.since(now))
    }

    /// Joins those that wait at a Synchronizing Timer: the round whose end is waited for, none where all go on at once.
    pub(crate) fn meet(&self, site: u32, users: u64) -> Option<u64> {
        let mut all = lock(&self.meetings);
        let meeting = all.entry(site).or_default();
        meeting.waiting += 1;
        if meeting.waiting >= users {
            meeting.waiting = 0;
            meeting.round += 1;
            return None;
        }
        Some(meeting.round)
    }

    /// True once the round is over.
    pub(crate) fn is_met(&self, site: u32, round: u64) -> bool {
        lock(&self.meetings).get(&site).is_none_or(|meeting| meeting.round > round)
    }

    /// Whoever waits no longer is not waited for.
    pub(crate) fn give_up(&self, site: u32, round: u64) {
        if let Some(meeting) = lock(&self.meetings).get_mut(&site)
            && meeting.round == round
        {
            meeting.waiting = meeting.waiting.saturating_sub(1);
        }
    }
}

fn number(text: impl AsRef<str>) -> f64 {
    text.as_ref().trim().parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0)
}

/// Box and Muller.
fn normal(context: &mut Context<'_>) -> f64 {
    let random = &mut context.thread.random;
    let (radius, angle): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * angle).cos()
}

/// Knuth's for small means; for others a normal one is as good.
fn poisson(lambda: f64, context: &mut Context<'_>) -> f64 {
    const SMALL: f64 = 30.0;
    if lambda > SMALL {
        return (lambda + lambda.sqrt() * normal(context)).round().max(0.0);
    }
    let limit = (-lambda).exp();
    let (mut product, mut count) = (context.thread.random.random::<f64>(), 0.0);
    while product > limit {
        product *= context.thread.random.random::<f64>();
        count += 1.0;
    }
    count
}
