//! The thread on which room is taken again: there only while somebody wants to know whether there is some, so that nobody waits for a
//! disk with a lock.

use crate::mutex::lock;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

/// One that begins after it was asked for; those who ask while one is under way share the next.
#[derive(Debug, Clone, Copy)]
pub struct Attempt(u64);

#[derive(Debug, Default)]
pub(crate) struct Restorer {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct State {
    attempts: Mutex<Attempts>,
    ended: Condvar,
}

/// Counted from 1.
#[derive(Debug, Default)]
struct Attempts {
    /// The last that was asked for: one more than have begun at most.
    asked: u64,
    begun: u64,
    ended: u64,
    /// What came of the last that has ended.
    is_restored: bool,
    is_running: bool,
    is_closed: bool,
    wakers: Vec<Waker>,
}

impl Restorer {
    /// Has it tried, from now on, by what blocks and says whether it is done: always the same. Returns at once.
    pub(crate) fn ask(&self, restore: impl Fn() -> bool + Send + 'static) -> Attempt {
        let mut attempts = lock(&self.state.attempts);
        let attempt = Attempt(attempts.begun + 1);
        attempts.asked = attempt.0;
        if attempts.is_running || attempts.is_closed {
            return attempt;
        }
        let state = Arc::clone(&self.state);
        let thread = std::thread::Builder::new().name("log-reserve".to_owned());
        if let Ok(thread) = thread.spawn(move || state.run(restore)) {
            attempts.is_running = true;
            // The one before has ended, or is about to.
            *lock(&self.thread) = Some(thread);
        } else {
            // Where there can be no thread now, it has failed.
            attempts.begun = attempt.0;
            attempts.end(false);
        }
        attempt
    }

    /// What came of an attempt, or of a later one; false where that is not known within this time, or never will be.
    pub(crate) fn wait(&self, attempt: Attempt, within: Duration) -> bool {
        let attempts = lock(&self.state.attempts);
        let is_open = |attempts: &mut Attempts| attempts.outcome(attempt).is_none();
        let waited = self.state.ended.wait_timeout_while(attempts, within, is_open);
        waited.unwrap_or_else(PoisonError::into_inner).0.outcome(attempt).unwrap_or(false)
    }

    /// As [`Self::wait`], for whoever does not block, without an end.
    pub(crate) fn poll(&self, attempt: Attempt, context: &Context<'_>) -> Poll<bool> {
        let mut attempts = lock(&self.state.attempts);
        if let Some(is_restored) = attempts.outcome(attempt) {
            return Poll::Ready(is_restored);
        }
        attempts.wakers.retain(|waker| !waker.will_wake(context.waker()));
        attempts.wakers.push(context.waker().clone());
        Poll::Pending
    }

    /// Nothing is tried from now on, and nothing is being tried when it returns.
    pub(crate) fn close(&self) {
        let mut attempts = lock(&self.state.attempts);
        attempts.is_closed = true;
        self.state.tell(attempts);
        let thread = lock(&self.thread).take();
        if let Some(thread) = thread {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Restorer {
    fn drop(&mut self) {
        self.close();
    }
}

impl Attempts {
    /// None as long as it is open.
    fn outcome(&self, attempt: Attempt) -> Option<bool> {
        if self.ended >= attempt.0 { Some(self.is_restored) } else { self.is_closed.then_some(false) }
    }

    fn end(&mut self, is_restored: bool) {
        self.ended = self.begun;
        self.is_restored = is_restored;
    }
}

impl State {
    fn run(&self, restore: impl Fn() -> bool) {
        let mut attempts = lock(&self.attempts);
        while attempts.begun < attempts.asked && !attempts.is_closed {
            attempts.begun += 1;
            drop(attempts);
            let is_restored = restore();
            attempts = lock(&self.attempts);
            attempts.end(is_restored);
            self.tell(attempts);
            attempts = lock(&self.attempts);
        }
        attempts.is_running = false;
    }

    /// Those who wait look for themselves.
    fn tell(&self, mut attempts: MutexGuard<'_, Attempts>) {
        let wakers = std::mem::take(&mut attempts.wakers);
        drop(attempts);
        self.ended.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Longer than anything takes; only a failing test waits for it.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// What says that an attempt has begun, and ends it as it is told.
    fn told() -> (impl Fn() -> bool + Clone + Send + 'static, Receiver<()>, Sender<bool>) {
        let ((begins, begun), (tell, told)) = (channel(), channel());
        let told = Arc::new(Mutex::new(told));
        let restore = move || {
            begins.send(()).expect("the test goes on");
            lock(&told).recv_timeout(PATIENCE).expect("the test goes on")
        };
        (restore, begun, tell)
    }

    #[test]
    fn who_asks_hears_of_an_attempt_that_began_afterwards() {
        let (restore, begun, tell) = told();
        let restorer = Restorer::default();
        let context = Context::from_waker(Waker::noop());
        let first = restorer.ask(restore.clone());
        begun.recv_timeout(PATIENCE).expect("it begins");
        // Room that is made now, the first may not have seen.
        let (second, too) = (restorer.ask(restore.clone()), restorer.ask(restore.clone()));
        assert!(restorer.poll(first, &context).is_pending() && !restorer.wait(first, Duration::ZERO));
        tell.send(false).expect("it waits");
        assert!(!restorer.wait(first, PATIENCE));
        begun.recv_timeout(PATIENCE).expect("it begins");
        assert!(restorer.poll(second, &context).is_pending() && restorer.poll(first, &context).is_ready());
        tell.send(true).expect("it waits");
        assert!(restorer.wait(second, PATIENCE) && restorer.wait(too, PATIENCE));
        assert_eq!(restorer.poll(too, &context), Poll::Ready(true));
        // Nobody asks any more, and nothing is tried until somebody does.
        let third = restorer.ask(restore);
        begun.recv_timeout(PATIENCE).expect("it begins");
        tell.send(true).expect("it waits");
        assert!(restorer.wait(third, PATIENCE));
        assert!(begun.try_recv().is_err());
    }

    #[test]
    fn behind_the_end_nothing_is_tried_and_nobody_waits() {
        let (restore, begun, tell) = told();
        let restorer = Restorer::default();
        let first = restorer.ask(restore.clone());
        begun.recv_timeout(PATIENCE).expect("it begins");
        let next = restorer.ask(restore.clone());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| restorer.wait(next, PATIENCE));
            scope.spawn(|| restorer.close());
            assert!(!waits.join().expect("it returns"), "it will never be begun");
            tell.send(true).expect("it waits");
        });
        assert!(restorer.wait(first, PATIENCE), "it had begun");
        assert!(!restorer.wait(restorer.ask(restore), PATIENCE) && begun.try_recv().is_err());
    }
}
