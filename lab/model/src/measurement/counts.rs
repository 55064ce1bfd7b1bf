//! What the programs of a run count beside its requests: how checks went, and which rows were taken.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// How often a check was kept and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCount {
    pub passed: u64,
    pub failed: u64,
}

/// How often a feeder gave a row, and how many users stopped because it had none left.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeederCount {
    pub rows_taken: u64,
    pub users_stopped: u64,
}

/// Users of scripts that computed, without a wait, for so long that others of their thread had to be given their turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Computing {
    /// Of all users together.
    pub total_ns: Nanos,
    /// Without a wait.
    pub longest_ns: Nanos,
    /// Where in the script the longest was: file, line and column.
    pub place: String,
}

/// Of one program since it was last asked, or of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// By the plan's checks: those of the first request, then those of the second, and so on.
    pub checks: Vec<CheckCount>,
    /// By the plan's variables.
    pub feeders: Vec<FeederCount>,
    /// Iterations that ended early because a request in them failed.
    pub iterations_cut: u64,
    pub computing: Computing,
}

impl Counts {
    pub fn merge(&mut self, other: &Self) {
        let Self { checks, feeders, iterations_cut, computing } = other;
        self.checks.resize(self.checks.len().max(checks.len()), CheckCount::default());
        self.feeders.resize(self.feeders.len().max(feeders.len()), FeederCount::default());
        for (sum, CheckCount { passed, failed }) in self.checks.iter_mut().zip(checks) {
            sum.passed += passed;
            sum.failed += failed;
        }
        for (sum, FeederCount { rows_taken, users_stopped }) in self.feeders.iter_mut().zip(feeders) {
            sum.rows_taken += rows_taken;
            sum.users_stopped += users_stopped;
        }
        self.iterations_cut += iterations_cut;
        self.computing.total_ns = self.computing.total_ns.plus(computing.total_ns);
        if computing.longest_ns > self.computing.longest_ns {
            self.computing.longest_ns = computing.longest_ns;
            self.computing.place.clone_from(&computing.place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_count_different_things_are_merged() {
        let check = |passed, failed| CheckCount { passed, failed };
        let mut sum = Counts::default();
        let computing = |longest, place: &str| {
            let (total_ns, longest_ns) = (Nanos(longest * 2), Nanos(longest));
            Computing { total_ns, longest_ns, place: place.to_owned() }
        };
        sum.merge(&Counts { checks: vec![check(1, 2)], ..Counts::default() });
        let feeders = vec![FeederCount { rows_taken: 3, users_stopped: 1 }];
        sum.merge(&Counts {
            checks: vec![check(1, 0), check(0, 5)],
            feeders: feeders.clone(),
            iterations_cut: 2,
            computing: computing(5, "b.js:1:1"),
        });
        sum.merge(&Counts { computing: computing(3, "c.js:1:1"), ..Counts::default() });
        let computing = Computing { total_ns: Nanos(16), ..computing(5, "b.js:1:1") };
        let checks = vec![check(2, 2), check(0, 5)];
        assert_eq!(sum, Counts { checks, feeders, iterations_cut: 2, computing });
    }
}
