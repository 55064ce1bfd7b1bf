//! Why an experiment could not be run.

use std::io;

use prony_load::RunError;
use prony_runs::ManyError;

use crate::{
    ask::AnswerError, databases::DatabaseError, engine::EngineError, gateway::CredentialError,
    graph::LedgerError, processors::TooFewProcessors, relational::dataset::DatasetError, series::RowsError,
};

/// Of any experiment. What was measured and looks bad is no error.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("cannot {action}")]
    Io { action: String, source: io::Error },
    #[error(transparent)]
    Processors(#[from] TooFewProcessors),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Credentials(#[from] CredentialError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Rows(#[from] RowsError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Search(#[from] ManyError),
}

impl LabError {
    /// For `map_err`; the action reads behind "cannot".
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Io { action, source }
    }
}
