//! What makes requests start, as pure functions of the time; no clock is read here.
//!
//! Load model and pacing are independent values: the model says how many users there are, how many iterations they make and
//! when starts are due, the pacing when a user begins again. The model itself is made of these three parts, which are
//! independent too; [`shapes`] holds the usual ones.

pub mod windows;

mod arrivals;
mod budget;
mod level;
mod pacing;
mod saved;
mod shapes;
mod starts;
mod think;
mod users;

pub use arrivals::{ArrivalSchedule, RATE_MAX_PER_S, RateStage, Rates, Spacing, Stripe};
pub use budget::IterationBudget;
pub use level::Level;
pub use pacing::Pacing;
pub use starts::{StartShare, Starts};
pub use think::ThinkTime;
pub use users::{Activity, Stage, UserSchedule};

use crate::units::Nanos;

/// Users in one run. Far above what one machine has descriptors for; it catches slips of the keyboard.
pub const USERS_MAX: u32 = 1_000_000;
/// How long a start waits for a free user unless the plan says otherwise: longer than what users put up with.
pub const WAIT_MAX_DEFAULT: Nanos = Nanos::from_secs(10);

/// What makes iterations begin: users over time × iterations that they may make × starts at a rate. A new shape is a new
/// value of these.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadModel {
    /// Where there are arrivals, the users that serve them.
    pub users: UserSchedule,
    pub budget: IterationBudget,
    /// None where each user begins its iterations by itself: it waits for its response, thinks, and asks again.
    pub arrivals: Option<ArrivalSchedule>,
}

impl LoadModel {
    /// How long new iterations are started; those with a budget may be done earlier.
    pub fn duration(&self) -> Nanos {
        self.arrivals.as_ref().map_or_else(|| self.users.duration(), ArrivalSchedule::duration)
    }

    pub fn users_max(&self) -> u32 {
        self.users.users_max()
    }

    /// True where iterations start at a rate.
    pub const fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    /// The highest number of starts a second, where the model asks for a rate.
    pub fn rate_max(&self) -> Option<f64> {
        self.arrivals.as_ref().map(ArrivalSchedule::rate_max)
    }

    /// Where the model asks for a rate.
    pub fn rates(&self) -> Option<Rates> {
        self.arrivals.as_ref().map(|arrivals| Rates::of(&arrivals.stages))
    }

    /// The users active at a time; none once the last stage has ended.
    pub fn users_active_at(&self, time: Nanos) -> u32 {
        self.users.active_at(time)
    }

    /// When the user with this number (from 0) is active, in order of time.
    pub fn activities_of(&self, user: u32) -> Vec<Activity> {
        self.users.activities_of(user)
    }

    /// The load over time, in users or in starts a second. Spans that last no time may be among them.
    pub fn levels(&self) -> Vec<Level> {
        self.rates().map_or_else(|| self.users.levels(), |rates| rates.levels())
    }

    /// All that keeps it from making a single request, or anything sensible; for people.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.duration() == Nanos::ZERO {
            faults.push("the load lasts no time; give it a duration above zero".to_owned());
        }
        match self.users_max() {
            0 => faults.push("the load has no users; ask for at least one".to_owned()),
            users if users > USERS_MAX => {
                faults.push(format!("{users} users are more than the limit of {USERS_MAX}; ask for fewer"));
            }
            _ => {}
        }
        if self.budget.is_empty() {
            faults.push("there are no iterations to make; ask for at least one".to_owned());
        }
        if let Some(arrivals) = &self.arrivals {
            faults.extend(arrivals.fault());
            let serving = (self.users_max(), arrivals.duration());
            if self.users.as_constant() != Some(serving) || self.budget != IterationBudget::Unlimited {
                let reason = "starts at a rate are served by the same users throughout, and have no budget of iterations";
                faults.push(reason.to_owned());
            }
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
        let load = LoadModel::closed(stages);
        assert_eq!(load.activities_of(0).len(), 2);
        assert_eq!(load.activities_of(0)[1], Activity { start: seconds(4), stop: seconds(5) });
    }

    proptest! {
        #[test]
        fn activities_agree_with_the_count(
            stages in prop::collection::vec((0_u64..50, 0_u32..12), 1..6), time in 0_u64..300
        ) {
            let stages = stages.into_iter().map(|(d, users)| Stage::new(Nanos(d), users)).collect();
            let load = LoadModel::closed(stages);
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
        let late = LoadModel::arrivals(stages, Spacing::Even, 1, Nanos::ZERO);
        let asked = |second| {
            let all = [(Nanos::ZERO, &closed), (Nanos::ZERO, &early), (seconds(2), &late)];
            asked_per_s(all.into_iter(), seconds(second))
        };
        assert_eq!([0, 2, 4, 5, 6].map(asked), [10.0, 10.0, 14.0, 6.0, 0.0].map(Some));
        assert_eq!(asked_per_s([(Nanos::ZERO, &closed)].into_iter(), seconds(1)), None);
    }

    #[test]
    fn users_of_other_models_stay_from_the_first_moment_to_the_last() {
        let users = 3;
        for load in [
            LoadModel::per_user_iterations(users, 7, seconds(5)),
            LoadModel::shared_iterations(users, 7, seconds(5)),
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
        check(&LoadModel::closed(Vec::new()), "no time");
        check(&LoadModel::constant(0, seconds(1)), "no users");
        check(&LoadModel::constant(2_000_000, seconds(1)), "limit of 1000000");
        check(&LoadModel::open(0.0, seconds(1), 1), "0 throughout");
        check(&LoadModel::open(1e9, seconds(1), 1), "1000000000/s is not between");
        check(&LoadModel::open(f64::NAN, seconds(1), 1), "NaN/s");
        check(&LoadModel::shared_iterations(1, 0, seconds(1)), "no iterations");
        let (ramp, budget) =
            (UserSchedule { stages: vec![Stage::new(seconds(1), 1)] }, IterationBudget::Shared(5));
        check(&LoadModel { users: ramp, ..LoadModel::open(5.0, seconds(1), 1) }, "the same users throughout");
        check(&LoadModel { budget, ..LoadModel::open(5.0, seconds(1), 1) }, "no budget of iterations");
    }
}
