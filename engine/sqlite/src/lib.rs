//! SQLite as a source: discovery, statements and their execution.
//!
//! The road of a root field: [`prepare`] makes statements of its plan (`compile` for the `subquery` model,
//! `compile_levels` for the others), a [`Reader`] runs them on its core or in the `pool`, `write_rows` or
//! `write_level` turn rows into JSON. Mutations go to the `writer`. [`raw`] is SQLite's C interface; `open`
//! says why a file cannot be served.

mod database;
mod error;
pub mod file;
mod kind;
mod read;
mod rows;
mod source;
mod statement;
#[cfg(test)]
mod tests;
mod write;

pub use crate::database::SqliteDatabase;
pub use crate::file::open::OpenError;
pub use crate::kind::SqliteKind;
pub use crate::read::reader::Reader;
pub use crate::source::{SqliteSession, SqliteSource, SqliteSourceError, open};
pub use crate::statement::prepare::Prepared;
