//! The operations that run for one connection, of any kind: queries and mutations to their one result, subscriptions
//! until either side ends them. Their results go to the connection's outbox.

use std::{
    cell::Cell,
    collections::HashMap,
    net::IpAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{
    FutureExt, StreamExt,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};
use prony_graphql::{
    budget::{ResponseBudget, ResponseLimit},
    error::{ErrorCode, GraphqlError},
    request::RequestParameters,
    response,
    selection::OperationKind,
};
use prony_source::enter_request;

use super::{
    feeds::{self, Subscription},
    hub::Subscriber,
    outbox::{Item, Outbox, Serial, Stop},
    payload::ResultPayload,
    traces,
    wrap::Wrap,
};
use crate::{
    access::{LetGo, Places},
    graphql::{
        Asker, CoreEngine, ExecutionContext as _, RequestContext, StageClock,
        outcome::{RequestError, Seen},
        pipeline::{self, AllowedKinds, Finished, Prepared},
    },
    networks::NetworkShare,
    observe::OutcomeKind,
};

/// A query or mutation under way, or a subscription that is to begin once it is let in.
type Running = Pin<Box<dyn Future<Output = Result<Option<Box<LetIn>>, Aborted>>>>;

/// A subscription of which it is decided whether it is let in.
struct LetIn {
    id: Rc<str>,
    serial: Serial,
    prepared: Prepared,
    wrap: Wrap,
    clock: StageClock,
    admitted: Result<(), RequestError>,
}

/// What runs for one connection.
pub(crate) struct Operations {
    core: Rc<CoreEngine>,
    outbox: Rc<Outbox>,
    /// Of the client, where it is limited by its address.
    network: Option<IpAddr>,
    open: HashMap<Rc<str>, Operation>,
    /// None until there is something that waits: most connections only ever subscribe.
    running: Option<FuturesUnordered<Running>>,
    /// Of the responses of queries and mutations; made with the first one.
    budget: Option<Arc<ResponseBudget>>,
}

impl std::fmt::Debug for Operations {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Operations").field("open", &self.open).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Operation {
    serial: Serial,
    /// When it is no longer known who asks for it (Unix seconds).
    expires_at: Option<i64>,
    /// Who asks for it.
    asker: Option<Asker>,
    work: Work,
}

/// Dropping it ends it.
#[derive(Debug)]
enum Work {
    Single(AbortHandle),
    Subscribed(
        #[expect(dead_code, reason = "it is held until the operation ends")]
        (Subscription, Places, NetworkShare),
    ),
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let Work::Single(handle) = &self.work {
            handle.abort();
        }
    }
}

/// What protocols say that have no other way of saying it.
pub(crate) const NOT_ALLOWED: &str = "operations of this kind are not taken here; send it with POST";

impl Operations {
    pub(crate) fn new(core: Rc<CoreEngine>, outbox: Rc<Outbox>, network: Option<IpAddr>) -> Self {
        Self { core, outbox, network, open: HashMap::new(), running: None, budget: None }
    }

    /// Begins an operation under an id that is free.
    pub(crate) fn start(
        &mut self,
        id: Rc<str>,
        context: RequestContext,
        parameters: RequestParameters,
        allowed: AllowedKinds,
        wrap: Wrap,
    ) -> Result<(), RequestError> {
        if let Some(message) = self.core.site().memory.refuse() {
            return Err(RequestError::Invalid(vec![GraphqlError::new(ErrorCode::Overloaded, message)]));
        }
        let (expires_at, asker) = (context.expires_at(), context.asker.clone());
        let record = traces::begin(&self.core, &context);
        let entered = record.as_ref().map(enter_request);
        let mut clock = StageClock::start();
        let mut seen = Seen::default();
        let prepared =
            pipeline::prepare(&*self.core, context, Ok(parameters), allowed, &mut clock, &mut seen);
        let begun = prepared.and_then(|prepared| self.begin(&id, prepared, wrap, clock.clone()));
        let begun = begun.map(|(serial, work)| {
            self.open.insert(id, Operation { serial, expires_at, asker, work });
        });
        if begun.is_err() {
            self.core.metrics().request_ended(seen.kind, OutcomeKind::Refused, &clock.times());
        }
        drop(entered);
        if let Some(record) = record {
            traces::started(&record, seen.kind, begun.is_ok());
        }
        begun
    }

    fn begin(
        &mut self,
        id: &Rc<str>,
        prepared: Prepared,
        wrap: Wrap,
        clock: StageClock,
    ) -> Result<(Serial, Work), RequestError> {
        let serial = self.core.hub.next_serial();
        let is_subscription = prepared.kind() == OperationKind::Subscription;
        let work = if is_subscription && prepared.is_admitted {
            self.subscribe(id, serial, &prepared, wrap, &clock)?
        } else if is_subscription {
            let (core, id) = (Rc::clone(&self.core), Rc::clone(id));
            self.run(async move {
                let admitted = prepared.admit(&*core).await;
                Some(Box::new(LetIn { id, serial, prepared, wrap, clock, admitted }))
            })
        } else {
            let (core, outbox) = (Rc::clone(&self.core), Rc::clone(&self.outbox));
            let max_bytes = core.settings().subscriptions.max_connection_bytes;
            let budget = self
                .budget
                .get_or_insert_with(|| core.site().responses.part(ResponseLimit::Connection, max_bytes));
            let prepared = prepared.within(&*core, budget);
            let single = single(core, outbox, prepared, wrap, clock, serial, Rc::clone(id));
            self.run(traces::to_its_end(single).map(|()| None))
        };
        Ok((serial, work))
    }

    fn run(&mut self, work: impl Future<Output = Option<Box<LetIn>>> + 'static) -> Work {
        let (handle, registration) = AbortHandle::new_pair();
        self.running.get_or_insert_default().push(Box::pin(Abortable::new(work, registration)));
        Work::Single(handle)
    }

    /// Begins a subscription that is let in.
    fn subscribe(
        &self,
        id: &Rc<str>,
        serial: Serial,
        prepared: &Prepared,
        wrap: Wrap,
        clock: &StageClock,
    ) -> Result<Work, RequestError> {
        let subscriber = Subscriber {
            outbox: Rc::clone(&self.outbox),
            wrap,
            serial,
            id: Rc::clone(id),
            comes_after: Cell::default(),
        };
        let share = self.share()?;
        let places = prepared.places_of_subscription(&*self.core)?;
        let subscription = feeds::subscribe(&self.core, prepared, subscriber)
            .map_err(|error| RequestError::Invalid(vec![error]))?;
        let times = clock.times();
        prepared.note_end(&*self.core, false, clock);
        self.core.metrics().request_ended(Some(OperationKind::Subscription), OutcomeKind::Success, &times);
        Ok(Work::Subscribed((subscription, places, share)))
    }

    /// Of one more subscription among those of its client's address.
    fn share(&self) -> Result<NetworkShare, RequestError> {
        let given = self.core.settings().subscriptions.max_subscriptions_per_address;
        let most = if given == 0 { usize::MAX } else { given };
        self.core.site().subscribers.take(self.network, most).ok_or_else(|| {
            let message = format!(
                "this address has {most} subscriptions, as many as one may have (max_subscriptions_per_address): end some"
            );
            RequestError::Invalid(vec![GraphqlError::new(ErrorCode::TooManyRequests, message)])
        })
    }

    /// Begins a subscription that had to wait for that, or says why it does not begin.
    fn go_on(&mut self, let_in: LetIn) {
        let LetIn { id, serial, prepared, wrap, clock, admitted } = let_in;
        let begun = admitted.and_then(|()| self.subscribe(&id, serial, &prepared, wrap.clone(), &clock));
        match begun {
            Ok(work) => {
                if let Some(open) = self.open.get_mut(&id) {
                    open.work = work;
                }
            }
            Err(error) => {
                let kind = Some(OperationKind::Subscription);
                self.core.metrics().request_ended(kind, OutcomeKind::Refused, &clock.times());
                let body = response::refuse(&error.into_errors(NOT_ALLOWED), self.core.engine().detail());
                self.outbox.push(Item::Result { serial, wrap, payload: ResultPayload::short(body) });
                self.outbox.push(Item::Completed { serial, id });
            }
        }
    }

    /// Ends an operation; nothing more of it is sent.
    pub(crate) fn stop(&mut self, id: &str) {
        if let Some(operation) = self.open.remove(id) {
            self.outbox.forget(operation.serial);
        }
    }

    /// Takes note of an operation's own end; whether it was still open.
    pub(crate) fn completed(&mut self, id: &str, serial: Serial) -> bool {
        let is_it = self.open.get(id).is_some_and(|open| open.serial == serial);
        is_it && self.open.remove(id).is_some()
    }

    /// Ends all operations; what they have left is still sent.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.running = None;
    }

    /// Ends those that would never end by themselves.
    pub(crate) fn end_subscriptions(&mut self) {
        self.open.retain(|_, operation| matches!(operation.work, Work::Single(_)));
    }

    /// Those whose credentials have expired at this time (Unix seconds).
    pub(crate) fn expired(&self, now: i64) -> Vec<Rc<str>> {
        let is_over = |operation: &Operation| operation.expires_at.is_some_and(|end| end <= now);
        let over = self.open.iter().filter(|(_, operation)| is_over(operation));
        over.map(|(id, _)| Rc::clone(id)).collect()
    }

    /// Looks again at who asks for them: those that may not go on, and why.
    pub(crate) fn look_again(&mut self) -> Vec<(Rc<str>, LetGo)> {
        let access = &self.core.site().access;
        let mut over = Vec::new();
        for (id, operation) in &mut self.open {
            match access.look_again(operation.asker.as_ref()) {
                Ok(None) => {}
                Ok(known) => operation.asker = known,
                Err(why) => over.push((Rc::clone(id), why)),
            }
        }
        over
    }

    /// When the first of their credentials expire (Unix seconds).
    pub(crate) fn next_expiry(&self) -> Option<i64> {
        self.open.values().filter_map(|operation| operation.expires_at).min()
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = &Rc<str>> {
        self.open.keys()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Goes on with what runs.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) {
        while let Some(running) = &mut self.running
            && let Poll::Ready(Some(ended)) = running.poll_next_unpin(context)
        {
            // Who has stopped it meanwhile wants nothing of it.
            if let Ok(Some(let_in)) = ended
                && self.open.get(&let_in.id).is_some_and(|open| open.serial == let_in.serial)
            {
                self.go_on(*let_in);
            }
        }
    }

    /// A list of errors as JSON, as much of them as clients see.
    pub(crate) fn error_list(&self, errors: &[GraphqlError]) -> String {
        String::from_utf8(response::error_list(errors, self.core.engine().detail())).expect("JSON is UTF-8")
    }
}

const NO_JSON: &str = "the response of the service behind this operation is no JSON";

/// Executes a query or mutation, and sends its result.
async fn single(
    core: Rc<CoreEngine>,
    outbox: Rc<Outbox>,
    prepared: Prepared,
    wrap: Wrap,
    mut clock: StageClock,
    serial: Serial,
    id: Rc<str>,
) {
    let kind = prepared.kind();
    let finished = AssertUnwindSafe(pipeline::finish(&*core, &prepared, &mut clock)).catch_unwind().await;
    let Ok(finished) = finished else {
        outbox.stop(Stop::Broken);
        return;
    };
    let (outcome, payload) = match finished {
        Ok(Finished { body, .. }) if !body.fits_message() => {
            let error = GraphqlError::new(ErrorCode::SourceFailed, NO_JSON);
            let refused = response::refuse(&[error], core.engine().detail());
            (OutcomeKind::FieldErrors, ResultPayload::short(refused))
        }
        Ok(Finished { ending, body, .. }) if ending.has_errors => {
            (OutcomeKind::FieldErrors, ResultPayload::of_one(body.bytes, body.budget))
        }
        Ok(Finished { body, .. }) => (OutcomeKind::Success, ResultPayload::of_one(body.bytes, body.budget)),
        Err(error) => {
            let errors = error.into_errors(NOT_ALLOWED);
            (OutcomeKind::Refused, ResultPayload::short(response::refuse(&errors, core.engine().detail())))
        }
    };
    core.metrics().request_ended(Some(kind), outcome, &clock.times());
    outbox.push(Item::Result { serial, wrap, payload });
    outbox.push(Item::Completed { serial, id });
}
