//! What all limits have counted. One configuration hands it to the next, in which a limit that is as it was goes on counting.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::{QuotaCount, Quotas, RateLimiter, rate_limiter::LimiterStatistics};

/// Keys of all rate limits; each takes some 60 bytes.
const MAX_RATE_KEYS: usize = 500_000;
/// Keys of all quotas; each takes some 60 bytes.
const MAX_QUOTA_KEYS: usize = 500_000;

/// The counts of all rate limits and quotas; shared by all cores.
#[derive(Debug)]
pub struct LimitCounts {
    pub(crate) rates: RateLimiter,
    pub(crate) quotas: Quotas,
    numbers: Mutex<Numbers>,
}

/// Numbers of limits by their names. A number is never used again for another name.
#[derive(Debug, Default)]
struct Numbers {
    by_name: HashMap<Arc<str>, u32>,
    next: u32,
}

impl Default for LimitCounts {
    fn default() -> Self {
        Self {
            rates: RateLimiter::new(MAX_RATE_KEYS),
            quotas: Quotas::new(MAX_QUOTA_KEYS),
            numbers: Mutex::default(),
        }
    }
}

impl LimitCounts {
    /// Numbers for these names, which are all of a configuration. A name of the configuration before keeps its number; the others
    /// of that are forgotten.
    pub(crate) fn numbers(&self, names: &[Arc<str>]) -> Vec<u32> {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let known = std::mem::take(&mut numbers.by_name);
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let given = numbers.by_name.get(name).or_else(|| known.get(name)).copied();
            let number = given.unwrap_or_else(|| {
                numbers.next += 1;
                numbers.next
            });
            numbers.by_name.insert(Arc::clone(name), number);
            found.push(number);
        }
        found
    }

    /// Counts of quotas, to be written down for the next start; `now` in Unix seconds.
    pub fn quota_counts(&self, now: i64) -> Vec<QuotaCount> {
        self.quotas.snapshot(now)
    }

    /// Takes up counts of quotas that were written down.
    pub fn restore_quotas(&self, written: &[QuotaCount], now: i64) {
        self.quotas.restore(written, now);
    }

    /// Changes when a quota has counted something.
    pub fn quota_changes(&self) -> u64 {
        self.quotas.changes()
    }

    pub fn rate_statistics(&self) -> LimiterStatistics {
        self.rates.statistics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number_as_long_as_it_is_there() {
        let counts = LimitCounts::default();
        let numbers = |names: &[&str]| {
            let names: Vec<Arc<str>> = names.iter().map(|name| Arc::from(*name)).collect();
            counts.numbers(&names)
        };
        assert_eq!(numbers(&["a", "b"]), [1, 2]);
        assert_eq!(numbers(&["c", "b", "c"]), [3, 2, 3]);
        assert_eq!(numbers(&["a", "b"]), [4, 2]);
    }
}
