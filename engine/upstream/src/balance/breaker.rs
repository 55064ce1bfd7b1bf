//! A circuit breaker for one address: after failures in a row it is not asked for a while, then by one request alone, and again
//! by all when that has succeeded. Times are milliseconds of any one clock.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Each time that the one request fails, the time doubles, up to so many times the first.
const LONGEST_FACTOR: u64 = 10;

#[derive(Debug)]
pub(crate) struct Breaker {
    max_failures: u32,
    open_ms: u64,
    /// In a row.
    failures: AtomicU32,
    /// Until when it is not asked; 0 where it is asked by all.
    open_until_ms: AtomicU64,
    /// How often it was opened without a success.
    openings: AtomicU32,
    /// The one request is under way.
    is_probing: AtomicBool,
}

/// Whether an address may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permit {
    Yes,
    /// By one request, whose outcome decides.
    Probe,
    No,
}

impl Breaker {
    pub(crate) fn new(max_failures: u32, open: Duration) -> Self {
        Self {
            max_failures,
            open_ms: open.as_millis() as u64,
            failures: AtomicU32::new(0),
            open_until_ms: AtomicU64::new(0),
            openings: AtomicU32::new(0),
            is_probing: AtomicBool::new(false),
        }
    }

    pub(crate) fn permit(&self, now_ms: u64) -> Permit {
        match self.open_until_ms.load(Relaxed) {
            0 => Permit::Yes,
            until if now_ms < until || self.is_probing.load(Relaxed) => Permit::No,
            _ => Permit::Probe,
        }
    }

    /// Takes the place of the one request; false where another has it.
    pub(crate) fn begin_probe(&self) -> bool {
        !self.is_probing.swap(true, Relaxed)
    }

    /// The one request has gone without an outcome.
    pub(crate) fn abandon_probe(&self) {
        self.is_probing.store(false, Relaxed);
    }

    pub(crate) fn succeeded(&self) {
        if self.failures.load(Relaxed) == 0 && self.open_until_ms.load(Relaxed) == 0 {
            return;
        }
        self.failures.store(0, Relaxed);
        self.openings.store(0, Relaxed);
        self.open_until_ms.store(0, Relaxed);
        self.is_probing.store(false, Relaxed);
    }

    /// True where the address is out of use from now on. While it is, only the one request counts: others were sent before.
    pub(crate) fn failed(&self, now_ms: u64, is_probe: bool) -> bool {
        let failures = self.failures.fetch_add(1, Relaxed).saturating_add(1);
        let before_ms = self.open_until_ms.load(Relaxed);
        let was_open = before_ms != 0;
        let counts = is_probe || !was_open;
        let mut is_opened = false;
        if counts && failures >= self.max_failures {
            let openings = self.openings.load(Relaxed);
            let factor = 1_u64.checked_shl(openings).unwrap_or(LONGEST_FACTOR).min(LONGEST_FACTOR);
            let until_ms = (now_ms + self.open_ms * factor).max(1);
            // Of several that fail at once, one opens it.
            is_opened = self.open_until_ms.compare_exchange(before_ms, until_ms, Relaxed, Relaxed).is_ok();
            self.openings.fetch_add(u32::from(is_opened), Relaxed);
        }
        if counts {
            self.is_probing.store(false, Relaxed);
        }
        is_opened && !was_open
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open_until_ms.load(Relaxed) != 0
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_is_left_alone_and_comes_back() {
        let breaker = Breaker::new(3, Duration::from_millis(100));
        assert!(!breaker.failed(0, false) && !breaker.failed(0, false));
        breaker.succeeded();
        assert!(!breaker.failed(0, false) && !breaker.failed(0, false), "only failures in a row count");
        assert_eq!(breaker.permit(0), Permit::Yes);
        assert!(breaker.failed(10, false), "the third");
        assert_eq!(breaker.permit(109), Permit::No);
        assert_eq!(breaker.permit(110), Permit::Probe);
        assert!(breaker.begin_probe());
        assert_eq!(breaker.permit(110), Permit::No, "by one request alone");
        assert!(!breaker.begin_probe());
        assert!(!breaker.failed(120, true), "it is out of use already");
        assert_eq!((breaker.permit(319), breaker.permit(320)), (Permit::No, Permit::Probe), "twice as long");
        assert!(breaker.begin_probe());
        breaker.succeeded();
        assert_eq!(breaker.permit(321), Permit::Yes);
        assert!(!breaker.is_open());
    }

    #[test]
    fn an_abandoned_probe_makes_room_for_another() {
        let breaker = Breaker::new(1, Duration::from_millis(100));
        assert!(breaker.failed(0, false));
        assert!(breaker.begin_probe());
        breaker.abandon_probe();
        assert_eq!(breaker.permit(100), Permit::Probe);
    }

    /// It was taken for the outcome of the one request: another was let through beside that, and the time doubled once more.
    #[test]
    fn a_failure_of_a_request_from_before_is_not_that_of_the_probe() {
        let breaker = Breaker::new(1, Duration::from_millis(100));
        assert!(breaker.failed(0, false));
        assert!(breaker.begin_probe());
        assert!(!breaker.failed(150, false));
        assert_eq!(breaker.permit(1000), Permit::No, "the one request is under way");
        assert!(!breaker.failed(160, true));
        assert_eq!((breaker.permit(359), breaker.permit(360)), (Permit::No, Permit::Probe), "twice as long");
    }

    #[test]
    fn the_time_has_a_bound() {
        let breaker = Breaker::new(1, Duration::from_millis(100));
        breaker.failed(0, false);
        for _ in 0..80 {
            assert!(breaker.begin_probe());
            breaker.failed(0, true);
        }
        assert_eq!((breaker.permit(999), breaker.permit(1000)), (Permit::No, Permit::Probe));
    }
}
