//! How a store is opened.

use crate::Durability;

/// Reading this much of a log takes about a second.
pub const SNAPSHOT_AT_LOG_BYTES: u64 = 256 * 1024 * 1024;

/// How a store is opened.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    pub durability: Durability,
    /// Goes on without what is damaged, and says what that was.
    pub recover: bool,
    /// A snapshot is taken by itself when the log has grown to this, and to twice the last snapshot; with none, only
    /// when asked for.
    pub snapshot_at_log_bytes: Option<u64>,
}

impl Options {
    pub const fn new(durability: Durability) -> Self {
        Self { durability, recover: false, snapshot_at_log_bytes: Some(SNAPSHOT_AT_LOG_BYTES) }
    }
}
