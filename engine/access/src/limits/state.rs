//! How a limit stands, and how that is said over HTTP.

use std::{fmt, sync::Arc};

/// How a limit stands for whoever asks, for `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitState {
    /// What it is of, by whom: `Query.orders by user`.
    pub name: Arc<str>,
    /// So many in the window; at a time, where there is none.
    pub quota: u64,
    pub window_s: Option<u64>,
    pub remaining: u64,
    /// After so many seconds there is more.
    pub reset_s: u64,
}

impl LimitState {
    /// The value of `RateLimit-Policy`.
    pub fn policy(&self) -> String {
        match self.window_s {
            Some(window_s) => format!("{:?};q={};w={window_s}", self.name, self.quota),
            None => format!("{:?};q={};qu=\"concurrent-requests\"", self.name, self.quota),
        }
    }

    /// The value of `RateLimit`.
    pub fn rate_limit(&self) -> String {
        format!("{:?};r={};t={}", self.name, self.remaining, self.reset_s)
    }
}

impl fmt::Display for LimitState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the limit of {} for {} is reached", self.quota, self.name)
    }
}
