//! The search for the largest load that still meets an objective, as a pure state machine: the caller asks
//! for the next load, measures it, and tells whether it passed. The answer is an interval.

/// Doubling is fast enough; a larger leap could bring down what is measured.
const GROWTH_MAX: f64 = 2.0;

/// Where a search begins, how far it may go, and when it is close enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchPlan {
    /// The first load tried.
    pub start: u32,
    pub lowest: u32,
    /// Above this the lab itself cannot go.
    pub highest: u32,
    /// The first step away from `start` multiplies or divides by this; each further one by its square, up to
    /// [`GROWTH_MAX`].
    pub growth: f64,
    /// Done when the lowest failing load is at most this many times the highest passing one.
    pub resolution: f64,
    pub steps_max: u32,
}

/// A search under way: loads in, verdicts back.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    passed: Option<u32>,
    failed: Option<u32>,
    steps: u32,
    growth: f64,
}

/// What is known at the end. Loads are inclusive: `passed` did pass, `failed` did fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Interval {
    /// The highest load that passed; `None` when even the lowest tried failed.
    pub passed: Option<u32>,
    /// The lowest load that failed; `None` when none did, so the true limit is higher.
    pub failed: Option<u32>,
}

impl Search {
    pub fn new(plan: SearchPlan) -> Self {
        Self { plan, passed: None, failed: None, steps: 0, growth: plan.growth }
    }

    /// The next load to measure, or `None` when the search is over.
    pub fn next_load(&self) -> Option<u32> {
        if self.steps >= self.plan.steps_max {
            return None;
        }
        let next = match (self.passed, self.failed) {
            (None, None) => self.clamp(f64::from(self.plan.start)),
            (Some(passed), None) => self.clamp(f64::from(passed) * self.growth),
            (None, Some(failed)) => self.clamp(f64::from(failed) / self.growth),
            (Some(passed), Some(failed)) => {
                if f64::from(failed) <= f64::from(passed) * self.plan.resolution {
                    return None;
                }
                // The middle of a ratio is its geometric mean.
                round((f64::from(passed) * f64::from(failed)).sqrt())
            }
        };
        let known = Some(next) == self.passed || Some(next) == self.failed;
        (!known).then_some(next)
    }

    /// Tells how the load that [`Search::next_load`] gave went.
    pub fn record(&mut self, load: u32, has_passed: bool) {
        if self.steps > 0 && (self.passed.is_none() || self.failed.is_none()) {
            self.growth = (self.growth * self.growth).min(self.plan.growth.max(GROWTH_MAX));
        }
        self.steps += 1;
        if has_passed {
            self.passed = Some(self.passed.map_or(load, |known| known.max(load)));
        } else {
            self.failed = Some(self.failed.map_or(load, |known| known.min(load)));
        }
    }

    pub fn interval(&self) -> Interval {
        Interval { passed: self.passed, failed: self.failed }
    }

    /// Steps that may still come, at most.
    pub fn steps_left(&self) -> u32 {
        self.plan.steps_max.saturating_sub(self.steps)
    }

    fn clamp(&self, load: f64) -> u32 {
        round(load).clamp(self.plan.lowest, self.plan.highest.max(self.plan.lowest))
    }
}

/// To figures that can be told apart by eye, in steps of at most 5 %: …, 99, 100, 105, …, 995, 1000, 1050, …
fn round(load: f64) -> u32 {
    let unit = if load < 100.0 { 1.0 } else { 10_f64.powf(load.log10().floor()) / 20.0 };
    ((load / unit).round() * unit).clamp(1.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(start: u32) -> SearchPlan {
        SearchPlan { start, lowest: 10, highest: 60_000, growth: 1.12, resolution: 1.12, steps_max: 40 }
    }

    /// Searches a system that carries exactly `capacity`; the answer and the loads tried.
    fn search(plan: SearchPlan, capacity: u32) -> (Interval, Vec<u32>) {
        let mut search = Search::new(plan);
        let mut tried = Vec::new();
        while let Some(load) = search.next_load() {
            tried.push(load);
            search.record(load, load <= capacity);
        }
        (search.interval(), tried)
    }

    #[test]
    fn a_good_start_needs_few_steps() {
        let (interval, tried) = search(plan(2_000), 2_100);
        assert_eq!(interval, Interval { passed: Some(2_100), failed: Some(2_250) });
        assert_eq!(tried, [2_000, 2_250, 2_100]);
    }

    #[test]
    fn the_published_figure_is_start_enough() {
        let doubling = SearchPlan { growth: 2.0, resolution: 1.05, ..plan(1_300) };
        let (interval, tried) = search(doubling, 17_000);
        assert_eq!(interval, Interval { passed: Some(17_000), failed: Some(17_500) });
        assert!(tried.len() <= 10, "{tried:?}");
    }

    #[test]
    fn limits_of_the_lab_leave_the_interval_open() {
        assert_eq!(search(plan(50_000), u32::MAX).0, Interval { passed: Some(60_000), failed: None });
        assert_eq!(search(plan(50), 0).0, Interval { passed: None, failed: Some(10) });
    }

    #[test]
    fn steps_are_bounded() {
        let few = SearchPlan { steps_max: 3, ..plan(10) };
        assert_eq!(search(few, 50_000).1.len(), 3);
    }

    #[test]
    fn loads_are_round_figures() {
        for (load, rounded) in
            [(0.2, 1), (7.4, 7), (99.0, 99), (103.0, 105), (1_234.0, 1_250), (23_456.0, 23_500)]
        {
            assert_eq!(round(load), rounded, "{load}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_capacity(start in 1_u32..100_000, capacity in 10_u32..60_000, growth in 1.05_f64..4.0) {
            let plan = SearchPlan { growth, ..plan(start) };
            let (interval, tried) = search(plan, capacity);
            let passed = interval.passed.expect("the lowest load passes");
            prop_assert!(passed <= capacity);
            let Some(failed) = interval.failed else {
                prop_assert_eq!(passed, 60_000);
                return Ok(());
            };
            prop_assert!(failed > capacity);
            prop_assert!(f64::from(failed) / f64::from(passed) <= 1.25, "{interval:?} {tried:?}");
        }
    }
}
