//! Paths that a program answers itself, beside GraphQL and in the same process: bytes in, bytes out.

use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;

use super::{
    body,
    reply::{JSON, Reply, ReplyBody, refusal, refusal_text},
    simple::{SimpleRequest, response},
};
use crate::{access::Peer, config::Route, observe::CoreMetrics, site::Site};

pub(super) fn find<'r>(routes: &'r [Route], path: &str) -> Option<&'r Route> {
    routes.iter().find(|route| path.starts_with(route.prefix()))
}

/// The body is read within the server's limits.
pub(super) async fn answer(site: &Site, route: &Route, request: Request<Incoming>) -> Reply {
    let (mut head, body) = request.into_parts();
    let body = match body::read(&head, body, site).await {
        Ok(body) => body,
        Err(fault) => return refusal(fault.status, JSON, &fault.message),
    };
    // A program sees requests as it does on the fast path.
    head.extensions.remove::<Peer>();
    call(route, Request::from_parts(head, body)).map(whole)
}

/// Answers a request whose bytes have all come. What is not simple in its response is hyper's to write: that is given back,
/// and nothing is written.
pub(super) fn answer_at_once(
    metrics: &CoreMetrics,
    route: &Route,
    request: &SimpleRequest<'_>,
    out: &mut Vec<u8>,
) -> AtOnce {
    let Some(request) = request.to_request() else { return AtOnce::NotHere };
    let _in_flight = metrics.request_begins();
    let made = call(route, request);
    if response::is_simple(&made) {
        response::write_response(out, &made);
        return AtOnce::Written;
    }
    AtOnce::Made(made)
}

/// What has become of a request.
pub(super) enum AtOnce {
    Written,
    Made(Response<Bytes>),
    /// Nothing was done.
    NotHere,
}

/// A function's response as hyper is given it.
pub(super) fn whole(body: Bytes) -> ReplyBody {
    ReplyBody::Whole(Full::new(body))
}

/// A panic of the function is a 500.
fn call(route: &Route, request: Request<Bytes>) -> Response<Bytes> {
    let Ok(mut response) = std::panic::catch_unwind(AssertUnwindSafe(|| route.call(request))) else {
        tracing::error!(route = route.prefix(), "a function panicked");
        let body = refusal_text("the request could not be answered");
        let mut response = Response::new(body.into());
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response.headers_mut().insert(header::CONTENT_TYPE, JSON);
        return response;
    };
    if contradicts_itself(&response) {
        tracing::warn!(route = route.prefix(), "a function says another length than its body has");
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    response
}

/// Whether it says another length than its body has; hyper would send what it says. Without a body it may be the length
/// of another answer, and hyper knows when.
fn contradicts_itself(response: &Response<Bytes>) -> bool {
    let mut said = response.headers().get_all(header::CONTENT_LENGTH).iter();
    let length = response.body().len();
    length > 0 && said.any(|said| said.as_bytes() != itoa::Buffer::new().format(length).as_bytes())
}
