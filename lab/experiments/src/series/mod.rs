//! Experiment `series`: how many notifications a second does a store of time series take, and how fast does it read them? Re-runs
//! `QuantumLeap`'s published performance study: 30 users who notify of one entity at a fixed pace; then without the pace, and with many
//! entities in each notification; then queries of a table of up to ten million rows.
//!
//! Two processes: `prony serve series:DIR` on processors of its own, and the lab.

mod dataset;
mod ingest;
mod outcome;
mod published;
mod reads;
mod report;
mod rows;
mod run;
mod study;
mod writes;

pub use ingest::{Ingest, RowsError};
pub use outcome::SeriesOutcome;
pub use reads::ReadStep;
pub use run::{SeriesOptions, run};
pub use study::{ReadQuestion, SeriesPace, SeriesPart, WriteForm};
pub use writes::{Restart, WriteStep};
