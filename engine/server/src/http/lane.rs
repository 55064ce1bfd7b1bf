//! Who answers the plain requests of one connection: a graph's calls, GraphQL in which nothing waits, and the paths that
//! a program answers itself. Reading and writing them is `runtime`'s.

use std::{
    rc::Rc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::Response;
use prony_sources::source::Source;

use super::{
    at_once,
    plain::Plain,
    routes::{self, AtOnce},
};
use crate::{
    config::Settings,
    graph::{self, Served},
    graphql::CoreEngine,
};

/// One connection's requests, one after the other.
#[derive(Debug)]
pub(crate) struct Lane {
    core: Rc<CoreEngine>,
    graph: Option<graph::Lane>,
    answers_graphql: bool,
    answers_routes: bool,
    /// The answer to the request that was last found not to be here, which hyper has to write.
    made: Option<Box<Response<Bytes>>>,
}

impl Lane {
    /// None where there is nothing that could be answered so.
    pub(crate) fn new(core: &Rc<CoreEngine>) -> Option<Self> {
        let settings = core.settings();
        // Neither headers for browsers nor lines in the log are written here.
        if !settings.cors_origins.is_empty() || tracing::enabled!(tracing::Level::DEBUG) {
            return None;
        }
        let (graph, answers_graphql) = (graph::Lane::new(core), answers_graphql(core));
        let answers_routes = !settings.functions.routes.is_empty();
        let is_any = graph.is_some() || answers_graphql || answers_routes;
        is_any.then(|| Self { core: Rc::clone(core), graph, answers_graphql, answers_routes, made: None })
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.core.settings()
    }

    /// Answers a request. None may be waiting.
    pub(crate) fn serve(&mut self, request: &Plain<'_>, out: &mut Vec<u8>) -> Served {
        if self.made.is_some() {
            return Served::NotHere;
        }
        if self.answers_graphql && at_once::serve(&self.core, request, out) {
            return Served::Answered;
        }
        if self.answers_routes
            && let Some(route) = routes::find(&self.core.settings().functions.routes, request.path)
        {
            return match routes::answer_at_once(self.core.metrics(), route, request, out) {
                AtOnce::Written => Served::Answered,
                AtOnce::NotHere => Served::NotHere,
                AtOnce::Made(response) => {
                    self.made = Some(response);
                    Served::NotHere
                }
            };
        }
        self.graph.as_mut().map_or(Served::NotHere, |graph| graph.serve(request, out))
    }

    /// The answer to the request that hyper is given next, where it has one already.
    pub(crate) fn take_made(&mut self) -> Option<Box<Response<Bytes>>> {
        self.made.take()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.graph.as_ref().is_some_and(graph::Lane::is_waiting)
    }

    /// Ready when nothing is waiting; what was is then answered.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<()> {
        self.graph.as_mut().map_or(Poll::Ready(()), |graph| graph.poll(context, out))
    }
}

/// Whether all that GraphQL asks for is here at once, and nobody wants more than its answer: a value made of the request's
/// head.
fn answers_graphql(core: &CoreEngine) -> bool {
    let settings = core.settings();
    let is_here = |source: &Source| match source {
        Source::Resolvers(resolvers) => !resolvers.wait(),
        Source::Relational(_) | Source::Graph(_) => false,
    };
    core.engine().sources().iter().all(|source| is_here(&source.source))
        && !settings.functions.want_caller()
        && routes::find(&settings.functions.routes, at_once::PATH).is_none()
}
