//! The Redis in which servers share the counts of limits, as it is configured.

use std::{fmt, time::Duration};

use prony_access::WhenUnreachable;
use redis::Client;

/// The Redis in which servers share the counts of rates and quotas.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisSettings {
    /// `redis://` or `rediss://`, with a password where one is needed; each server counts for itself where it is empty.
    pub url: String,
    /// Before all keys.
    pub prefix: String,
    /// How long a response may take.
    pub timeout: Duration,
    /// How long units are kept that a server takes ahead; none are taken ahead where it is zero.
    pub ahead: Duration,
    pub when_unreachable: WhenUnreachable,
}

impl Default for RedisSettings {
    fn default() -> Self {
        Self {
            url: String::new(),
            prefix: "prony:".to_owned(),
            timeout: Duration::from_millis(250),
            ahead: Duration::from_secs(1),
            when_unreachable: WhenUnreachable::Local,
        }
    }
}

/// Without the address, which may have a password.
impl fmt::Debug for RedisSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RedisSettings")
            .field("prefix", &self.prefix)
            .field("timeout", &self.timeout)
            .field("ahead", &self.ahead)
            .field("when_unreachable", &self.when_unreachable)
            .finish_non_exhaustive()
    }
}

/// What is wrong with an address, where something is.
pub(super) fn check(url: &str) -> Result<(), String> {
    let has_scheme = ["redis://", "rediss://"].iter().any(|scheme| url.starts_with(scheme));
    if !has_scheme || Client::open(url).is_err() {
        return Err(
            "write redis://HOST:PORT, redis://:PASSWORD@HOST:PORT/DATABASE, or rediss:// for TLS".to_owned()
        );
    }
    Ok(())
}
