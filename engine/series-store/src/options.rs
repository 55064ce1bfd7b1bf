//! How a store is opened.

use crate::rows::OnDuplicate;
use prony_log::Durability;
use std::time::Duration;

/// Reading this much of a log takes less than a second.
pub const SEAL_AT_LOG_BYTES: u64 = 64 * 1024 * 1024;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    pub durability: Durability,
    /// Goes on without what is damaged, and says what that was.
    pub recover: bool,
    /// Rows go from the log into a segment when the log has grown to this; with none, only when asked for.
    pub seal_at_log_bytes: Option<u64>,
    pub on_duplicate: OnDuplicate,
    /// How long rows of types are kept.
    pub retention: Vec<Retention>,
}

/// How long rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Of all types that are not named, where there is none.
    pub type_name: Option<String>,
    pub keep: Duration,
}

impl Options {
    pub const fn new(durability: Durability) -> Self {
        Self {
            durability,
            recover: false,
            seal_at_log_bytes: Some(SEAL_AT_LOG_BYTES),
            on_duplicate: OnDuplicate::Append,
            retention: Vec::new(),
        }
    }
}

impl Retention {
    /// How long rows of a type are kept; none where they stay.
    pub fn of(all: &[Self], type_name: &str) -> Option<Duration> {
        let named = all.iter().find(|of| of.type_name.as_deref() == Some(type_name));
        named.or_else(|| all.iter().find(|of| of.type_name.is_none())).map(|of| of.keep)
    }
}
