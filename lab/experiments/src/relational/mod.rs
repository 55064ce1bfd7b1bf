//! Experiment `relational`: how many users does GraphQL over a relational database serve? Re-runs Phrag's
//! performance study: the data is made, the engine started as a process of its own, the number of users
//! searched that it serves within the study's objective, and the table printed beside the published one.
//!
//! The road: [`dataset`] → [`crate::engine`] → [`answer`] → [`capacity`] and [`resolvers`] → [`report`].

mod answer;
mod capacity;
pub mod dataset;
mod display;
mod measure;
mod outcome;
pub mod published;
mod report;
mod resolvers;
mod run;
mod script;
mod study;

pub use outcome::RelationalOutcome;
pub use run::{Database, RelationalOptions, run};
pub use study::{Operation, RelationalPace};
