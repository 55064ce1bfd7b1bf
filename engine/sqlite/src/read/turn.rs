//! How long a core has been at statements without a look at what else it has to do: one takes its budget at most, but a request may have
//! a hundred of them. Who comes newly waits for no turn.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use tokio::task;

use crate::statement::pace::INLINE_BUDGET;

/// A core's.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// By statements since it began.
    used: Cell<Duration>,
    /// Counts turns.
    number: Cell<u64>,
    /// Whose statement was the last; that of a connection has one request at a time.
    last: Cell<Option<task::Id>>,
}

impl Turn {
    /// Waits, where the turn is used up and this is not the first statement of who asks, until all else that the core has to do was done
    /// once. The first that comes on then begins the next turn.
    pub(crate) async fn take(&self) {
        while self.used.get() >= INLINE_BUDGET && self.last.get() == task::try_id() {
            let number = self.number.get();
            task::yield_now().await;
            if self.number.get() == number {
                self.number.set(number + 1);
                self.used.set(Duration::ZERO);
            }
        }
    }

    /// Does work whose time is the turn's; with that time.
    pub(crate) fn spend<T>(&self, work: impl FnOnce() -> T) -> (T, Duration) {
        let begun = Instant::now();
        let done = work();
        let took = begun.elapsed();
        self.used.set(self.used.get() + took);
        self.last.set(task::try_id());
        (done, took)
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, rc::Rc, task::Context, thread};

    use futures_util::{future::join_all, task::noop_waker_ref};
    use tokio::task::LocalSet;

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

    /// A request with many statements, and one with a single statement that comes when the turn is used up.
    #[test]
    fn who_comes_newly_waits_for_nobody() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let (turn, order) = (Rc::new(Turn::default()), Rc::new(Cell::new((0, None))));
        let local = LocalSet::new();
        let (of_many, done) = (Rc::clone(&turn), Rc::clone(&order));
        local.spawn_local(async move {
            let statement = async || {
                of_many.take().await;
                of_many.spend(|| thread::sleep(INLINE_BUDGET));
                done.set((done.get().0 + 1, done.get().1));
            };
            join_all((0..5).map(|_| statement())).await;
        });
        let found = Rc::clone(&order);
        local.spawn_local(async move {
            turn.take().await;
            found.set((found.get().0, Some(found.get().0)));
        });
        runtime.block_on(local);
        assert_eq!(order.get(), (5, Some(1)), "it comes behind the first turn");
    }
}
