//! Which part of a run a request belongs to: ramp, warm-up, steady state, and what follows.

use crate::load::{Level, LoadModel};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowKind {
    /// Before the steady state: the load still changes.
    Ramp,
    /// The load is as it stays, but caches and connections may not be.
    WarmUp,
    /// The longest span at the highest load.
    Steady,
    /// Whatever follows the steady state.
    After,
    /// All of it; a sum of the others, never recorded into.
    Whole,
}

/// From `from` up to, not including, `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    pub kind: WindowKind,
    pub from_ns: Nanos,
    pub to_ns: Nanos,
}

impl Window {
    pub fn length(&self) -> Nanos {
        self.to_ns.since(self.from_ns)
    }
}

/// Disjoint windows that cover a run in the order of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    windows: Vec<Window>,
}

impl Windows {
    /// Of scenarios, each with when it starts. The steady state is the longest span in which the load of each stays and
    /// their total is at its highest, less `warm_up`. The total is one of users or of starts a second; where scenarios
    /// of both kinds run, of their shares of their own highest load.
    pub fn of(scenarios: &[(Nanos, &LoadModel)], warm_up: Nanos) -> Self {
        let ends = scenarios.iter().map(|(start, load)| start.plus(load.duration()));
        let end = ends.max().unwrap_or(Nanos::ZERO);
        let Some((from, to)) = steady_span(scenarios) else {
            return Self {
                windows: vec![Window { kind: WindowKind::Ramp, from_ns: Nanos::ZERO, to_ns: end }],
            };
        };
        let steady = from.plus(warm_up).min(to);
        let bounds = [
            (WindowKind::Ramp, Nanos::ZERO, from),
            (WindowKind::WarmUp, from, steady),
            (WindowKind::Steady, steady, to),
            (WindowKind::After, to, end),
        ];
        let windows = bounds.into_iter().map(|(kind, from_ns, to_ns)| Window { kind, from_ns, to_ns });
        Self { windows: windows.filter(|window| window.from_ns < window.to_ns).collect() }
    }

    pub fn all(&self) -> &[Window] {
        &self.windows
    }

    pub fn whole(&self) -> Window {
        let to_ns = self.windows.last().map_or(Nanos::ZERO, |window| window.to_ns);
        Window { kind: WindowKind::Whole, from_ns: Nanos::ZERO, to_ns }
    }

    /// The index of the window that holds a time; times past the end belong to no window.
    pub fn index_at(&self, time: Nanos) -> Option<usize> {
        self.windows.iter().position(|window| time < window.to_ns)
    }
}

/// Totals of loads that differ by less are the same: they are sums of floating-point numbers.
const SAME: f64 = 1e-9;

/// A span between two neighbouring bounds of any scenario's levels.
struct Span {
    from: Nanos,
    to: Nanos,
    /// Each scenario's load at the beginning and just before the end.
    loads: Vec<(f64, f64)>,
}

fn steady_span(scenarios: &[(Nanos, &LoadModel)]) -> Option<(Nanos, Nanos)> {
    let spans = spans(&timelines(scenarios));
    let sides = |span: &Span| {
        let sum = |side: fn(&(f64, f64)) -> f64| span.loads.iter().map(side).sum::<f64>();
        (sum(|loads| loads.0), sum(|loads| loads.1))
    };
    let totals = spans.iter().map(|span| sides(span).0.max(sides(span).1));
    let peak = totals.fold(0.0, f64::max);
    let mut steady: Vec<&Span> = Vec::new();
    let mut found: Vec<(Nanos, Nanos)> = Vec::new();
    for span in spans.iter().filter(|span| is_constant(span) && sides(span).0 >= peak * (1.0 - SAME)) {
        let goes_on = steady.last().is_some_and(|last| last.to == span.from && last.loads == span.loads);
        match found.last_mut() {
            Some(last) if goes_on => last.1 = span.to,
            _ => found.push((span.from, span.to)),
        }
        steady.push(span);
    }
    if peak <= 0.0 {
        return None;
    }
    // The first of the longest: `max_by_key` alone would take the last.
    found.into_iter().rev().max_by_key(|(from, to)| to.since(*from))
}

fn is_constant(span: &Span) -> bool {
    span.loads.iter().all(|(first, last)| (first - last).abs() <= SAME * first.max(*last))
}

/// Each scenario's levels in the run's time and, where units differ, as shares of its own highest.
fn timelines(scenarios: &[(Nanos, &LoadModel)]) -> Vec<Vec<Level>> {
    let is_open = |load: &LoadModel| load.rate_max().is_some();
    let is_mixed = scenarios.windows(2).any(|pair| is_open(pair[0].1) != is_open(pair[1].1));
    let timeline = |(start, load): &(Nanos, &LoadModel)| {
        let levels = load.levels();
        let highest = levels.iter().map(|level| level.first.max(level.last)).fold(0.0, f64::max);
        let unit = if is_mixed && highest > 0.0 { highest } else { 1.0 };
        let placed = levels.into_iter().map(|level| Level {
            from: start.plus(level.from),
            to: start.plus(level.to),
            first: level.first / unit,
            last: level.last / unit,
        });
        placed.filter(|level| level.from < level.to).collect()
    };
    scenarios.iter().map(timeline).collect()
}

fn spans(timelines: &[Vec<Level>]) -> Vec<Span> {
    let levels = timelines.iter().flatten();
    let mut bounds: Vec<Nanos> = levels.flat_map(|level| [level.from, level.to]).collect();
    bounds.sort_unstable();
    bounds.dedup();
    let span = |pair: &[Nanos]| {
        let (from, to) = (pair[0], pair[1]);
        let loads = timelines.iter().map(|timeline| {
            let level = timeline.iter().find(|level| level.from <= from && to <= level.to);
            level.map_or((0.0, 0.0), |level| (level.at(from), level.at(to)))
        });
        Span { from, to, loads: loads.collect() }
    };
    bounds.windows(2).map(span).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{RateStage, Spacing, Stage};
    use expect_test::{Expect, expect};

    fn check(stages: &[(u64, u32)], warm_up: u64, expected: &Expect) {
        check_all(&[(0, &closed(stages))], warm_up, expected);
    }

    fn closed(stages: &[(u64, u32)]) -> LoadModel {
        let stages = stages.iter().map(|(s, users)| Stage::new(Nanos::from_secs(*s), *users)).collect();
        LoadModel::closed(stages)
    }

    fn open(stages: &[(u64, f64)]) -> LoadModel {
        let stages = stages.iter().map(|(s, rate)| RateStage::new(Nanos::from_secs(*s), *rate)).collect();
        LoadModel::arrivals(stages, Spacing::Even, 10, Nanos::ZERO)
    }

    fn check_all(scenarios: &[(u64, &LoadModel)], warm_up: u64, expected: &Expect) {
        let scenarios: Vec<_> =
            scenarios.iter().map(|(start, load)| (Nanos::from_secs(*start), *load)).collect();
        let windows = Windows::of(&scenarios, Nanos::from_secs(warm_up));
        let shown = windows
            .all()
            .iter()
            .map(|w| format!("{:?} {}..{}\n", w.kind, w.from_ns.as_secs_f64(), w.to_ns.as_secs_f64()));
        expected.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn windows_follow_the_stages() {
        check(
            &[(30, 10), (30, 10)],
            5,
            &expect![[r"
            Ramp 0..30
            WarmUp 30..35
            Steady 35..60
        "]],
        );
        check(
            &[(0, 10), (30, 10)],
            0,
            &expect![[r"
            Steady 0..30
        "]],
        );
        check(
            &[(10, 5), (10, 5), (10, 9), (10, 9), (5, 9), (10, 0)],
            0,
            &expect![[r"
            Ramp 0..30
            Steady 30..45
            After 45..55
        "]],
        );
        check(
            &[(10, 5), (10, 0)],
            0,
            &expect![[r"
            Ramp 0..20
        "]],
        );
        check(
            &[(1, 5), (10, 5)],
            60,
            &expect![[r"
            Ramp 0..1
            WarmUp 1..11
        "]],
        );
        check(
            &[(1, 5), (3, 5), (1, 1), (1, 5), (3, 5)],
            0,
            &expect![[r"
            Ramp 0..1
            Steady 1..4
            After 4..9
        "]],
        );
    }

    #[test]
    fn a_bound_belongs_to_the_later_window() {
        let load = LoadModel::ramp_and_hold(1, Nanos::from_secs(1), Nanos::from_secs(1));
        let windows = Windows::of(&[(Nanos::ZERO, &load)], Nanos::ZERO);
        assert_eq!(windows.index_at(Nanos(999_999_999)), Some(0));
        assert_eq!(windows.index_at(Nanos::from_secs(1)), Some(1));
        assert_eq!(windows.index_at(Nanos::from_secs(2)), None);
    }

    #[test]
    fn a_rate_has_a_steady_state_as_users_have() {
        check_all(
            &[(0, &open(&[(10, 500.0), (20, 500.0), (5, 0.0)]))],
            5,
            &expect![[r#"
            Ramp 0..10
            WarmUp 10..15
            Steady 15..30
            After 30..35
        "#]],
        );
        let max_duration = Nanos::from_secs(7);
        let iterations = LoadModel::shared_iterations(3, 9, max_duration);
        check_all(
            &[(0, &iterations)],
            0,
            &expect![[r#"
            Steady 0..7
        "#]],
        );
    }

    #[test]
    fn all_scenarios_are_there_and_hold_still_in_the_steady_state() {
        let (first, second) = (closed(&[(0, 10), (60, 10)]), closed(&[(10, 5), (60, 5)]));
        check_all(
            &[(0, &first), (20, &second)],
            0,
            &expect![[r#"
            Ramp 0..30
            Steady 30..60
            After 60..90
        "#]],
        );
        // The second is gone before the first is up: the first alone is the highest.
        check_all(
            &[(0, &second), (100, &first)],
            0,
            &expect![[r#"
            Ramp 0..100
            Steady 100..160
        "#]],
        );
        // Loads that never hold still together have no steady state.
        check_all(
            &[(0, &closed(&[(30, 5)])), (0, &closed(&[(0, 5), (30, 5)]))],
            0,
            &expect![[r#"
            Ramp 0..30
        "#]],
        );
        // One that leaves when the other comes: equal totals are two spans, and the longer one counts.
        check_all(
            &[(0, &closed(&[(0, 5), (20, 5)])), (20, &closed(&[(0, 5), (30, 5)]))],
            0,
            &expect![[r#"
            Ramp 0..20
            Steady 20..50
        "#]],
        );
    }

    #[test]
    fn users_and_rates_together_count_by_their_shares() {
        let (users, rate) = (closed(&[(0, 1_000), (60, 1_000)]), open(&[(10, 2.0), (20, 2.0)]));
        check_all(
            &[(0, &users), (5, &rate)],
            0,
            &expect![[r#"
            Ramp 0..15
            Steady 15..35
            After 35..60
        "#]],
        );
    }
}
