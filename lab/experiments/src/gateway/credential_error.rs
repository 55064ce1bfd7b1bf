//! Why a run has no credentials.

use std::{io, path::PathBuf};

/// What the gateway needs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("cannot make {what}")]
    NotMade { what: &'static str },
    #[error("cannot {action} {}", path.display())]
    File { action: &'static str, path: PathBuf, source: io::Error },
}
