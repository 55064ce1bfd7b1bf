//! Time series as a source: QuantumLeap's HTTP API (NGSI version 2) over a store of series, and the same as GraphQL.
//!
//! `ngsi` reads bodies and converts values, `query` finds rows and writes them as JSON, `http_api` has the calls, `graphql` types
//! and root fields. What is on the disk is
//! the store's business alone.

mod access;
mod graphql;
mod hidden;
mod http_api;
mod incoming;
mod kind;
mod ngsi;
mod query;
mod series;
mod settings;
mod source;
mod temporal;
#[cfg(test)]
mod tests;
pub mod transfer;

pub use crate::{
    kind::SeriesKind,
    settings::{CacheWord, OnPostgresSettings, SeriesSettings, aggregates, retention},
    source::SeriesSource,
};
