//! Settings of a schema of functions.

use std::time::Duration;

/// What holds for all functions.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long an async function may take before its field becomes an error. A function that is not async
    /// cannot be stopped: it must not block.
    pub function_timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { function_timeout: Duration::from_secs(10) }
    }
}
