//! Simple GraphQL requests by POST, responded to straight into bytes, at once or when their sources have. What is unusual about a
//! request (events are wanted, a fault) is for `http::graphql`.

use std::{
    fmt,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::future::LocalBoxFuture;
use http::{Method, StatusCode};
use prony_graphql::{budget::ResponseBudget, request::RequestParameters};
use prony_source::{AcceptedCodings, ContentCoding};

use super::{SimpleRequest, client::SimpleClient, response};
use crate::{
    access::Known,
    clock::monotonic_ns,
    graphql::{
        CoreEngine, ExecutionContext as _, KeptResponse, RequestContext, StageClock,
        outcome::{Outcome, Response, Seen, held_by},
        pipeline::{self, AllowedKinds, Prepared, Tried, finish, respond_parsed, try_respond},
        reuse::control::kept,
    },
    http::{
        graphql::{OVERLOAD_RETRY_AFTER, Wishes, status, to_http},
        media::{self, Media},
    },
    observe::OutcomeKind,
};

pub(super) const PATH: &str = "/graphql";
const ALLOWED: AllowedKinds = AllowedKinds::QueriesAndMutations;

/// What has become of a request.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart by who asked for it; a box would be one more allocation for each request"
)]
pub(super) enum GraphqlResponded {
    Written,
    Waits(WaitingOperation),
    /// It is for somebody else, and nothing was done.
    NotHere,
}

/// An operation whose sources are waited for. Dropping it cancels it.
pub(super) struct WaitingOperation {
    execution: LocalBoxFuture<'static, Response>,
    media: Media,
    executed: Option<Response>,
}

impl fmt::Debug for WaitingOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("WaitingOperation").field("media", &self.media).finish_non_exhaustive()
    }
}

/// Responds to a request, or begins to. What counts the bytes of a response that is not small goes into `held`.
pub(super) fn respond(
    core: &Rc<CoreEngine>,
    client: &SimpleClient,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
    held: &mut Vec<Arc<ResponseBudget>>,
) -> GraphqlResponded {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type.is_some_and(media::is_json_type)
        && !request.is_timed;
    let Some(media) = is_usual.then(|| media(request.accept)).flatten() else {
        return GraphqlResponded::NotHere;
    };
    let Some(context) = context(core, client, request) else { return GraphqlResponded::NotHere };
    let begin = |out: &mut Vec<u8>, outcome: &Outcome, body_bytes: usize| {
        response::begin(out, status(outcome, media), media.text(), body_bytes);
    };
    let tried = try_respond(&**core, context, request.body, ALLOWED, out, begin);
    match tried {
        Tried::Responded(Response { outcome, body, seen, times, .. }) => {
            held.extend(body);
            drop(core.metrics().request_begins());
            core.metrics().request_ended(seen.kind, outcome.counted(), &times);
            GraphqlResponded::Written
        }
        Tried::Waits(prepared, clock, seen) => {
            if let Some(kept) = kept(core, &prepared).filter(|kept| kept.body.len() <= LARGEST_COPIED) {
                write_kept(&kept, media, out);
                prepared.note_end(&**core, false, &clock);
                drop(core.metrics().request_begins());
                core.metrics().request_ended(seen.kind, OutcomeKind::Success, &clock.times());
                return GraphqlResponded::Written;
            }
            core.metrics().request_begins().goes_on();
            let execution = Box::pin(execute(Rc::clone(core), prepared, clock, seen));
            GraphqlResponded::Waits(WaitingOperation { execution, media, executed: None })
        }
        Tried::Unknown(asked, clock) => {
            core.metrics().request_begins().goes_on();
            let execution = Box::pin(learn_and_execute(Rc::clone(core), asked, clock));
            GraphqlResponded::Waits(WaitingOperation { execution, media, executed: None })
        }
        Tried::Denied(response) => {
            drop(core.metrics().request_begins());
            let reply = to_http(&**core, *response, media, &Wishes::default());
            response::write_response(out, &response::whole(reply));
            GraphqlResponded::Written
        }
        Tried::NotHere => GraphqlResponded::NotHere,
    }
}

/// None where who asks is found out, or the refusal is worded, elsewhere.
fn context(core: &CoreEngine, client: &SimpleClient, request: &SimpleRequest<'_>) -> Option<RequestContext> {
    let Known::Asker(asker) = client.try_identify(core, request) else { return None };
    let codings = AcceptedCodings::of(request.accept_encoding.into_iter());
    let (site, address) = (core.site(), Some(client.address()));
    if core.settings().functions.want_caller() {
        let context = site.context(&request.to_request()?.into_parts().0, asker);
        let headers = context.headers.map(|headers| site.trace_headers(headers));
        return Some(RequestContext { address, headers, codings, ..context });
    }
    let headers = site.wanted_headers(request.fields()).map(|headers| site.trace_headers(headers));
    let authority = site.authority(asker.as_ref());
    Some(RequestContext { address, headers, authority, codings, ..RequestContext::of_asker(asker) })
}

/// What is copied at once for each connection; larger bodies are written as they are waited for.
const LARGEST_COPIED: usize = 64 << 10;

/// Larger bodies do not go through the connection's own memory.
const SMALLEST_APART: usize = 4 << 10;

fn write_kept(kept: &KeptResponse, media: Media, out: &mut Vec<u8>) {
    response::begin_with(out, StatusCode::OK, media.text(), &kept.headers(monotonic_ns()), kept.body.len());
    out.extend_from_slice(&kept.body);
}

async fn execute(
    core: Rc<CoreEngine>,
    prepared: Box<Prepared>,
    mut clock: StageClock,
    seen: Seen,
) -> Response {
    let finished = finish(&*core, &prepared, &mut clock).await;
    pipeline::response(&*core, finished, seen, clock.times())
}

async fn learn_and_execute(
    core: Rc<CoreEngine>,
    asked: Box<(RequestContext, RequestParameters)>,
    clock: StageClock,
) -> Response {
    let (context, parameters) = *asked;
    respond_parsed(&*core, context, Ok(parameters), ALLOWED, clock).await
}

impl WaitingOperation {
    /// Ready when it is executed.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.executed.is_none() {
            self.executed = Some(ready!(self.execution.as_mut().poll(context)));
        }
        Poll::Ready(())
    }

    /// Writes the response of an operation that is executed, but for a large body, which it gives; what counts its bytes goes into `held`.
    pub(super) fn write(
        self,
        core: &CoreEngine,
        out: &mut Vec<u8>,
        held: &mut Vec<Arc<ResponseBudget>>,
    ) -> Bytes {
        let Some(executed) = self.executed else { return Bytes::new() };
        if executed.kept.is_some() || matches!(executed.outcome, Outcome::Refused(_)) {
            let reply = to_http(core, executed, self.media, &Wishes::default());
            response::write_response(out, &response::whole(reply));
            return Bytes::new();
        }
        let Response { outcome, body, coding, seen, times, .. } = executed;
        core.metrics().request_ended(seen.kind, outcome.counted(), &times);
        let begin = out.len();
        let body_bytes = body.bytes.len();
        let is_apart = body_bytes >= SMALLEST_APART;
        let write_head = if is_apart { response::begin_apart } else { response::begin };
        write_head(out, status(&outcome, self.media), self.media.text(), body_bytes);
        if matches!(outcome, Outcome::Overloaded) {
            let line = format!("retry-after: {OVERLOAD_RETRY_AFTER}\r\n");
            response::insert_headers(out, begin, line.as_bytes());
        }
        if coding != ContentCoding::Identity {
            let lines = format!("content-encoding: {}\r\nvary: accept-encoding\r\n", coding.name());
            response::insert_headers(out, begin, lines.as_bytes());
        }
        held.extend(body.budget.as_ref().and_then(held_by));
        if is_apart {
            return body.bytes;
        }
        out.extend_from_slice(&body.bytes);
        Bytes::new()
    }
}

/// None where events are wanted, or nothing that can be sent.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    if accept.is_some_and(media::names_events_first) {
        return None;
    }
    media::negotiate_values(accept.into_iter())
}
