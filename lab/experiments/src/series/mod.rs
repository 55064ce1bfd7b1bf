//! Experiment `series`: how many notifications a second does a store of time series take, and how fast does it read them? Re-runs
//! `QuantumLeap`'s published performance study: 30 users who notify of one entity at a fixed pace; then without the pace, and with many
//! entities in each notification; then queries of a table of up to ten million rows.
//!
//! Two processes: `prony serve` with series in a directory or in a PostgreSQL database, on processors of its own, and the lab, which shares its
//! processors with the database. A further engine is a variant in [`engines`] and what it keeps its rows in, in [`places`].

mod dataset;
mod engines;
mod ingest;
mod outcome;
mod page;
mod places;
mod published;
mod reads;
mod report;
mod rows;
mod run;
mod statements;
mod study;
mod tables;
mod writes;

pub use engines::{EngineSetting, SeriesEngine};
pub use ingest::{Ingest, RowsError};
pub use outcome::{NotMeasured, SeriesOutcome};
pub use places::Servers;
pub use reads::ReadStep;
pub use run::{SeriesOptions, run};
pub use statements::Statements;
pub use study::{MetadataCache, ReadQuestion, SeriesPace, SeriesPart, WriteForm};
pub use writes::{Restart, WriteStep};
