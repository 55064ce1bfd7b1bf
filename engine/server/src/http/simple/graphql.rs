//! Simple GraphQL requests by POST, responded to straight into bytes where nothing in them waits. What is unusual about a
//! request (events are wanted, a fault) is for `http::graphql`.

use http::{Method, StatusCode};

use super::{SimpleRequest, response};
use crate::{
    graphql::{
        CoreEngine,
        road::{Answer, Arrival, Permission, travel_at_once},
    },
    http::{
        graphql::refused_status,
        media::{self, Media},
    },
    observe::OutcomeKind,
};

pub(super) const PATH: &str = "/graphql";

/// False where the request is for somebody else; then nothing was done.
pub(super) fn respond(core: &CoreEngine, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> bool {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type.is_some_and(media::is_json_type)
        && !request.is_timed;
    let Some(media) = is_usual.then(|| media(request.accept)).flatten() else { return false };
    let functions = &core.settings().functions;
    let caller = if functions.want_caller() {
        let Some(request) = request.to_request() else { return false };
        functions.caller(&request.into_parts().0)
    } else {
        None
    };
    let begin = |out: &mut Vec<u8>, arrival: &Arrival, body_bytes: usize| {
        let status = if matches!(arrival, Arrival::Refused) { refused_status(media) } else { StatusCode::OK };
        response::begin(out, status, Some(media.text()), body_bytes);
    };
    let allowed = Permission::QueriesAndMutations;
    let traveled = travel_at_once(core, request.body, caller, allowed, out, begin);
    let Some(Answer { arrival, kind, times, .. }) = traveled else { return false };
    let outcome = match arrival {
        Arrival::Executed { errors: false } => OutcomeKind::Success,
        Arrival::Executed { errors: true } => OutcomeKind::FieldErrors,
        _ => OutcomeKind::Refused,
    };
    drop(core.metrics().request_begins());
    core.metrics().request_ended(kind, outcome, &times);
    true
}

/// None where events are wanted, or nothing that can be sent.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    if accept.is_some_and(media::names_events_first) {
        return None;
    }
    media::negotiate_values(accept.into_iter())
}
