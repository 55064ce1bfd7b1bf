//! GraphQL requests by POST whose bytes have all come, answered straight into bytes where nothing in them waits. What is
//! unusual about a request (a media type that must be weighed, a fault) is for `graphql` beside it.

use http::{Method, StatusCode};

use super::{
    graphql::refused_status,
    media::Media,
    plain::{self, Plain},
};
use crate::{
    graphql::{
        CoreEngine,
        road::{Answer, Arrival, Permission, travel_at_once},
    },
    observe::OutcomeKind,
};

pub(super) const PATH: &str = "/graphql";

/// False where the request is for somebody else; then nothing was done.
pub(super) fn serve(core: &CoreEngine, request: &Plain<'_>, out: &mut Vec<u8>) -> bool {
    let is_usual = request.path == PATH
        && request.method == Method::POST
        && request.query.is_none()
        && request.content_type == Some(b"application/json")
        && !request.is_timed;
    let Some(media) = media(request.accept).filter(|_| is_usual) else { return false };
    let begin = |out: &mut Vec<u8>, arrival: &Arrival, body_bytes: usize| {
        let status = if matches!(arrival, Arrival::Refused) { refused_status(media) } else { StatusCode::OK };
        plain::begin_answer(out, status, Some(media.text()), body_bytes);
    };
    let traveled = travel_at_once(core, request.body, Permission::QueriesAndMutations, out, begin);
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

/// Where it is plain.
fn media(accept: Option<&[u8]>) -> Option<Media> {
    match accept {
        None | Some(b"*/*" | b"application/json") => Some(Media::Json),
        Some(b"application/graphql-response+json") => Some(Media::GraphqlResponse),
        Some(_) => None,
    }
}
