//! Experiment `graph`: how many nodes and relationships a second does a property graph over HTTP make and read?
//! Re-runs `RageDB`'s performance study, once for each durability: the engine is started on an empty directory as a
//! process of its own, the study's four steps are made, then reads at rising rates, and the table is printed beside the
//! published one.
//!
//! The road: [`crate::engine`] → [`steps`] → [`ledger`] → [`rates`] → [`report`].

#[cfg(test)]
mod fake;
mod ledger;
mod outcome;
pub mod published;
mod rates;
mod report;
mod run;
mod steps;
mod study;

pub use ledger::LedgerError;
pub use outcome::GraphOutcome;
pub use run::{GraphOptions, run};
pub use study::{GraphPace, GraphStep};
