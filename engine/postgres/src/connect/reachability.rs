//! Whether the database could be reached when any core last connected to it: for cores that have no connection of their own, since all
//! of theirs were given back to others.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// One core tries to connect where none has for so long and somebody asks how the database is; all cores together do so no more often, so
/// that those who look at `/ready` are no load on the database.
pub(crate) const PROBE_INTERVAL: Duration = Duration::from_secs(5);

/// What all cores know of it.
#[derive(Debug, Default)]
pub(crate) struct Reachability {
    last: Mutex<LastAttempt>,
}

#[derive(Debug, Default)]
struct LastAttempt {
    /// When a connection was last tried, or a probe begun.
    at: Option<Instant>,
    /// Why there was none.
    failure: Option<String>,
}

impl Reachability {
    /// What became of an attempt to connect.
    pub(crate) fn record(&self, failure: Option<String>, now: Instant) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = LastAttempt { at: Some(now), failure };
    }

    /// Whether whoever asks is to probe now: one of all that ask at once.
    pub(crate) fn begin_probe(&self, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.at.is_none_or(|at| now.saturating_duration_since(at) >= PROBE_INTERVAL);
        if is_due {
            last.at = Some(now);
        }
        is_due
    }

    /// Whether the last attempt succeeded; the reason where it did not.
    pub(crate) fn known(&self) -> Result<(), String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.failure.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_all_cores_probes_and_only_where_nobody_has_connected_for_a_while() {
        let reachability = Reachability::default();
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        assert!(reachability.begin_probe(start));
        assert!(!reachability.begin_probe(start) && !reachability.begin_probe(after(4)));
        assert_eq!(reachability.known(), Ok(()), "nobody has found it away");
        reachability.record(Some("refused".into()), after(4));
        assert!(!reachability.begin_probe(after(8)));
        assert_eq!(reachability.known(), Err("refused".into()));
        assert!(reachability.begin_probe(after(9)));
        assert_eq!(reachability.known(), Err("refused".into()), "until something else is known");
        reachability.record(None, after(10));
        assert_eq!(reachability.known(), Ok(()));
    }
}
