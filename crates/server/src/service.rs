//! The engine inside another program's server: a `tower` service, and bytes in to bytes out.

use std::{
    convert::Infallible,
    fmt::{self, Display},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::join_all};
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Body;
use prony_graphql::{
    request::RequestParameters, response::FieldResult, schema::SourceId, variables::Variables,
};
use prony_sources::{resolvers::Resolvers, source::PreparedRoot};

use crate::{
    config::Settings,
    graphql::{
        Engine, Lane, OpenError, Served,
        road::{Arrival, Permission, travel},
    },
    http::{self as web, Site},
    observe::CoreMetrics,
};

/// GraphQL over HTTP for functions, to be mounted at a path of an axum router or of any other `tower` stack; clones
/// share everything. It needs tokio's timer where functions are async.
///
/// ```no_run
/// # use prony_server::{Service, resolvers::Resolvers};
/// # fn f(resolvers: Resolvers) -> Result<(), Box<dyn std::error::Error>> {
/// let graphql = Service::new(resolvers)?;
/// // axum::Router::new().route_service("/graphql", graphql)
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Service {
    site: Arc<Site>,
    resolvers: Resolvers,
}

impl Service {
    /// With the limits of `prony serve`.
    pub fn new(resolvers: Resolvers) -> Result<Self, OpenError> {
        Self::with_settings(Settings::default(), resolvers)
    }

    /// With other limits. Of the settings count those of requests; sources that they name are not opened.
    pub fn with_settings(mut settings: Settings, resolvers: Resolvers) -> Result<Self, OpenError> {
        settings.sources.clear();
        settings.functions.resolvers = Some(resolvers.clone());
        let engine = Engine::open(&settings).now_or_never().expect("only databases are waited for")?;
        Ok(Self { site: Arc::new(Site::new(settings, engine, 1)), resolvers })
    }

    /// From the JSON text of a request to the JSON text of its answer, without HTTP. Queries and mutations are
    /// taken.
    pub async fn execute(&self, request: &[u8]) -> Vec<u8> {
        let parse = || RequestParameters::from_json(request);
        let answer = travel(self, parse, Permission::QueriesAndMutations).await;
        match answer.arrival {
            Arrival::Executed { .. } | Arrival::Refused => answer.body,
            Arrival::Unreadable(fault) => web::reply::refusal_text(&fault.to_string()),
            Arrival::Forbidden => web::reply::refusal_text("subscriptions have more than one answer"),
        }
    }

    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.site.engine.sdl()
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("resolvers", &self.resolvers).finish_non_exhaustive()
    }
}

impl Lane for Service {
    type Served = Arc<Served>;

    fn site(&self) -> &Site {
        &self.site
    }

    fn served(&self) -> Arc<Served> {
        self.site.engine.served()
    }

    fn metrics(&self) -> &CoreMetrics {
        self.site.metrics.core(0)
    }

    async fn query_source(
        &self,
        _source: SourceId,
        root: &PreparedRoot,
        variables: &Variables,
    ) -> FieldResult {
        match root.resolvers() {
            Some(root) => self.resolvers.query(root, variables).await,
            None => unreachable!("only functions are served"),
        }
    }

    async fn query_all_of(
        &self,
        _source: SourceId,
        roots: &[&PreparedRoot],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let roots = roots.iter().filter_map(|root| root.resolvers());
        join_all(roots.map(|root| self.resolvers.query(root, variables))).await
    }

    async fn mutate_source(
        &self,
        _source: SourceId,
        roots: &[&PreparedRoot],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        let roots: Vec<_> = roots.iter().filter_map(|root| root.resolvers()).collect();
        self.resolvers.mutate(&roots, variables).await
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: Body<Data = Bytes, Error: Display> + Send + 'static,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let reply = web::answer_graphql(&service, request).await;
            Ok(reply.map(|body| match body {
                web::reply::ReplyBody::Whole(whole) => whole,
                web::reply::ReplyBody::Events(_) | web::reply::ReplyBody::Pieces(_) => {
                    unreachable!("one request has one answer here")
                }
            }))
        })
    }
}
