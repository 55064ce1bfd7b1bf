//! When who asks is no longer known, on connections that stay open: by the clock as it is then, which may be set meanwhile.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::time::{Instant, Sleep};

/// How often the clock is looked at: it may be set ahead, and timers stand still while a machine sleeps.
const LOOK: Duration = Duration::from_secs(30);

/// The end of credentials.
#[derive(Debug)]
pub(crate) struct Expiry {
    /// Unix seconds.
    at: i64,
    sleep: Pin<Box<Sleep>>,
}

impl Expiry {
    /// Of credentials that end at this time (Unix seconds).
    pub(crate) fn at(unix_seconds: i64) -> Self {
        let sleep = tokio::time::sleep(until(unix_seconds).min(LOOK));
        Self { at: unix_seconds, sleep: Box::pin(sleep) }
    }

    /// Ready when they have ended.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.sleep.as_mut().poll(context));
            let left = until(self.at);
            if left.is_zero() {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(Instant::now() + left.min(LOOK));
        }
    }
}

/// How long it is until a time in Unix seconds.
fn until(unix_seconds: i64) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(u64::try_from(unix_seconds).unwrap_or(0)).saturating_sub(now)
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::clock::unix_now;

    #[tokio::test]
    async fn credentials_do_not_end_before_their_time_where_the_clock_is_set_back() {
        let mut expiry = Expiry::at(unix_now() + 3_600);
        // The timer is that of a clock which was an hour ahead.
        expiry.sleep = Box::pin(tokio::time::sleep(Duration::from_millis(1)));
        let ended = poll_fn(|context| expiry.poll(context));
        assert!(tokio::time::timeout(Duration::from_millis(100), ended).await.is_err());
    }

    #[tokio::test]
    async fn a_clock_that_is_set_ahead_is_seen_soon() {
        let expiry = Expiry::at(unix_now() + 86_400);
        assert!(expiry.sleep.deadline() <= Instant::now() + LOOK);
        for past in [unix_now(), 0, -1] {
            let mut expiry = Expiry::at(past);
            poll_fn(|context| expiry.poll(context)).await;
        }
    }
}
