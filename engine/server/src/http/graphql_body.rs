//! The body of a GraphQL request: JSON, within the limits of bytes and time.

use std::fmt::Display;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use hyper::body::Body;
use prony_graphql::request::{RequestFault, RequestParameters};
use prony_source::http_api::BodyError;

use super::{
    body, cors,
    media::{self, Media},
    reply::{Reply, refusal},
};
use crate::{config::Settings, graphql::ExecutionContext, offload::offload};

/// From so many bytes on, a body's JSON is parsed on a thread of its own: it would hold up a core for some tenths of a millisecond and
/// more, and handing it over takes some hundredths.
const LONG_BYTES: usize = 64 << 10;

/// The parameters in a body.
pub(super) async fn parsed(body: Bytes) -> Result<RequestParameters, RequestFault> {
    if body.len() < LONG_BYTES {
        return RequestParameters::from_json(&body);
    }
    offload(move || RequestParameters::from_json(&body)).await
}

/// Only JSON is taken, so that a page of another origin cannot send mutations as a form does.
pub(super) async fn read_body<B>(
    core: &impl ExecutionContext,
    head: &Parts,
    body: B,
    media: Media,
) -> Result<Bytes, Reply>
where
    B: Body<Data = Bytes, Error: Display>,
{
    let settings = core.settings();
    if !media::is_json(&head.headers) && !may_leave_it_unsaid(settings, &head.headers) {
        let message = "the body must be JSON in UTF-8: send `content-type: application/json`";
        return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, media.header(), message));
    }
    body::read(head, body, core.site()).await.map_err(|fault| broken_body(&fault, media))
}

/// A page can send a body of no type without its browser's asking first: then it must be a page that may.
fn may_leave_it_unsaid(settings: &Settings, headers: &HeaderMap) -> bool {
    settings.functions.lenient_content_type
        && media::is_unsaid(headers)
        && cors::comes_from_a_friend(headers, &settings.cors_origins)
}

fn broken_body(fault: &BodyError, media: Media) -> Reply {
    let mut response = refusal(fault.status, media.header(), &fault.message);
    // What is left of the body would be taken for the next request.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
