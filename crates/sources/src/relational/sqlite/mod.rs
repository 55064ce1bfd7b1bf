//! SQLite as a source: discovery here; statements and readers in the other modules.

pub mod discover;
