//! Shows results to people and to programs: the summary in a terminal, lines while a run goes, JSON.
//!
//! Takes a `ResultFile` and returns text; opens no sockets and reads no clock.

mod progress;
mod spectrum;
mod summary;
mod table;
mod wrk;

pub use progress::{ProgressDisplay, ProgressLine};
pub use spectrum::spectrum;
pub use summary::summary;
pub use wrk::{WrkShown, wrk};

use prony_load_model::ResultFile;

/// The result as one JSON document, for programs.
pub fn json(result: &ResultFile) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(result)
}

/// Reads a result file's text, and refuses what is none.
pub fn read(text: &str) -> Result<ResultFile, ReadError> {
    let result: ResultFile = serde_json::from_str(text)?;
    if result.schema != prony_load_model::result::SCHEMA {
        return Err(ReadError::Schema(result.schema));
    }
    if result.schema_version > prony_load_model::result::SCHEMA_VERSION {
        return Err(ReadError::Version(result.schema_version));
    }
    Ok(result)
}

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("not a result file: {0}")]
    Json(#[from] serde_json::Error),
    #[error("not a result file: its schema is `{0}`")]
    Schema(String),
    #[error("written by a newer version: schema {0}; update prony")]
    Version(u32),
}
