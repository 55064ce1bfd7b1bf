//! Who of those that wait for a connection tries next: clients take turns, however many statements of one wait. Statements that are known
//! to be quick wait apart from the others, which may not go where they may.

use std::cell::RefCell;

use prony_graphql::variables::ClientKey;
use prony_source::fair_queue::{FairQueue, QueueBounds, QueueOutcome, WaiterId};
use tokio::sync::oneshot;

use crate::connect::load::Pace;

type Queue = RefCell<FairQueue<oneshot::Sender<()>>>;

/// What runs in a queue is the one that tries: it has the turn until it has a connection or goes.
#[derive(Debug)]
pub(crate) struct Turns {
    quick: Queue,
    others: Queue,
}

/// The turn of one that waits; dropping it lets the next one try.
#[derive(Debug)]
pub(crate) struct Turn<'t> {
    queue: &'t Queue,
    key: [u8; 8],
    /// As long as it has not come.
    waits: Option<WaiterId>,
}

impl Turns {
    /// At most so many wait.
    pub(crate) fn new(max_waiting: usize) -> Self {
        let bounds = QueueBounds { most: 1, each: 1, max_waiting, max_waiting_each: max_waiting };
        let queue = || RefCell::new(FairQueue::new(bounds));
        Self { quick: queue(), others: queue() }
    }

    /// Whether nobody would be overtaken.
    pub(crate) fn is_free(&self, pace: Pace) -> bool {
        // Whoever waits stands behind one that tries.
        self.queue(pace).borrow().running() == 0
    }

    /// Returns when the turn has come; none where too many wait.
    pub(crate) async fn next(&self, pace: Pace, client: ClientKey) -> Option<Turn<'_>> {
        let (queue, key) = (self.queue(pace), client.to_bytes());
        let (sender, has_come) = oneshot::channel();
        let entered = queue.borrow_mut().enter(&key, 1, sender);
        match entered {
            QueueOutcome::Full => None,
            QueueOutcome::Runs => Some(Turn { queue, key, waits: None }),
            QueueOutcome::Waits(id) => {
                let mut turn = Turn { queue, key, waits: Some(id) };
                // The other end is in the queue as long as this waits.
                let _come = has_come.await;
                turn.waits = None;
                Some(turn)
            }
        }
    }

    fn queue(&self, pace: Pace) -> &Queue {
        match pace {
            Pace::Quick => &self.quick,
            Pace::Unknown | Pace::Slow => &self.others,
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.waits {
            let (did_wait, granted) = self.queue.borrow_mut().cancel(&self.key, id);
            wake(granted);
            if did_wait {
                return;
            }
            // It had come in the last moment.
        }
        let granted = self.queue.borrow_mut().leave(&self.key, 1);
        wake(granted);
    }
}

/// A turn that nobody takes any more is passed on by who has gone.
fn wake(granted: Vec<oneshot::Sender<()>>) {
    for waiter in granted {
        let _gone = waiter.send(());
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, task::Context};

    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn clients_take_turns_and_those_who_go_pass_theirs_on() {
        let turns = Turns::new(8);
        let (ann, bob) = (ClientKey::of(&"ann"), ClientKey::of(&"bob"));
        assert!(turns.is_free(Pace::Slow));
        let first = turns.next(Pace::Slow, ann).now_or_never().unwrap();
        assert!(!turns.is_free(Pace::Unknown) && turns.is_free(Pace::Quick));
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut second = pin!(turns.next(Pace::Slow, ann));
        let mut third = Box::pin(turns.next(Pace::Slow, ann));
        let mut other = pin!(turns.next(Pace::Unknown, bob));
        assert!(second.as_mut().poll_unpin(&mut context).is_pending());
        assert!(third.as_mut().poll_unpin(&mut context).is_pending());
        assert!(other.as_mut().poll_unpin(&mut context).is_pending());
        drop(first);
        assert!(second.as_mut().poll_unpin(&mut context).is_pending());
        let theirs = other.as_mut().now_or_never().expect("bob is next");
        drop(theirs);
        let second = second.as_mut().now_or_never().expect("ann is next");
        drop(second);
        // The turn of the third has come; it goes without having looked.
        drop(third);
        assert!(turns.is_free(Pace::Slow));
    }

    #[test]
    fn no_more_wait_than_may() {
        let turns = Turns::new(1);
        let ann = ClientKey::of(&"ann");
        let _first = turns.next(Pace::Quick, ann).now_or_never().unwrap();
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut second = pin!(turns.next(Pace::Quick, ann));
        assert!(second.as_mut().poll_unpin(&mut context).is_pending());
        assert!(turns.next(Pace::Quick, ann).now_or_never().unwrap().is_none());
    }
}
