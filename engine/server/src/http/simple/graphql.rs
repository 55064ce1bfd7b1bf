//! Simple GraphQL requests by POST, responded to straight into bytes where nothing in them waits. What is unusual about a
//! request (events are wanted, a fault) is for `http::graphql`.

use std::{
    fmt,
    net::IpAddr,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};

use futures_util::FutureExt as _;
use http::{Method, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Body as _;
use prony_graphql::request::RequestParameters;

use super::{Handover, Responded, SimpleRequest, response};
use crate::{
    access::Known,
    graphql::{
        CoreEngine, ExecutionContext as _, KeptResponse, RequestContext, StageClock,
        control::kept,
        monotonic_ns,
        outcome::{Outcome, Response, Seen},
        pipeline::{self, AllowedKinds, finish, prepare, try_respond},
    },
    http::{
        Reply,
        graphql::{Wishes, status, to_http},
        media::{self, Media},
        reply::ReplyBody,
    },
    observe::OutcomeKind,
};

pub(super) const PATH: &str = "/graphql";

/// False where the request is for somebody else; then nothing was done.
pub(super) fn respond(
    core: &CoreEngine,
    peer: IpAddr,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let Some((media, context)) = begin(core, peer, request) else { return false };
    let begin = |out: &mut Vec<u8>, outcome: &Outcome, body_bytes: usize| {
        response::begin(out, status(outcome, media), media.text(), body_bytes);
    };
    let responded = try_respond(core, context, request.body, AllowedKinds::QueriesAndMutations, out, begin);
    let Some(Response { outcome, seen, times, .. }) = responded else { return false };
    drop(core.metrics().request_begins());
    core.metrics().request_ended(seen.kind, outcome.counted(), &times);
    true
}

/// As [`respond`] for all operations, where some have their responses kept: those are written at once, the others are waited
/// for. None where the request is for somebody else; then nothing was done.
pub(super) fn respond_or_wait(
    core: &Rc<CoreEngine>,
    peer: IpAddr,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> Option<(Responded, Option<WaitingOperation>)> {
    let (media, context) = begin(core, peer, request)?;
    let (mut clock, mut seen) = (StageClock::start(), Seen::default());
    let parse = || RequestParameters::from_json(request.body);
    let allowed = AllowedKinds::QueriesAndMutations;
    let prepared = match prepare(&**core, context, parse, allowed, &mut clock, &mut seen) {
        Ok(prepared) => prepared,
        Err(error) => {
            drop(core.metrics().request_begins());
            let response = pipeline::response(&**core, Err(error), seen, clock.times());
            let reply = to_http(&**core, response, media, &Wishes::default());
            return Some((write_reply(reply, out), None));
        }
    };
    if let Some(kept) = kept(core, &prepared).filter(|kept| kept.body.len() <= LARGEST_COPIED) {
        write_kept(&kept, media, out);
        prepared.note_end(&**core, false, &clock);
        drop(core.metrics().request_begins());
        core.metrics().request_ended(seen.kind, OutcomeKind::Success, &clock.times());
        return Some((Responded::Written, None));
    }
    let at = Rc::clone(core);
    let mut waiting = WaitingOperation(Box::pin(async move {
        let finished = finish(&*at, &prepared, &mut clock).await;
        let response = pipeline::response(&*at, finished, seen, clock.times());
        to_http(&*at, response, media, &Wishes::default())
    }));
    if let Some(reply) = (&mut waiting.0).now_or_never() {
        drop(core.metrics().request_begins());
        return Some((write_reply(reply, out), None));
    }
    core.metrics().request_begins().goes_on();
    Some((Responded::Waits, Some(waiting)))
}

/// How the response is sent, and who asks; none where the request is unusual.
fn begin(core: &CoreEngine, peer: IpAddr, request: &SimpleRequest<'_>) -> Option<(Media, RequestContext)> {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type.is_some_and(media::is_json_type)
        && !request.is_timed;
    let media = is_usual.then(|| media(request.accept)).flatten()?;
    let settings = core.settings();
    let asker = match core.site().access.try_identify(request.fields(), peer) {
        Known::Asker(asker) => asker,
        // Who asks is found out, or the refusal is worded, where it may wait.
        Known::NotKnown => return None,
    };
    let context = if settings.functions.want_caller() {
        RequestContext::of(settings, &request.to_request()?.into_parts().0, asker)
    } else {
        RequestContext { asker, caller: None }
    };
    Some((media, context))
}

/// What is copied for each connection; hyper writes larger bodies, of which all connections share the bytes.
const LARGEST_COPIED: usize = 64 << 10;

fn write_kept(kept: &KeptResponse, media: Media, out: &mut Vec<u8>) {
    response::begin_with(out, StatusCode::OK, media.text(), &kept.headers(monotonic_ns()), kept.body.len());
    out.extend_from_slice(&kept.body);
}

/// An operation that is under way.
pub(super) struct WaitingOperation(Pin<Box<dyn Future<Output = Reply>>>);

impl WaitingOperation {
    /// Ready when there is a response, which is written, or hyper's to write.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Responded> {
        self.0.as_mut().poll(context).map(|reply| write_reply(reply, out))
    }
}

impl fmt::Debug for WaitingOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("WaitingOperation").finish_non_exhaustive()
    }
}

/// Writes a response, or has hyper do it.
fn write_reply(reply: Reply, out: &mut Vec<u8>) -> Responded {
    let (head, body) = reply.into_parts();
    let mut whole = match body {
        ReplyBody::Whole(whole) if whole.size_hint().lower() <= LARGEST_COPIED as u64 => whole,
        body => {
            let reply = Reply::from_parts(head, body);
            return Responded::Made(Handover::Response, Box::new(reply));
        }
    };
    let frame = whole.frame().now_or_never().flatten();
    let bytes = frame.and_then(Result::ok).and_then(|frame| frame.into_data().ok()).unwrap_or_default();
    let response = http::Response::from_parts(head, bytes);
    if !response::is_simple(&response) {
        let reply = response.map(|bytes| ReplyBody::Whole(Full::new(bytes)));
        return Responded::Made(Handover::Response, Box::new(reply));
    }
    response::write_response(out, &response);
    Responded::Written
}

/// None where events are wanted, or nothing that can be sent.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    if accept.is_some_and(media::names_events_first) {
        return None;
    }
    media::negotiate_values(accept.into_iter())
}
