//! HTTP: paths, methods, limits and headers. What a GraphQL request means is decided in `graphql`, what a
//! connection may cost in `runtime`.

pub(crate) mod apis;
pub(crate) mod authentication;
mod body;
mod console;
mod cors;
mod cpu_profile;
pub(crate) mod date;
mod events;
mod explain;
mod framing;
mod graphql;
mod graphql_body;
mod health;
pub(crate) mod hosts;
mod media;
mod noted;
mod path;
mod readiness;
pub(crate) mod reply;
mod routes;
pub(crate) mod simple;
pub(crate) mod unfinished;

use std::{convert::Infallible, fmt::Display, rc::Rc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::{Body, Incoming};
use prony_source::{Metric, Recorded, Sample};

pub(crate) use self::{
    apis::ApiConnections,
    cors::comes_from_a_friend,
    graphql::answer_once as answer_graphql,
    reply::{JSON, Reply, empty, refusal, reply},
};
use self::{noted::RequestHead, path::Path, reply::not_allowed};
pub use crate::config::Route;
use crate::{
    access::{self, Peer},
    config::Settings,
    graphql::{CoreEngine, ExecutionContext as _},
    observe::CachesStatistics,
    site::Site,
    subscriptions,
};

/// Whether this build has the console, and not the plain page in its place.
pub const HAS_CONSOLE: bool = console::IS_WHOLE;

/// Answers one request; what goes wrong is an answer too.
pub(crate) async fn answer(
    core: &Rc<CoreEngine>,
    connections: &ApiConnections,
    request: Request<Incoming>,
) -> Result<Reply, Infallible> {
    let _in_flight = core.metrics().request_begins();
    let origin = cors::allowed(request.headers(), &core.settings().cors_origins);
    let site = core.site();
    let log = &site.access_log;
    let noted = if site.notes_requests() || tracing::enabled!(tracing::Level::DEBUG) {
        let head = RequestHead {
            method: request.method(),
            path: request.uri().path(),
            version: request.version(),
            address: request.extensions().get::<Peer>().map(|peer| peer.address),
        };
        noted::begin(site, head, || access::fields(request.headers()))
    } else {
        None
    };
    let answered = checked(core, connections, request);
    let mut response = match &noted {
        Some(noted) => Recorded::new(Rc::clone(noted.record()), answered).await,
        None => answered.await,
    };
    if let Some(origin) = origin {
        cors::mark(&mut response, origin);
    }
    date::mark(&mut response);
    if let Some(noted) = noted {
        noted.mark(log, &mut response);
    }
    Ok(response)
}

const NOT_THIS_HOST: &str =
    "this server is not asked for by the name in `host`; add it to `hosts`, or use localhost";

/// Answers a request whose head is one that is taken.
async fn checked(core: &Rc<CoreEngine>, connections: &ApiConnections, request: Request<Incoming>) -> Reply {
    let settings = core.settings();
    let codings = core.site().apis.content_codings(request.uri().path());
    let head = framing::check(request.version(), request.headers(), codings);
    if let Err(framing::HeadFault { status, message }) = head {
        refusal(status, JSON, message)
    } else if !core.site().hosts.include_request(request.uri(), request.headers()) {
        refusal(StatusCode::MISDIRECTED_REQUEST, JSON, NOT_THIS_HOST)
    } else if uri_bytes(&request) > settings.max_uri_bytes {
        let message =
            format!("path and query are over the limit of {} bytes (max_uri_bytes)", settings.max_uri_bytes);
        refusal(StatusCode::URI_TOO_LONG, JSON, &message)
    } else {
        route(core, connections, request).await
    }
}

/// Answers a request of an operator.
pub(crate) async fn answer_operator(core: &Rc<CoreEngine>, request: &Request<Incoming>) -> Reply {
    let mut response = for_operator(core, request).await;
    date::mark(&mut response);
    response
}

async fn for_operator(core: &Rc<CoreEngine>, request: &Request<Incoming>) -> Reply {
    let head = framing::check(request.version(), request.headers(), &[]);
    if let Err(framing::HeadFault { status, message }) = head {
        return refusal(status, JSON, message);
    }
    if !core.site().admin_hosts.include_request(request.uri(), request.headers()) {
        return refusal(StatusCode::MISDIRECTED_REQUEST, JSON, NOT_THIS_HOST);
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return not_allowed("GET, HEAD", &format!("{} is not allowed here; use GET", request.method()));
    }
    match request.uri().path() {
        "/health" => health::answer(core).await,
        "/live" => readiness::live(),
        "/ready" => readiness::ready(core).await,
        "/metrics" => metrics(core),
        cpu_profile::PATH if request.method() == Method::GET => {
            cpu_profile::answer(request.uri().query()).await
        }
        cpu_profile::PATH => not_allowed("GET", "HEAD is not allowed here; use GET"),
        path => {
            let message = format!(
                "nothing is at {path}; there are /metrics, /health, /ready, /live and {}",
                cpu_profile::PATH
            );
            refusal(StatusCode::NOT_FOUND, JSON, &message)
        }
    }
}

fn uri_bytes(request: &Request<Incoming>) -> usize {
    request.uri().path_and_query().map_or(0, |path| path.as_str().len())
}

async fn route(core: &Rc<CoreEngine>, connections: &ApiConnections, request: Request<Incoming>) -> Reply {
    let apis = &core.site().apis;
    let path = Path::of(request.uri().path(), core.settings(), apis);
    if let Some(reply) = at_the_bound_of_memory(core.site(), path) {
        return reply;
    }
    if request.method() == Method::OPTIONS && request.uri().path() == "*" {
        // Of the server as a whole (RFC 9110, section 9.3.7).
        return cors::options(request.headers(), origins(core), "GET, HEAD, POST, PUT, DELETE, OPTIONS");
    }
    if let Some(route) = routes::find(&core.settings().functions.routes, request.uri().path()) {
        if is_foreign_change(core, &request) {
            return refusal(StatusCode::FORBIDDEN, JSON, FOREIGN_PAGE);
        }
        return routes::answer(core.site(), route, request).await;
    }
    let api = match path {
        Path::Api(id) if request.method() != Method::OPTIONS => Some(id),
        Path::Unknown => apis.of_unknown_paths(),
        _ => None,
    };
    match api {
        Some(id) if is_foreign_change(core, &request) => {
            apis::refuse(apis, id, StatusCode::FORBIDDEN, FOREIGN_PAGE)
        }
        Some(id) => {
            let (head, body) = request.into_parts();
            let asker = authentication::api_asker(&**core, &head).await;
            let request = Request::from_parts(head, body);
            match asker {
                Err(refusal) => authentication::refused_by(apis, id, &refusal),
                Ok(asker) => apis::calls::respond(core, connections, id, asker, request).await,
            }
        }
        None => match (path, apis.of_health()) {
            (Path::Health, Some(id)) if !changes(request.method()) && request.method() != Method::OPTIONS => {
                apis::by_hyper::respond(core, connections, id, request).await
            }
            _ => route_other(core, path, request).await,
        },
    }
}

/// The refusal of what is new while the process has no more memory for it. What operators and service managers ask for is answered: it
/// is then that they need it.
fn at_the_bound_of_memory(site: &Site, path: Path) -> Option<Reply> {
    if matches!(path, Path::Health | Path::Live | Path::Ready | Path::Metrics) {
        return None;
    }
    let message = site.memory.refuse()?;
    let mut reply = match path {
        Path::Api(id) => apis::refuse(&site.apis, id, StatusCode::SERVICE_UNAVAILABLE, &message),
        _ => refusal(StatusCode::SERVICE_UNAVAILABLE, JSON, &message),
    };
    reply.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(graphql::OVERLOAD_RETRY_AFTER));
    Some(reply)
}

/// A page can send what a form can without being asked first (Fetch standard, section 2.2.2), to any server.
const FOREIGN_PAGE: &str = "pages of this origin may not change anything here (cors_origins)";

fn changes(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// Asked at the paths of functions and of sources alone: operations of GraphQL have a content type that no form can send.
fn is_foreign_change(core: &CoreEngine, request: &Request<Incoming>) -> bool {
    changes(request.method()) && !comes_from_a_friend(request.headers(), origins(core))
}

fn origins(core: &CoreEngine) -> &[String] {
    &core.settings().cors_origins
}

/// GraphQL whose answer stays, at any path: those that end in `/stream` are for reserved streams.
pub(crate) async fn answer_staying<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    if is_stream(request.uri().path()) {
        events::answer(core, request).await
    } else {
        graphql::answer(core, request).await
    }
}

/// Whether a request's answer stays open: it is for a reserved stream, or wants events.
pub(crate) fn stays<B>(request: &Request<B>) -> bool {
    is_stream(request.uri().path()) || media::prefers_events(request.headers())
}

fn is_stream(path: &str) -> bool {
    path.ends_with("/stream")
}

/// What is of no source's API.
async fn route_other(core: &Rc<CoreEngine>, path: Path, request: Request<Incoming>) -> Reply {
    let method = request.method();
    match path {
        Path::Unknown => unknown(request.uri().path(), core.settings()),
        _ if method == Method::OPTIONS => {
            cors::options(request.headers(), &core.settings().cors_origins, path.allow(&core.site().apis))
        }
        Path::Graphql if subscriptions::wants_socket(request.headers()) => {
            let site = core.site();
            let network = site.access.network_of_request(request.headers(), request.extensions());
            subscriptions::open_socket(&request, core.settings(), site.wants_heads(), network)
        }
        // Their futures are as large as all others together.
        Path::Graphql => Box::pin(graphql::answer(core, request)).await,
        Path::GraphqlStream => Box::pin(events::answer(core, request)).await,
        Path::Explain => Box::pin(explain::answer(core, request)).await,
        _ if method != Method::GET && method != Method::HEAD => {
            not_allowed(path.allow(&core.site().apis), &format!("{method} is not allowed here; use GET"))
        }
        Path::Health => health::answer(core).await,
        Path::Live => readiness::live(),
        Path::Ready => readiness::ready(core).await,
        Path::Metrics => metrics(core),
        Path::Console | Path::Api(_) => console(core, request).await,
    }
}

/// The page is for everybody; what it says of what is served is not.
async fn console(core: &Rc<CoreEngine>, request: Request<Incoming>) -> Reply {
    let (head, _) = request.into_parts();
    let path = head.uri.path();
    if path != console::DESCRIPTION_PATH {
        return console::answer(path, &head.headers);
    }
    match authentication::context(&**core, &head).await {
        Ok(context) => console::description(core, &context),
        Err(refusal) => authentication::refused(&refusal),
    }
}

fn unknown(path: &str, settings: &Settings) -> Reply {
    let rest =
        if settings.admin_listen.is_empty() { "/live, /ready and /metrics" } else { "/live and /ready" };
    let message = format!("nothing is at {path}; there are /graphql, /, /health, {rest}");
    refusal(StatusCode::NOT_FOUND, JSON, &message)
}

/// Whether what a source has by now is not what is served of it.
fn refused_schemas(core: &CoreEngine) -> Metric {
    let served = core.current();
    let sources = core.engine().sources().iter().zip(&*served.refused);
    let samples = sources.map(|(source, refused)| {
        let is_refused = refused.is_some() || source.source.schema_fault().is_some();
        Sample::labelled("source", &source.name, f64::from(u8::from(is_refused)))
    });
    let help = "Whether the schema of a source has changed and cannot be served: that of before is served on";
    Metric::gauge("prony_schema_refused", help, samples.collect())
}

fn metrics(core: &CoreEngine) -> Reply {
    const OPEN_METRICS: HeaderValue =
        HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    let cache = &core.current().cache;
    let sources = core.engine().sources().iter();
    let of_sources = sources.flat_map(|source| source.source.metrics(&source.name));
    let of_tls = core.site().tls.iter().flat_map(|tls| tls.metrics());
    let of_limits = core.site().access.metrics();
    let of_memory = core.site().memory.metrics();
    let others =
        of_sources.chain(of_tls).chain(of_limits).chain(of_memory).chain([refused_schemas(core)]).collect();
    let caches = CachesStatistics {
        operations: cache.operation_statistics(),
        plans: cache.plan_statistics(),
        responses: core.site().response_cache.statistics(),
    };
    let site = core.site();
    let text = site.metrics.text(caches, (&site.audit, &site.access_log, &site.tracer), others);
    match text {
        Ok(text) => reply(StatusCode::OK, OPEN_METRICS, text),
        Err(error) => refusal(StatusCode::INTERNAL_SERVER_ERROR, JSON, &error.to_string()),
    }
}

#[cfg(test)]
mod error_codes;
