//! The data that the study's queries run on: venues, members, meetups, and who goes where.

mod postgres;
mod rows;
mod sqlite;

use std::{io, path::PathBuf};

pub use postgres::provide as provide_postgres;
pub use rows::DatasetPlan;
pub use sqlite::provide as provide_sqlite;

/// Why there is no data set.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
    #[error("cannot write the data set {}", path.display())]
    Sqlite { path: PathBuf, source: rusqlite::Error },
    #[error("cannot make the data set in PostgreSQL")]
    Postgres(#[from] tokio_postgres::Error),
    #[error(
        "the database has tables of the same names that this experiment did not make: {tables}; \
         name another database, or another schema with ?options=-csearch_path%3DNAME"
    )]
    ForeignTables { tables: String },
    #[error("the data set was stopped before it was whole")]
    Stopped,
}

fn io_error(action: impl Into<String>) -> impl FnOnce(io::Error) -> DatasetError {
    let action = action.into();
    move |source| DatasetError::Io { action, source }
}
