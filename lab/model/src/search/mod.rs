//! The search for the largest load that still meets an objective, as a pure state machine: the caller asks for the
//! next load, measures it, and tells how it went. The answer is an interval, never a lone number.
//!
//! Doubling until one side is known, then bisection. A load is measured several times; its repeats are a random walk
//! that ends when passes lead failures, or failures passes, by as many as are asked for (A. Wald, Sequential Tests of
//! Statistical Hypotheses, 1945): all alike decide at once, and disagreement costs further repeats, up to a bound.

mod file;
mod judge;
mod scale;

pub use file::{SCHEMA, SCHEMA_VERSION, SearchFile, SearchRun, SearchStep, Vary};
pub use judge::judge;
pub use scale::{ShapeError, StepShape, held};

use crate::verdict::conclusion::Conclusion;
use serde::{Deserialize, Serialize};

/// Doubling is fast enough; a larger leap could bring down what is measured.
const GROWTH_MAX: f64 = 2.0;
/// A load whose repeats go on disagreeing is given up after this many times the asked repeats.
const REPEATS_FACTOR_MAX: u32 = 3;

/// Where a search begins, how far it may go, and when it is close enough. Loads are users, or starts a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    /// The first load tried.
    pub start: u32,
    pub lowest: u32,
    /// Above this the search does not go.
    pub highest: u32,
    /// The first step away from `start` multiplies or divides by this; each further one by its square, up to 2.
    pub growth: f64,
    /// Done when the lowest failing load is at most this many times the highest passing one.
    pub resolution: f64,
    /// How far passes must lead failures, or failures passes, until a load is decided.
    pub repeats: u32,
    /// Different loads, at most.
    pub steps_max: u32,
}

/// How one run at a load went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trial {
    Passed,
    Failed,
    /// The lab itself was the limit, so the run says nothing of the target.
    LabLimited,
}

/// How a load went in all its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepVerdict {
    Passed,
    Failed,
    /// The lab was the limit as often as repeats are asked for.
    LabLimited,
    /// Its runs disagreed to the end: the limit is near, and the load belongs to the interval.
    Undecided,
}

/// A search under way: loads in, verdicts back.
#[derive(Debug, Clone)]
pub struct Search {
    plan: SearchPlan,
    interval: Interval,
    steps: u32,
    growth: f64,
    /// The load that is being repeated.
    current: Option<Repeats>,
}

#[derive(Debug, Clone, Copy)]
struct Repeats {
    load: u32,
    passed: u32,
    failed: u32,
    lab_limited: u32,
}

/// What is known so far. Loads are inclusive: `passed` did pass, `failed` did fail.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The highest load that passed; `None` when even the lowest tried did not.
    pub passed: Option<u32>,
    /// The lowest load that failed; `None` when none did, so the true limit is higher.
    pub failed: Option<u32>,
    /// The lowest load at which the lab itself was the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab_limited: Option<u32>,
    /// The lowest and the highest load between the two whose runs disagreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecided: Option<(u32, u32)>,
}

/// What a search has found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "answer")]
pub enum SearchAnswer {
    /// The limit is at `passed` or above it, and below `failed`.
    Between { passed: u32, failed: u32 },
    /// Everything passed, as far as the search went.
    AtLeast { passed: u32 },
    /// Nothing passed, as far down as the search went.
    Below { failed: u32 },
    /// The claim is void: at `lab_limited` the lab was the limit, and `passed` is only a lower bound.
    LabLimited { passed: Option<u32>, lab_limited: u32 },
    /// No load was decided.
    Unknown,
}

impl Search {
    pub fn new(plan: SearchPlan) -> Self {
        Self { plan, interval: Interval::default(), steps: 0, growth: plan.growth, current: None }
    }

    /// The load to measure next, the same one again while it is undecided; `None` when the search is over.
    pub fn next_load(&self) -> Option<u32> {
        if let Some(repeats) = &self.current {
            return Some(repeats.load);
        }
        if self.steps >= self.plan.steps_max {
            return None;
        }
        if self.steps == 0 {
            return Some(self.clamp(f64::from(self.plan.start)));
        }
        self.above().or_else(|| self.below()).or_else(|| self.between())
    }

    /// Tells how a run of the load that [`Search::next_load`] gave went; the verdict once there is one.
    pub fn record(&mut self, load: u32, trial: Trial) -> Option<StepVerdict> {
        let new = Repeats { load, passed: 0, failed: 0, lab_limited: 0 };
        let mut repeats = self.current.take().filter(|repeats| repeats.load == load).unwrap_or(new);
        match trial {
            Trial::Passed => repeats.passed += 1,
            Trial::Failed => repeats.failed += 1,
            Trial::LabLimited => repeats.lab_limited += 1,
        }
        let verdict = repeats.verdict(self.plan.repeats.max(1));
        match verdict {
            None => self.current = Some(repeats),
            Some(verdict) => self.decide(load, verdict),
        }
        verdict
    }

    pub fn interval(&self) -> Interval {
        self.interval
    }

    /// Loads that may still come, at most.
    pub fn steps_left(&self) -> u32 {
        self.plan.steps_max.saturating_sub(self.steps)
    }

    /// Loads that are likely still to come, with the one that is being repeated; nothing is known of that until one load has
    /// passed and one was too much.
    pub fn steps_likely(&self) -> Option<u32> {
        let (passed, ceiling) = (self.interval.passed?, self.ceiling()?);
        let halvings = (f64::from(ceiling) / f64::from(passed)).ln() / self.plan.resolution.ln();
        Some((halvings.log2().ceil().max(1.0) as u32).min(self.steps_left()))
    }

    /// Runs of the load that is being repeated, so far.
    pub fn runs_of_step(&self) -> u32 {
        self.current.as_ref().map_or(0, Repeats::runs)
    }

    fn decide(&mut self, load: u32, verdict: StepVerdict) {
        if self.steps > 0 && (self.interval.passed.is_none() || self.ceiling().is_none()) {
            self.growth = (self.growth * self.growth).min(self.plan.growth.max(GROWTH_MAX));
        }
        self.steps += 1;
        let known = &mut self.interval;
        match verdict {
            StepVerdict::Passed => known.passed = Some(known.passed.map_or(load, |k| k.max(load))),
            StepVerdict::Failed => known.failed = Some(known.failed.map_or(load, |k| k.min(load))),
            StepVerdict::LabLimited => {
                known.lab_limited = Some(known.lab_limited.map_or(load, |k| k.min(load)));
            }
            StepVerdict::Undecided => {
                known.undecided =
                    Some(known.undecided.map_or((load, load), |(low, high)| (low.min(load), high.max(load))));
            }
        }
        // A coin that fell both ways says nothing beside a pass above it or a failure below it.
        let (passed, ceiling) = (self.interval.passed, self.ceiling());
        let is_between = |(low, high): &(u32, u32)| {
            passed.is_none_or(|passed| passed < *high) && ceiling.is_none_or(|ceiling| *low < ceiling)
        };
        self.interval.undecided = self.interval.undecided.filter(is_between);
    }

    /// The lowest load that is known to be too much, for the target or for the lab.
    fn ceiling(&self) -> Option<u32> {
        [self.interval.failed, self.interval.lab_limited].into_iter().flatten().min()
    }

    /// While nothing was too much: further up.
    fn above(&self) -> Option<u32> {
        if self.ceiling().is_some() {
            return None;
        }
        let known = self.interval.passed.max(self.interval.undecided.map(|(_, high)| high))?;
        let next = self.clamp(f64::from(known) * self.growth);
        (next > known).then_some(next)
    }

    /// While nothing passed: further down.
    fn below(&self) -> Option<u32> {
        if self.interval.passed.is_some() {
            return None;
        }
        let known =
            [self.ceiling(), self.interval.undecided.map(|(low, _)| low)].into_iter().flatten().min()?;
        let next = self.clamp(f64::from(known) / self.growth);
        (next < known).then_some(next)
    }

    /// Between what passed and what did not, first below the loads whose runs disagreed, then above them.
    fn between(&self) -> Option<u32> {
        let (passed, ceiling) = (self.interval.passed, self.ceiling());
        let undecided = self.interval.undecided;
        let gaps = match undecided {
            None => [(passed, ceiling), (None, None)],
            Some((low, high)) => [(passed, Some(low)), (Some(high), ceiling)],
        };
        gaps.into_iter().find_map(|(low, high)| self.middle(low?, high?))
    }

    /// The middle of a ratio is its geometric mean.
    fn middle(&self, low: u32, high: u32) -> Option<u32> {
        if f64::from(high) <= f64::from(low) * self.plan.resolution {
            return None;
        }
        let middle = round((f64::from(low) * f64::from(high)).sqrt(), self.plan.resolution);
        // Between round figures that stand next to each other there is none.
        (low < middle && middle < high).then_some(middle)
    }

    fn clamp(&self, load: f64) -> u32 {
        round(load, self.plan.resolution).clamp(self.plan.lowest, self.plan.highest.max(self.plan.lowest))
    }
}

impl Repeats {
    const fn runs(&self) -> u32 {
        self.passed + self.failed + self.lab_limited
    }

    fn verdict(self, repeats: u32) -> Option<StepVerdict> {
        if self.lab_limited >= repeats {
            return Some(StepVerdict::LabLimited);
        }
        if self.passed >= self.failed + repeats {
            return Some(StepVerdict::Passed);
        }
        if self.failed >= self.passed + repeats {
            return Some(StepVerdict::Failed);
        }
        (self.runs() >= repeats * REPEATS_FACTOR_MAX).then_some(StepVerdict::Undecided)
    }
}

impl Interval {
    pub fn answer(&self) -> SearchAnswer {
        match (self.passed, self.failed, self.lab_limited) {
            (passed, failed, Some(lab_limited)) if failed.is_none_or(|failed| lab_limited < failed) => {
                SearchAnswer::LabLimited { passed, lab_limited }
            }
            (Some(passed), Some(failed), _) => SearchAnswer::Between { passed, failed },
            (Some(passed), None, _) => SearchAnswer::AtLeast { passed },
            (None, Some(failed), _) => SearchAnswer::Below { failed },
            (None, None, _) => SearchAnswer::Unknown,
        }
    }

    /// How far apart the two ends are, as a share of the lower one; `None` without both.
    pub fn width(&self) -> Option<f64> {
        let SearchAnswer::Between { passed, failed } = self.answer() else { return None };
        Some(f64::from(failed) / f64::from(passed.max(1)) - 1.0)
    }
}

impl SearchAnswer {
    /// An interval, or a bound that the search was not to go above, is an answer; that nothing passed is a failure.
    pub const fn conclusion(self) -> Conclusion {
        match self {
            Self::Between { .. } | Self::AtLeast { .. } => Conclusion::Passed,
            Self::Below { .. } => Conclusion::Failed,
            Self::LabLimited { .. } | Self::Unknown => Conclusion::Void,
        }
    }
}

/// To figures that can be told apart by eye, in steps of at most 5 % (…, 99, 100, 105, …, 995, 1000, 1050, …), and of
/// at most the resolution where that is finer.
fn round(load: f64, resolution: f64) -> u32 {
    let parts = [20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];
    let fine_enough = |parts: &f64| 1.0 / parts <= resolution - 1.0 + 1e-9;
    let decade = 10_f64.powf(load.log10().floor());
    let unit = parts.into_iter().find(fine_enough).map_or(1.0, |parts| (decade / parts).max(1.0));
    ((load / unit).round() * unit).clamp(1.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn plan(start: u32) -> SearchPlan {
        SearchPlan {
            start,
            lowest: 10,
            highest: 60_000,
            growth: 1.12,
            resolution: 1.12,
            repeats: 1,
            steps_max: 40,
        }
    }

    fn repeated(start: u32) -> SearchPlan {
        SearchPlan { lowest: 1, growth: 2.0, resolution: 1.05, repeats: 3, ..plan(start) }
    }

    /// Searches with an oracle of (load, how often it was asked for that load); the answer and the loads tried.
    fn search_with(plan: SearchPlan, mut trial: impl FnMut(u32, u32) -> Trial) -> (Interval, Vec<u32>) {
        let mut search = Search::new(plan);
        let mut tried = Vec::new();
        while let Some(load) = search.next_load() {
            let before = tried.iter().filter(|known| **known == load).count() as u32;
            tried.push(load);
            search.record(load, trial(load, before));
        }
        (search.interval(), tried)
    }

    fn passes(has_passed: bool) -> Trial {
        if has_passed { Trial::Passed } else { Trial::Failed }
    }

    /// Searches a system that carries exactly `capacity`.
    fn search(plan: SearchPlan, capacity: u32) -> (Interval, Vec<u32>) {
        search_with(plan, |load, _| passes(load <= capacity))
    }

    fn between(passed: u32, failed: u32) -> Interval {
        Interval { passed: Some(passed), failed: Some(failed), ..Interval::default() }
    }

    #[test]
    fn a_good_start_needs_few_steps() {
        let (interval, tried) = search(plan(2_000), 2_100);
        assert_eq!(interval, between(2_100, 2_250));
        assert_eq!(tried, [2_000, 2_250, 2_100]);
    }

    #[test]
    fn doubling_then_bisection_finds_it_from_far_away() {
        let doubling = SearchPlan { growth: 2.0, resolution: 1.05, ..plan(1_300) };
        let (interval, tried) = search(doubling, 17_000);
        assert_eq!(interval, between(17_000, 17_500));
        assert!(tried.len() <= 10, "{tried:?}");
    }

    #[test]
    fn ends_of_the_range_leave_the_interval_open() {
        let (up, _) = search(plan(50_000), u32::MAX);
        assert_eq!(
            (up.passed, up.failed, up.answer()),
            (Some(60_000), None, SearchAnswer::AtLeast { passed: 60_000 })
        );
        let (down, _) = search(plan(50), 0);
        assert_eq!(
            (down.passed, down.failed, down.answer()),
            (None, Some(10), SearchAnswer::Below { failed: 10 })
        );
        assert_eq!(Search::new(plan(1)).interval().answer(), SearchAnswer::Unknown);
    }

    #[test]
    fn how_many_steps_come_is_known_once_both_sides_are() {
        let doubling = SearchPlan { growth: 2.0, resolution: 1.05, ..plan(1_300) };
        let mut search = Search::new(doubling);
        let mut guesses = Vec::new();
        while let Some(load) = search.next_load() {
            guesses.push(search.steps_likely());
            while search.record(load, if load <= 17_000 { Trial::Passed } else { Trial::Failed }).is_none() {}
        }
        // Loads are round numbers, so that one step more may come than halvings need.
        let counted = [4, 3, 2, 1, 1].map(Some);
        assert_eq!(guesses, [[None; 5], counted].concat());
    }

    #[test]
    fn steps_are_bounded() {
        let few = SearchPlan { steps_max: 3, ..plan(10) };
        assert_eq!(search(few, 50_000).1.len(), 3);
    }

    #[test]
    fn each_load_is_repeated_and_small_ones_are_told_apart_one_by_one() {
        let (interval, tried) = search(repeated(10), 23);
        assert_eq!(interval, between(23, 24));
        for load in [10, 20, 40, 28] {
            assert_eq!(tried.iter().filter(|known| **known == load).count(), 3, "{load} in {tried:?}");
        }
    }

    fn check_repeats(trials: &[Trial], expected: Option<StepVerdict>) {
        let mut search = Search::new(repeated(100));
        let verdicts: Vec<_> = trials.iter().map(|trial| search.record(100, *trial)).collect();
        assert_eq!(verdicts.last().copied().flatten(), expected, "{trials:?}");
        assert!(verdicts[..verdicts.len() - 1].iter().all(Option::is_none), "{trials:?} {verdicts:?}");
    }

    #[test]
    fn repeats_that_disagree_are_followed_by_more_until_one_side_leads_or_the_bound() {
        use Trial::{Failed as F, LabLimited as L, Passed as P};
        check_repeats(&[P, P], None);
        check_repeats(&[P, P, P], Some(StepVerdict::Passed));
        check_repeats(&[F, F, F], Some(StepVerdict::Failed));
        check_repeats(&[P, F, P], None);
        check_repeats(&[P, F, P, P, P], Some(StepVerdict::Passed));
        check_repeats(&[P, F, F, F, F], Some(StepVerdict::Failed));
        check_repeats(&[P, F, P, F, P, F, P, F, P], Some(StepVerdict::Undecided));
        check_repeats(&[P, L, P, P], Some(StepVerdict::Passed));
        check_repeats(&[P, L, P, L, L], Some(StepVerdict::LabLimited));
    }

    #[test]
    fn loads_whose_runs_disagree_belong_to_the_interval() {
        // Sure below 900 and above 1,200, a coin in between.
        let coin = |load, before: u32| passes(load < 900 || (load <= 1_200 && before.is_multiple_of(2)));
        let (interval, _) = search_with(repeated(100), coin);
        let (low, high) = interval.undecided.unwrap();
        let (passed, failed) = (interval.passed.unwrap(), interval.failed.unwrap());
        assert!(passed < 900 && 900 <= low && high <= 1_200 && 1_200 < failed, "{interval:?}");
        assert!(low <= passed * 21 / 20 && failed <= high * 21 / 20, "{interval:?}");
        assert_eq!(interval.answer(), SearchAnswer::Between { passed, failed });
    }

    #[test]
    fn a_pass_above_loads_that_disagreed_settles_them() {
        let lucky =
            |load, before: u32| passes(if load == 100 { before.is_multiple_of(2) } else { load <= 300 });
        let (interval, tried) = search_with(repeated(100), lucky);
        assert_eq!(interval, between(300, 310));
        assert!(tried.iter().filter(|load| **load == 200).count() == 3, "{tried:?}");
    }

    #[test]
    fn where_the_lab_is_the_limit_the_claim_is_void() {
        let lab = |load, _| if load > 5_000 { Trial::LabLimited } else { Trial::Passed };
        let (interval, _) = search_with(repeated(1_000), lab);
        let SearchAnswer::LabLimited { passed: Some(passed), lab_limited } = interval.answer() else {
            panic!("{interval:?}")
        };
        assert!(passed <= 5_000 && 5_000 < lab_limited && lab_limited <= passed * 21 / 20, "{interval:?}");
        // A target that fails before the lab does is the limit all the same.
        let both = |load, _| if load > 5_000 { Trial::LabLimited } else { passes(load <= 3_000) };
        let (interval, _) = search_with(repeated(1_000), both);
        assert!(
            matches!(interval.answer(), SearchAnswer::Between { failed, .. } if failed < 5_000),
            "{interval:?}"
        );
    }

    #[test]
    fn loads_are_round_figures() {
        let check = |resolution: f64, expected: &Expect| {
            let loads = [0.2, 7.4, 99.0, 103.0, 1_234.0, 23_456.0];
            expected.assert_eq(&format!("{:?}", loads.map(|load| round(load, resolution))));
        };
        check(1.12, &expect!["[1, 7, 99, 105, 1250, 23500]"]);
        check(1.05, &expect!["[1, 7, 99, 105, 1250, 23500]"]);
        check(1.01, &expect!["[1, 7, 99, 103, 1230, 23500]"]);
        check(1.0, &expect!["[1, 7, 99, 103, 1234, 23456]"]);
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

        #[test]
        fn it_ends_narrow_whatever_the_resolution(
            start in 1_u32..5_000, capacity in 1_u32..50_000, resolution in 1.0_f64..1.5
        ) {
            let plan = SearchPlan { resolution, steps_max: 100, ..repeated(start) };
            let (interval, tried) = search(plan, capacity);
            let (passed, failed) = (interval.passed.unwrap(), interval.failed.unwrap());
            prop_assert!(passed <= capacity && capacity < failed);
            let is_narrow = f64::from(failed) <= f64::from(passed) * resolution * 1.0001 || failed - passed == 1;
            prop_assert!(is_narrow, "{interval:?} {tried:?}");
        }

        /// Whatever the runs say, it ends, within its bounds.
        #[test]
        fn it_ends_on_any_answers(start in 1_u32..100_000, seed: Vec<u8>) {
            let mut at = 0;
            let (_, tried) = search_with(repeated(start), |_, _| {
                at += 1;
                match seed.get(at % seed.len().max(1)).copied().unwrap_or(0) % 3 {
                    0 => Trial::Passed,
                    1 => Trial::Failed,
                    _ => Trial::LabLimited,
                }
            });
            prop_assert!(tried.len() <= 40 * 9);
            prop_assert!(tried.iter().all(|load| (1..=60_000).contains(load)));
        }
    }
}
