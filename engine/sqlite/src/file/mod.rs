//! The file: opening it, its catalog, functions that statements call, and SQLite's C interface.

pub(crate) mod catalog_reader;
pub mod discover;
pub(crate) mod functions;
pub(crate) mod open;
pub(crate) mod raw;
