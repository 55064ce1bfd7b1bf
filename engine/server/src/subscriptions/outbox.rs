//! What waits to be sent to one client, within bounds. Operations put results in, the connection takes them out; both
//! live on the connection's core.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    task::{Context, Waker},
};

use bytes::Bytes;
use prony_graphql::budget::TooLarge;

use super::{hub::Hub, payload::ResultPayload, settings::SubscriptionSettings, wrap::Wrap};

/// Tells the operations of a core apart, also those that had the same id one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Serial(pub(crate) u64);

/// One thing to be sent, or to be said in the words of the client's protocol.
#[derive(Debug)]
pub(crate) enum Item {
    /// A whole message.
    Text(Bytes),
    /// A result of an operation; the payload is shared with all who get the same.
    Result { serial: Serial, wrap: Wrap, payload: ResultPayload },
    /// Asks the client whether it is there.
    Ping,
    /// An operation has ended.
    Completed { serial: Serial, id: Rc<str> },
}

impl Item {
    fn len_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Result { wrap, payload, .. } => wrap.before.len() + payload.bytes.len() + wrap.after.len(),
            Self::Completed { id, .. } => id.len(),
            Self::Ping => 0,
        }
    }

    fn is_end(&self) -> bool {
        matches!(self, Self::Completed { .. })
    }

    fn is_of(&self, operation: Serial) -> bool {
        match self {
            Self::Text(_) | Self::Ping => false,
            Self::Result { serial, .. } | Self::Completed { serial, .. } => *serial == operation,
        }
    }
}

/// Why a connection is ended from inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More waits than the bounds allow.
    Slow { messages: usize, bytes: usize },
    /// There is no room for a message beside the responses of all requests.
    NoRoom { max_bytes: usize },
    /// A bug: something has panicked, and what it did for this client is lost.
    Broken,
    /// The server stops.
    Restart,
}

/// What a client is told that is cut by [`Stop::NoRoom`].
pub(crate) fn no_room(max_bytes: usize) -> String {
    format!(
        "there is no room for a response beside all others: {max_bytes} bytes (max_responses_bytes); try again"
    )
}

/// The bounds of one outbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) messages: usize,
    pub(crate) bytes: usize,
}

impl Bounds {
    pub(crate) fn of(settings: &SubscriptionSettings) -> Self {
        Self { messages: settings.max_queued_messages, bytes: settings.max_queued_bytes }
    }
}

/// The queue of one connection.
#[derive(Debug)]
pub(crate) struct Outbox {
    inner: RefCell<Inner>,
    bounds: Bounds,
    hub: Rc<Hub>,
    /// Its place among the hub's outboxes.
    pub(super) place: usize,
}

#[derive(Debug, Default)]
struct Inner {
    items: VecDeque<Item>,
    /// How many of them say that an operation has ended. They stand right behind its last result, so that they count for no message:
    /// there is one for each open operation at most.
    ends: usize,
    bytes: usize,
    stop: Option<Stop>,
    waker: Option<Waker>,
}

impl Outbox {
    pub(super) fn new(hub: Rc<Hub>, bounds: Bounds, place: usize) -> Self {
        Self { inner: RefCell::default(), bounds, hub, place }
    }

    /// Puts an item in. Where it would go over the bounds, everything that waits is dropped, and the connection is told
    /// to end: a client that has missed one message cannot go on as if it had all.
    pub(crate) fn push(&self, item: Item) {
        let mut inner = self.inner.borrow_mut();
        if matches!(inner.stop, Some(Stop::Slow { .. } | Stop::NoRoom { .. } | Stop::Broken)) {
            return;
        }
        if !item.is_end() && inner.items.len() - inner.ends >= self.bounds.messages {
            inner.cut(&self.hub);
        } else {
            inner.bytes += item.len_bytes();
            inner.ends += usize::from(item.is_end());
            inner.items.push_back(item);
            inner.check_bytes(self.bounds.bytes, &self.hub);
        }
        inner.wake();
    }

    /// Ends the connection of a client for which too much waits outside of here.
    pub(crate) fn overflow(&self, messages: usize, bytes: usize) {
        let mut inner = self.inner.borrow_mut();
        if inner.stop.is_none() {
            inner.stop = Some(Stop::Slow { messages, bytes });
            inner.cut(&self.hub);
            inner.wake();
        }
    }

    /// Ends the connection of a client for which a message cannot be held; what waits is dropped, as where too much does.
    pub(crate) fn has_no_room(&self, error: TooLarge) {
        let mut inner = self.inner.borrow_mut();
        inner.stop.get_or_insert(Stop::NoRoom { max_bytes: error.max_bytes() });
        inner.clear();
        inner.wake();
    }

    /// As [`Self::push`], of an answer that makes the one before it worthless: where that still waits, this one takes its
    /// place.
    pub(crate) fn push_newest(&self, serial: Serial, wrap: Wrap, payload: ResultPayload) {
        let mut inner = self.inner.borrow_mut();
        let waiting = inner.items.iter_mut().find_map(|item| match item {
            Item::Result { serial: known, payload, .. } if *known == serial => Some(payload),
            _ => None,
        });
        let Some(waiting) = waiting else {
            drop(inner);
            return self.push(Item::Result { serial, wrap, payload });
        };
        let (before, after) = (waiting.bytes.len(), payload.bytes.len());
        *waiting = payload;
        inner.bytes = inner.bytes - before + after;
        if inner.check_bytes(self.bounds.bytes, &self.hub) {
            inner.wake();
        }
    }

    /// Ends the connection; the first reason stays.
    pub(crate) fn stop(&self, stop: Stop) {
        let mut inner = self.inner.borrow_mut();
        inner.stop.get_or_insert(stop);
        inner.wake();
    }

    /// Has the connection look at what has changed beside it.
    pub(crate) fn wake(&self) {
        self.inner.borrow().wake();
    }

    /// The next item, in order.
    pub(crate) fn pop(&self) -> Option<Item> {
        let mut inner = self.inner.borrow_mut();
        let item = inner.items.pop_front()?;
        inner.bytes -= item.len_bytes();
        inner.ends -= usize::from(item.is_end());
        if inner.items.is_empty() {
            // To have it made anew costs little beside the writing of a message, and most clients wait most of the time.
            inner.items = VecDeque::new();
        }
        Some(item)
    }

    /// Takes back what an operation has left.
    pub(crate) fn forget(&self, operation: Serial) {
        let mut inner = self.inner.borrow_mut();
        inner.items.retain(|item| !item.is_of(operation));
        inner.ends = inner.items.iter().filter(|item| item.is_end()).count();
        inner.bytes = inner.items.iter().map(Item::len_bytes).sum();
    }

    /// Why the connection shall end, if it shall.
    pub(crate) fn stopped(&self) -> Option<Stop> {
        self.inner.borrow().stop
    }

    /// Whom to wake when there is something.
    pub(crate) fn register(&self, context: &Context<'_>) {
        let mut inner = self.inner.borrow_mut();
        match &mut inner.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
    }
}

impl Inner {
    /// Cuts where too many bytes wait. The longest message counts for nothing here, so that neither the bound makes a response
    /// impossible nor what comes right behind one cuts a client that reads it; what it has is bounded by `max_responses_bytes`.
    fn check_bytes(&mut self, most: usize, hub: &Hub) -> bool {
        let longest = || self.items.iter().map(Item::len_bytes).max().unwrap_or(0);
        let is_too_much = self.bytes > most && self.bytes - longest() > most;
        if is_too_much {
            self.cut(hub);
        }
        is_too_much
    }

    fn cut(&mut self, hub: &Hub) {
        self.stop.get_or_insert(Stop::Slow { messages: self.items.len(), bytes: self.bytes });
        hub.count_slow();
        self.clear();
    }

    fn clear(&mut self) {
        self.items = VecDeque::new();
        self.ends = 0;
        self.bytes = 0;
    }

    fn wake(&self) {
        if let Some(waker) = &self.waker {
            waker.wake_by_ref();
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        self.hub.forget(self.place);
    }
}

#[cfg(test)]
mod tests {
    use prony_graphql::budget::{ResponseBudget, ResponseLimit};

    use super::*;

    fn outbox(messages: usize, bytes: usize) -> Rc<Outbox> {
        Rc::new(Hub::default()).outbox(Bounds { messages, bytes })
    }

    fn text(text: &'static str) -> Item {
        Item::Text(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn one_message_too_many_ends_the_connection() {
        let outbox = outbox(2, 100);
        outbox.push(text("a"));
        outbox.push(text("b"));
        assert_eq!(outbox.stopped(), None);
        outbox.push(text("c"));
        assert_eq!(outbox.stopped(), Some(Stop::Slow { messages: 2, bytes: 2 }));
        assert!(outbox.pop().is_none(), "what waited is dropped");
        outbox.push(text("d"));
        assert!(outbox.pop().is_none(), "nothing is queued for a connection that ends");
        outbox.stop(Stop::Restart);
        assert_eq!(outbox.stopped(), Some(Stop::Slow { messages: 2, bytes: 2 }), "the first reason stays");
    }

    /// A bug of the first version: with room for one message no query had a response.
    #[test]
    fn the_end_of_an_operation_counts_for_no_message() {
        let outbox = outbox(2, 100);
        let end = |serial| Item::Completed { serial: Serial(serial), id: "a".into() };
        for serial in [1, 2] {
            outbox.push(text("a"));
            outbox.push(end(serial));
        }
        assert_eq!(outbox.stopped(), None);
        outbox.forget(Serial(1));
        for _ in 0..3 {
            outbox.pop();
        }
        assert_eq!(outbox.inner.borrow().ends, 0);
        for text_of in ["a", "b", "c"] {
            outbox.push(text(text_of));
        }
        assert!(matches!(outbox.stopped(), Some(Stop::Slow { messages: 2, .. })));
    }

    #[test]
    fn bytes_are_bounded_but_one_message_always_fits() {
        let outbox = outbox(9, 4);
        outbox.push(text("a"));
        outbox.push(text("long enough"));
        outbox.push(text("end"));
        assert_eq!(outbox.stopped(), None, "what stands before and behind it fits too");
        outbox.push(text("x"));
        assert!(matches!(outbox.stopped(), Some(Stop::Slow { messages: 4, bytes: 16 })));
    }

    #[test]
    fn the_newest_answer_takes_the_place_of_the_one_that_waits() {
        let outbox = outbox(2, 10);
        let wrap = Wrap { before: Bytes::new(), after: b"" };
        let push = |serial, payload: &'static str| {
            outbox.push_newest(Serial(serial), wrap.clone(), ResultPayload::short(payload.into()));
        };
        push(1, "old");
        outbox.push(text("t"));
        for newer in ["a", "bb", "ccccc"] {
            push(1, newer);
        }
        assert_eq!((outbox.stopped(), outbox.inner.borrow().bytes), (None, 6));
        assert!(matches!(outbox.pop(), Some(Item::Result { payload, .. }) if payload.bytes == "ccccc"));
        push(2, "x");
        push(1, "more");
        assert!(matches!(outbox.stopped(), Some(Stop::Slow { messages: 2, .. })));
    }

    #[test]
    fn answers_that_grow_while_they_wait_are_bounded_too() {
        let outbox = outbox(9, 10);
        let wrap = Wrap { before: Bytes::new(), after: b"" };
        let push = |serial, payload: &'static str| {
            outbox.push_newest(Serial(serial), wrap.clone(), ResultPayload::short(payload.into()));
        };
        push(1, "a");
        push(1, "alone it always fits");
        assert_eq!(outbox.stopped(), None);
        push(1, "a");
        push(2, "b");
        push(2, "twelve bytes");
        assert_eq!(outbox.stopped(), None);
        push(1, "other bytes!");
        assert_eq!(outbox.stopped(), Some(Stop::Slow { messages: 2, bytes: 24 }));
        assert!(outbox.pop().is_none(), "what waited is dropped");
    }

    #[test]
    fn a_message_without_room_ends_the_connection_and_frees_what_waits() {
        let process = ResponseBudget::new(ResponseLimit::Process, 1 << 20);
        let outbox = outbox(9, 1 << 20);
        let payload = ResultPayload::of_all(vec![b' '; 1 << 20], &process).expect("there is room");
        let wrap = Wrap { before: Bytes::new(), after: b"" };
        outbox.push(Item::Result { serial: Serial(1), wrap, payload });
        let refused = ResultPayload::of_all(vec![b' '; 1 << 20], &process).expect_err("there is no room");
        outbox.has_no_room(refused);
        assert_eq!(outbox.stopped(), Some(Stop::NoRoom { max_bytes: 1 << 20 }));
        assert_eq!(process.used_bytes(), 0, "what waited is dropped");
        outbox.push(text("t"));
        assert!(outbox.pop().is_none(), "nothing is queued for a connection that ends");
    }

    #[test]
    fn an_operation_takes_what_it_has_left_with_it() {
        let outbox = outbox(9, 100);
        let result = |serial| Item::Result {
            serial: Serial(serial),
            wrap: Wrap { before: Bytes::from_static(b"<"), after: b">" },
            payload: ResultPayload::short(b"x".to_vec()),
        };
        outbox.push(result(1));
        outbox.push(text("t"));
        outbox.push(result(2));
        outbox.push(Item::Completed { serial: Serial(1), id: "a".into() });
        outbox.forget(Serial(1));
        assert!(matches!(outbox.pop(), Some(Item::Text(_))));
        assert!(matches!(outbox.pop(), Some(Item::Result { serial: Serial(2), .. })));
        assert!(outbox.pop().is_none());
        assert_eq!(outbox.inner.borrow().bytes, 0);
    }
}
