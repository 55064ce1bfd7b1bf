//! One core's subscriptions as data: feeds with their subscribers, and outboxes. What is done with them is in
//! [`feeds`](super::feeds). Nothing here crosses threads.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::{Rc, Weak},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::future::AbortHandle;
use prony_graphql::{error::ErrorCode, request::Caller};
use slab::Slab;
use tokio::sync::{Notify, futures::Notified};

use super::{
    outbox::{Bounds, Outbox, Serial, Stop},
    payload::ResultPayload,
    wrap::Wrap,
};
use crate::graphql::plan::Plan;

/// All feeds and outboxes of a core.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    pub(super) feeds: RefCell<HashMap<Key, Rc<Feed>>>,
    outboxes: RefCell<Slab<Weak<Outbox>>>,
    next_serial: Cell<u64>,
    stopping: Cell<bool>,
    /// Clients that did not keep up, for the metrics.
    slow_consumers: Arc<AtomicU64>,
}

/// What makes subscriptions the same: one plan is one operation of one schema with one shape of variables. A feed holds
/// its plan, so that no other can have its address meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) plan: usize,
    /// As JSON.
    pub(super) variables: Box<str>,
    /// Who asks, where functions want to know it: each has feeds of its own.
    pub(super) caller: Option<usize>,
    /// Of the session's variables, those that decide what is seen.
    pub(super) session: Box<str>,
    /// Of the request's headers that sources want to know, those on which events may depend.
    pub(super) headers: Vec<(Box<str>, Box<[u8]>)>,
}

/// One stream of a source with its subscribers.
#[derive(Debug)]
pub(super) struct Feed {
    pub(super) key: Key,
    pub(super) plan: Arc<Plan>,
    /// Held, so that no other can have its address.
    pub(super) _caller: Option<Caller>,
    pub(super) subscribers: RefCell<Slab<Subscriber>>,
    /// Of a live query.
    pub(super) live: Option<LiveFeed>,
    pub(super) task: AbortHandle,
}

/// What a feed knows of the answers of a live query.
#[derive(Debug)]
pub(super) struct LiveFeed {
    pub(super) shared: Rc<LiveProgress>,
    pub(super) last: RefCell<Option<Answer>>,
    /// Held, so that the last answer counts as long as it is here.
    pub(super) last_payload: RefCell<Option<ResultPayload>>,
}

/// What a feed of a live query shares with those who make its answers.
#[derive(Debug, Default)]
pub(super) struct LiveProgress {
    /// How many answers have been begun.
    begun: Cell<u64>,
    joined: Notify,
}

impl LiveProgress {
    /// Of the answer that was begun last.
    pub(super) fn begun(&self) -> u64 {
        self.begun.get()
    }

    pub(super) fn begin(&self) {
        self.begun.set(self.begun.get() + 1);
    }

    /// Has an answer made for someone who has come later.
    pub(super) fn ask(&self) {
        self.joined.notify_one();
    }

    /// Returns when somebody has asked.
    pub(super) fn asked(&self) -> Notified<'_> {
        self.joined.notified()
    }
}

/// An answer, to tell whether the next one is another. Errors carry references, which are new each time.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    Whole(Bytes),
    Failed(Option<Vec<u8>>, Vec<(ErrorCode, String)>),
}

/// Who hears a feed.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) outbox: Rc<Outbox>,
    pub(crate) wrap: Wrap,
    pub(crate) serial: Serial,
    pub(crate) id: Rc<str>,
    /// Of a live query, until it has its first answer: that was begun after so many others.
    pub(crate) comes_after: Cell<Option<u64>>,
}

impl Hub {
    pub(crate) fn new(slow_consumers: Arc<AtomicU64>) -> Self {
        Self { slow_consumers, ..Self::default() }
    }

    /// Here and not where the connection ends, which it may notice only when its client reads again.
    pub(super) fn count_slow(&self) {
        self.slow_consumers.fetch_add(1, Ordering::Relaxed);
    }

    /// A queue for one connection. Where the server stops already, it says so at once.
    pub(crate) fn outbox(self: &Rc<Self>, bounds: Bounds) -> Rc<Outbox> {
        let mut outboxes = self.outboxes.borrow_mut();
        let entry = outboxes.vacant_entry();
        let outbox = Rc::new(Outbox::new(Rc::clone(self), bounds, entry.key()));
        entry.insert(Rc::downgrade(&outbox));
        if self.stopping.get() {
            outbox.stop(Stop::Restart);
        }
        outbox
    }

    pub(super) fn forget(&self, place: usize) {
        self.outboxes.borrow_mut().remove(place);
    }

    pub(crate) fn next_serial(&self) -> Serial {
        self.next_serial.set(self.next_serial.get() + 1);
        Serial(self.next_serial.get())
    }

    /// Ends all connections, now and later, because the server stops.
    pub(crate) fn stop(&self) {
        self.stopping.set(true);
        for outbox in self.all() {
            outbox.stop(Stop::Restart);
        }
    }

    /// Has all connections look at what has changed beside them.
    pub(crate) fn wake(&self) {
        for outbox in self.all() {
            outbox.wake();
        }
    }

    fn all(&self) -> Vec<Rc<Outbox>> {
        self.outboxes.borrow().iter().filter_map(|(_, known)| known.upgrade()).collect()
    }
}

impl Feed {
    /// No new subscriber will find it.
    pub(super) fn leave(&self, hub: &Hub) {
        let mut feeds = hub.feeds.borrow_mut();
        if feeds.get(&self.key).is_some_and(|known| std::ptr::eq(Rc::as_ptr(known), self)) {
            feeds.remove(&self.key);
        }
    }
}
