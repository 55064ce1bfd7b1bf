//! What can go wrong with the files of a store, and with making a write durable.

use crate::sizes::LOG_STATE;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A store that cannot be opened; `store` is what it holds, as in [`crate::frames::FileKind`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another process has the {store} in {} open; stop it first, or choose another directory", directory.display())]
    InUse { store: &'static str, directory: PathBuf },
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("{}: {fault}", path.display())]
    File { path: PathBuf, fault: FileFault },
    #[error(
        "the {store} in {} needs {missing}, which is not there; put it back from a copy of the directory{otherwise}",
        directory.display()
    )]
    Missing {
        store: &'static str,
        directory: PathBuf,
        missing: String,
        /// What else can be done, with a comma before it; empty where there is nothing.
        otherwise: &'static str,
    },
    #[error(
        "the {store} in {} has no {LOG_STATE} that can be read, which tells whether files of its log are missing; put it back from a copy of the \
         directory, or go on with what is there with --recover",
        directory.display()
    )]
    NoState { store: &'static str, directory: PathBuf },
}

impl OpenError {
    /// True where there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Write { cause, .. } if is_disk_full(cause))
    }
}

/// What is wrong with a file of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    #[error("it is no file of a {store}; remove it from the directory if it does not belong there")]
    Foreign { store: &'static str },
    #[error("it was written by a later version (format {version}); this one reads up to format {known}")]
    Newer { version: u32, known: u32 },
    #[error(
        "its first {} bytes are damaged; --recover leaves the file out and says what is lost",
        crate::sizes::HEAD_BYTES
    )]
    Head,
    #[error(
        "it is damaged at byte {offset}: {what}; --recover keeps what stands before and says what is lost"
    )]
    Damaged { offset: usize, what: String },
}

/// Why a write that was accepted is not durable. It is seen no more.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LogError {
    /// Not all of it was written, so that it cannot come back.
    #[error("cannot write the log {}; the write was taken back", path.display())]
    Write {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    /// It was written, and could not be synced.
    #[error(
        "cannot sync the log {}; whether the write is kept is unknown until the next start, and the log takes nothing more until then",
        path.display()
    )]
    Unknown {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    /// Nothing of it was written.
    #[error("the log {} has failed before and takes nothing more until the next start; the write was not made", path.display())]
    Suspect { path: PathBuf },
    /// The frames are kept by a database.
    #[error("cannot write to {database}: {why}; the write was taken back")]
    Database { database: Arc<str>, why: Arc<str>, is_disk_full: bool },
    /// The log's thread has panicked.
    #[error(
        "a fault of this program has broken off the writing of the log; whether the write is kept is unknown"
    )]
    Broken,
    #[error("the store is being closed")]
    Closed,
}

impl LogError {
    /// True where there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Write { cause, .. } | Self::Unknown { cause, .. } => is_disk_full(cause),
            Self::Database { is_disk_full, .. } => *is_disk_full,
            Self::Suspect { .. } | Self::Broken | Self::Closed => false,
        }
    }
}

/// True where there is no room on the disk.
pub fn is_disk_full(cause: &io::Error) -> bool {
    // A limit on the size of a file is no room either.
    matches!(
        cause.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
