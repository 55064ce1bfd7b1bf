//! What the checks showed, as a table.

use crate::markdown::Table;
use std::fmt;

/// One thing that the lab reported, beside what the target saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    pub what: String,
    /// What the target saw, or what it was set to.
    pub truth: String,
    pub reported: String,
    /// How far apart both may be.
    pub bound: String,
    pub holds: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelftestReport {
    pub checks: Vec<Check>,
}

impl SelftestReport {
    pub fn holds(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
    }
}

impl fmt::Display for SelftestReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(&["check", "the target's own log", "the lab", "bound", "verdict"]);
        for check in &self.checks {
            let verdict = if check.holds { "holds" } else { "DOES NOT HOLD" };
            table.push(vec![
                check.what.clone(),
                check.truth.clone(),
                check.reported.clone(),
                check.bound.clone(),
                verdict.to_owned(),
            ]);
        }
        let failed = self.checks.iter().filter(|check| !check.holds).count();
        let all = self.checks.len();
        let closing = match failed {
            0 => format!("all {all} hold: what the lab says of this machine can be believed"),
            _ => {
                format!("{failed} of {all} do not hold: quieten the machine and try again before you measure")
            }
        };
        write!(f, "{}\n{closing}\n", table.render())
    }
}
