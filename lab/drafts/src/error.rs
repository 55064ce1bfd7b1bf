//! Why there is no draft.

use std::{io, path::PathBuf};

/// In words for whoever gave the command, the recording or the description.
#[derive(Debug, thiserror::Error)]
pub enum DraftError {
    #[error("cannot read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is no text in UTF-8, and a plan's bodies are texts; send such a body by a k6 script", path.display())]
    NotText { path: PathBuf },
    #[error("{what} cannot be read: {problem}")]
    Malformed { what: String, problem: String },
    #[error(
        "`{flag}` is no option of curl that is known here; leave it out, or add what it does to the plan by hand"
    )]
    UnknownOption { flag: String },
    #[error("`{flag}` of curl wants a value")]
    MissingValue { flag: String },
    #[error("`{flag}` of curl cannot be said in a plan: {why}")]
    NotInPlans { flag: String, why: &'static str },
    #[error("`{text}` is no address of HTTP: {why}")]
    Address { text: String, why: String },
    #[error("{what} holds no request for a plan: {why}")]
    Nothing { what: String, why: String },
}

impl DraftError {
    pub(crate) fn malformed(what: &str, problem: impl Into<String>) -> Self {
        Self::Malformed { what: what.to_owned(), problem: problem.into() }
    }
}
