//! How slow a client may be over a response that waits for it, or over a body that is waited for. A timeout alone is no bound: who moves a
//! little in each of its times holds what it holds without end.

use std::time::Duration;

use tokio::time::{Instant, Sleep};

/// Of a response, so many bytes more need so much more of the rate: who holds much must take it faster.
const BYTES_OF_ONE_RATE: u64 = 1 << 20;

/// How many bytes must move at least.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LeastRate {
    /// 0 for any.
    pub(crate) bytes_per_s: u64,
    /// How long a client is waited for until its rate is looked at; also how long it may stand still.
    pub(crate) span: Duration,
}

impl LeastRate {
    /// Whether fewer bytes have moved in a time than must, where so many wait.
    pub(crate) fn is_missed(self, waited: Duration, moved_bytes: u64, waiting_bytes: u64) -> bool {
        let rates = 1 + u128::from(waiting_bytes / BYTES_OF_ONE_RATE);
        let least = u128::from(self.bytes_per_s) * rates * waited.as_millis() / 1000;
        u128::from(moved_bytes) < least
    }
}

/// How fast a client has been since its rate was last looked at. Only the time counts in which it was waited for.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    waited: Duration,
    moved_bytes: u64,
}

impl Pace {
    /// The client was waited for so long, and so many bytes have moved then, behind which others wait. Whether it is too slow.
    pub(crate) fn is_too_slow(
        &mut self,
        rate: LeastRate,
        waited: Duration,
        moved_bytes: usize,
        waiting_bytes: usize,
    ) -> bool {
        self.waited += waited;
        self.moved_bytes += moved_bytes as u64;
        if self.waited < rate.span {
            return false;
        }
        let Self { waited, moved_bytes } = std::mem::take(self);
        rate.is_missed(waited, moved_bytes, waiting_bytes as u64)
    }
}

/// How long a timer of so long a time has run.
pub(crate) fn time_of(timer: &Sleep, time: Duration) -> Duration {
    (Instant::now() + time).saturating_duration_since(timer.deadline())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: LeastRate = LeastRate { bytes_per_s: 1000, span: Duration::from_secs(30) };

    /// Steps of a wait in seconds and the bytes after it, with so many that wait; at which step the client is too slow.
    fn check(rate: LeastRate, waiting_bytes: usize, steps: &[(u64, usize)], expected: Option<usize>) {
        let mut pace = Pace::default();
        let found = steps.iter().position(|&(seconds, bytes)| {
            pace.is_too_slow(rate, Duration::from_secs(seconds), bytes, waiting_bytes)
        });
        assert_eq!(found, expected, "{rate:?} {waiting_bytes} {steps:?}");
    }

    #[test]
    fn a_client_that_moves_a_little_at_a_time_is_too_slow() {
        check(RATE, 0, &[(29, 1), (29, 1)], Some(1));
        check(RATE, 0, &[(10, 10_000), (10, 10_000), (10, 10_000), (10, 0)], None);
        check(RATE, 0, &[(10, 10_000), (10, 10_000), (10, 9_999)], Some(2));
    }

    #[test]
    fn nothing_is_saved_up_for_later() {
        check(RATE, 0, &[(30, 50_000_000), (30, 1)], Some(1));
    }

    #[test]
    fn a_client_that_is_not_waited_for_is_not_slow() {
        check(RATE, 0, &[(0, 1), (0, 0), (1, 1), (28, 0)], None);
    }

    #[test]
    fn who_holds_much_must_be_faster() {
        check(RATE, (1 << 20) - 1, &[(30, 30_000)], None);
        check(RATE, 1 << 20, &[(30, 30_000)], Some(0));
        check(RATE, 63 << 20, &[(30, 64 * 30_000)], None);
        check(RATE, 63 << 20, &[(30, 64 * 30_000 - 1)], Some(0));
    }

    #[test]
    fn without_a_rate_nobody_is_too_slow() {
        check(LeastRate { bytes_per_s: 0, ..RATE }, 1 << 30, &[(100, 0), (100, 1)], None);
    }
}
