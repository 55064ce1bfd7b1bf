//! Why there are no series on QuestDB.

/// Series on QuestDB that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(
        "the address of QuestDB cannot be read: {why}; write series+questdb://USER:PASSWORD@HOST:8812?http=HOST:9000"
    )]
    Address { why: String },
    #[error("cannot open the series in QuestDB at {database}: {why}")]
    Database { database: String, why: String },
    #[error(
        "{database} is no QuestDB ({found}); write series+postgres://… for PostgreSQL, or the port of QuestDB's PostgreSQL protocol (8812)"
    )]
    OtherProduct { database: String, found: String },
    #[error(
        "cannot reach QuestDB over HTTP at {address}: {why}; name its HTTP port behind the address, as ?http=HOST:9000"
    )]
    Http { address: String, why: String },
    #[error(
        "the series in QuestDB at {database} were made by a later version (format {found}); this one reads up to format {known}"
    )]
    Newer { database: String, found: i64, known: i64 },
    #[error("cannot start a thread")]
    Thread(#[source] std::io::Error),
}

impl From<prony_series_database::OpenError> for OpenError {
    fn from(error: prony_series_database::OpenError) -> Self {
        match error {
            prony_series_database::OpenError::Address { why } => Self::Address { why },
            prony_series_database::OpenError::Thread(cause) => Self::Thread(cause),
        }
    }
}
