//! Runs load: reads plans, drives users against a target over HTTP/1.1, and collects what happened into a result.
//!
//! Knows sockets, files and the clock; knows nothing of the engine that it may be measuring. What a load test
//! *is* (scenarios, schedules, histograms, findings) lives in `prony-load-model`.

mod error;
mod options;

pub use error::RunError;
pub use options::{Output, Progress, RunOptions, StopFlag};

use prony_load_model::{ResultFile, Scenario};

/// Runs a scenario to its end, or until it is stopped, on threads of its own, and returns what was measured.
/// Blocks the calling thread.
pub fn run(scenario: &Scenario, options: RunOptions) -> Result<ResultFile, RunError> {
    let _ = (scenario, options);
    Err(RunError::ThreadLost { message: "this build is without the runner".to_owned() })
}
