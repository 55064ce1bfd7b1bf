//! Events of resolvers: what mutations raise and subscriptions will hear, in this process, by a key.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::broadcast;

/// Events that wait for a slow subscriber; with more it has lost the oldest, and is told so.
pub const EVENTS_KEPT: usize = 256;

/// Who is told of which key.
#[derive(Debug)]
pub struct Events<K, T> {
    channels: Mutex<HashMap<K, broadcast::Sender<T>>>,
}

impl<K, T> Default for Events<K, T> {
    fn default() -> Self {
        Self { channels: Mutex::default() }
    }
}

/// The subscriber was too slow, and this many events are lost to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} events are lost: more than {EVENTS_KEPT} waited")]
pub struct Lagged(pub u64);

impl<K: Hash + Eq, T: Clone> Events<K, T> {
    /// Tells all subscribers of the key; how many there are.
    pub fn publish(&self, key: &K, event: T) -> usize {
        let mut channels = self.lock();
        let Some(channel) = channels.get(key) else { return 0 };
        if let Ok(count) = channel.send(event) {
            return count;
        }
        // The last one has gone.
        channels.remove(key);
        0
    }

    /// Hears events of the key from now on, until it is dropped.
    pub fn subscribe(&self, key: K) -> Subscriber<T> {
        let mut channels = self.lock();
        let channel = channels.entry(key).or_insert_with(|| broadcast::channel(EVENTS_KEPT).0);
        Subscriber(channel.subscribe())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, broadcast::Sender<T>>> {
        // Nothing panics while it is held.
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who hears the events of one key.
#[derive(Debug)]
pub struct Subscriber<T>(broadcast::Receiver<T>);

impl<T: Clone> Subscriber<T> {
    /// The next event; none when the source is gone.
    pub async fn next(&mut self) -> Option<Result<T, Lagged>> {
        match self.0.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(broadcast::error::RecvError::Lagged(count)) => Some(Err(Lagged(count))),
            Err(broadcast::error::RecvError::Closed) => None,
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
        assert_eq!(events.lock().len(), 1, "a key without subscribers is forgotten");
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
}
