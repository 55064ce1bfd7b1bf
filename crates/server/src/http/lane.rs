//! Who answers the plain requests of one connection: a graph's calls, and GraphQL in which nothing waits. Reading and
//! writing them is `runtime`'s.

use std::{
    rc::Rc,
    task::{Context, Poll},
};

use prony_sources::source::Source;

use super::{at_once, plain::Plain, routes};
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
}

impl Lane {
    /// None where there is nothing that could be answered so.
    pub(crate) fn new(core: &Rc<CoreEngine>) -> Option<Self> {
        let (graph, answers_graphql) = (graph::Lane::new(core), answers_graphql(core));
        let is_any = graph.is_some() || answers_graphql;
        is_any.then(|| Self { core: Rc::clone(core), graph, answers_graphql })
    }

    pub(crate) fn settings(&self) -> &Settings {
        self.core.settings()
    }

    /// Answers a request. None may be waiting.
    pub(crate) fn serve(&mut self, request: &Plain<'_>, out: &mut Vec<u8>) -> Served {
        if self.answers_graphql && at_once::serve(&self.core, request, out) {
            return Served::Answered;
        }
        self.graph.as_mut().map_or(Served::NotHere, |graph| graph.serve(request, out))
    }

    pub(crate) fn is_waiting(&self) -> bool {
        self.graph.as_ref().is_some_and(graph::Lane::is_waiting)
    }

    /// Ready when nothing is waiting; what was is then answered.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>, out: &mut Vec<u8>) -> Poll<()> {
        self.graph.as_mut().map_or(Poll::Ready(()), |graph| graph.poll(context, out))
    }
}

/// Whether all that GraphQL asks for is here at once, and nobody wants more than its answer: headers for browsers, a
/// value made of the request's head, or a line in the log.
fn answers_graphql(core: &CoreEngine) -> bool {
    let settings = core.settings();
    let is_here = |source: &Source| match source {
        Source::Resolvers(resolvers) => !resolvers.wait(),
        Source::Relational(_) | Source::Graph(_) => false,
    };
    core.engine().sources().iter().all(|source| is_here(&source.source))
        && settings.cors_origins.is_empty()
        && !settings.functions.want_caller()
        && routes::find(&settings.functions.routes, at_once::PATH).is_none()
        && !tracing::enabled!(tracing::Level::DEBUG)
}
