//! The bounds of connections that stay, with their defaults.

use std::time::Duration;

/// What one connection may cost, and how long it may be silent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionSettings {
    /// Operations that are open at a time on one connection.
    pub max_operations: usize,
    /// Subscriptions that are open at a time from one address; 0 for no limit.
    pub max_subscriptions_per_address: usize,
    /// Messages that wait for a client that does not read; one more cuts it.
    pub max_queued_messages: usize,
    /// Bytes of messages that wait, beside the longest; more cut the client.
    pub max_queued_bytes: usize,
    /// Bytes of the responses of a connection's queries and mutations, while they are written and until they are sent.
    pub max_connection_bytes: usize,
    /// Bytes of one message of a client.
    pub max_message_bytes: usize,
    /// From the opening of a WebSocket to its `connection_init`.
    pub init_timeout: Duration,
    /// How often a quiet client is asked whether it is there.
    pub ping_interval: Duration,
    /// How long it may take to say so.
    pub ping_timeout: Duration,
    /// Between the beginnings of two answers of a live query.
    pub live_interval: Duration,
    /// Streams that are reserved and not opened yet, over all cores.
    pub max_reservations: usize,
    /// How long a reserved stream may wait to be opened.
    pub reservation_timeout: Duration,
}

impl Default for SubscriptionSettings {
    fn default() -> Self {
        Self {
            max_operations: 100,
            max_subscriptions_per_address: 10_000,
            max_queued_messages: 1000,
            max_queued_bytes: 4 << 20,
            max_connection_bytes: 256 << 20,
            max_message_bytes: 1 << 20,
            init_timeout: Duration::from_secs(3),
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(10),
            live_interval: Duration::from_millis(50),
            max_reservations: 10_000,
            reservation_timeout: Duration::from_secs(10),
        }
    }
}
