//! One connection of a thread of subscribers, before, while and after it stands, and the subscriptions on it.

use crate::subscriptions::delivery::Member;
use crate::subscriptions::link::Link;
use crate::subscriptions::orders::Orders;
use prony_client::RequestId;
use prony_model::Nanos;

/// A place for one connection.
pub(super) struct ConnectionSlot {
    pub(super) group: usize,
    /// Among the connections of its group.
    pub(super) number: u64,
    pub(super) due: Nanos,
    /// Its first subscription among those of the thread.
    pub(super) first: usize,
    pub(super) subscriptions: u32,
    pub(super) live: Option<Box<Live>>,
}

/// A connection that stands, or is being opened.
pub(super) struct Live {
    pub(super) link: Link,
    pub(super) marks: Marks,
    /// The WebSocket or the stream; over HTTP/2 that of the first operation.
    pub(super) request: RequestId,
    /// Over HTTP/2 the streams of further operations.
    pub(super) further: Box<[RequestId]>,
    /// Beside a shared stream, once that is open.
    pub(super) orders: Option<Orders>,
    /// The request beside the stream that starts an operation.
    pub(super) order: Option<RequestId>,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a step that comes in its own order")]
pub(super) struct Marks {
    pub(super) begun: Nanos,
    /// What is awaited next fails then.
    pub(super) deadline: Nanos,
    /// When its operations were sent; over a shared stream the last of them.
    pub(super) asked: Option<Nanos>,
    pub(super) is_connected: bool,
    /// The target was told who connects.
    pub(super) is_greeted: bool,
    /// The target may be asked for operations now.
    pub(super) is_acknowledged: bool,
    /// All of its operations were read by the target.
    pub(super) is_read: bool,
}

/// An alarm of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionAlarm {
    /// A connection should stand, and its operations be read.
    Timeout,
    /// Its subscriptions come into force.
    InForce,
}

/// One subscription.
pub(super) struct Subscription {
    pub(super) member: Member,
    pub(super) state: SubscriptionState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubscriptionState {
    Waiting,
    InForce,
    Over,
}

/// Whose request it is that the client tells of.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestContext {
    /// Index of its connection.
    pub(super) slot: u32,
    pub(super) purpose: RequestPurpose,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestPurpose {
    /// A stream is reserved.
    Reservation,
    /// The WebSocket or the stream; over HTTP/2 that of the operation of this number.
    Stream(u32),
    /// An operation is started beside its stream.
    Order,
}
