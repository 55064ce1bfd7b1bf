//! Settings that sources of several kinds have.

use serde::{Deserialize, Serialize};

/// Limits of what one root field may ask and answer; every field has a safe default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommonSettings {
    /// Rows of a list without `limit`.
    pub default_limit: u32,
    /// The highest `limit`; a higher one is an error that names it.
    pub max_limit: u32,
    /// Milliseconds after which the source gives up a root field.
    pub statement_timeout_ms: u32,
    /// Bytes that one root field's answer may have.
    pub max_response_bytes: usize,
    /// Whether there are subscriptions.
    pub subscriptions: bool,
}

impl Default for CommonSettings {
    fn default() -> Self {
        Self {
            default_limit: 100,
            max_limit: 10_000,
            statement_timeout_ms: 10_000,
            max_response_bytes: 64 << 20,
            subscriptions: true,
        }
    }
}
