//! What can go wrong: opening a store, asking for a write, and making a write durable.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// A store that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("another process has the graph in {} open; stop it first, or choose another directory", .0.display())]
    InUse(PathBuf),
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
        "the graph in {} needs {}, which is not there; put it back from a copy of the directory",
        directory.display(),
        missing
    )]
    Missing { directory: PathBuf, missing: String },
}

/// What is wrong with a file of a store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    #[error("it is no file of a graph; remove it from the directory if it does not belong there")]
    Foreign,
    #[error(
        "it was written by a later version (format {version}); this one reads up to format {}",
        crate::log::format::VERSION
    )]
    Newer { version: u32 },
    #[error(
        "its first {} bytes are damaged; --recover leaves the file out and says what is lost",
        crate::log::format::HEAD_BYTES
    )]
    Head,
    #[error(
        "it is damaged at byte {offset}: {what}; --recover keeps what stands before and says what is lost"
    )]
    Damaged { offset: usize, what: String },
}

/// Why a write is not done. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a node of type `{type_name}` with this key exists")]
    KeyExists { type_name: String },
    #[error("there is no such node")]
    NoNode,
    #[error("there is no such relationship")]
    NoRelationship,
    #[error("there is no such type")]
    NoType,
    #[error("there is no such property")]
    NoProperty,
    #[error("the property is declared as {declared}, not as {asked}")]
    OtherKind { declared: &'static str, asked: &'static str },
    #[error("a property of type {kind} can have no index; booleans, integers, doubles and strings can")]
    NotIndexable { kind: &'static str },
    #[error("the value of `{property}` is no {declared}")]
    NotOfKind { property: String, declared: &'static str },
    #[error("the type still has {count} nodes or relationships; delete them first")]
    TypeInUse { count: u64 },
    #[error("a {what} of {bytes} bytes is longer than the limit of {limit}")]
    TooLong { what: &'static str, bytes: usize, limit: usize },
    #[error("there are {limit} {what} already, and there can be no more")]
    TooMany { what: &'static str, limit: u64 },
}

/// Why a write that was accepted is not durable. It was taken back.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("cannot write the log {}; the write was taken back", path.display())]
    Log {
        path: PathBuf,
        #[source]
        cause: Arc<io::Error>,
    },
    #[error("the store is being closed")]
    Closed,
}

impl WriteError {
    /// True where there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Log { cause, .. } => is_disk_full(cause),
            Self::Refused(_) | Self::Closed => false,
        }
    }
}

pub(crate) fn is_disk_full(cause: &io::Error) -> bool {
    // A limit on the size of a file is no room either.
    matches!(
        cause.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
