//! Subscriptions that ask the same share a feed: one stream of the source, of which each event is executed and written once,
//! and handed to all subscribers as the same bytes.

use std::{
    cell::RefCell,
    rc::{Rc, Weak},
    sync::Arc,
};

use futures_util::{StreamExt, future::abortable};
use prony_graphql::{
    budget::TooLarge,
    error::{ErrorCode, GraphqlError},
    request::Caller,
    response::FieldResult,
    schema::SourceId,
    variables::Variables,
};
use prony_source::Events;

use super::{
    hub::{Answer, Feed, Key, LiveFeed, LiveProgress, Subscriber},
    live,
    outbox::{Item, Stop},
    payload::ResultPayload,
};
use crate::graphql::{
    Asker, CoreEngine, ExecutionContext as _, Withdrawal, interception,
    pipeline::{self, Prepared},
    plan::{Plan, Step},
};

/// A place among the subscribers of a feed; the last one that is dropped ends the feed.
#[derive(Debug)]
pub(crate) struct Subscription {
    core: Rc<CoreEngine>,
    feed: Rc<Feed>,
    place: usize,
}

/// Begins a subscription: it hears every event that is raised after this returns.
pub(crate) fn subscribe(
    core: &Rc<CoreEngine>,
    prepared: &Prepared,
    subscriber: Subscriber,
) -> Result<Subscription, GraphqlError> {
    let variables = serde_json::to_string(prepared.variables.values()).expect("JSON values are JSON");
    let caller = prepared.variables.caller().map(Caller::address);
    // Interceptors are told more of who asks than permissions use.
    let has_interceptors = prepared.plan.interception.is_some();
    let identity = if has_interceptors { Asker::identity_text } else { Asker::relevant_text };
    let mut session = prepared.asker.as_ref().map(identity).unwrap_or_default();
    if let Some(authority) = prepared.variables.authority() {
        session = format!("{session}{authority:?}").into();
    }
    let plan = Arc::as_ptr(&prepared.plan).addr();
    let headers = prepared.variables.varying_headers().cloned().collect();
    let key = Key { plan, variables: variables.into(), caller, session, headers };
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
            let shared = Rc::new(LiveProgress::default());
            let answers = if plan.interception.is_some() {
                intercepted(core, prepared, *source, &shared)
            } else {
                live::answers(core, plan, *source, variables, signal, Rc::clone(&shared))
            };
            (answers, Some(LiveFeed { shared, last: RefCell::default(), last_payload: RefCell::default() }))
        }
        None if plan.interception.is_some() => (intercepted(core, prepared, *source, &Rc::default()), None),
        None => {
            let withdrawal = Withdrawal::of(plan, core.engine().follow(*source));
            (withdrawal.end(session.subscribe(root, variables)?), None)
        }
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

/// The results of a subscription with interceptors, which may have it ask something else.
fn intercepted(
    core: &Rc<CoreEngine>,
    prepared: &Prepared,
    source: SourceId,
    shared: &Rc<LiveProgress>,
) -> Events {
    let (at, progress, refused) = (Rc::clone(core), Rc::clone(shared), Rc::clone(shared));
    let live = move |plan: &Arc<Plan>, variables: &Variables, signal| {
        live::answers(&at, plan, source, variables, signal, Rc::clone(&progress))
    };
    interception::events(core, prepared, live, move || refused.begin())
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
        let payload = match ResultPayload::of_all(body, &core.site().responses) {
            Ok(payload) => payload,
            Err(error) => return self.has_no_room(error),
        };
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
        let payload = match ResultPayload::of_all(body, &core.site().responses) {
            Ok(payload) => payload,
            Err(error) => return self.has_no_room(error),
        };
        let answer = if errors.is_empty() {
            Answer::Whole(payload.bytes.clone())
        } else {
            Answer::Failed(data, errors)
        };
        let is_new = live.last.borrow().as_ref() != Some(&answer);
        live.last.replace(Some(answer));
        live.last_payload.replace(Some(payload.clone()));
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

    /// What was to be sent cannot be held: who misses it must know that.
    fn has_no_room(&self, error: TooLarge) {
        for (_, subscriber) in self.subscribers.borrow().iter() {
            subscriber.outbox.has_no_room(error);
        }
    }
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
