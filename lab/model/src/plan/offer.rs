//! What a plan asks of its target before anything is known of the answers: how many requests, and how fast at most.

use crate::load::{IterationBudget, Spacing};
use crate::plan::Plan;
use crate::plan::scenario::{Flow, Scenario};

/// How many requests a scenario makes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// Where every step succeeds and no start is dropped.
    Exactly(u64),
    /// In the mean: how many starts chance makes is known only afterwards.
    About(u64),
    /// Were every answer immediate.
    AtMost(u64),
    /// Users without waits ask as fast as they are answered.
    AsAnswered,
}

impl Expected {
    /// Of both together, as certain as the less certain one.
    fn plus(self, other: Self) -> Self {
        use Expected::{About, AsAnswered, AtMost, Exactly};
        match (self, other) {
            (AsAnswered, _) | (_, AsAnswered) => AsAnswered,
            (Exactly(a), Exactly(b)) => Exactly(a.saturating_add(b)),
            (AtMost(a), Exactly(b) | About(b) | AtMost(b)) | (Exactly(a) | About(a), AtMost(b)) => {
                AtMost(a.saturating_add(b))
            }
            (About(a), Exactly(b) | About(b)) | (Exactly(a), About(b)) => About(a.saturating_add(b)),
        }
    }
}

impl Scenario {
    /// Requests of one iteration in which every step succeeds. What a script sends is not known beforehand: its
    /// iterations count as one each.
    pub fn requests_per_iteration(&self) -> u64 {
        match &self.flow {
            Flow::Mix { .. } => self.pipeline.into(),
            Flow::Script => 1,
            Flow::Sequence(steps) => steps.len() as u64,
        }
    }

    pub fn expected(&self) -> Expected {
        let each = self.requests_per_iteration();
        if let Some(arrivals) = &self.load.arrivals {
            let starts = self.load.rates().map_or(0, |rates| rates.starts());
            let requests = starts.saturating_mul(each);
            return match arrivals.spacing {
                Spacing::Even => Expected::Exactly(requests),
                Spacing::Poisson => Expected::About(requests),
            };
        }
        match self.load.budget {
            IterationBudget::EachUser(iterations) => {
                let users = u64::from(self.load.users_max());
                Expected::Exactly(iterations.saturating_mul(users).saturating_mul(each))
            }
            IterationBudget::Shared(iterations) => Expected::Exactly(iterations.saturating_mul(each)),
            IterationBudget::Unlimited => self.rate_cap().map_or(Expected::AsAnswered, |cap| {
                let per_user = cap / f64::from(self.load.users_max().max(1));
                let user_seconds: f64 = self
                    .load
                    .levels()
                    .iter()
                    .map(|level| {
                        level.to.since(level.from).as_secs_f64() * f64::midpoint(level.first, level.last)
                    })
                    .sum();
                // A user's first iteration begins before any wait.
                let first = f64::from(self.load.users_max()) * each as f64;
                Expected::AtMost((user_seconds * per_user + first).ceil() as u64)
            }),
        }
    }

    /// The most requests a second that waits allow or the load model asks for; none where answers alone set the pace.
    pub fn offered_per_s(&self) -> Option<f64> {
        let asked = self.load.rate_max().map(|rate| rate * self.requests_per_iteration() as f64);
        asked.or_else(|| self.rate_cap())
    }
}

impl Plan {
    /// Over all scenarios: the least that is known of each.
    pub fn expected(&self) -> Expected {
        self.scenarios().iter().map(Scenario::expected).fold(Expected::Exactly(0), Expected::plus)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadModel, Pacing, Stage};
    use crate::plan::PlanDraft;
    use crate::plan::request::RequestDraft;
    use crate::plan::scenario::{FlowDraft, StepDraft};
    use crate::plan::target::Target;
    use crate::{Nanos, ThinkTime};

    fn offer(load: LoadModel, think_ms: u64, steps: usize) -> (Expected, Option<f64>) {
        let mut draft = PlanDraft::new("t", Target::new("a", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        let scenario = &mut draft.scenarios[0];
        let think_time =
            if think_ms == 0 { ThinkTime::None } else { ThinkTime::constant(Nanos::from_millis(think_ms)) };
        scenario.pacing = Pacing::ThinkTime(think_time);
        let step = StepDraft { request: "a".to_owned(), think_time: ThinkTime::None };
        scenario.flow = FlowDraft::Sequence(vec![step; steps]);
        let plan = draft.check().unwrap();
        (plan.expected(), plan.scenarios()[0].offered_per_s())
    }

    #[test]
    fn requests_of_a_pipeline_are_asked_for_one_by_one() {
        let pipelined = |load: LoadModel| {
            let mut draft = PlanDraft::new("t", Target::new("a", 80), load);
            draft.requests = vec![RequestDraft::get("a", "/")];
            draft.wire.pipeline = 4;
            let plan = draft.with_think_time(ThinkTime::constant(Nanos::from_millis(100))).check().unwrap();
            (plan.expected(), plan.scenarios()[0].offered_per_s())
        };
        let counted = LoadModel::per_user_iterations(2, 8, Nanos::from_secs(9));
        assert_eq!(pipelined(counted), (Expected::Exactly(64), Some(80.0)));
        let open = LoadModel::open(50.0, Nanos::from_secs(10), 5);
        assert_eq!(pipelined(open), (Expected::Exactly(2_000), Some(200.0)));
    }

    #[test]
    fn what_is_asked_for_follows_from_the_load() {
        let second = Nanos::from_secs(1);
        let counted = |users, iterations| LoadModel::per_user_iterations(users, iterations, second);
        assert_eq!(offer(counted(3, 4), 0, 2), (Expected::Exactly(24), None));
        let shared = LoadModel::shared_iterations(3, 10, second);
        assert_eq!(offer(shared, 0, 1), (Expected::Exactly(10), None));
        let open = LoadModel::open(50.0, Nanos::from_secs(10), 5);
        assert_eq!(offer(open, 0, 3), (Expected::Exactly(1500), Some(150.0)));
        let closed = LoadModel::closed(vec![Stage::new(Nanos::from_secs(10), 20)]);
        assert_eq!(offer(closed.clone(), 0, 1), (Expected::AsAnswered, None));
        // 100 user-seconds with a request every 2 s, and the first of each of 20 users.
        assert_eq!(offer(closed, 2_000, 1), (Expected::AtMost(70), Some(10.0)));
    }
}
