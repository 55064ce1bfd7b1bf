//! PostgreSQL as a source: discovery here; statements and connections in the other modules.

pub mod discover;
