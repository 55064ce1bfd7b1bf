//! Time series on PostgreSQL: a table for each entity type, in parts by month, with rows of values by entity and time.
//!
//! Writes gather in memory while a group before them is committed (`commit.rs`), then a statement for each type has all of them; nobody is
//! told of a write before its transaction is committed. Names of types, attributes and entities are in tables of their own, which grow
//! under a lock that all who serve the same database share (`schema.rs`), and are kept in memory (`names.rs`). Readers see the database as
//! it was at one moment (`read/`). `docs/series-postgres.md` describes the tables. Knows neither HTTP nor JSON.

mod cache;
mod columns;
mod commit;
mod engine;
mod error;
mod hear;
mod insert;
mod mapping;
mod names;
mod notices;
mod read;
mod schema;
mod settings;
mod upkeep;
mod wanted;

pub use prony_series_database::secrets;

pub use crate::{
    engine::PostgresEngine,
    error::OpenError,
    settings::{MetadataCache, PostgresSettings},
};
