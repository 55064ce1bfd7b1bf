//! How many users (or starts) there are at which time, as pure functions of the time; no clock is read here.

use crate::units::Nanos;
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

/// A part of a run in which the number of users moves in a straight line from where the
/// stage before ended (0 before the first) to `users`. A duration of zero is a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub duration_ns: Nanos,
    pub users: u32,
}

impl Stage {
    pub const fn new(duration: Nanos, users: u32) -> Self {
        Self { duration_ns: duration, users }
    }
}

/// What makes requests start. A new model is a new variant, never an option of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum LoadModel {
    /// Users, each of which waits for its answer, thinks, and asks again.
    Closed { stages: Vec<Stage> },
}

/// A span in which one user is active: from `start` up to, not including, `stop`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Activity {
    pub start: Nanos,
    pub stop: Nanos,
}

impl LoadModel {
    /// `users` from the first moment, for `duration`.
    pub fn constant(users: u32, duration: Nanos) -> Self {
        Self::Closed { stages: vec![Stage::new(Nanos::ZERO, users), Stage::new(duration, users)] }
    }

    /// From none to `users` in `ramp`, then `users` for `hold`.
    pub fn ramp_and_hold(users: u32, ramp: Nanos, hold: Nanos) -> Self {
        Self::Closed { stages: vec![Stage::new(ramp, users), Stage::new(hold, users)] }
    }

    pub fn stages(&self) -> &[Stage] {
        match self {
            Self::Closed { stages } => stages,
        }
    }

    /// How long new requests are started.
    pub fn duration(&self) -> Nanos {
        self.stages().iter().fold(Nanos::ZERO, |sum, stage| sum.plus(stage.duration_ns))
    }

    pub fn users_max(&self) -> u32 {
        self.stages().iter().map(|stage| stage.users).max().unwrap_or(0)
    }

    /// The users active at a time; none once the last stage has ended.
    pub fn users_active_at(&self, time: Nanos) -> u32 {
        let active = self.segments().filter(|s| s.begin <= time && time < s.end).last();
        active.map_or(0, |segment| segment.users_at(time))
    }

    /// When the user with this number (from 0) is active, in order of time. User `k` is
    /// active while more than `k` users are: the first to come is the last to go.
    pub fn activities_of(&self, user: u32) -> Vec<Activity> {
        let mut spans: Vec<Activity> = Vec::new();
        for segment in self.segments() {
            let Some(span) = segment.activity_of(user) else { continue };
            match spans.last_mut() {
                Some(last) if last.stop == span.start => last.stop = span.stop,
                _ => spans.push(span),
            }
        }
        spans
    }

    fn segments(&self) -> impl Iterator<Item = Segment> + '_ {
        let (mut begin, mut users_before) = (Nanos::ZERO, 0);
        self.stages().iter().map(move |stage| {
            let end = begin.plus(stage.duration_ns);
            let segment = Segment { begin, end, from: users_before, to: stage.users };
            (begin, users_before) = (end, stage.users);
            segment
        })
    }
}

/// One stage with its place in time.
#[derive(Debug, Clone, Copy)]
struct Segment {
    begin: Nanos,
    end: Nanos,
    from: u32,
    to: u32,
}

impl Segment {
    fn length(self) -> u128 {
        u128::from(self.end.since(self.begin).0)
    }

    /// Rising, the k-th user is counted once the line reaches k; falling, it leaves when the line does.
    fn users_at(self, time: Nanos) -> u32 {
        let passed = u128::from(time.since(self.begin).0);
        let change = u128::from(self.to.abs_diff(self.from));
        let moved = |round_up: bool| {
            let product = change * passed;
            (if round_up { product.div_ceil(self.length()) } else { product / self.length() }) as u32
        };
        if self.to >= self.from { self.from + moved(false) } else { self.from - moved(true) }
    }

    fn activity_of(self, user: u32) -> Option<Activity> {
        if self.begin == self.end {
            return None;
        }
        let (start, stop) = if self.to >= self.from {
            (self.crossing_up(user)?, self.end)
        } else {
            (self.begin, self.crossing_down(user)?)
        };
        (start < stop).then_some(Activity { start, stop })
    }

    /// The first moment at which the rising line is at `user + 1` or above.
    fn crossing_up(self, user: u32) -> Option<Nanos> {
        if user < self.from {
            return Some(self.begin);
        }
        if user >= self.to {
            return None;
        }
        let steps = u128::from(user + 1 - self.from);
        let offset = (steps * self.length()).div_ceil(u128::from(self.to - self.from));
        Some(self.begin.plus(Nanos(offset as u64)))
    }

    /// The first moment at which the falling line is below `user + 1`.
    fn crossing_down(self, user: u32) -> Option<Nanos> {
        if user < self.to {
            return Some(self.end);
        }
        if user >= self.from {
            return None;
        }
        let steps = u128::from(self.from - user - 1);
        let offset = steps * self.length() / u128::from(self.from - self.to);
        Some(self.begin.plus(Nanos(offset as u64 + 1)))
    }
}

/// How long a user waits between an answer and its next request.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "distribution")]
pub enum ThinkTime {
    None,
    Constant { time_ns: Nanos },
    Uniform { min_ns: Nanos, max_ns: Nanos },
    Exponential { mean_ns: Nanos },
}

impl ThinkTime {
    pub const fn constant(time: Nanos) -> Self {
        Self::Constant { time_ns: time }
    }

    /// One draw. The exponential one is cut at ten times its mean (one draw in 22,000).
    pub fn draw(&self, random: &mut impl Rng) -> Nanos {
        match *self {
            Self::None => Nanos::ZERO,
            Self::Constant { time_ns } => time_ns,
            Self::Uniform { min_ns, max_ns } => Nanos(random.random_range(min_ns.0..=max_ns.0)),
            Self::Exponential { mean_ns } => {
                let uniform: f64 = random.random();
                let factor = (-(1.0 - uniform).ln()).min(10.0);
                Nanos::from_secs_f64(mean_ns.as_secs_f64() * factor)
            }
        }
    }

    pub fn mean(&self) -> Nanos {
        match *self {
            Self::None => Nanos::ZERO,
            Self::Constant { time_ns } => time_ns,
            Self::Uniform { min_ns, max_ns } => Nanos(min_ns.0 / 2 + max_ns.0 / 2),
            Self::Exponential { mean_ns } => mean_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn seconds(s: u64) -> Nanos {
        Nanos::from_secs(s)
    }

    #[test]
    fn a_ramp_starts_users_at_even_distances() {
        let load = LoadModel::ramp_and_hold(4, seconds(8), seconds(10));
        for user in 0..4 {
            let expected = Activity { start: seconds(2 * (u64::from(user) + 1)), stop: seconds(18) };
            assert_eq!(load.activities_of(user), [expected], "user {user}");
        }
        assert!(load.activities_of(4).is_empty());
        assert_eq!(load.duration(), seconds(18));
    }

    #[test]
    fn a_constant_number_is_there_from_the_first_moment() {
        let load = LoadModel::constant(3, seconds(5));
        assert_eq!(load.users_active_at(Nanos::ZERO), 3);
        assert_eq!(load.users_active_at(Nanos(seconds(5).0 - 1)), 3);
        assert_eq!(load.users_active_at(seconds(5)), 0);
        assert_eq!(load.activities_of(2), [Activity { start: Nanos::ZERO, stop: seconds(5) }]);
    }

    #[test]
    fn a_user_can_go_and_come_back() {
        let stages = vec![Stage::new(seconds(1), 2), Stage::new(seconds(2), 0), Stage::new(seconds(2), 2)];
        let load = LoadModel::Closed { stages };
        assert_eq!(load.activities_of(0).len(), 2);
        assert_eq!(load.activities_of(0)[1], Activity { start: seconds(4), stop: seconds(5) });
    }

    proptest! {
        #[test]
        fn activities_agree_with_the_count(
            stages in prop::collection::vec((0_u64..50, 0_u32..12), 1..6), time in 0_u64..300
        ) {
            let stages = stages.into_iter().map(|(d, users)| Stage::new(Nanos(d), users)).collect();
            let load = LoadModel::Closed { stages };
            let time = Nanos(time);
            let active = (0..20).filter(|user| {
                load.activities_of(*user).iter().any(|span| span.start <= time && time < span.stop)
            });
            prop_assert_eq!(active.count() as u32, load.users_active_at(time));
        }

        #[test]
        fn draws_stay_in_their_range_and_repeat_with_the_seed(seed: u64, low in 0_u64..1000, extra in 0_u64..1000) {
            let think = ThinkTime::Uniform { min_ns: Nanos(low), max_ns: Nanos(low + extra) };
            let draws = |mut random: ChaCha8Rng| (0..20).map(|_| think.draw(&mut random)).collect::<Vec<_>>();
            let first = draws(ChaCha8Rng::seed_from_u64(seed));
            prop_assert!(first.iter().all(|time| (low..=low + extra).contains(&time.0)));
            prop_assert_eq!(first, draws(ChaCha8Rng::seed_from_u64(seed)));
        }
    }

    #[test]
    fn exponential_draws_have_their_mean() {
        let think = ThinkTime::Exponential { mean_ns: Nanos::from_millis(100) };
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let sum: u64 = (0..20_000).map(|_| think.draw(&mut random).0).sum();
        assert!((95..105).contains(&(sum / 20_000 / 1_000_000)));
    }
}
