//! Events of resolvers: what mutations raise and subscriptions will hear, in this process, by a key.

use std::{
    collections::{HashMap, VecDeque},
    future::poll_fn,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// Events that wait for a slow subscriber; with more it has lost the oldest, and is told so.
pub const EVENTS_KEPT: usize = 256;

/// Queues that are looked through for those that nobody hears any more, at least.
const SWEPT_AT_LEAST: usize = 64;

/// Who is told of which key.
#[derive(Debug)]
pub struct Events<K, T> {
    channels: Mutex<Channels<K, T>>,
}

#[derive(Debug)]
struct Channels<K, T> {
    /// Of each key at least one.
    by_key: HashMap<K, Vec<Arc<Queue<T>>>>,
    /// Of all keys together: those who come and go may all hear the same one.
    queues: usize,
    /// With so many queues, those that nobody hears are taken out: at most half are such.
    swept_at: usize,
}

/// What waits for one subscriber. It takes no memory until there is something.
#[derive(Debug)]
struct Queue<T>(Mutex<QueuedEvents<T>>);

#[derive(Debug)]
struct QueuedEvents<T> {
    events: VecDeque<T>,
    /// Oldest events that were dropped since the subscriber last looked.
    lost: u64,
    waker: Option<Waker>,
    /// Nothing more will come.
    is_over: bool,
}

impl<K, T> Default for Events<K, T> {
    fn default() -> Self {
        let channels = Channels { by_key: HashMap::new(), queues: 0, swept_at: SWEPT_AT_LEAST };
        Self { channels: Mutex::new(channels) }
    }
}

/// The subscriber was too slow, and this many events are lost to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} events are lost: more than {EVENTS_KEPT} waited")]
pub struct Lagged(pub u64);

/// Nothing panics while one of the locks is held.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_heard<T>(queue: &Arc<Queue<T>>) -> bool {
    Arc::strong_count(queue) > 1
}

impl<K: Hash + Eq, T: Clone> Events<K, T> {
    /// Tells all subscribers of the key; how many there are.
    pub fn publish(&self, key: &K, event: T) -> usize {
        let mut locked = lock(&self.channels);
        let channels = &mut *locked;
        let Some(queues) = channels.by_key.get_mut(key) else { return 0 };
        channels.queues -= queues.len();
        queues.retain(is_heard);
        let count = queues.len();
        channels.queues += count;
        if count == 0 {
            channels.by_key.remove(key);
            return 0;
        }
        // The order of events is the same for all: the table is held until each has this one.
        for queue in &*queues {
            queue.push(event.clone());
        }
        count
    }

    /// Hears events of the key from now on, until it is dropped.
    pub fn subscribe(&self, key: K) -> Subscriber<T> {
        let waiting = QueuedEvents { events: VecDeque::new(), lost: 0, waker: None, is_over: false };
        let queue = Arc::new(Queue(Mutex::new(waiting)));
        let mut channels = lock(&self.channels);
        channels.sweep();
        channels.queues += 1;
        channels.by_key.entry(key).or_default().push(Arc::clone(&queue));
        Subscriber(queue)
    }
}

impl<K: Hash + Eq, T> Channels<K, T> {
    /// A subscriber that goes leaves its queue behind, for an event or this to find.
    fn sweep(&mut self) {
        if self.queues < self.swept_at {
            return;
        }
        self.by_key.retain(|_, queues| {
            queues.retain(is_heard);
            queues.shrink_to(2 * queues.len());
            !queues.is_empty()
        });
        self.queues = self.by_key.values().map(Vec::len).sum();
        self.swept_at = (2 * self.queues).max(SWEPT_AT_LEAST);
        self.by_key.shrink_to(2 * self.by_key.len());
    }
}

impl<T> Queue<T> {
    fn push(&self, event: T) {
        let mut waiting = lock(&self.0);
        if waiting.events.len() >= EVENTS_KEPT {
            waiting.events.pop_front();
            waiting.lost += 1;
        }
        waiting.events.push_back(event);
        if let Some(waker) = waiting.waker.take() {
            waker.wake();
        }
    }
}

/// One who hears the events of one key.
#[derive(Debug)]
pub struct Subscriber<T>(Arc<Queue<T>>);

impl<T> Subscriber<T> {
    /// The next event; none when the source is gone.
    pub async fn next(&mut self) -> Option<Result<T, Lagged>> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, Lagged>>> {
        let mut waiting = lock(&self.0.0);
        let lost = std::mem::take(&mut waiting.lost);
        if lost > 0 {
            return Poll::Ready(Some(Err(Lagged(lost))));
        }
        if let Some(event) = waiting.events.pop_front() {
            if waiting.events.is_empty() {
                // Most keys are quiet most of the time.
                waiting.events = VecDeque::new();
            }
            return Poll::Ready(Some(Ok(event)));
        }
        if waiting.is_over {
            return Poll::Ready(None);
        }
        waiting.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<K, T> Drop for Events<K, T> {
    fn drop(&mut self) {
        for queue in lock(&self.channels).by_key.values().flatten() {
            let mut waiting = lock(&queue.0);
            waiting.is_over = true;
            if let Some(waker) = waiting.waker.take() {
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn events_reach_the_subscribers_of_their_key() {
        let events = Events::default();
        let (mut first, mut other) = (events.subscribe("1"), events.subscribe("2"));
        assert_eq!(events.publish(&"1", "a"), 1);
        assert_eq!(events.publish(&"3", "nobody"), 0);
        assert_eq!(events.publish(&"2", "b"), 1);
        assert_eq!(first.next().await, Some(Ok("a")));
        assert_eq!(other.next().await, Some(Ok("b")));
        drop(first);
        assert_eq!(events.publish(&"1", "c"), 0);
        assert_eq!(lock(&events.channels).by_key.len(), 1, "a key without subscribers is forgotten");
    }

    #[tokio::test]
    async fn a_slow_subscriber_is_told_what_it_lost() {
        let events = Events::default();
        let mut slow = events.subscribe(());
        for number in 0..EVENTS_KEPT + 3 {
            events.publish(&(), number);
        }
        assert_eq!(slow.next().await, Some(Err(Lagged(3))));
        assert_eq!(slow.next().await, Some(Ok(3)));
        drop(events);
        for number in 4..EVENTS_KEPT + 3 {
            assert_eq!(slow.next().await, Some(Ok(number)));
        }
        assert_eq!(slow.next().await, None);
    }

    #[test]
    fn keys_that_nobody_hears_do_not_stay() {
        let events = Events::<usize, ()>::default();
        let kept = events.subscribe(0);
        for key in 1..10 * SWEPT_AT_LEAST {
            drop(events.subscribe(key));
            assert!(lock(&events.channels).by_key.len() <= SWEPT_AT_LEAST, "at {key}");
        }
        assert_eq!(events.publish(&0, ()), 1);
        drop(kept);
    }

    #[test]
    fn queues_that_nobody_hears_do_not_stay_at_a_key_that_is_heard() {
        let events = Events::<(), ()>::default();
        let kept = events.subscribe(());
        let held = || lock(&events.channels).by_key[&()].len();
        for number in 0..10 * SWEPT_AT_LEAST {
            drop(events.subscribe(()));
            assert!(held() <= SWEPT_AT_LEAST, "at {number}");
        }
        assert_eq!(events.publish(&(), ()), 1);
        assert_eq!((held(), lock(&events.channels).queues), (1, 1));
        drop(kept);
    }

    #[tokio::test]
    async fn what_waits_takes_no_memory_once_it_is_taken() {
        let events = Events::default();
        let mut subscriber = events.subscribe(());
        for number in 0..EVENTS_KEPT {
            events.publish(&(), number);
        }
        for number in 0..EVENTS_KEPT {
            assert_eq!(subscriber.next().await, Some(Ok(number)));
        }
        assert_eq!(lock(&subscriber.0.0).events.capacity(), 0);
    }
}
