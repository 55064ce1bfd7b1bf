//! PostgreSQL as a relational source: pipelined connections per core, and statements whose rows become JSON
//! with little work on either side. Discovery is in [`discover`].
//!
//! The road of a root field: `select` or `levels` write its statement, `prepared` keeps it, `session` runs it
//! on a connection of `pool`, `link` sends it and receives rows, `rows` writes them. `plan_choice` decides
//! between held plans and plans for each execution.

mod bound;
mod change_table;
mod config;
mod database;
mod dialect;
pub mod discover;
mod error;
mod json_sql;
mod levels;
mod link;
mod listen;
mod mutation;
mod plan_choice;
mod pool;
mod prepared;
mod rows;
mod running;
mod select;
mod session;
mod source;
mod statement;
#[cfg(test)]
mod tests;
mod told;
mod trigger_forms;
pub mod triggers;

pub use database::PostgresDatabase;
pub use error::{OpenError, OpenErrorKind};
pub use listen::ListenerState;
pub use prepared::Prepared;
pub use session::Session;
pub use source::{PostgresSource, PostgresSourceError, open};
