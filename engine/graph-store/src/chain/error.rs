//! Why a chain cannot be gone on with, or a graph not be restored from it. What is there stays as it is.

use crate::format::CHAIN_MANIFEST as MANIFEST;
use prony_log::backup::BackupError;
use prony_log::error::OpenError;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error("{} is neither a backup of a graph nor a chain of them: it has no {MANIFEST} and no files of a graph", path.display())]
    NoBackup { path: PathBuf },
    #[error("{} is not empty and has no {MANIFEST}: name a directory that does not exist, or that of a chain of backups", path.display())]
    NoChain { path: PathBuf },
    #[error(
        "{} has the whole backup {name}, and no {MANIFEST} that names it: put the manifest back from a copy of the chain, or name another \
         directory; {name} can be restored by itself",
        chain.display()
    )]
    Unnamed { chain: PathBuf, name: String },
    #[error(
        "{}: line {line}: {what}; the directories base-… beside it are whole backups, which can be restored by themselves",
        path.display()
    )]
    Manifest { path: PathBuf, line: usize, what: String },
    #[error("the graph in {} is not the one in the chain {}: {what}; begin another chain for it", directory.display(), chain.display())]
    Foreign { directory: PathBuf, chain: PathBuf, what: String },
    #[error("{} is damaged at byte {offset}: {what}; {hint}", path.display())]
    Damaged { path: PathBuf, offset: usize, what: String, hint: String },
    #[error("{} is missing, which has {what}; {hint}", path.display())]
    Missing { path: PathBuf, what: String, hint: String },
    /// The chain has no such moment.
    #[error("the chain {} does not have {wanted}: {what}", chain.display())]
    NotThere { chain: PathBuf, wanted: String, what: String },
    #[error("{} is one whole backup, not a chain: it can be restored to its own end only, without --until", path.display())]
    NoMoments { path: PathBuf },
}

impl From<OpenError> for ChainError {
    fn from(error: OpenError) -> Self {
        Self::Backup(error.into())
    }
}
