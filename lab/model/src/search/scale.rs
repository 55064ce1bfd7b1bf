//! A plan at another load: what a search measures at each of its steps.

use super::Vary;
use crate::load::{LoadModel, RateStage, Spacing, WAIT_MAX_DEFAULT};
use crate::plan::PlanDraft;
use crate::plan::scenario::ScenarioDraft;
use crate::units::Nanos;

/// Users that serve starts where the plan does not say how many: as many as a second of them, within these bounds.
/// Fewer would make starts wait for users instead of the target; more would only be connections.
const POOL_MIN: f64 = 16.0;
const POOL_MAX: f64 = 1_024.0;

/// What every step of a search has in common.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepShape {
    pub vary: Vary,
    /// Up to the load, and not judged.
    pub ramp: Nanos,
    /// At the load; the plan's warm-up comes on top.
    pub hold: Nanos,
    /// Users that serve starts, over all scenarios, where the rate varies.
    pub pool: Option<u32>,
}

/// A plan that cannot be searched in this way.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    #[error(
        "scenario `{0}` starts requests at a rate, so its users are not its load; search with `--vary rate`"
    )]
    UsersOfARate(String),
    #[error("{load} users cannot be shared among {scenarios} scenarios; begin with more (--from)")]
    TooFew { load: u32, scenarios: usize },
}

impl StepShape {
    /// The plan with this load in place of its own: all scenarios from the first moment, in the proportions that their
    /// highest loads have in the plan.
    pub fn apply(&self, draft: &PlanDraft, load: u32) -> Result<PlanDraft, ShapeError> {
        let mut draft = draft.clone();
        let hold = self.hold.plus(draft.warm_up);
        match self.vary {
            Vary::Users => self.set_users(&mut draft.scenarios, load, hold)?,
            Vary::Rate => self.set_rates(&mut draft.scenarios, load, hold),
        }
        for scenario in &mut draft.scenarios {
            scenario.start = Nanos::ZERO;
        }
        Ok(draft)
    }

    fn set_users(&self, scenarios: &mut [ScenarioDraft], load: u32, hold: Nanos) -> Result<(), ShapeError> {
        if let Some(open) = scenarios.iter().find(|scenario| scenario.load.rate_max().is_some()) {
            return Err(ShapeError::UsersOfARate(open.name.clone()));
        }
        if (load as usize) < scenarios.len() {
            return Err(ShapeError::TooFew { load, scenarios: scenarios.len() });
        }
        let weights: Vec<_> = scenarios.iter().map(|scenario| scenario.load.users_max()).collect();
        for (scenario, users) in scenarios.iter_mut().zip(shares(load, &weights)) {
            scenario.load = LoadModel::ramp_and_hold(users, self.ramp, hold);
        }
        Ok(())
    }

    fn set_rates(&self, scenarios: &mut [ScenarioDraft], load: u32, hold: Nanos) {
        let weight = |load: &LoadModel| load.rate_max().unwrap_or_else(|| f64::from(load.users_max()));
        let sum: f64 = scenarios.iter().map(|scenario| weight(&scenario.load)).sum();
        for scenario in scenarios {
            let share = weight(&scenario.load) / sum.max(f64::MIN_POSITIVE);
            let rate = f64::from(load) * share;
            let (spacing, wait_max, own) = match &scenario.load.arrivals {
                Some(arrivals) => (arrivals.spacing, arrivals.wait_max, Some(scenario.load.users_max())),
                None => (Spacing::Even, WAIT_MAX_DEFAULT, None),
            };
            let given = self.pool.map(|pool| (f64::from(pool) * share).ceil() as u32).or(own);
            let users = given.unwrap_or(rate.clamp(POOL_MIN, POOL_MAX) as u32).max(1);
            let stages = vec![RateStage::new(self.ramp, rate), RateStage::new(hold, rate)];
            scenario.load = LoadModel::arrivals(stages, spacing, users, wait_max);
        }
    }
}

/// Whole parts of `total` in the proportion of `weights`, at least one each, by largest remainders.
fn shares(total: u32, weights: &[u32]) -> Vec<u32> {
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    let free = u64::from(total) - weights.len() as u64;
    let exact = |weight: u32| u64::from(weight) * free;
    let mut parts: Vec<u64> = weights.iter().map(|weight| 1 + exact(*weight) / sum.max(1)).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(exact(weights[*index]) % sum.max(1)));
    let mut missing = u64::from(total) - parts.iter().sum::<u64>();
    for index in order.into_iter().cycle() {
        if missing == 0 {
            break;
        }
        parts[index] += 1;
        missing -= 1;
    }
    parts.into_iter().map(|part| part as u32).collect()
}

/// The plan with every scenario at its highest load from the first moment, for this long.
#[must_use]
pub fn held(mut draft: PlanDraft, duration: Nanos) -> PlanDraft {
    for scenario in &mut draft.scenarios {
        scenario.start = Nanos::ZERO;
        scenario.load = scenario.load.held(duration);
    }
    draft
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::target::Target;
    use proptest::prelude::*;

    const SECOND: Nanos = Nanos::from_secs(1);

    fn draft(loads: &[LoadModel]) -> PlanDraft {
        let mut draft = PlanDraft::new("p", Target::new("t", 80), loads[0].clone());
        let scenario =
            |(index, load): (usize, &LoadModel)| ScenarioDraft::new(&index.to_string(), load.clone());
        draft.scenarios = loads.iter().enumerate().map(scenario).collect();
        draft
    }

    fn shape(vary: Vary) -> StepShape {
        StepShape { vary, ramp: SECOND, hold: Nanos::from_secs(2), pool: None }
    }

    #[test]
    fn scenarios_keep_their_proportions_and_the_warm_up_comes_on_top() {
        let mut plan = draft(&[LoadModel::constant(30, SECOND), LoadModel::constant(10, SECOND)]);
        plan.warm_up = SECOND;
        plan.scenarios[1].start = SECOND;
        let scaled = shape(Vary::Users).apply(&plan, 100).unwrap();
        let hold = Nanos::from_secs(3);
        assert_eq!(scaled.scenarios[0].load, LoadModel::ramp_and_hold(75, SECOND, hold));
        assert_eq!(scaled.scenarios[1].load, LoadModel::ramp_and_hold(25, SECOND, hold));
        assert_eq!(scaled.scenarios[1].start, Nanos::ZERO);
        let error = shape(Vary::Users).apply(&plan, 1).unwrap_err();
        assert_eq!(error, ShapeError::TooFew { load: 1, scenarios: 2 });
    }

    #[test]
    fn a_rate_is_shared_out_and_served_by_the_plans_users() {
        let plan = draft(&[LoadModel::open(30.0, SECOND, 7), LoadModel::constant(10, SECOND)]);
        let scaled = shape(Vary::Rate).apply(&plan, 1_000).unwrap();
        let rates: Vec<_> = scaled.scenarios.iter().map(|scenario| scenario.load.rate_max()).collect();
        let users: Vec<_> = scaled.scenarios.iter().map(|scenario| scenario.load.users_max()).collect();
        assert_eq!((rates, users), (vec![Some(750.0), Some(250.0)], vec![7, 250]));
        let pool = StepShape { pool: Some(40), ..shape(Vary::Rate) };
        let users = pool.apply(&plan, 1_000).unwrap().scenarios.into_iter().map(|s| s.load.users_max());
        assert_eq!(users.collect::<Vec<_>>(), [30, 10]);
        let error = shape(Vary::Users).apply(&plan, 100).unwrap_err();
        assert_eq!(error, ShapeError::UsersOfARate("0".to_owned()));
    }

    #[test]
    fn a_held_plan_stays_at_its_highest() {
        let ramp = LoadModel::ramp_and_hold(5, SECOND, SECOND);
        let open = LoadModel::open(7.0, SECOND, 2);
        let plan = held(draft(&[ramp, open]), Nanos::from_secs(9));
        assert_eq!(plan.scenarios[0].load, LoadModel::constant(5, Nanos::from_secs(9)));
        assert_eq!(plan.scenarios[1].load, LoadModel::open(7.0, Nanos::from_secs(9), 2));
    }

    proptest! {
        #[test]
        fn shares_sum_up(weights in prop::collection::vec(0_u32..1_000, 1..8), extra in 0_u32..100_000) {
            let total = weights.len() as u32 + extra;
            let parts = shares(total, &weights);
            prop_assert_eq!(parts.iter().sum::<u32>(), total);
            prop_assert!(parts.iter().all(|part| *part >= 1));
            for pair in weights.iter().zip(&parts).collect::<Vec<_>>().windows(2) {
                prop_assert!(pair[0].0 <= pair[1].0 || pair[0].1 + 1 >= *pair[1].1);
            }
        }
    }
}
