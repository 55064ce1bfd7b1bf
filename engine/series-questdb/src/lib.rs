//! Time series on QuestDB: a table for each entity type, in parts by month, with rows of values by entity and time.
//!
//! Writes gather in memory while a group before them is sent, then one request of the line protocol over HTTP has all of them (`commit.rs`);
//! nobody is told of a write before QuestDB has acknowledged it. What is acknowledged is seen a little later: reads wait for that
//! (`freshness.rs`). Reads and changes of tables go over PostgreSQL's protocol (`read/`). Names of types, attributes and entities are in a
//! table of their own (`registry.rs`) and are kept in memory. `docs/series-questdb.md` describes the tables. Knows no JSON.

mod address;
mod commit;
mod engine;
mod error;
mod frame_names;
mod freshness;
mod http;
mod lines;
mod merge;
mod names;
mod read;
mod registry;
mod settings;
mod shared;
mod upkeep;

pub use crate::{engine::QuestEngine, error::OpenError, settings::QuestSettings};
