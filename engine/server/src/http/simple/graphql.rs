//! Simple GraphQL requests by POST, responded to straight into bytes where nothing in them waits. What is unusual about a
//! request (events are wanted, a fault) is for `http::graphql`.

use std::net::IpAddr;

use http::Method;

use super::{SimpleRequest, response};
use crate::{
    access::Known,
    graphql::{
        CoreEngine, ExecutionContext as _, RequestContext,
        outcome::{Outcome, Response},
        pipeline::{AllowedKinds, try_respond},
    },
    http::{
        graphql::status,
        media::{self, Media},
    },
};

pub(super) const PATH: &str = "/graphql";

/// False where the request is for somebody else; then nothing was done.
pub(super) fn respond(
    core: &CoreEngine,
    peer: IpAddr,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> bool {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type.is_some_and(media::is_json_type)
        && !request.is_timed;
    let Some(media) = is_usual.then(|| media(request.accept)).flatten() else { return false };
    let settings = core.settings();
    let asker = match core.site().access.try_identify(request.fields(), peer) {
        Known::Asker(asker) => asker,
        // Who asks is found out, or the refusal is worded, where it may wait.
        Known::NotKnown => return false,
    };
    let context = if settings.functions.want_caller() {
        let Some(request) = request.to_request() else { return false };
        RequestContext::of(settings, &request.into_parts().0, asker)
    } else {
        RequestContext { asker, caller: None }
    };
    let begin = |out: &mut Vec<u8>, outcome: &Outcome, body_bytes: usize| {
        response::begin(out, status(outcome, media), media.text(), body_bytes);
    };
    let responded = try_respond(core, context, request.body, AllowedKinds::QueriesAndMutations, out, begin);
    let Some(Response { outcome, kind, times, .. }) = responded else { return false };
    drop(core.metrics().request_begins());
    core.metrics().request_ended(kind, outcome.counted(), &times);
    true
}

/// None where events are wanted, or nothing that can be sent.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    if accept.is_some_and(media::names_events_first) {
        return None;
    }
    media::negotiate_values(accept.into_iter())
}
