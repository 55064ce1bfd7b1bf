//! Who responds to the simple requests of one connection: a graph's calls, GraphQL in which nothing waits, and the paths that
//! a program answers itself.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Method, Response, header};

use super::{Handover, SimpleRequest, graphql, response};
use crate::{
    config::Settings,
    graph::{self, Served},
    graphql::{CoreEngine, ExecutionContext as _},
    http::{
        cors,
        routes::{self, AtOnce},
    },
};

/// Responds to one connection's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Responder {
    core: Rc<CoreEngine>,
    graph: Option<graph::Lane>,
    responds_to_graphql: bool,
    /// What to do with the response that is waited for.
    waiting: Option<Finish>,
}

/// What has become of a request.
#[derive(Debug)]
pub(crate) enum Responded {
    Written,
    /// [`Responder::poll`] writes the response.
    Waits,
    /// Nothing was done.
    HandOver(Handover),
    /// The response is here, and hyper has to write it.
    Made(Box<Response<Bytes>>),
}

/// What is done with a response once it is written.
#[derive(Debug, Default)]
struct Finish {
    /// The origin of a page that may read it.
    origin: Option<Vec<u8>>,
    /// Method and path, for the log.
    logged: Option<(Method, String)>,
}

impl Responder {
    pub(crate) fn new(core: &Rc<CoreEngine>) -> Self {
        let (graph, responds_to_graphql) = (graph::Lane::new(core), responds_to_graphql(core));
        Self { core: Rc::clone(core), graph, responds_to_graphql, waiting: None }
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.core.settings()
    }

    /// Responds to a request into `out`. None may be waiting.
    pub(crate) fn respond(&mut self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> Responded {
        let begin = out.len();
        let responded = self.route(request, out);
        match responded {
            Responded::Written => self.finish_of(request).write(out, begin),
            Responded::Waits => self.waiting = Some(self.finish_of(request)),
            Responded::HandOver(_) | Responded::Made(_) => {}
        }
        responded
    }

    fn route(&mut self, request: &SimpleRequest<'_>, out: &mut Vec<u8>) -> Responded {
        if self.responds_to_graphql && graphql::respond(&self.core, request, out) {
            return Responded::Written;
        }
        if let Some(route) = routes::find(&self.core.settings().functions.routes, request.path) {
            return match routes::answer_at_once(self.core.metrics(), route, request, out) {
                AtOnce::Written => Responded::Written,
                AtOnce::NotHere => Responded::HandOver(Handover::Malformed),
                AtOnce::Made(response) => Responded::Made(response),
            };
        }
        match self.graph.as_mut().map(|graph| graph.serve(request, out)) {
            Some(Served::Answered) => Responded::Written,
            Some(Served::Waits) => Responded::Waits,
            Some(Served::NotHere) | None => Responded::HandOver(Handover::Resource),
        }
    }

    /// Empty, and made of nothing, where neither pages of other origins nor the log are served.
    fn finish_of(&self, request: &SimpleRequest<'_>) -> Finish {
        let origins = &self.settings().cors_origins;
        let origin = if origins.is_empty() { None } else { request.header(&header::ORIGIN) };
        let origin = origin.filter(|origin| cors::is_allowed(origin, origins)).map(<[u8]>::to_vec);
        let logged = tracing::enabled!(tracing::Level::DEBUG)
            .then(|| (request.method.clone(), request.path.to_owned()));
        Finish { origin, logged }
    }

    pub(crate) const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Ready when nothing is waiting; the response to what was is then written.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<()> {
        let begin = out.len();
        if let Some(graph) = &mut self.graph {
            ready!(graph.poll(context, out));
        }
        if let Some(finish) = self.waiting.take() {
            finish.write(out, begin);
        }
        Poll::Ready(())
    }
}

impl Finish {
    /// `begin` is where the response stands in `out`.
    fn write(self, out: &mut Vec<u8>, begin: usize) {
        if let Some(origin) = self.origin {
            response::insert_headers(out, begin, &cors::header_lines(&origin));
        }
        if let Some((method, path)) = self.logged {
            tracing::debug!(%method, path, status = response::status(&out[begin..]), "answered");
        }
    }
}

/// Whether all that GraphQL asks for is here at once.
fn responds_to_graphql(core: &CoreEngine) -> bool {
    core.engine().sources().iter().all(|source| !source.source.waits())
        && routes::find(&core.settings().functions.routes, graphql::PATH).is_none()
}
