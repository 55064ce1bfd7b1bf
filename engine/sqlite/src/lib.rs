//! SQLite as a source: discovery, statements and their execution.
//!
//! The way of a root field: [`statement`] makes SQL of what it reads or changes, `read::reader` runs it on its core or in the
//! `pool`, [`rows`] turns what comes back into JSON. Mutations go to the [`write`]r. `file::raw` is SQLite's C interface;
//! `file::open` says why a file cannot be served.

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
pub use crate::source::{SqliteSession, SqliteSource, SqliteSourceError, open};
