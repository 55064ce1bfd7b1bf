//! Who responds to the simple requests of one connection: the HTTP APIs of sources, GraphQL, and the
//! paths that a program answers itself.

use std::{
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{HeaderValue, Method, Version, header};
use prony_graphql::budget::ResponseBudget;
use prony_source::{enter_request, http_api::RequestHeaders as _};

use super::{
    Handover, Responded, SimpleRequest,
    api::{self, WaitingRequest},
    client::SimpleClient,
    graphql::{self, GraphqlResponded, WaitingOperation},
    response,
};
use crate::{
    access::{Known, Peer},
    config::Settings,
    graphql::{CoreEngine, ExecutionContext as _},
    http::{
        ApiConnections, Reply,
        apis::{ApiId, calls},
        at_the_bound_of_memory,
        authentication::is_unrestricted,
        cors, date, framing,
        noted::{self, RequestHead},
        path::Path,
        routes::{self, AtOnce},
    },
    observe::{AccessLog, Noted},
};

/// Responds to one connection's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Responder {
    core: Rc<CoreEngine>,
    client: SimpleClient,
    /// The `Host` of its last request, which may be asked for by names of this generation.
    host: Vec<u8>,
    hosts_generation: u64,
    connections: ApiConnections,
    responds_to_graphql: bool,
    /// The request whose response is waited for, and what to do with that.
    waiting: Option<(Waiting, Finish)>,
    /// What counts the bytes of responses that are not sent yet.
    held: Vec<Arc<ResponseBudget>>,
}

/// What is waited for.
#[derive(Debug)]
enum Waiting {
    Api(WaitingRequest),
    Graphql(WaitingOperation),
}

/// What is done with a response once it is written.
#[derive(Debug, Default)]
struct Finish {
    /// The origin of a page that may read it.
    origin: Option<Vec<u8>>,
    /// For the access log.
    noted: Option<Box<Noted>>,
}

impl Responder {
    pub(crate) fn new(core: &Rc<CoreEngine>, peer: Peer) -> Self {
        let (connections, responds_to_graphql) = (ApiConnections::default(), responds_to_graphql(core));
        Self {
            core: Rc::clone(core),
            client: SimpleClient::new(peer),
            host: Vec::new(),
            hosts_generation: 0,
            connections,
            responds_to_graphql,
            waiting: None,
            held: Vec::new(),
        }
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.core.settings()
    }

    /// Responds to a request into `out`. None may be waiting.
    pub(crate) fn respond(&mut self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> Responded {
        if !self.may_ask(request) {
            return Responded::HandOver(Handover::Refused);
        }
        let begin = out.len();
        let noted = self.noted(request);
        let entered = noted.as_ref().map(|noted| enter_request(noted.record()));
        let (mut responded, waiting) = self.route(request, out);
        drop(entered);
        let finish = self.finish_of(request, noted);
        let log = &self.core.site().access_log;
        match (&mut responded, waiting) {
            (Responded::Waits, waiting) => self.waiting = waiting.map(|waiting| (waiting, finish)),
            (Responded::Written, _) => finish.write(log, out, begin, 0),
            (Responded::Made(_, reply), _) => finish.mark(log, reply),
            (Responded::HandOver(_), _) => finish.abandon(),
        }
        responded
    }

    /// As hyper's part has it, which words the refusal.
    fn may_ask(&mut self, request: &SimpleRequest<'_>) -> bool {
        let Some(host) = request.host else { return false };
        let hosts = &self.core.site().hosts;
        let generation = hosts.generation();
        if host != self.host || generation != self.hosts_generation {
            if !framing::is_host(host) || !hosts.include(host) {
                return false;
            }
            self.host = host.to_vec();
            self.hosts_generation = generation;
        }
        let Settings { cors_origins: origins, functions, .. } = self.settings();
        let comes_from_a_friend = || {
            let is_friend = |origin| cors::is_friend(origin, request.host, origins);
            request.method == Method::GET || request.origin.is_none_or(is_friend)
        };
        comes_from_a_friend()
            || (self.core.site().apis.find(request.path).is_none()
                && routes::find(&functions.routes, request.path).is_none())
    }

    fn route(&mut self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> (Responded, Option<Waiting>) {
        if self.core.site().memory.is_reached() && self.refuse_at_the_bound_of_memory(request, out) {
            return (Responded::Written, None);
        }
        if self.responds_to_graphql {
            match graphql::respond(&self.core, &self.client, request, out, &mut self.held) {
                GraphqlResponded::Written => return (Responded::Written, None),
                GraphqlResponded::Waits(operation) => {
                    return (Responded::Waits, Some(Waiting::Graphql(operation)));
                }
                GraphqlResponded::NotHere => {}
            }
        }
        if let Some(route) = routes::find(&self.core.settings().functions.routes, request.path) {
            let responded = match routes::answer_at_once(self.core.metrics(), route, request, out) {
                AtOnce::Written => Responded::Written,
                AtOnce::NotHere => Responded::HandOver(Handover::Malformed),
                AtOnce::Made(response) => {
                    Responded::Made(Handover::Response, Box::new(response.map(routes::whole)))
                }
            };
            return (responded, None);
        }
        match self.core.site().apis.find(request.path) {
            // Who is refused is told so, and who is waited for, by hyper's part.
            Some(id) if !self.is_let_in(id, request) => (Responded::HandOver(Handover::Refused), None),
            Some(id) => {
                let (responded, waiting) = api::respond(&self.core, &self.connections, id, request, out);
                (responded, waiting.map(Waiting::Api))
            }
            None => (Responded::HandOver(Handover::Resource), None),
        }
    }

    /// Whether it is refused; hyper's part would need memory for it.
    fn refuse_at_the_bound_of_memory(&self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> bool {
        let site = self.core.site();
        let path = Path::of(request.path, &site.settings, &site.apis);
        let Some(mut reply) = at_the_bound_of_memory(site, path) else { return false };
        // The request has been read to its end, and the next one may come.
        reply.headers_mut().remove(header::CONNECTION);
        drop(self.core.metrics().request_begins());
        response::write_response(out, &response::whole(reply));
        true
    }

    /// Whether it is known that the HTTP APIs of sources respond, and no rule is for the call.
    fn is_let_in(&self, id: ApiId, request: &SimpleRequest<'_>) -> bool {
        match self.client.try_identify(&self.core, request) {
            Known::Asker(asker) => {
                let asker = asker.as_ref();
                asker.is_none_or(is_unrestricted)
                    && calls::is_free(&self.core, id, asker, &request.method, request.path)
            }
            Known::NotKnown => false,
        }
    }

    /// Empty, and made of nothing, where neither pages of other origins nor the log are served.
    fn finish_of(&self, request: &SimpleRequest<'_>, noted: Option<Box<Noted>>) -> Finish {
        let origins = &self.settings().cors_origins;
        let origin = if origins.is_empty() { None } else { request.value(&header::ORIGIN) };
        let origin = origin.filter(|origin| cors::is_allowed(origin, origins)).map(<[u8]>::to_vec);
        Finish { origin, noted }
    }

    /// None where nobody looks.
    fn noted(&self, request: &SimpleRequest<'_>) -> Option<Box<Noted>> {
        let site = self.core.site();
        if !site.notes_requests() && !tracing::enabled!(tracing::Level::DEBUG) {
            return None;
        }
        let head = RequestHead {
            method: &request.method,
            path: request.path,
            version: Version::HTTP_11,
            address: Some(self.client.address()),
        };
        noted::begin(site, head, || request.fields()).map(Box::new)
    }

    /// Whether what is waited for ends when the client goes.
    pub(crate) const fn can_be_cancelled(&self) -> bool {
        matches!(self.waiting, Some((Waiting::Graphql(_), _)))
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Ready when nothing is waiting; the response to what was is then written, but for a large body, which is given.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<Bytes> {
        let Some((waiting, finish)) = &mut self.waiting else { return Poll::Ready(Bytes::new()) };
        let entered = finish.noted.as_ref().map(|noted| enter_request(noted.record()));
        ready!(match waiting {
            Waiting::Api(request) => request.poll(context),
            Waiting::Graphql(operation) => operation.poll(context),
        });
        drop(entered);
        let Some((waiting, finish)) = self.waiting.take() else { return Poll::Ready(Bytes::new()) };
        let begin = out.len();
        self.core.metrics().request_ends();
        let apart = match waiting {
            Waiting::Api(request) => {
                request.write(&self.connections, out);
                Bytes::new()
            }
            Waiting::Graphql(operation) => operation.write(&self.core, out, &mut self.held),
        };
        finish.write(&self.core.site().access_log, out, begin, apart.len());
        Poll::Ready(apart)
    }

    /// All responses are sent.
    pub(crate) fn all_sent(&mut self) {
        self.held.clear();
    }

    /// For the rest of the connection's life, which is hyper's.
    pub(crate) fn take_connections(&mut self) -> ApiConnections {
        std::mem::take(&mut self.connections)
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.waiting.is_some() {
            self.core.metrics().request_ends();
        }
    }
}

impl Finish {
    /// Hyper's part notes the request anew.
    fn abandon(self) {
        if let Some(trace) = self.noted.as_ref().and_then(|noted| noted.record().trace.as_ref()) {
            trace.abandon();
        }
    }

    /// As [`write`](Self::write), for a response that hyper writes.
    fn mark(self, log: &AccessLog, reply: &mut Reply) {
        date::mark(reply);
        if let Some(Ok(origin)) = self.origin.map(|origin| HeaderValue::from_bytes(&origin)) {
            cors::mark(reply, origin);
        }
        if let Some(noted) = self.noted {
            noted.mark(log, reply);
        }
    }

    /// `begin` is where the response stands in `out`, all but so many bytes of its body.
    fn write(self, log: &AccessLog, out: &mut Vec<u8>, begin: usize, apart_bytes: usize) {
        if let Some(origin) = self.origin {
            response::insert_headers(out, begin, &cors::header_lines(&origin));
        }
        if let Some(noted) = self.noted {
            let lines = noted.header_lines();
            if !lines.is_empty() {
                response::insert_headers(out, begin, lines.as_bytes());
            }
            let written = &out[begin..];
            let body_bytes = response::body_bytes(written) + apart_bytes as u64;
            log.end(&noted, response::status(written), Some(body_bytes));
        }
    }
}

/// Whether GraphQL is not a path that a program answers itself.
fn responds_to_graphql(core: &CoreEngine) -> bool {
    routes::find(&core.settings().functions.routes, graphql::PATH).is_none()
}
