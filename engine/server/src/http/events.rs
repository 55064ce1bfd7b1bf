//! GraphQL over server-sent events: which request makes, feeds or ends a stream (PROTOCOL.md of the npm package
//! graphql-sse). The streams themselves are `subscriptions`'.

use std::{fmt::Display, net::IpAddr, rc::Rc};

use bytes::Bytes;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use hyper::body::Body;
use prony_graphql::request::RequestParameters;
use prony_source::http_api::query;
use serde_json::Value as Json;

use super::{
    authentication,
    graphql_body::{parsed, read_body},
    media::Media,
    reply::{JSON, Reply, ReplyBody, StreamedBody, empty, not_allowed, refusal, reply},
};
use crate::{
    graphql::{
        CoreEngine, ExecutionContext as _, RequestContext,
        pipeline::{AllowedKinds, check},
    },
    subscriptions::{EventStream, OrderFault, ReservationFault},
};

pub(super) const ALLOW: &str = "GET, POST, PUT, DELETE, OPTIONS";

const TOKEN_HEADER: HeaderName = HeaderName::from_static("x-graphql-event-stream-token");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Distinct connections mode: the answer is a stream of the results of this one operation.
pub(super) fn distinct(
    core: &Rc<CoreEngine>,
    network: Option<IpAddr>,
    context: RequestContext,
    parameters: RequestParameters,
    allowed: AllowedKinds,
) -> Reply {
    match EventStream::distinct(core, network, context, parameters, allowed) {
        Some(stream) => streaming(stream),
        None => not_allowed("POST, OPTIONS", "GET may only query and subscribe; send mutations with POST"),
    }
}

/// Single connection mode: PUT reserves a stream, GET opens it, POST starts operations on it, DELETE stops them.
pub(super) async fn answer<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    match *request.method() {
        Method::PUT => reserve(core, request).await,
        Method::GET => open(core, &request),
        Method::POST => start(core, request).await,
        Method::DELETE => stop(core, &request),
        ref method => {
            not_allowed(ALLOW, &format!("{method} is not allowed here; use PUT, GET, POST or DELETE"))
        }
    }
}

fn streaming(stream: EventStream) -> Reply {
    let mut response =
        Response::new(ReplyBody::Stream(Box::new(StreamedBody::new(Bytes::new(), Box::pin(stream.map(Ok))))));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // nginx would keep events back until its buffer is full.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// Who may not ask for operations may not reserve a stream for them.
async fn reserve<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply {
    let (head, _) = request.into_parts();
    if let Err(refusal) = authentication::context(&**core, &head).await {
        return authentication::refused(&refusal);
    }
    let network = core.site().access.client_network(&head);
    match core.site().reservations.reserve(network, &core.settings().subscriptions) {
        Ok(token) => reply(StatusCode::CREATED, TEXT, token.into_string()),
        Err(ReservationFault::TooMany) => {
            let message = "too many streams are reserved and not opened (max_reservations); try later";
            refusal(StatusCode::SERVICE_UNAVAILABLE, JSON, message)
        }
        Err(ReservationFault::TooManyOfAddress) => {
            let message = "this address has reserved as many streams as one may have that are not opened (a tenth of max_reservations)";
            refusal(StatusCode::TOO_MANY_REQUESTS, JSON, message)
        }
        Err(ReservationFault::NoRandomness(error)) => {
            refusal(StatusCode::INTERNAL_SERVER_ERROR, JSON, &error.to_string())
        }
    }
}

fn open<B>(core: &Rc<CoreEngine>, request: &Request<B>) -> Reply {
    let Some(token) = token(request) else { return no_token() };
    let reservations = &core.site().reservations;
    let Some(reservation) = reservations.find(&token, &core.settings().subscriptions) else {
        return not_found();
    };
    match reservations.claim(&token, reservation) {
        Some(claim) => streaming(EventStream::single(core, network(core, request), claim)),
        None => refusal(StatusCode::CONFLICT, JSON, "this stream is open already; reserve another with PUT"),
    }
}

/// The operation is checked here, so that the answer says what is wrong, and executed where the stream is.
async fn start<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    let Some(token) = token(&request) else { return no_token() };
    let settings = &core.settings().subscriptions;
    let Some(reservation) = core.site().reservations.find(&token, settings) else { return not_found() };
    let (head, body) = request.into_parts();
    let context = match authentication::context(&**core, &head).await {
        Ok(context) => context,
        Err(refusal) => return authentication::refused(&refusal),
    };
    let body = match read_body(&**core, &head, body, Media::Json).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let parameters = match parsed(body).await {
        Ok(parameters) => parameters,
        Err(fault) => return refusal(StatusCode::BAD_REQUEST, JSON, &fault.to_string()),
    };
    let id = match parameters.extensions.get("operationId") {
        Some(Json::String(id)) if !id.is_empty() => id.clone(),
        Some(Json::Number(id)) => id.to_string(),
        _ => {
            return refusal(
                StatusCode::BAD_REQUEST,
                JSON,
                "extensions.operationId is missing: a text of your choice",
            );
        }
    };
    if let Err(body) = check(&**core, context.clone(), parameters.clone(), AllowedKinds::All) {
        return reply(StatusCode::BAD_REQUEST, JSON, body);
    }
    match reservation.start(&id, context, parameters, settings.max_operations) {
        Ok(()) => empty(StatusCode::ACCEPTED),
        Err(fault) => refused(fault, settings.max_operations),
    }
}

fn stop<B>(core: &Rc<CoreEngine>, request: &Request<B>) -> Reply {
    let Some(token) = token(request) else { return no_token() };
    let settings = &core.settings().subscriptions;
    let Some(reservation) = core.site().reservations.find(&token, settings) else { return not_found() };
    match parameter(request, "operationId") {
        Some(id) => match reservation.stop(&id) {
            Ok(()) => empty(StatusCode::OK),
            Err(fault) => refused(fault, settings.max_operations),
        },
        None => refusal(StatusCode::BAD_REQUEST, JSON, "the parameter operationId is missing"),
    }
}

fn refused(fault: OrderFault, max_operations: usize) -> Reply {
    match fault {
        OrderFault::Doubled => {
            refusal(StatusCode::CONFLICT, JSON, "an operation with this id runs already on this stream")
        }
        OrderFault::TooMany => {
            let message = format!(
                "this stream has {max_operations} operations (max_operations), or does not keep up; stop some"
            );
            refusal(StatusCode::TOO_MANY_REQUESTS, JSON, &message)
        }
        OrderFault::Gone => not_found(),
    }
}

fn not_found() -> Reply {
    refusal(StatusCode::NOT_FOUND, JSON, "no stream has this token; reserve one with PUT")
}

/// From the header or, where a browser's `EventSource` cannot send one, from the parameter.
fn token<B>(request: &Request<B>) -> Option<String> {
    header_text(request.headers()).or_else(|| parameter(request, "token"))
}

/// Of the client, where it is limited by its address.
fn network<B>(core: &CoreEngine, request: &Request<B>) -> Option<IpAddr> {
    core.site().access.network_of_request(request.headers(), request.extensions())
}

fn no_token() -> Reply {
    let message = "send the token of your stream as x-graphql-event-stream-token, or as the parameter token";
    refusal(StatusCode::UNAUTHORIZED, JSON, message)
}

fn header_text(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(TOKEN_HEADER)?.to_str().ok()?.to_owned())
}

fn parameter<B>(request: &Request<B>, name: &str) -> Option<String> {
    query::parameter(request.uri().query()?, name).ok()?.filter(|text| !text.is_empty())
}
