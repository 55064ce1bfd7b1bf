//! PostgreSQL as a relational source: pipelined connections per core, and statements whose rows become JSON
//! with little work on either side. Discovery is in [`discover`].
//!
//! The way of a root field: `statement` writes its SQL, `run::session` runs it on a connection of `connect::pool`,
//! `connect::link` sends it and receives rows, `run::rows` writes them. `run::plan_choice` decides between held plans and plans
//! for each execution.

mod catalog_reader;
pub mod changes;
mod connect;
mod database;
pub mod discover;
mod error;
mod kind;
mod run;
mod source;
mod statement;
#[cfg(test)]
mod tests;

pub use crate::catalog_reader::PostgresCatalogReader;
pub use crate::changes::listen::ListenerState;
pub use crate::database::PostgresDatabase;
pub use crate::error::{OpenError, OpenErrorKind};
pub use crate::kind::PostgresKind;
pub use crate::run::session::Session;
pub use crate::source::{PostgresSource, PostgresSourceError, open};
