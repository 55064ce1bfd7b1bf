//! Why a run, or one of its threads, could not go on at all. Failures of single requests are outcomes, not errors.

use prony_client::{ClientError, SendError};
use prony_model::program::ProgramError;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    #[error("{0}")]
    Program(ProgramError),
    /// What a program wrote cannot be sent.
    #[error("{0}")]
    Request(SendError),
    #[error("a thread of the lab ended before the run did: {message}")]
    ThreadLost { message: String },
}

impl RunError {
    /// True where this machine cannot make so much load at all, and could make less.
    pub const fn is_limit(&self) -> bool {
        matches!(self, Self::Client(ClientError::Descriptors { .. } | ClientError::Ports { .. }))
    }

    /// True where what was asked for cannot be set up, whatever the machine and the target are like.
    pub const fn is_of_settings(&self) -> bool {
        matches!(self, Self::Client(ClientError::TlsSettings { .. } | ClientError::TlsFile { .. }))
    }
}

/// Why a thread cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkerError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Request(SendError),
}

impl From<SendError> for WorkerError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::System(error) => Self::System(error),
            error => Self::Request(error),
        }
    }
}
