//! When a user's next iteration is due: after a think time, or at a fixed interval from the last one.

use super::ThinkTime;
use crate::units::Nanos;
use rand::Rng;
use serde::{Deserialize, Serialize};

/// What sets a user's own rhythm. It belongs to users that begin iterations themselves; the starts of an open model are
/// due when its rate says so.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "pacing")]
pub enum Pacing {
    /// Counted from the end of the last iteration: slow answers slow the user down.
    ThinkTime(ThinkTime),
    /// Counted from when the last iteration was due: slow answers do not slow the user down, up to the interval.
    /// An iteration that takes longer makes the next one due at its end; the rhythm goes on from there, so what was
    /// missed is neither made up in a burst nor charged to the next answer. [`Pacing::overrun`] says how much it was.
    Fixed { interval_ns: Nanos },
}

impl Pacing {
    /// When the next iteration is due, of a user whose last one was due at `last_due` and ended at `ended`.
    pub fn next_due(&self, last_due: Nanos, ended: Nanos, random: &mut impl Rng) -> Nanos {
        match self {
            Self::ThinkTime(think) => ended.plus(think.draw(random)),
            Self::Fixed { interval_ns } => last_due.plus(*interval_ns).max(ended),
        }
    }

    /// By how much an iteration went past its interval; zero where it did not, or has none.
    pub fn overrun(&self, due: Nanos, ended: Nanos) -> Nanos {
        match self {
            Self::ThinkTime(_) => Nanos::ZERO,
            Self::Fixed { interval_ns } => ended.since(due.plus(*interval_ns)),
        }
    }

    /// The shortest mean time from one iteration of a user to its next, with answers that take no time.
    pub fn interval_min(&self) -> Nanos {
        match self {
            Self::ThinkTime(think) => think.mean(),
            Self::Fixed { interval_ns } => *interval_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    #[test]
    fn a_fixed_interval_keeps_its_rhythm_and_does_not_burst_after_an_overrun() {
        let pacing = Pacing::Fixed { interval_ns: Nanos(100) };
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (mut due, mut dues, mut overruns) = (Nanos(0), Vec::new(), Vec::new());
        for took in [10, 99, 100, 350, 20, 30] {
            let ended = due.plus(Nanos(took));
            overruns.push(pacing.overrun(due, ended).0);
            due = pacing.next_due(due, ended, &mut random);
            dues.push(due.0);
        }
        assert_eq!(dues, [100, 200, 300, 650, 750, 850]);
        assert_eq!(overruns, [0, 0, 0, 250, 0, 0]);
    }

    #[test]
    fn think_time_counts_from_the_end() {
        let pacing = Pacing::ThinkTime(ThinkTime::constant(Nanos(100)));
        let mut random = ChaCha8Rng::seed_from_u64(1);
        assert_eq!(pacing.next_due(Nanos(0), Nanos(350), &mut random), Nanos(450));
        assert_eq!(pacing.overrun(Nanos(0), Nanos(350)), Nanos::ZERO);
    }

    #[test]
    fn it_is_written_and_read() {
        for pacing in [
            Pacing::ThinkTime(ThinkTime::Exponential { mean_ns: Nanos(5) }),
            Pacing::Fixed { interval_ns: Nanos(7) },
        ] {
            let text = serde_json::to_string(&pacing).unwrap();
            assert_eq!(serde_json::from_str::<Pacing>(&text).unwrap(), pacing, "{text}");
        }
    }
}
