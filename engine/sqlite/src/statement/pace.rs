//! Whether a statement is short enough to be run on a core's own thread, by what it has taken.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

/// How long a statement may hold up its core before it moves to another thread.
pub(crate) const INLINE_BUDGET: Duration = Duration::from_millis(1);

/// A core that other processes keep from running does not count as busy with the statement, up to here.
pub(crate) const INLINE_BUDGET_WALL: Duration = Duration::from_millis(20);

/// What is known of how long a statement takes. Beside work of others on its processor a short one may take milliseconds by the clock on the
/// wall: it stays on its core, as on a thread it would wait behind them.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    /// Its last run took longer than a core's thread may be held up.
    is_slow: AtomicBool,
    /// Its last run may have: the next is measured by the thread's own clock, which is a system call.
    is_suspect: AtomicBool,
}

impl Pace {
    pub(crate) fn is_slow(&self) -> bool {
        self.is_slow.load(Relaxed)
    }

    /// Its budget was used up before it was done.
    pub(crate) fn stopped(&self) {
        self.is_slow.store(true, Relaxed);
    }

    /// Runs it on a core. The work says what it took by the clock on the wall.
    pub(crate) fn on_core<T>(&self, work: impl FnOnce() -> (T, Duration)) -> T {
        let began = self.is_suspect.load(Relaxed).then(thread_time);
        let (done, took) = work();
        let is_long = took > INLINE_BUDGET;
        let is_busy = began.is_some_and(|began| thread_time().saturating_sub(began) > INLINE_BUDGET);
        if is_busy || took > INLINE_BUDGET_WALL {
            self.is_slow.store(true, Relaxed);
        }
        if is_long || began.is_some() {
            self.is_suspect.store(is_long, Relaxed);
        }
        done
    }

    /// Runs it on a thread that may block, after which it may be found to be short.
    pub(crate) fn on_thread<T>(&self, work: impl FnOnce() -> T) -> T {
        let (started, began) = (Instant::now(), thread_time());
        let done = work();
        let busy = thread_time().saturating_sub(began);
        if busy < INLINE_BUDGET / 2 && started.elapsed() < INLINE_BUDGET_WALL {
            self.is_slow.store(false, Relaxed);
        }
        done
    }
}

/// Processor time of this thread.
pub(crate) fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work of so much processor time, which says that it took so long.
    fn work(busy: Duration, took: Duration) -> ((), Duration) {
        let began = thread_time();
        while thread_time().saturating_sub(began) < busy {}
        ((), took)
    }

    #[test]
    fn what_others_keep_from_running_stays_on_its_core() {
        let pace = Pace::default();
        for _ in 0..5 {
            pace.on_core(|| work(Duration::ZERO, 3 * INLINE_BUDGET));
        }
        assert!(!pace.is_slow());
        pace.on_core(|| work(Duration::ZERO, 2 * INLINE_BUDGET_WALL));
        assert!(pace.is_slow(), "it may wait for a disk");
    }

    #[test]
    fn what_has_held_up_its_core_twice_is_slow_until_it_is_not() {
        let pace = Pace::default();
        let long = 3 * INLINE_BUDGET;
        pace.on_core(|| work(long, long));
        pace.on_core(|| work(Duration::ZERO, Duration::ZERO));
        pace.on_core(|| work(long, long));
        assert!(!pace.is_slow(), "once in a while is no pace");
        pace.on_core(|| work(long, long));
        assert!(pace.is_slow());
        pace.on_thread(|| work(long, long));
        assert!(pace.is_slow());
        for _ in 0..1000 {
            // By the clock on the wall this may take any time on a machine that does much else.
            pace.on_thread(|| ());
            if !pace.is_slow() {
                break;
            }
        }
        assert!(!pace.is_slow());
        pace.stopped();
        assert!(pace.is_slow());
    }
}
