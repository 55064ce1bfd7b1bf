//! Whether the machine's clocks ran through a run: steps of the wall clock, and times in which the machine slept. Pure:
//! the runner reads the clocks, about once a second.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// A step is more than a daemon that slews the clock moves it between two samples (0.5 ms a second).
const STEP_MIN_NS: i64 = 100_000_000;
/// A clock that goes wrong each second must not fill the result.
const EVENTS_MAX: usize = 32;

/// Three clocks, read at the same moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockSample {
    /// From the start of the run, on the monotonic clock, by which all latencies are measured.
    pub at: Nanos,
    /// Since 1970.
    pub wall_ns: i64,
    /// Since the machine was started; goes on while the machine sleeps, which the monotonic clock does not.
    pub boot_ns: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockEventKind {
    /// Somebody set the wall clock.
    WallStep,
    /// The machine slept, or its virtual machine was paused and told so.
    Suspension,
}

/// Something that happened to the clocks between two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockEvent {
    pub kind: ClockEventKind,
    /// Of the sample that shows it.
    pub at_ns: Nanos,
    /// How far the wall clock was set forward (below zero: back), or how long the machine slept.
    pub by_ns: i64,
}

/// Compares each sample with the one before.
#[derive(Debug, Clone, Default)]
pub struct ClockWatch {
    last: Option<ClockSample>,
    events: Vec<ClockEvent>,
}

impl ClockWatch {
    pub fn record(&mut self, sample: ClockSample) {
        let Some(last) = self.last.replace(sample) else { return };
        let passed = sample.at.0.cast_signed() - last.at.0.cast_signed();
        let since_boot = sample.boot_ns - last.boot_ns;
        // The wall clock goes on while the machine sleeps, so it is held against the time since boot.
        let step = sample.wall_ns - last.wall_ns - since_boot;
        self.note(ClockEventKind::WallStep, sample.at, step);
        self.note(ClockEventKind::Suspension, sample.at, (since_boot - passed).max(0));
    }

    fn note(&mut self, kind: ClockEventKind, at_ns: Nanos, by_ns: i64) {
        if by_ns.abs() > STEP_MIN_NS && self.events.len() < EVENTS_MAX {
            self.events.push(ClockEvent { kind, at_ns, by_ns });
        }
    }

    /// In the order of time; the first 32.
    pub fn events(&self) -> &[ClockEvent] {
        &self.events
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;
    const MS: i64 = 1_000_000;

    /// Samples a second apart; each pair moves the wall clock and lets the machine sleep.
    fn events_of(moves: &[(i64, i64)]) -> Vec<ClockEvent> {
        let mut watch = ClockWatch::default();
        let (mut wall_ns, mut boot_ns) = (1_700_000_000 * SECOND, 77 * SECOND);
        watch.record(ClockSample { at: Nanos::ZERO, wall_ns, boot_ns });
        for (second, (step, sleep)) in (1..).zip(moves) {
            wall_ns += SECOND + sleep + step;
            boot_ns += SECOND + sleep;
            watch.record(ClockSample { at: Nanos::from_secs(second), wall_ns, boot_ns });
        }
        watch.events().to_vec()
    }

    fn event(kind: ClockEventKind, second: u64, by_ns: i64) -> ClockEvent {
        ClockEvent { kind, at_ns: Nanos::from_secs(second), by_ns }
    }

    #[test]
    fn steps_and_sleeps_are_told_apart() {
        let step = |second, by| event(ClockEventKind::WallStep, second, by);
        let sleep = |second, by| event(ClockEventKind::Suspension, second, by);
        let moves = [(0, 0), (101 * MS, 0), (-5 * SECOND, 0), (0, 60 * SECOND), (2 * SECOND, 3 * SECOND)];
        let expected = [
            step(2, 101 * MS),
            step(3, -5 * SECOND),
            sleep(4, 60 * SECOND),
            step(5, 2 * SECOND),
            sleep(5, 3 * SECOND),
        ];
        assert_eq!(events_of(&moves), expected);
    }

    #[test]
    fn events_are_bounded() {
        assert_eq!(events_of(&[(SECOND, 0); 1_000]).len(), EVENTS_MAX);
    }

    proptest! {
        #[test]
        fn slewing_is_no_event(moves in proptest::collection::vec((-100 * MS..=100 * MS, 0..=100 * MS), 0..50)) {
            prop_assert_eq!(events_of(&moves), []);
        }
    }
}
