//! Timers: how long a user waits before a sample. Those that many users share keep their rhythm here.

use crate::plan::{ThroughputMode, Timer};
use crate::run::context::Context;
use crate::run::locks::lock;
use crate::run::shaping::{ShapingSchedule, ShapingStage};
use crate::run::turns::Turns;
use crate::text::Text;
use prony_model::Nanos;
use prony_model::program::RunShare;
use rand::RngExt as _;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::f64::consts::TAU;
use std::sync::Mutex;

/// A longer delay is taken for a mistake of units.
const DELAY_MAX_MS: f64 = 86_400_000.0;

/// What floating numbers may add to a whole number of starts.
const ROUNDING: f64 = 1e-6;

/// By the place of a timer and whose rhythm it is.
#[derive(Debug, Default)]
pub(crate) struct Rhythms {
    next: Mutex<FxHashMap<(u32, u64), Beat>>,
    batches: Mutex<FxHashMap<u32, Batch>>,
    meetings: Mutex<FxHashMap<u32, Meeting>>,
    shapes: Mutex<FxHashMap<u32, Shape>>,
    turns: RhythmTurns,
    seed: u64,
}

/// Whose turn it is at timers that many users share, where users run on several machines.
#[derive(Debug, Default)]
pub(crate) struct RhythmTurns {
    /// By the place of a timer and the group that keeps its rhythm, 0 for all of them: the users before whose samplers it stands.
    of_timers: FxHashMap<(u32, u64), Turns>,
}

/// When the last one went, of one machine's users, and how many of them have.
#[derive(Debug)]
struct Beat {
    at: Nanos,
    gone: u64,
}

/// The moments of one period of a Precise Throughput Timer, the last one first.
#[derive(Debug, Default)]
struct Batch {
    period: u64,
    moments: Vec<Nanos>,
}

/// A Throughput Shaping Timer's schedule since it was first come to.
#[derive(Debug)]
struct Shape {
    begin: Nanos,
    schedule: ShapingSchedule,
    /// The number of the next start, of all machines' starts; what was late in an earlier second is left out.
    next: f64,
    /// Of this machine's users.
    gone: u64,
}

/// Users that wait for each other.
#[derive(Debug, Default)]
struct Meeting {
    waiting: u64,
    /// How often all have gone on together.
    round: u64,
}

/// Who is active on all machines, as timers divide by it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) user: u32,
    pub(crate) group: usize,
    pub(crate) in_group: u32,
    pub(crate) in_all: u32,
}

impl RhythmTurns {
    /// Of the users of groups, each with the places of its timers, its number, its first user, and how many it has.
    pub(crate) fn of(share: RunShare, groups: &[(BTreeSet<u32>, usize, (u32, u32))]) -> Self {
        let sites: BTreeSet<u32> = groups.iter().flat_map(|(sites, ..)| sites).copied().collect();
        let mut of_timers = FxHashMap::default();
        for site in sites {
            let here: Vec<_> = groups.iter().filter(|(sites, ..)| sites.contains(&site)).collect();
            let users: Vec<_> = here.iter().map(|(_, _, users)| *users).collect();
            of_timers.insert((site, rhythm_of(None)), Turns::of_users(share, &users));
            of_timers.extend(here.iter().map(|(_, group, users)| {
                ((site, rhythm_of(Some(*group))), Turns::of_users(share, &[*users]))
            }));
        }
        Self { of_timers }
    }

    fn get(&self, site: u32, rhythm: u64) -> Turns {
        self.of_timers.get(&(site, rhythm)).cloned().unwrap_or_default()
    }
}

/// The number of a rhythm that a group's users share, or all users; those of single users are below the groups'.
const fn rhythm_of(group: Option<usize>) -> u64 {
    match group {
        None => 0,
        Some(group) => (group as u64 + 1) << 32,
    }
}

impl Rhythms {
    pub(crate) fn new(turns: RhythmTurns, seed: u64) -> Self {
        Self { turns, seed, ..Self::default() }
    }

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
                gaussian(number(delay_ms.value(context)), deviation, normal(context))
            }
            Timer::Poisson { delay_ms, lambda_ms } => {
                let lambda = number(lambda_ms.value(context));
                number(delay_ms.value(context)) + poisson(lambda, context)
            }
            Timer::Throughput { per_minute, mode, site } => {
                let per_minute = number(per_minute.value(context));
                return self.throughput(per_minute, *mode, *site, crowd, context.shared.clock.now());
            }
            Timer::Precise { count, period_s, site } => {
                let (count, period_s) = (number(count.value(context)), number(period_s.value(context)));
                return self.precise(count, period_s, *site, context.shared.clock.now());
            }
            Timer::Shaping { stages, site } => {
                let now = context.shared.clock.now();
                return self.shaped(*site, now, || schedule_of(stages, context));
            }
            Timer::Script(script) => number(context.run_script(script, None).0.unwrap_or_default()),
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
        now: Nanos,
    ) -> Nanos {
        if per_minute <= 0.0 {
            return Nanos::ZERO;
        }
        let (whose, sharing) = match mode {
            ThroughputMode::ThisThread => (u64::from(crowd.user) + 1, 1),
            ThroughputMode::AllActive { in_group } => {
                (u64::from(crowd.user) + 1, if in_group { crowd.in_group } else { crowd.in_all })
            }
            ThroughputMode::Shared { in_group } => (rhythm_of(in_group.then_some(crowd.group)), 1),
        };
        let interval = Nanos::from_secs_f64(60.0 / per_minute * f64::from(sharing.max(1)));
        let turns = match mode {
            ThroughputMode::Shared { .. } => self.turns.get(site, whose),
            _ => Turns::default(),
        };
        let mut all = lock(&self.next);
        // The first one goes at once; those of other machines go between.
        let (due, gone) = match all.get(&(site, whose)) {
            None => (now.plus(times(interval, turns.position(0))), 0),
            Some(last) => {
                let steps = turns.position(last.gone + 1) - turns.position(last.gone);
                (last.at.plus(times(interval, steps)).max(now), last.gone + 1)
            }
        };
        all.insert((site, whose), Beat { at: due, gone });
        due.since(now)
    }

    /// So many moments in each period, each anywhere in it; all machines draw the same ones and each takes its own.
    fn precise(&self, count: f64, period_s: f64, site: u32, now: Nanos) -> Nanos {
        const MOMENTS_MAX: f64 = 1_000_000.0;
        let period = Nanos::from_secs_f64(if period_s > 0.0 { period_s } else { 1.0 });
        let count = count.clamp(0.0, MOMENTS_MAX) as u64;
        if count == 0 || period == Nanos::ZERO {
            return Nanos::ZERO;
        }
        let turns = self.turns.get(site, rhythm_of(None));
        let mut all = lock(&self.batches);
        let batch =
            all.entry(site).or_insert_with(|| Batch { period: now.0 / period.0, moments: Vec::new() });
        while batch.moments.is_empty() {
            let begin = Nanos(batch.period.saturating_mul(period.0));
            let mut random = ChaCha8Rng::seed_from_u64(self.seed ^ u64::from(site) << 32);
            random.set_stream(batch.period);
            let mut moments: Vec<_> =
                (0..count).map(|_| begin.plus(Nanos(random.random_range(0..period.0)))).collect();
            moments.sort_unstable();
            // In each round of users there are some of this machine, so that this ends.
            let first = batch.period.wrapping_mul(count);
            let own = (first..).zip(moments).filter(|(position, _)| turns.has(*position));
            batch.moments = own.map(|(_, moment)| moment).collect();
            batch.moments.reverse();
            batch.period += 1;
        }
        batch.moments.pop().map_or(Nanos::ZERO, |due| due.since(now))
    }

    /// Until the next start of a schedule is due, or until it is over where it has none left. Within a second of the schedule late
    /// starts are made up for, as the plug-in does; those of earlier seconds are not.
    fn shaped(&self, site: u32, now: Nanos, schedule: impl FnOnce() -> ShapingSchedule) -> Nanos {
        let turns = self.turns.get(site, rhythm_of(None));
        let mut all = lock(&self.shapes);
        let shape = all.entry(site).or_insert_with(|| Shape {
            begin: now,
            schedule: schedule(),
            next: turns.position(0) as f64,
            gone: 0,
        });
        let second = now.since(shape.begin).as_secs_f64().floor();
        let start = shape.next.max((shape.schedule.starts_before(second) - ROUNDING).ceil());
        shape.next = start + (turns.position(shape.gone + 1) - turns.position(shape.gone)) as f64;
        shape.gone += 1;
        let due = shape.schedule.moment_of(start).unwrap_or_else(|| shape.schedule.seconds());
        shape.begin.plus(Nanos::from_secs_f64(due)).since(now)
    }

    /// When the schedule of a Throughput Shaping Timer is over, once somebody has come to it.
    pub(crate) fn schedule_end(&self, timer: &Timer) -> Option<Nanos> {
        let Timer::Shaping { site, .. } = timer else { return None };
        let all = lock(&self.shapes);
        all.get(site).map(|shape| shape.begin.plus(Nanos::from_secs_f64(shape.schedule.seconds())))
    }

    /// How many of so many that meet are this machine's.
    pub(crate) fn meeting_here(&self, site: u32, users: u64) -> u64 {
        self.turns.get(site, rhythm_of(None)).count(users).max(1)
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

    /// One waits no longer: as in JMeter all that wait go on then.
    pub(crate) fn give_up(&self, site: u32, round: u64) {
        if let Some(meeting) = lock(&self.meetings).get_mut(&site)
            && meeting.round == round
        {
            meeting.waiting = 0;
            meeting.round += 1;
        }
    }
}

fn schedule_of(stages: &[[Text; 3]], context: &mut Context<'_>) -> ShapingSchedule {
    ShapingSchedule::new(stages.iter().map(|[from, to, seconds]| ShapingStage {
        from_per_s: number(from.value(context)),
        to_per_s: number(to.value(context)),
        seconds: number(seconds.value(context)),
    }))
}

fn times(interval: Nanos, count: u64) -> Nanos {
    Nanos(interval.0.saturating_mul(count))
}

fn number(text: impl AsRef<str>) -> f64 {
    text.as_ref().trim().parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0)
}

/// As JMeter has it: the delay is the middle of the curve, and what lies below 0 is folded over.
fn gaussian(delay_ms: f64, deviation_ms: f64, normal: f64) -> f64 {
    (delay_ms + deviation_ms * normal).abs()
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

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: u32 = 7;

    /// Rhythms of machines whose users stand before one timer: two of group 0, and five of group 2.
    fn machines(parts: u32) -> Vec<(Rhythms, u64)> {
        let groups = [
            (BTreeSet::from([SITE]), 0, (0, 2)),
            (BTreeSet::new(), 1, (2, 9)),
            (BTreeSet::from([SITE]), 2, (11, 5)),
        ];
        let of = |number| {
            let share = RunShare::new(number, parts).unwrap();
            let turns = RhythmTurns::of(share, &groups);
            let own = turns.get(SITE, rhythm_of(None)).count(7);
            (Rhythms::new(turns, 42), own)
        };
        (0..parts).map(of).collect()
    }

    fn throughput(rhythms: &Rhythms, mode: ThroughputMode, group: usize, in_all: u32) -> Nanos {
        let crowd = Crowd { user: 3, group, in_group: 1, in_all };
        rhythms.throughput(600.0, mode, SITE, crowd, Nanos::ZERO)
    }

    #[test]
    fn a_gaussian_delay_lies_on_both_sides_of_its_middle() {
        let delays = [(300.0, 100.0, -1.0), (300.0, 100.0, 1.0), (100.0, 300.0, -1.0)];
        let delays = delays.map(|(delay, deviation, normal)| gaussian(delay, deviation, normal) as u64);
        assert_eq!(delays, [200, 400, 200]);
    }

    #[test]
    fn a_rate_that_all_share_is_that_of_one_machine() {
        for parts in [1, 2, 3] {
            let mut gone = Vec::new();
            for (rhythms, own) in machines(parts) {
                let mode = ThroughputMode::Shared { in_group: false };
                gone.extend((0..3 * own).map(|_| throughput(&rhythms, mode, 2, 0)));
            }
            gone.sort_unstable();
            // Ten a second, of 21 in three rounds of seven users.
            let expected: Vec<_> = (0..21).map(|number| Nanos::from_millis(100 * number)).collect();
            assert_eq!(gone, expected, "{parts} machines");
        }
    }

    #[test]
    fn a_rate_of_a_group_is_shared_by_its_users() {
        let mode = ThroughputMode::Shared { in_group: true };
        // Of users 11 to 15 the machine of the even numbers has 12 and 14, which are second and fourth in their round.
        let (even, _) = &machines(2)[0];
        let of_group: Vec<_> = (0..3).map(|_| throughput(even, mode, 2, 0).as_millis_f64()).collect();
        assert_eq!(of_group, [100.0, 300.0, 600.0]);
        let other: Vec<_> = (0..2).map(|_| throughput(even, mode, 0, 0).as_millis_f64()).collect();
        assert_eq!(other, [0.0, 200.0], "another group has a rhythm of its own");
    }

    #[test]
    fn all_machines_draw_the_moments_of_one() {
        let draw = |parts: u32| {
            let mut moments = Vec::new();
            for (rhythms, own) in machines(parts) {
                moments.extend((0..8 * own).map(|_| rhythms.precise(5.0, 2.0, SITE, Nanos::ZERO)));
            }
            moments.sort_unstable();
            moments
        };
        let whole = draw(1);
        assert_eq!(whole.len(), 56);
        let in_first = whole.iter().filter(|moment| **moment < Nanos::from_secs(2)).count();
        assert_eq!(in_first, 5, "so many in each period");
        assert_eq!([draw(2), draw(3)], [whole.clone(), whole]);
    }

    /// Its own stages are not read.
    fn shaping() -> Timer {
        Timer::Shaping { stages: Vec::new(), site: SITE }
    }

    /// Two starts a second for 2 s, then 4 a second for 1 s.
    fn steps() -> ShapingSchedule {
        let stage = |rate, seconds| ShapingStage { from_per_s: rate, to_per_s: rate, seconds };
        ShapingSchedule::new([stage(2.0, 2.0), stage(4.0, 1.0)])
    }

    #[test]
    fn a_schedule_of_starts_is_that_of_one_machine() {
        for parts in [1, 2, 3] {
            let mut moments = Vec::new();
            for (rhythms, own) in machines(parts) {
                moments.extend((0..own).map(|_| rhythms.shaped(SITE, Nanos::ZERO, steps)));
                assert_eq!(rhythms.schedule_end(&shaping()), Some(Nanos::from_secs(3)));
            }
            moments.sort_unstable();
            let expected = [0, 500, 1_000, 1_500, 2_000, 2_250, 2_500].map(Nanos::from_millis);
            assert_eq!(moments, expected, "{parts} machines");
        }
    }

    #[test]
    fn late_starts_of_a_schedule_are_made_up_for_within_their_second() {
        let rhythms = Rhythms::default();
        let wait = |milliseconds: u64| {
            let now = Nanos::from_millis(10_000 + milliseconds);
            rhythms.shaped(SITE, now, steps).0 / 1_000_000
        };
        assert_eq!(rhythms.schedule_end(&shaping()), None);
        assert_eq!([wait(0), wait(900), wait(950)], [0, 0, 50]);
        assert_eq!(
            [wait(2_800), wait(2_800), wait(2_800)],
            [0; 3],
            "those of the second before are left out"
        );
        assert_eq!([wait(2_800), wait(2_800)], [0, 200], "until the schedule is over");
        assert_eq!(rhythms.schedule_end(&shaping()), Some(Nanos::from_secs(13)));
    }

    #[test]
    fn who_waits_no_longer_lets_all_go_on() {
        let rhythms = Rhythms::default();
        assert_eq!([rhythms.meet(SITE, 3), rhythms.meet(SITE, 3)], [Some(0), Some(0)]);
        assert!(!rhythms.is_met(SITE, 0));
        rhythms.give_up(SITE, 0);
        rhythms.give_up(SITE, 0);
        assert!(rhythms.is_met(SITE, 0), "the other one waits no longer either");
        assert_eq!([3; 3].map(|users| rhythms.meet(SITE, users)), [Some(1), Some(1), None]);
    }

    #[test]
    fn users_meet_those_of_their_machine() {
        let here: Vec<_> = machines(3).iter().map(|(rhythms, _)| rhythms.meeting_here(SITE, 7)).collect();
        assert_eq!(here.iter().sum::<u64>(), 7);
        let few: Vec<_> = machines(3).iter().map(|(rhythms, _)| rhythms.meeting_here(SITE, 1)).collect();
        assert_eq!(few, [1, 1, 1], "nobody waits for nobody");
    }
}
