//! Relational databases as a source: SQLite and PostgreSQL.
//!
//! [`catalog`] holds what the database says, [`model`] what is served of it and under which names, [`plan`]
//! what one root field needs, free of any dialect. The `sqlite` and `postgres` modules turn plans into
//! statements and run them.

pub mod catalog;
pub mod changes;
pub mod contribution;
mod example;
pub mod live;
pub mod lower;
mod lower_filter;
pub mod model;
pub mod names;
pub mod nest;
pub mod plan;
pub mod postgres;
pub mod settings;
pub mod source;
pub mod sql;
pub mod sqlite;
