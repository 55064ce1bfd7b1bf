//! Which part of a run a request belongs to: ramp, warm-up, steady state, and what follows.

use crate::load::LoadModel;
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
    /// The steady state is the longest span in which the highest number of users stays, less `warm_up`.
    pub fn of(load: &LoadModel, warm_up: Nanos) -> Self {
        let end = load.duration();
        let Some((from, to)) = steady_span(load) else {
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

fn steady_span(load: &LoadModel) -> Option<(Nanos, Nanos)> {
    let (mut begin, mut users_before, peak) = (Nanos::ZERO, 0, load.users_max());
    let mut spans: Vec<(Nanos, Nanos)> = Vec::new();
    for stage in load.stages() {
        let end = begin.plus(stage.duration_ns);
        let holds = stage.users == peak && users_before == peak && begin < end;
        match spans.last_mut() {
            Some(last) if holds && last.1 == begin => last.1 = end,
            _ if holds => spans.push((begin, end)),
            _ => {}
        }
        (begin, users_before) = (end, stage.users);
    }
    // The first of the longest: `max_by_key` alone would take the last.
    spans.into_iter().rev().max_by_key(|(from, to)| to.since(*from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Stage;
    use expect_test::{Expect, expect};

    fn check(stages: &[(u64, u32)], warm_up: u64, expected: &Expect) {
        let stages = stages.iter().map(|(s, users)| Stage::new(Nanos::from_secs(*s), *users)).collect();
        let windows = Windows::of(&LoadModel::Closed { stages }, Nanos::from_secs(warm_up));
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
        let windows = Windows::of(&load, Nanos::ZERO);
        assert_eq!(windows.index_at(Nanos(999_999_999)), Some(0));
        assert_eq!(windows.index_at(Nanos::from_secs(1)), Some(1));
        assert_eq!(windows.index_at(Nanos::from_secs(2)), None);
    }
}
