//! What can go wrong when a write is asked for, and when rows are read; files and the log have their errors in `prony_log`.

use prony_log::error::LogError;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Of a name in a refusal.
pub(crate) const NAME_CHARS_SHOWN: usize = 60;

/// Why a write is not done. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "the {what} `{name}` of {bytes} bytes is longer than the limit of {limit}; give it a shorter name"
    )]
    LongName { what: &'static str, name: String, bytes: usize, limit: usize },
    #[error(
        "`{name}` would be the {what} number {count}, and the limit is {limit}; delete what is not needed any more with dropTable"
    )]
    TooMany { what: &'static str, name: String, count: usize, limit: usize },
    #[error("a text of `{attribute}` has {bytes} bytes, and the limit is {limit}; send it in parts")]
    LongText { attribute: String, bytes: usize, limit: usize },
    #[error(
        "the write has {bytes} bytes in the log, and the limit is {limit}; send fewer entities at a time"
    )]
    LargeWrite { bytes: usize, limit: usize },
    #[error(
        "a row of `{entity}` takes {bytes} bytes, and the limit is {limit}; give the entity fewer attributes at a time"
    )]
    LargeRow { entity: String, bytes: usize, limit: usize },
    /// In what is shown it is replaced.
    #[error("the {what} `{shown}` has a character U+{code_point:04X}, which cannot be kept; leave it out")]
    Character { what: &'static str, shown: String, code_point: u32 },
    #[error("{time_ms} milliseconds since 1970 cannot be kept as a time; they may be {from_ms} to {to_ms}")]
    FarTime { time_ms: i64, from_ms: i64, to_ms: i64 },
}

impl Refusal {
    /// Of a name with a character that it cannot have.
    pub fn of_character(what: &'static str, name: &str, character: char) -> Self {
        let shown = name.chars().take(NAME_CHARS_SHOWN);
        let shown = shown.map(|char| if char == character { char::REPLACEMENT_CHARACTER } else { char });
        Self::Character { what, shown: shown.collect(), code_point: character.into() }
    }
}

/// Why a write that was waited for is not done. Nothing of it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was accepted, is not durable, and was taken back.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Why rows cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    #[error("cannot read {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    /// The rows are kept by a database.
    #[error("cannot read from {database}: {why}")]
    Database { database: Arc<str>, why: Arc<str>, is_gone: bool },
    #[error("{} is damaged at byte {offset}: {what}; put it back from a backup", path.display())]
    Damaged { path: PathBuf, offset: u64, what: &'static str },
}

/// Why segments are not written. What they would hold is kept in the log, or in the segments before them.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SealError {
    #[error("cannot begin a new file of the log")]
    Rotate(#[source] Arc<io::Error>),
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    #[error("the log could not be written meanwhile")]
    Log(#[source] LogError),
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// A write of which nothing was done.
#[derive(Debug)]
pub enum Unwritten {
    Refused(Refusal),
    /// Too much waits for the log: to be tried again when there is [room](crate::Store::room).
    NoRoom,
}
