//! Why there are no series on PostgreSQL.

/// Series on PostgreSQL that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the address of the database cannot be read: {why}; write series+postgres://USER:PASSWORD@HOST/DATABASE"
    )]
    Address { why: String },
    #[error("cannot open the series in {database}: {why}")]
    Database { database: String, why: String },
    #[error(
        "the series in {database} were made by a later version (format {found}); this one reads up to format {known}"
    )]
    Newer { database: String, found: i32, known: i32 },
    #[error(
        "there are no series in {database}, and read_only makes none; serve it once without read_only, or name another database"
    )]
    Absent { database: String },
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
    #[error("the address of the Redis for names cannot be read: {why}; write redis://HOST:PORT")]
    Redis { why: String },
}

impl From<prony_series_database::OpenError> for OpenError {
    fn from(error: prony_series_database::OpenError) -> Self {
        match error {
            prony_series_database::OpenError::Address { why } => Self::Address { why },
            prony_series_database::OpenError::Thread(cause) => Self::Thread(cause),
        }
    }
}
