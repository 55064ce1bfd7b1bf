//! Relational databases behind GraphQL, for every dialect: what is served of a catalog, under which names; plans of root
//! fields that know neither dialect nor resolver model; what all dialects write alike; changes and live queries. Drivers are
//! other crates, each a [`database::Database`].

pub mod builder;
pub mod catalog;
pub mod changes;
pub mod contribution;
pub mod database;
pub mod discovered;
mod example;
pub mod explain;
pub mod follow;
pub mod levels;
mod live;
pub mod lower;
mod lower_filter;
pub mod model;
pub mod options;
pub mod plan;
mod reconfigured;
pub mod restrict;
mod row_access;
pub mod session;
pub mod session_settings;
pub mod settings;
pub mod source;
pub mod spans;
mod tables;
pub mod writer;
