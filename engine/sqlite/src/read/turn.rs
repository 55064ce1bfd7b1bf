//! How long a core has been at statements without a look at what else it has to do: one takes its budget at most, but a request may have
//! a hundred of them.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use crate::read::watch::INLINE_BUDGET;

/// A core's.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// By statements since it began.
    used: Cell<Duration>,
    /// Counts turns.
    number: Cell<u64>,
}

impl Turn {
    /// Waits, where the turn is used up, until all else that the core has to do was done once. The first that comes on begins the next one.
    pub(crate) async fn take(&self) {
        while self.used.get() >= INLINE_BUDGET {
            let number = self.number.get();
            tokio::task::yield_now().await;
            if self.number.get() == number {
                self.number.set(number + 1);
                self.used.set(Duration::ZERO);
            }
        }
    }

    /// Does work whose time is the turn's.
    pub(crate) fn spend<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.used.set(self.used.get() + begun.elapsed());
        done
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, task::Context, thread};

    use futures_util::{future::join_all, task::noop_waker_ref};

    use super::*;

    #[test]
    fn statements_of_one_request_come_in_several_turns() {
        let turn = Turn::default();
        let done = Cell::new(0);
        let statement = async || {
            turn.take().await;
            turn.spend(|| thread::sleep(INLINE_BUDGET * 2 / 3));
            done.set(done.get() + 1);
        };
        let mut all = pin!(join_all((0..7).map(|_| statement())));
        let mut context = Context::from_waker(noop_waker_ref());
        let mut seen = Vec::new();
        while all.as_mut().poll(&mut context).is_pending() {
            assert!(seen.len() < 20, "it comes to an end: {seen:?}");
            seen.push(done.get());
        }
        let first_and_others =
            seen.first().copied().into_iter().chain(seen.windows(2).map(|pair| pair[1] - pair[0]));
        assert!(first_and_others.max() <= Some(2), "two of them use a turn up: {seen:?}");
        assert_eq!(done.get(), 7, "{seen:?}");
    }
}
