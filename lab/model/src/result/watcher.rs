//! Who looks at the result of a run while it goes.

use super::ResultFile;
use crate::units::Nanos;

/// Looks at the result of a run while it goes. Called from the thread that runs the load test, so it must not take long.
pub trait ResultWatcher: Send + Sync {
    /// True where somebody wants the result as it stands. Asked each second: it is not gathered for nobody.
    fn is_due(&self) -> bool;

    fn show(&self, standing: StandingResult);
}

/// A result as it stood at a moment of its run.
#[derive(Debug, Clone, PartialEq)]
pub struct StandingResult {
    pub result: ResultFile,
    pub elapsed: Nanos,
    /// How long requests are started for.
    pub duration: Nanos,
    /// Processor time that gathering it took.
    pub took: Nanos,
}
