//! Simple GraphQL requests by POST, responded to straight into bytes, at once or when their sources have. What is unusual about a
//! request (events are wanted, a fault) is for `http::graphql`.

use std::{
    fmt,
    rc::Rc,
    task::{Context, Poll, ready},
};

use futures_util::future::LocalBoxFuture;
use http::Method;

use super::{SimpleRequest, response};
use crate::{
    access::{Known, Peer},
    graphql::{
        CoreEngine, ExecutionContext as _, RequestContext, StageClock,
        outcome::{Outcome, Response},
        pipeline::{AllowedKinds, Prepared, Tried, finish, try_respond},
    },
    http::{
        graphql::{OVERLOAD_RETRY_AFTER, status},
        media::{self, Media},
    },
};

pub(super) const PATH: &str = "/graphql";

/// What has become of a request.
pub(super) enum GraphqlResponded {
    Written,
    Waits(WaitingOperation),
    /// It is for somebody else, and nothing was done.
    NotHere,
}

/// An operation whose sources are waited for. Dropping it cancels it.
pub(super) struct WaitingOperation {
    execution: LocalBoxFuture<'static, (Outcome, Vec<u8>)>,
    media: Media,
    executed: Option<(Outcome, Vec<u8>)>,
}

impl fmt::Debug for WaitingOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WaitingOperation").field("media", &self.media).finish_non_exhaustive()
    }
}

/// Responds to a request, or begins to.
pub(super) fn respond(
    core: &Rc<CoreEngine>,
    peer: &Peer,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> GraphqlResponded {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type.is_some_and(media::is_json_type)
        && !request.is_timed;
    let Some(media) = is_usual.then(|| media(request.accept)).flatten() else {
        return GraphqlResponded::NotHere;
    };
    let Some(context) = context(core, peer, request) else { return GraphqlResponded::NotHere };
    let begin = |out: &mut Vec<u8>, outcome: &Outcome, body_bytes: usize| {
        response::begin(out, status(outcome, media), media.text(), body_bytes);
    };
    let tried = try_respond(&**core, context, request.body, AllowedKinds::QueriesAndMutations, out, begin);
    match tried {
        Tried::Responded(Response { outcome, kind, times, .. }) => {
            drop(core.metrics().request_begins());
            core.metrics().request_ended(kind, outcome.counted(), &times);
            GraphqlResponded::Written
        }
        Tried::Waits(prepared, clock) => {
            core.metrics().request_begins().goes_on();
            let execution = Box::pin(execute(Rc::clone(core), prepared, clock));
            GraphqlResponded::Waits(WaitingOperation { execution, media, executed: None })
        }
        Tried::NotHere => GraphqlResponded::NotHere,
    }
}

/// None where who asks is found out, or the refusal is worded, elsewhere.
fn context(core: &CoreEngine, peer: &Peer, request: &SimpleRequest<'_>) -> Option<RequestContext> {
    let Known::Asker(asker) = core.site().access.try_identify(request.fields(), peer) else { return None };
    if core.settings().functions.want_caller() {
        return Some(core.site().context(&request.to_request()?.into_parts().0, asker));
    }
    let headers = core.site().wanted_headers(request.fields());
    Some(RequestContext { headers, ..RequestContext::of_asker(core.settings(), asker) })
}

async fn execute(core: Rc<CoreEngine>, prepared: Box<Prepared>, mut clock: StageClock) -> (Outcome, Vec<u8>) {
    let (ending, body) = finish(&*core, &prepared, &mut clock).await;
    let outcome = ending.outcome();
    core.metrics().request_ended(Some(prepared.kind()), outcome.counted(), &clock.times());
    (outcome, body)
}

impl WaitingOperation {
    /// Ready when it is executed.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.executed.is_none() {
            self.executed = Some(ready!(self.execution.as_mut().poll(context)));
        }
        Poll::Ready(())
    }

    /// Writes the response of an operation that is executed.
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let Some((outcome, body)) = self.executed else { return };
        let begin = out.len();
        response::begin(out, status(&outcome, self.media), self.media.text(), body.len());
        if matches!(outcome, Outcome::Overloaded) {
            let line = format!("retry-after: {OVERLOAD_RETRY_AFTER}\r\n");
            response::insert_headers(out, begin, line.as_bytes());
        }
        out.extend_from_slice(&body);
    }
}

/// None where events are wanted, or nothing that can be sent.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    if accept.is_some_and(media::names_events_first) {
        return None;
    }
    media::negotiate_values(accept.into_iter())
}
