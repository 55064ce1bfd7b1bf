//! What makes requests start, as pure functions of the time; no clock is read here.
//!
//! Load model and pacing are independent values: the model says how many users there are or when starts are due, the
//! pacing when a user begins again.

pub mod windows;

mod closed;
mod open;
mod pacing;
mod starts;
mod think;

pub use closed::{Activity, Stage};
pub use open::{RATE_MAX_PER_S, RateStage, Rates, Spacing};
pub use pacing::Pacing;
pub use starts::{StartShare, Starts};
pub use think::ThinkTime;

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Users in one run. Far above what one machine has descriptors for; it catches slips of the keyboard.
pub const USERS_MAX: u32 = 1_000_000;
/// How long a start waits for a free user unless the plan says otherwise: longer than what users put up with.
pub const WAIT_MAX_DEFAULT: Nanos = Nanos::from_secs(10);

/// What makes requests start. A new model is a new variant, never an option of another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "model")]
pub enum LoadModel {
    /// Users, each of which waits for its answer, thinks, and asks again.
    Closed { stages: Vec<Stage> },
    /// Each user makes this many iterations and leaves. None begins at `max_duration_ns` or later.
    PerUserIterations { users: u32, iterations: u64, max_duration_ns: Nanos },
    /// Users take iterations from one pot until it is empty. None begins at `max_duration_ns` or later.
    SharedIterations { users: u32, iterations: u64, max_duration_ns: Nanos },
    /// Iterations start when they are due, whether or not earlier ones have ended. `users` serve them; where none is
    /// free a start waits for `wait_max_ns` at most and is dropped then.
    Open { stages: Vec<RateStage>, spacing: Spacing, users: u32, wait_max_ns: Nanos },
}

/// A span in which the load (users, or starts a second) moves in a straight line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub from: Nanos,
    pub to: Nanos,
    pub first: f64,
    pub last: f64,
}

impl Level {
    /// The load at a time within it.
    pub fn at(&self, time: Nanos) -> f64 {
        let (passed, length) = (time.since(self.from).0 as f64, self.to.since(self.from).0 as f64);
        if length > 0.0 { self.first + (self.last - self.first) * (passed / length) } else { self.last }
    }
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

    /// Evenly spaced starts at a constant rate, served by `users`.
    pub fn open(rate_per_s: f64, duration: Nanos, users: u32) -> Self {
        let stages = vec![RateStage::new(Nanos::ZERO, rate_per_s), RateStage::new(duration, rate_per_s)];
        Self::Open { stages, spacing: Spacing::Even, users, wait_max_ns: WAIT_MAX_DEFAULT }
    }

    /// How long new iterations are started; iteration models may be done earlier.
    pub fn duration(&self) -> Nanos {
        match self {
            Self::Closed { stages } => sum(stages.iter().map(|stage| stage.duration_ns)),
            Self::PerUserIterations { max_duration_ns, .. }
            | Self::SharedIterations { max_duration_ns, .. } => *max_duration_ns,
            Self::Open { stages, .. } => sum(stages.iter().map(|stage| stage.duration_ns)),
        }
    }

    /// For an open model, the users that serve its starts.
    pub fn users_max(&self) -> u32 {
        match self {
            Self::Closed { stages } => stages.iter().map(|stage| stage.users).max().unwrap_or(0),
            Self::PerUserIterations { users, .. }
            | Self::SharedIterations { users, .. }
            | Self::Open { users, .. } => *users,
        }
    }

    /// The highest number of starts a second, where the model asks for a rate.
    pub fn rate_max(&self) -> Option<f64> {
        let Self::Open { stages, .. } = self else { return None };
        Some(stages.iter().map(|stage| stage.rate_per_s).fold(0.0, f64::max))
    }

    /// Where the model asks for a rate.
    pub fn rates(&self) -> Option<Rates> {
        let Self::Open { stages, .. } = self else { return None };
        Some(Rates::of(stages))
    }

    /// The users active at a time; none once the last stage has ended. Those of all models but the closed one stay
    /// from the first moment to the last.
    pub fn users_active_at(&self, time: Nanos) -> u32 {
        match self {
            Self::Closed { stages } => closed::users_active_at(stages, time),
            _ if time < self.duration() => self.users_max(),
            _ => 0,
        }
    }

    /// When the user with this number (from 0) is active, in order of time.
    pub fn activities_of(&self, user: u32) -> Vec<Activity> {
        match self {
            Self::Closed { stages } => closed::activities_of(stages, user),
            _ if user < self.users_max() => vec![Activity { start: Nanos::ZERO, stop: self.duration() }],
            _ => Vec::new(),
        }
    }

    /// The load over time, in users or in starts a second. Spans that last no time may be among them.
    pub fn levels(&self) -> Vec<Level> {
        match self {
            Self::Closed { stages } => closed::levels(stages),
            Self::Open { stages, .. } => Rates::of(stages).levels(),
            Self::PerUserIterations { users, .. } | Self::SharedIterations { users, .. } => {
                let users = f64::from(*users);
                vec![Level { from: Nanos::ZERO, to: self.duration(), first: users, last: users }]
            }
        }
    }

    /// All that keeps it from making a single request, or anything sensible; for people.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.duration() == Nanos::ZERO {
            faults.push("stages last no time; give at least one a duration".to_owned());
        }
        match self.users_max() {
            0 => faults.push("stages have no users; give at least one some".to_owned()),
            users if users > USERS_MAX => {
                faults.push(format!("{users} users are more than the limit of {USERS_MAX}"));
            }
            _ => {}
        }
        match self {
            Self::PerUserIterations { iterations: 0, .. } | Self::SharedIterations { iterations: 0, .. } => {
                faults.push("there are no iterations to make; ask for at least one".to_owned());
            }
            Self::Open { stages, .. } => faults.extend(rate_fault(stages)),
            _ => {}
        }
        faults
    }
}

/// The starts a second that all open models among these, each with when it starts, ask for at a time; `None` where none is
/// open.
pub fn asked_per_s<'a>(scenarios: impl Iterator<Item = (Nanos, &'a LoadModel)>, time: Nanos) -> Option<f64> {
    let open = scenarios.filter(|(_, load)| load.rate_max().is_some());
    open.map(|(start, load)| {
        let levels = if start <= time { load.levels() } else { Vec::new() };
        let at = time.since(start);
        levels.iter().find(|level| level.from <= at && at < level.to).map_or(0.0, |level| level.at(at))
    })
    .reduce(|sum, rate| sum + rate)
}

fn rate_fault(stages: &[RateStage]) -> Option<String> {
    let allowed = 0.0..=RATE_MAX_PER_S;
    if let Some(stage) = stages.iter().find(|stage| !allowed.contains(&stage.rate_per_s)) {
        return Some(format!(
            "a rate of {}/s is not between 0 and {RATE_MAX_PER_S} starts a second",
            stage.rate_per_s
        ));
    }
    (Rates::of(stages).starts() == 0).then(|| "the rate is 0 throughout; ask for some".to_owned())
}

fn sum(durations: impl Iterator<Item = Nanos>) -> Nanos {
    durations.fold(Nanos::ZERO, Nanos::plus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
    }

    #[test]
    fn what_is_asked_is_the_sum_of_open_models() {
        let (closed, early) = (LoadModel::constant(5, seconds(9)), LoadModel::open(10.0, seconds(5), 1));
        let stages = vec![RateStage::new(seconds(4), 8.0)];
        let late = LoadModel::Open { stages, spacing: Spacing::Even, users: 1, wait_max_ns: Nanos::ZERO };
        let asked = |second| {
            let all = [(Nanos::ZERO, &closed), (Nanos::ZERO, &early), (seconds(2), &late)];
            asked_per_s(all.into_iter(), seconds(second))
        };
        assert_eq!([0, 2, 4, 5, 6].map(asked), [10.0, 10.0, 14.0, 6.0, 0.0].map(Some));
        assert_eq!(asked_per_s([(Nanos::ZERO, &closed)].into_iter(), seconds(1)), None);
    }

    #[test]
    fn users_of_other_models_stay_from_the_first_moment_to_the_last() {
        let (users, max_duration_ns) = (3, seconds(5));
        for load in [
            LoadModel::PerUserIterations { users, iterations: 7, max_duration_ns },
            LoadModel::SharedIterations { users, iterations: 7, max_duration_ns },
            LoadModel::open(10.0, seconds(5), users),
        ] {
            assert_eq!((load.users_max(), load.duration()), (3, seconds(5)), "{load:?}");
            assert_eq!(load.activities_of(2), [Activity { start: Nanos::ZERO, stop: seconds(5) }]);
            assert!(load.activities_of(3).is_empty());
            assert_eq!((load.users_active_at(seconds(4)), load.users_active_at(seconds(5))), (3, 0));
            let text = serde_json::to_string(&load).unwrap();
            assert_eq!(serde_json::from_str::<LoadModel>(&text).unwrap(), load, "{text}");
            assert!(load.faults().is_empty());
        }
    }

    #[test]
    fn what_makes_no_load_is_said() {
        let check = |load: &LoadModel, part: &str| {
            let faults = load.faults();
            assert!(faults.iter().any(|fault| fault.contains(part)), "{part} in {faults:?}");
        };
        check(&LoadModel::Closed { stages: Vec::new() }, "no time");
        check(&LoadModel::constant(0, seconds(1)), "no users");
        check(&LoadModel::constant(2_000_000, seconds(1)), "limit of 1000000");
        check(&LoadModel::open(0.0, seconds(1), 1), "0 throughout");
        check(&LoadModel::open(1e9, seconds(1), 1), "1000000000/s is not between");
        check(&LoadModel::open(f64::NAN, seconds(1), 1), "NaN/s");
        let none = LoadModel::SharedIterations { users: 1, iterations: 0, max_duration_ns: seconds(1) };
        check(&none, "no iterations");
    }
}
