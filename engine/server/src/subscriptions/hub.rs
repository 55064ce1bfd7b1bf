//! One core's subscriptions. Those that ask the same share a feed: one stream of the source, of which each event is
//! executed and written once, and handed to all subscribers as the same bytes. Nothing here crosses threads.

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
use futures_util::{
    StreamExt,
    future::{AbortHandle, abortable},
};
use memchr::memchr2;
use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    request::Caller,
    response::FieldResult,
};
use prony_source::Events;
use slab::Slab;

use super::{
    live,
    outbox::{Bounds, Item, Outbox, Serial, Stop},
    wrap::Wrap,
};
use crate::graphql::{
    CoreEngine, ExecutionContext as _,
    pipeline::{self, Prepared},
    plan::{Plan, Step},
};

/// All feeds and outboxes of a core.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    feeds: RefCell<HashMap<Key, Rc<Feed>>>,
    outboxes: RefCell<Slab<Weak<Outbox>>>,
    next_serial: Cell<u64>,
    stopping: Cell<bool>,
    /// Clients that did not keep up, for the metrics.
    slow_consumers: Arc<AtomicU64>,
}

/// What makes subscriptions the same: one plan is one operation of one schema with one shape of variables. A feed holds
/// its plan, so that no other can have its address meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    plan: usize,
    /// As JSON.
    variables: Box<str>,
    /// Who asks, where functions want to know it: each has feeds of its own.
    caller: Option<usize>,
}

/// One stream of a source with its subscribers.
#[derive(Debug)]
struct Feed {
    key: Key,
    plan: Arc<Plan>,
    /// Held, so that no other can have its address.
    _caller: Option<Caller>,
    subscribers: RefCell<Slab<Subscriber>>,
    /// Of a live query.
    live: Option<LiveFeed>,
    task: AbortHandle,
}

/// What a feed knows of the answers of a live query.
#[derive(Debug)]
struct LiveFeed {
    shared: Rc<live::Shared>,
    last: RefCell<Option<Answer>>,
}

/// An answer, to tell whether the next one is another. Errors carry references, which are new each time.
#[derive(Debug, PartialEq)]
enum Answer {
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

/// A place among the subscribers of a feed; the last one that is dropped ends the feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    core: Rc<CoreEngine>,
    feed: Rc<Feed>,
    place: usize,
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
        let outboxes: Vec<_> =
            self.outboxes.borrow().iter().filter_map(|(_, known)| known.upgrade()).collect();
        for outbox in outboxes {
            outbox.stop(Stop::Restart);
        }
    }
}

/// Begins a subscription: it hears every event that is raised after this returns.
pub(crate) fn subscribe(
    core: &Rc<CoreEngine>,
    prepared: &Prepared,
    subscriber: Subscriber,
) -> Result<Subscription, GraphqlError> {
    let variables = serde_json::to_string(prepared.variables.values()).expect("JSON values are JSON");
    let caller = prepared.variables.caller().map(Caller::address);
    let key = Key { plan: Arc::as_ptr(&prepared.plan).addr(), variables: variables.into(), caller };
    let known = core.hub.feeds.borrow().get(&key).cloned();
    let is_open = known.is_some();
    let feed = match known {
        Some(feed) => feed,
        None => open(core, prepared, key)?,
    };
    if let Some(live) = &feed.live {
        subscriber.comes_after.set(Some(live.shared.begun()));
        if is_open {
            live.shared.ask();
        }
    }
    let place = feed.subscribers.borrow_mut().insert(subscriber);
    core.metrics().subscription_begins();
    Ok(Subscription { core: Rc::clone(core), feed, place })
}

fn open(core: &Rc<CoreEngine>, prepared: &Prepared, key: Key) -> Result<Rc<Feed>, GraphqlError> {
    let plan = &prepared.plan;
    let [Step::Source(source, root)] = plan.steps.as_slice() else {
        let message = "a subscription selects one field of a source, and no field of the schema itself";
        return Err(GraphqlError::new(ErrorCode::ValidationFailed, message));
    };
    let (variables, session) = (&prepared.variables, core.session(*source));
    let (events, live) = match session.change_signal(root) {
        Some(signal) => {
            let shared = Rc::new(live::Shared::default());
            let answers = live::answers(core, plan, *source, variables, signal, Rc::clone(&shared));
            (answers, Some(LiveFeed { shared, last: RefCell::default() }))
        }
        None => (session.subscribe(root, variables)?, None),
    };
    // The task's handle is part of the feed, and the feed of the task.
    let feed = Rc::new_cyclic(|feed: &Weak<Feed>| {
        let (task, handle) = abortable(run(Rc::clone(core), Weak::clone(feed), events));
        tokio::task::spawn_local(task);
        Feed {
            key: key.clone(),
            plan: Arc::clone(plan),
            _caller: prepared.variables.caller().cloned(),
            subscribers: RefCell::default(),
            live,
            task: handle,
        }
    });
    core.hub.feeds.borrow_mut().insert(key, Rc::clone(&feed));
    Ok(feed)
}

/// Carries events to subscribers until the source ends, or the last subscriber aborts it.
async fn run(core: Rc<CoreEngine>, feed: Weak<Feed>, mut events: Events) {
    let mut end = End { core, feed, completed: false };
    while let Some(result) = events.next().await {
        let Some(feed) = end.feed.upgrade() else { return };
        match &feed.live {
            None => feed.publish(&end.core, result),
            Some(live) => feed.publish_answer(&end.core, live, result),
        }
    }
    end.completed = true;
}

/// Tells who is left that a feed has ended, also when it has panicked.
struct End {
    core: Rc<CoreEngine>,
    feed: Weak<Feed>,
    completed: bool,
}

impl Drop for End {
    fn drop(&mut self) {
        let Some(feed) = self.feed.upgrade() else { return };
        feed.leave(&self.core.hub);
        for (_, subscriber) in feed.subscribers.borrow().iter() {
            if self.completed {
                let Subscriber { serial, id, .. } = subscriber;
                subscriber.outbox.push(Item::Completed { serial: *serial, id: Rc::clone(id) });
            } else {
                subscriber.outbox.stop(Stop::Broken);
            }
        }
    }
}

impl Feed {
    fn publish(&self, core: &CoreEngine, result: FieldResult) {
        let (_, body) = pipeline::assemble(core, &self.plan, &mut [result]);
        let payload = on_one_line(body);
        let subscribers = self.subscribers.borrow();
        core.metrics().event_sent(subscribers.len());
        for (_, subscriber) in subscribers.iter() {
            let Subscriber { outbox, wrap, serial, .. } = subscriber;
            outbox.push(Item::Result { serial: *serial, wrap: wrap.clone(), payload: payload.clone() });
        }
    }

    /// Sends an answer to those who have no answer yet, and to the others where it is not the one that they have.
    fn publish_answer(&self, core: &CoreEngine, live: &LiveFeed, result: FieldResult) {
        let data = if result.errors.is_empty() { None } else { result.data.clone() };
        let errors: Vec<_> = result.errors.iter().map(|error| (error.code, error.message.clone())).collect();
        let (_, body) = pipeline::assemble(core, &self.plan, &mut [result]);
        let payload = on_one_line(body);
        let answer =
            if errors.is_empty() { Answer::Whole(payload.clone()) } else { Answer::Failed(data, errors) };
        let is_new = live.last.borrow().as_ref() != Some(&answer);
        live.last.replace(Some(answer));
        let begun = live.shared.begun();
        let mut count = 0;
        for (_, subscriber) in self.subscribers.borrow().iter() {
            let Subscriber { outbox, wrap, serial, comes_after, .. } = subscriber;
            let is_due = match comes_after.get() {
                None => is_new,
                Some(before) => before < begun,
            };
            if is_due {
                comes_after.set(None);
                outbox.push_newest(*serial, wrap.clone(), payload.clone());
                count += 1;
            }
        }
        if count > 0 {
            core.metrics().event_sent(count);
        }
    }

    /// No new subscriber will find it.
    fn leave(&self, hub: &Hub) {
        let mut feeds = hub.feeds.borrow_mut();
        if feeds.get(&self.key).is_some_and(|known| std::ptr::eq(Rc::as_ptr(known), self)) {
            feeds.remove(&self.key);
        }
    }
}

/// Sources may write JSON with line breaks between its tokens, which would end a line of server-sent events. Within a
/// text of JSON there are none.
pub(crate) fn on_one_line(mut json: Vec<u8>) -> Bytes {
    let mut from = 0;
    while let Some(found) = memchr2(b'\n', b'\r', &json[from..]) {
        json[from + found] = b' ';
        from += found + 1;
    }
    json.into()
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.core.metrics().subscription_ends();
        let mut subscribers = self.feed.subscribers.borrow_mut();
        subscribers.remove(self.place);
        if subscribers.is_empty() {
            self.feed.leave(&self.core.hub);
            self.feed.task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_stay_on_one_line() {
        let pretty = b"{\n  \"a\": \"x\\ny\",\r\n  \"b\": []\n}".to_vec();
        assert_eq!(on_one_line(pretty), &b"{   \"a\": \"x\\ny\",    \"b\": [] }"[..]);
        assert_eq!(on_one_line(Vec::new()), &b""[..]);
    }
}
