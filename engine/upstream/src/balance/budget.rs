//! The budget of retries: of all requests so many per cent, so that an upstream in trouble does not get a multiple of its
//! usual load. Requests fill it, retries take from it.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Hundredths of a retry.
const WHOLE: i64 = 100;
/// Retries that can be saved up, and that there are at the start.
const SAVED_MAX: i64 = 10 * WHOLE;

#[derive(Debug)]
pub(crate) struct RetryBudget {
    percent: i64,
    saved: AtomicI64,
}

impl RetryBudget {
    pub(crate) fn new(percent: u32) -> Self {
        let saved = if percent == 0 { 0 } else { SAVED_MAX };
        Self { percent: i64::from(percent), saved: AtomicI64::new(saved) }
    }

    /// A request that is none of a retry.
    pub(crate) fn count(&self) {
        // Full it is nearly always, and then only read.
        if self.saved.load(Relaxed) < SAVED_MAX {
            self.saved.fetch_add(self.percent, Relaxed);
        }
    }

    /// Whether there may be a retry, which is taken.
    pub(crate) fn take(&self) -> bool {
        let taken = self.saved.fetch_sub(WHOLE, Relaxed) >= WHOLE;
        if !taken {
            self.saved.fetch_add(WHOLE, Relaxed);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_part_of_all_requests() {
        let budget = RetryBudget::new(20);
        assert_eq!((0..20).filter(|_| budget.take()).count(), 10, "what is saved at the start");
        let retried = (0..100).filter(|_| {
            budget.count();
            budget.take()
        });
        assert_eq!(retried.count(), 20);
        assert!(!RetryBudget::new(0).take());
    }
}
