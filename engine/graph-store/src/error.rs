//! What can go wrong when a write is asked for; files and the log have their errors in `prony_log`.

use prony_log::error::LogError;

/// Why a write is not done. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a node of type `{type_name}` with this key exists")]
    KeyExists { type_name: String },
    /// What removes is done all the same.
    #[error("the disk is full: only deletions are made until there is room again")]
    DiskFull,
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

/// Why a write that was waited for is not done. Nothing of it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It was accepted, is not durable, and was taken back.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl WriteError {
    /// True where there is no room on the disk.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Self::Log(error) => error.is_disk_full(),
            Self::Refused(refusal) => *refusal == Refusal::DiskFull,
        }
    }
}
