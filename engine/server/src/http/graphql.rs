//! GraphQL over HTTP (the specification of that name): what of a request is read from where, and which status
//! and media type an answer has.

use std::{fmt::Display, rc::Rc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Body;
use prony_graphql::{
    request::{RequestFault, RequestParameters},
    selection::OperationKind,
};
use prony_source::{AcceptedCodings, ContentCoding, http_api::query};

use super::{
    authentication, events,
    graphql_body::{parsed, read_body},
    media::{self, Media},
    reply::{JSON, Reply, empty, not_allowed, refusal, reply},
};
use crate::{
    clock::monotonic_ns,
    graphql::{
        ClockKind, CoreEngine, ExecutionContext, RequestContext, StageTimes,
        outcome::{Outcome, RequestError, Response, Seen},
        pipeline::{self, AllowedKinds},
    },
    observe::OutcomeKind,
};

/// Asks for a `Server-Timing` header, as the parameter `timing` does.
const TIMING_HEADER: HeaderName = HeaderName::from_static("x-prony-timing");
/// The value of that for the processor time of each stage in place of the time that has passed.
const PROCESSOR_TIME: &str = "processor";
/// Asks for what the operation is estimated to cost; the response has it in a header of the same name.
const COST_HEADER: HeaderName = HeaderName::from_static("x-prony-cost");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// Seconds after which a source that had no room may have some.
pub(super) const OVERLOAD_RETRY_AFTER: &str = "1";
const ALLOW: &str = "GET, HEAD, POST, OPTIONS";

pub(super) async fn answer<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    if media::prefers_events(request.headers()) {
        return stream(core, request).await;
    }
    answer_once(&**core, request).await
}

/// One request, one answer.
pub(crate) async fn answer_once<B>(core: &impl ExecutionContext, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    let Some(media) = media::negotiate(request.headers()) else {
        let message = "the client accepts neither application/graphql-response+json nor application/json";
        return bad(core, refusal(StatusCode::NOT_ACCEPTABLE, JSON, message));
    };
    let wishes = Wishes::of(&request);
    let responded = match *request.method() {
        Method::POST => post(core, request, media).await,
        Method::GET | Method::HEAD => {
            let (head, _) = request.into_parts();
            let parsed = async { from_query(head.uri.query().unwrap_or_default()) };
            match authentication::context(core, &head).await {
                Err(refusal) => Err(authentication::refused(&refusal)),
                Ok(context) => {
                    let context = context_of(context, &head.headers);
                    Ok(pipeline::respond(core, context, parsed, AllowedKinds::Queries).await)
                }
            }
        }
        ref method => Err(not_allowed(ALLOW, &format!("{method} is not allowed here; use POST or GET"))),
    };
    match responded {
        Ok(response) => to_http(core, response, media, &wishes),
        Err(reply) => bad(core, reply),
    }
}

/// The same request, answered as a stream of events.
async fn stream<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    let (head, body) = request.into_parts();
    let context = match authentication::context(&**core, &head).await {
        Ok(context) => context,
        Err(refusal) => return bad(&**core, authentication::refused(&refusal)),
    };
    let network = core.site().access.client_network(&head);
    let (parameters, allowed) = match head.method {
        Method::POST => match read_body(&**core, &head, body, Media::Json).await {
            Ok(body) => (parsed(body).await, AllowedKinds::All),
            Err(response) => return bad(&**core, response),
        },
        Method::GET | Method::HEAD => {
            let query = head.uri.query().unwrap_or_default();
            (from_query(query), AllowedKinds::QueriesAndSubscriptions)
        }
        method => {
            let message = format!("{method} is not allowed here; use POST or GET");
            return bad(&**core, not_allowed(ALLOW, &message));
        }
    };
    match parameters {
        Ok(parameters) => events::distinct(core, network, context, parameters, allowed),
        Err(fault) => bad(&**core, refusal(StatusCode::BAD_REQUEST, JSON, &explained(&fault))),
    }
}

async fn post<B>(core: &impl ExecutionContext, request: Request<B>, media: Media) -> Result<Response, Reply>
where
    B: Body<Data = Bytes, Error: Display>,
{
    let (head, body) = request.into_parts();
    let context =
        authentication::context(core, &head).await.map_err(|refusal| authentication::refused(&refusal))?;
    let context = context_of(context, &head.headers);
    let body = read_body(core, &head, body, media).await?;
    Ok(pipeline::respond(core, context, parsed(body), AllowedKinds::QueriesAndMutations).await)
}

/// With what a request's head says of the form of its response.
fn context_of(context: RequestContext, headers: &HeaderMap) -> RequestContext {
    let codings = headers.get_all(header::ACCEPT_ENCODING).iter().map(HeaderValue::as_bytes);
    let wants_processor_time = headers.get(TIMING_HEADER).is_some_and(|value| value == PROCESSOR_TIME);
    let clock = if wants_processor_time { ClockKind::Processor } else { ClockKind::Monotonic };
    RequestContext { codings: AcceptedCodings::of(codings), clock, ..context }
}

fn from_query(query: &str) -> Result<RequestParameters, RequestFault> {
    let read = |name: &'static str| {
        query::parameter(query, name).map_err(|_| RequestFault::WrongType {
            member: name,
            expected: "percent-encoded UTF-8",
            found: "other bytes",
        })
    };
    RequestParameters::from_texts(
        read("query")?,
        read("documentId")?,
        read("operationName")?,
        read("variables")?.filter(|text| !text.is_empty()).as_deref(),
        read("extensions")?.filter(|text| !text.is_empty()).as_deref(),
    )
}

/// What a request's head says of its response.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    wants_timing: bool,
    wants_cost: bool,
    /// The values of `If-None-Match`, where it counts.
    validators: Vec<HeaderValue>,
}

impl Wishes {
    fn of<B>(request: &Request<B>) -> Self {
        let wants_timing = request.headers().contains_key(TIMING_HEADER)
            || request.uri().query().is_some_and(|query| query::has(query, "timing"));
        let wants_cost = request.headers().contains_key(COST_HEADER);
        Self { wants_timing, wants_cost, validators: validators(request) }
    }
}

/// Of a request that reads (RFC 9110, section 13.1.2).
fn validators<B>(request: &Request<B>) -> Vec<HeaderValue> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Vec::new();
    }
    request.headers().get_all(header::IF_NONE_MATCH).iter().cloned().collect()
}

/// Whether one of them stands for a response with this validator; they are compared weakly (RFC 9110, section 8.8.3.2).
fn is_known(validators: &[HeaderValue], etag: &str) -> bool {
    let lists = validators.iter().filter_map(|value| value.to_str().ok());
    let mut each = lists.flat_map(|list| list.split(','));
    each.any(|one| matches!(one.trim(), "*") || one.trim().trim_start_matches("W/") == etag)
}

pub(super) fn to_http(
    core: &impl ExecutionContext,
    response: Response,
    media: Media,
    wishes: &Wishes,
) -> Reply {
    let Response { outcome, body, coding, kept, seen: Seen { kind, cost }, times } = response;
    core.metrics().request_ended(kind, outcome.counted(), &times);
    let status = status(&outcome, media);
    let mut http = match outcome {
        Outcome::Executed { .. }
            if kept.as_ref().is_some_and(|kept| is_known(&wishes.validators, &kept.etag)) =>
        {
            empty(StatusCode::NOT_MODIFIED)
        }
        Outcome::Executed { .. } | Outcome::Refused(RequestError::Invalid(_)) => {
            reply(status, media.header(), body)
        }
        Outcome::Overloaded => {
            let mut http = reply(status, media.header(), body);
            http.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(OVERLOAD_RETRY_AFTER));
            http
        }
        Outcome::Refused(RequestError::Unreadable(fault)) => {
            refusal(status, media.header(), &explained(&fault))
        }
        Outcome::Refused(RequestError::Denied(refusal)) => authentication::denied(core, &refusal),
        Outcome::Refused(RequestError::NotAllowed) if kind == Some(OperationKind::Subscription) => {
            let message = "a subscription is answered with many results: send `accept: text/event-stream`, \
                or open a WebSocket here";
            refusal(StatusCode::NOT_ACCEPTABLE, media.header(), message)
        }
        Outcome::Refused(RequestError::NotAllowed) => {
            not_allowed("POST, OPTIONS", "GET may only query; send mutations with POST")
        }
    };
    if coding != ContentCoding::Identity {
        http.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
        http.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if let Some(kept) = kept {
        for (name, value) in kept.headers(monotonic_ns()) {
            if let Ok(value) = HeaderValue::from_str(&value) {
                http.headers_mut().insert(name, value);
            }
        }
    }
    if wishes.wants_timing {
        add_timing(http.headers_mut(), &times);
    }
    if let Some(cost) = cost.filter(|_| wishes.wants_cost) {
        http.headers_mut().insert(COST_HEADER, HeaderValue::from(cost));
    }
    http
}

/// The status of an outcome. Older clients take any other status than 200 for a failure of the transport and never read the
/// errors of an invalid document.
pub(super) fn status(outcome: &Outcome, media: Media) -> StatusCode {
    match (outcome, media) {
        (Outcome::Executed { .. }, _) | (Outcome::Refused(RequestError::Invalid(_)), Media::Json) => {
            StatusCode::OK
        }
        (Outcome::Overloaded, _) => StatusCode::SERVICE_UNAVAILABLE,
        (Outcome::Refused(RequestError::NotAllowed), _) => StatusCode::METHOD_NOT_ALLOWED,
        (Outcome::Refused(RequestError::Denied(refusal)), _) => authentication::denied_status(refusal),
        (Outcome::Refused(RequestError::Invalid(_) | RequestError::Unreadable(_)), _) => {
            StatusCode::BAD_REQUEST
        }
    }
}

fn explained(fault: &RequestFault) -> String {
    match fault {
        RequestFault::NoObject { found: "a list" } => {
            "batches are not taken: send each request by itself, or several root fields in one".to_owned()
        }
        other => other.to_string(),
    }
}

fn add_timing(headers: &mut HeaderMap, times: &StageTimes) {
    if let Ok(value) = HeaderValue::from_str(&times.server_timing()) {
        headers.insert(SERVER_TIMING, value);
    }
}

/// Counts a request that has not come to the pipeline.
fn bad(core: &impl ExecutionContext, response: Reply) -> Reply {
    core.metrics().request_ended(None, OutcomeKind::BadRequest, &StageTimes::default());
    response
}
