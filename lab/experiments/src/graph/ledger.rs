//! What was acknowledged, and whether the engine has exactly that: its own counts after each step.
//!
//! Counts are asked for with what every server of this interface has: a list of one with a `skip` before it.

use std::fmt;

use prony_model::ResultFile;
use serde::Serialize;

use super::study::GraphStep;
use crate::{
    ask::{Answer, ask},
    runs::whole,
};

/// The engine does not have what it acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("cannot ask the engine for {path}")]
    NoAnswer { path: String, source: ureq::Error },
    #[error("the engine answers {path} wrongly: {why}; it said: {answer}")]
    Answer { path: String, why: String, answer: String },
    #[error("after \"{after}\" with durability {durability} the engine has {found} {what}, but {written}")]
    Mismatch { after: &'static str, durability: String, what: &'static str, found: u64, written: Written },
}

/// Writes of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Written {
    pub acknowledged: u64,
    /// Sent and never answered: made or not.
    pub unknown: u64,
}

impl Written {
    fn add(&mut self, result: &ResultFile) {
        let figures = whole(result);
        self.acknowledged += figures.successes;
        self.unknown += figures.requests - figures.answered + result.lab.unfinished;
    }

    /// True where the engine has all that it acknowledged and nothing that nobody asked for.
    fn allows(self, found: u64) -> bool {
        (self.acknowledged..=self.acknowledged + self.unknown).contains(&found)
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} were acknowledged", self.acknowledged)?;
        if self.unknown > 0 {
            write!(f, " and {} more were sent and not answered", self.unknown)?;
        }
        Ok(())
    }
}

/// All writes to one engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) struct Ledger {
    pub nodes: Written,
    pub relationships: Written,
}

impl Ledger {
    pub(super) fn add(&mut self, step: GraphStep, result: &ResultFile) {
        match step {
            GraphStep::CreateNodes => self.nodes.add(result),
            GraphStep::CreateRelationships => self.relationships.add(result),
            GraphStep::GetNodes | GraphStep::GetRelationships => {}
        }
    }

    /// Asks the engine for its counts, and compares.
    pub(super) fn compare(
        &self,
        address: &str,
        after: &'static str,
        durability: &str,
    ) -> Result<(), LedgerError> {
        for (what, written) in [("nodes", self.nodes), ("relationships", self.relationships)] {
            let found = count(address, what, written.acknowledged)?;
            if !written.allows(found) {
                let durability = durability.to_owned();
                return Err(LedgerError::Mismatch { after, durability, what, found, written });
            }
        }
        Ok(())
    }
}

/// How many there are. Two questions where there are as many as expected.
fn count(address: &str, what: &str, expected: u64) -> Result<u64, LedgerError> {
    let some = |skip| has_some(address, what, skip);
    let are_all_there = expected == 0 || some(expected - 1)?;
    // There are `low` or more, and not more than `high`.
    let (mut low, mut high) = if are_all_there { (expected, None) } else { (0, Some(expected - 1)) };
    let mut step = 1;
    while high.is_none() {
        let skip = low + step - 1;
        if some(skip)? {
            (low, step) = (skip + 1, step * 2);
        } else {
            high = Some(skip);
        }
    }
    let mut high = high.unwrap_or(low);
    while low < high {
        let middle = low + (high - low) / 2;
        if some(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// True where there are more than `skip`.
fn has_some(address: &str, what: &str, skip: u64) -> Result<bool, LedgerError> {
    let path = format!("/db/rage/{what}?limit=1&skip={skip}");
    let wrong = |why: &str, answer: &Answer| LedgerError::Answer {
        path: path.clone(),
        why: why.to_owned(),
        answer: answer.to_string(),
    };
    let answer = ask(address, "GET", &path, None)
        .map_err(|source| LedgerError::NoAnswer { path: path.clone(), source })?;
    if answer.status != 200 {
        return Err(wrong(&format!("its status is {}, not 200", answer.status), &answer));
    }
    let list: Option<Vec<serde_json::Value>> = serde_json::from_str(&answer.body).ok();
    match list.as_deref() {
        Some([]) => Ok(false),
        Some([_]) => Ok(true),
        _ => Err(wrong("its body is no list of at most one", &answer)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fake::{Graph, Habit};

    fn check(there: u64, expected: u64) {
        let graph = Graph::start(there, 0, Habit::Good);
        assert_eq!(count(&graph.address(), "nodes", expected).unwrap(), there, "expected {expected}");
    }

    #[test]
    fn counts_are_found_whatever_was_expected() {
        for there in [0, 1, 2, 7, 100] {
            for expected in [0, 1, 2, 6, 7, 8, 99, 100, 101, 5_000] {
                check(there, expected);
            }
        }
    }

    #[test]
    fn a_mismatch_says_what_is_there_and_what_was_acknowledged() {
        let graph = Graph::start(9, 4, Habit::Good);
        let written = |acknowledged, unknown| Written { acknowledged, unknown };
        let compare = |nodes, relationships| {
            let ledger = Ledger { nodes, relationships };
            ledger.compare(&graph.address(), "Create nodes", "sync").map_err(|error| error.to_string())
        };
        assert_eq!(compare(written(9, 0), written(4, 0)), Ok(()));
        assert_eq!(compare(written(8, 1), written(2, 2)), Ok(()));
        assert_eq!(
            compare(written(10, 0), written(4, 0)).unwrap_err(),
            "after \"Create nodes\" with durability sync the engine has 9 nodes, but 10 were acknowledged"
        );
        assert_eq!(
            compare(written(9, 0), written(1, 2)).unwrap_err(),
            "after \"Create nodes\" with durability sync the engine has 4 relationships, but 1 were acknowledged and 2 \
             more were sent and not answered"
        );
    }
}
