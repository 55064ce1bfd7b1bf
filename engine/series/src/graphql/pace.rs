//! How much may be done for a response, and why it stops: a core makes short ones, a thread has a deadline and may be cancelled.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use prony_graphql::{
    budget::TooLarge,
    error::{ErrorCode, GraphqlError},
};
use prony_series_store::ReadError;
use prony_source::{CommonSettings, threads::yield_processor};

/// Steps on a core before a response is begun anew on a thread: well below a millisecond. A step is about what a row with a few
/// attributes takes.
const STEPS_ON_CORE: u64 = 4096;
/// After so many, clock and cancellation are looked at.
const STEPS_PER_CHECK: u64 = 1024;

/// What is left to be done.
#[derive(Debug)]
pub(super) enum Pace {
    OnCore { left: u64 },
    OnThread { steps: u64, deadline: Instant, cancelled: Arc<AtomicBool> },
}

/// Why a response is not finished.
#[derive(Debug)]
pub(super) enum Stop {
    /// It takes longer than a core may be held up: a thread can finish.
    Later,
    Timeout,
    /// Nobody waits for it any more.
    Cancelled,
    TooLarge(TooLarge),
    Unreadable(ReadError),
    Failed(GraphqlError),
}

impl Pace {
    /// For one of so many responses.
    pub(super) const fn on_core(responses: usize) -> Self {
        Self::OnCore { left: STEPS_ON_CORE / responses as u64 }
    }

    /// Takes note of steps that are made now.
    pub(super) fn step(&mut self, count: u64) -> Result<(), Stop> {
        match self {
            Self::OnCore { left } => {
                *left = left.checked_sub(count).ok_or(Stop::Later)?;
                Ok(())
            }
            Self::OnThread { steps, deadline, cancelled } => {
                let checked = *steps / STEPS_PER_CHECK;
                *steps += count;
                if *steps / STEPS_PER_CHECK == checked {
                    Ok(())
                } else if cancelled.load(Relaxed) {
                    Err(Stop::Cancelled)
                } else if Instant::now() >= *deadline {
                    Err(Stop::Timeout)
                } else {
                    yield_processor();
                    Ok(())
                }
            }
        }
    }
}

impl From<TooLarge> for Stop {
    fn from(error: TooLarge) -> Self {
        Self::TooLarge(error)
    }
}

impl From<ReadError> for Stop {
    fn from(error: ReadError) -> Self {
        Self::Unreadable(error)
    }
}

impl From<GraphqlError> for Stop {
    fn from(error: GraphqlError) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    pub(super) fn error(self, settings: &CommonSettings) -> GraphqlError {
        match self {
            Self::Failed(error) => error,
            Self::TooLarge(error) => error.into(),
            Self::Timeout => {
                let message = format!(
                    "it took longer than {} ms (statement_timeout_ms) to read what this asks for: ask for less time or fewer \
                     entities",
                    settings.statement_timeout_ms
                );
                GraphqlError::new(ErrorCode::Timeout, message)
            }
            Self::Unreadable(error) => {
                tracing::error!(%error, cause = std::error::Error::source(&error), "rows cannot be read");
                match error {
                    ReadError::Database { is_gone: true, .. } => {
                        let message =
                            "the database of the series cannot be asked now; the server's log says why";
                        GraphqlError::new(ErrorCode::SourceUnavailable, message)
                    }
                    ReadError::Database { .. } => {
                        let message = "the database of the series has refused it; the server's log says why";
                        GraphqlError::new(ErrorCode::SourceFailed, message)
                    }
                    ReadError::File { .. } | ReadError::Damaged { .. } => {
                        let message = "a file of the store cannot be read; the server's log says why";
                        GraphqlError::new(ErrorCode::SourceFailed, message)
                    }
                }
            }
            Self::Later | Self::Cancelled => {
                GraphqlError::new(ErrorCode::SourceUnavailable, "the request was cancelled")
            }
        }
    }
}
