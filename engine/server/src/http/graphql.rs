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

use super::{
    body, cors, events,
    media::{self, Media},
    query,
    reply::{JSON, Reply, not_allowed, refusal, reply},
};
use crate::{
    config::Settings,
    graphql::{
        CoreEngine, Lane, StageTimes,
        road::{Answer, Arrival, Permission, travel},
    },
    observe::OutcomeKind,
};

/// Asks for a `Server-Timing` header, as the parameter `timing` does.
const TIMING_HEADER: HeaderName = HeaderName::from_static("x-prony-timing");
const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
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
pub(crate) async fn answer_once<B>(core: &impl Lane, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    let Some(media) = media::negotiate(request.headers()) else {
        let message = "the client accepts neither application/graphql-response+json nor application/json";
        return bad(core, refusal(StatusCode::NOT_ACCEPTABLE, JSON, message));
    };
    let wants_timing = request.headers().contains_key(TIMING_HEADER)
        || request.uri().query().is_some_and(|query| query::has(query, "timing"));
    let traveled = match *request.method() {
        Method::POST => post(core, request, media).await,
        Method::GET | Method::HEAD => {
            let (head, _) = request.into_parts();
            let caller = core.settings().functions.caller(&head);
            let query = head.uri.query().unwrap_or_default();
            let parse = || Ok(from_query(query)?.asked_by(caller));
            Ok(travel(core, parse, Permission::Queries).await)
        }
        ref method => Err(not_allowed(ALLOW, &format!("{method} is not allowed here; use POST or GET"))),
    };
    match traveled {
        Ok(answer) => respond(core, answer, media, wants_timing),
        Err(response) => bad(core, response),
    }
}

/// The same request, answered as a stream of events.
async fn stream<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    let (head, body) = request.into_parts();
    let caller = core.settings().functions.caller(&head);
    let (parameters, permission) = match head.method {
        Method::POST => match read_body(&**core, head.headers, body, Media::Json).await {
            Ok(body) => (RequestParameters::from_json(&body), Permission::All),
            Err(response) => return bad(&**core, response),
        },
        Method::GET => {
            let query = head.uri.query().unwrap_or_default();
            (from_query(query), Permission::QueriesAndSubscriptions)
        }
        method => {
            let message = format!("{method} is not allowed here; use POST or GET");
            return bad(&**core, not_allowed(ALLOW, &message));
        }
    };
    match parameters {
        Ok(parameters) => events::distinct(core, parameters.asked_by(caller), permission),
        Err(fault) => bad(&**core, refusal(StatusCode::BAD_REQUEST, JSON, &explained(&fault))),
    }
}

async fn post<B>(core: &impl Lane, request: Request<B>, media: Media) -> Result<Answer, Reply>
where
    B: Body<Data = Bytes, Error: Display>,
{
    let (head, body) = request.into_parts();
    let caller = core.settings().functions.caller(&head);
    let body = read_body(core, head.headers, body, media).await?;
    let parse = || Ok(RequestParameters::from_json(&body)?.asked_by(caller));
    Ok(travel(core, parse, Permission::QueriesAndMutations).await)
}

/// Only JSON is taken, so that a page of another origin cannot send mutations as a form does.
pub(super) async fn read_body<B>(
    core: &impl Lane,
    headers: HeaderMap,
    body: B,
    media: Media,
) -> Result<Bytes, Reply>
where
    B: Body<Data = Bytes, Error: Display>,
{
    let settings = core.settings();
    if !media::is_json(&headers) && !may_leave_it_unsaid(settings, &headers) {
        let message = "the body must be JSON in UTF-8: send `content-type: application/json`";
        return Err(refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, media.header(), message));
    }
    body::read(&headers, body, settings.max_body_bytes, settings.body_timeout)
        .await
        .map_err(|fault| broken_body(&fault, media))
}

/// A page can send a body of no type without its browser's asking first: then it must be a page that may.
fn may_leave_it_unsaid(settings: &Settings, headers: &HeaderMap) -> bool {
    settings.functions.lenient_content_type
        && media::is_unsaid(headers)
        && cors::comes_from_a_friend(headers, &settings.cors_origins)
}

fn broken_body(fault: &body::BodyFault, media: Media) -> Reply {
    let mut response = refusal(fault.status, media.header(), &fault.message);
    // What is left of the body would be taken for the next request.
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

fn from_query(query: &str) -> Result<RequestParameters, RequestFault> {
    let read = |name: &'static str| {
        query::parameter(query, name).map_err(|()| RequestFault::WrongType {
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

fn respond(core: &impl Lane, answer: Answer, media: Media, wants_timing: bool) -> Reply {
    let Answer { arrival, body, kind, times } = answer;
    let (outcome, mut response) = match arrival {
        Arrival::Executed { errors: false } => {
            (OutcomeKind::Success, reply(StatusCode::OK, media.header(), body))
        }
        Arrival::Executed { errors: true } => {
            (OutcomeKind::FieldErrors, reply(StatusCode::OK, media.header(), body))
        }
        Arrival::Refused => (OutcomeKind::Refused, reply(refused_status(media), media.header(), body)),
        Arrival::Unreadable(fault) => {
            (OutcomeKind::BadRequest, refusal(StatusCode::BAD_REQUEST, media.header(), &explained(&fault)))
        }
        Arrival::Forbidden if kind == Some(OperationKind::Subscription) => {
            let message = "a subscription is answered with many results: send `accept: text/event-stream`, \
                or open a WebSocket here";
            (OutcomeKind::BadRequest, refusal(StatusCode::NOT_ACCEPTABLE, media.header(), message))
        }
        Arrival::Forbidden => {
            let message = "GET may only query; send mutations with POST";
            (OutcomeKind::BadRequest, not_allowed("POST, OPTIONS", message))
        }
    };
    core.metrics().request_ended(kind, outcome, &times);
    if wants_timing {
        add_timing(response.headers_mut(), &times);
    }
    response
}

/// Older clients take any other status than 200 for a failure of the transport and never read the errors.
pub(super) fn refused_status(media: Media) -> StatusCode {
    match media {
        Media::Json => StatusCode::OK,
        Media::GraphqlResponse => StatusCode::BAD_REQUEST,
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

/// Counts a request that has not reached the road.
fn bad(core: &impl Lane, response: Reply) -> Reply {
    core.metrics().request_ended(None, OutcomeKind::BadRequest, &StageTimes::default());
    response
}
