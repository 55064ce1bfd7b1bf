//! The usual load models, as values of their three parts.

use super::{
    ArrivalSchedule, IterationBudget, LoadModel, RateStage, Spacing, Stage, UserSchedule, WAIT_MAX_DEFAULT,
};
use crate::units::Nanos;

impl LoadModel {
    /// Users come and go.
    pub fn closed(stages: Vec<Stage>) -> Self {
        Self { users: UserSchedule { stages }, budget: IterationBudget::Unlimited, arrivals: None }
    }

    /// `users` from the first moment, for `duration`.
    pub fn constant(users: u32, duration: Nanos) -> Self {
        Self {
            users: UserSchedule::constant(users, duration),
            budget: IterationBudget::Unlimited,
            arrivals: None,
        }
    }

    /// From none to `users` in `ramp`, then `users` for `hold`.
    pub fn ramp_and_hold(users: u32, ramp: Nanos, hold: Nanos) -> Self {
        Self::closed(vec![Stage::new(ramp, users), Stage::new(hold, users)])
    }

    /// Each user makes this many iterations and leaves. None begins at `max_duration` or later.
    pub fn per_user_iterations(users: u32, iterations: u64, max_duration: Nanos) -> Self {
        Self { budget: IterationBudget::EachUser(iterations), ..Self::constant(users, max_duration) }
    }

    /// Users share this many iterations. None begins at `max_duration` or later.
    pub fn shared_iterations(users: u32, iterations: u64, max_duration: Nanos) -> Self {
        Self { budget: IterationBudget::Shared(iterations), ..Self::constant(users, max_duration) }
    }

    /// Iterations start at a rate; `users` serve them. Where none is free a start waits for `wait_max` at most and is dropped
    /// then.
    pub fn arrivals(stages: Vec<RateStage>, spacing: Spacing, users: u32, wait_max: Nanos) -> Self {
        let arrivals = ArrivalSchedule { stages, spacing, wait_max, stripe: None };
        Self { arrivals: Some(arrivals.clone()), ..Self::constant(users, arrivals.duration()) }
    }

    /// Evenly spaced starts at a constant rate, served by `users`.
    pub fn open(rate_per_s: f64, duration: Nanos, users: u32) -> Self {
        let stages = vec![RateStage::new(Nanos::ZERO, rate_per_s), RateStage::new(duration, rate_per_s)];
        Self::arrivals(stages, Spacing::Even, users, WAIT_MAX_DEFAULT)
    }

    /// The same at its highest from the first moment, for `duration`.
    #[must_use]
    pub fn held(&self, duration: Nanos) -> Self {
        let arrivals = self.arrivals.as_ref().map(|arrivals| {
            let rate = arrivals.rate_max();
            let stages = vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(duration, rate)];
            ArrivalSchedule { stages, ..arrivals.clone() }
        });
        let users = UserSchedule::constant(self.users_max(), duration);
        Self { users, budget: self.budget, arrivals }
    }
}
