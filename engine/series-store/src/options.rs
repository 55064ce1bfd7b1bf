//! How a store is opened.

use crate::calendar::Period;
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
    /// What is kept of rows longer than the rows themselves.
    pub aggregates: Vec<Aggregates>,
}

/// How long rows are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Of all types that are not named, where there is none.
    pub type_name: Option<String>,
    pub keep: Duration,
}

/// Which aggregates are kept of rows that retention removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregates {
    /// Of all types that are not named, where there is none.
    pub type_name: Option<String>,
    /// Each aggregate is of the rows of an entity in one of these.
    pub period: Period,
    /// How long aggregates are kept; for ever where there is none.
    pub keep: Option<Duration>,
}

impl Options {
    pub const fn new(durability: Durability) -> Self {
        Self {
            durability,
            recover: false,
            seal_at_log_bytes: Some(SEAL_AT_LOG_BYTES),
            on_duplicate: OnDuplicate::Append,
            retention: Vec::new(),
            aggregates: Vec::new(),
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

impl Aggregates {
    /// Which are kept of a type; none where none are.
    pub fn of<'a>(all: &'a [Self], type_name: &str) -> Option<&'a Self> {
        let named = all.iter().find(|of| of.type_name.as_deref() == Some(type_name));
        named.or_else(|| all.iter().find(|of| of.type_name.is_none()))
    }
}
