//! The engine inside another program's server: a `tower` service, and bytes in to bytes out. What stays open when a
//! request is answered is [`staying`]'s.

mod staying;

use std::{
    convert::Infallible,
    fmt::{self, Display},
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{FutureExt as _, future::join_all};
use http::{Request, Response, StatusCode, request::Parts};
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use hyper_util::rt::TokioIo;
use prony_graphql::{
    request::RequestParameters, response::FieldResult, schema::SourceId, selection::Field,
    variables::Variables,
};
use prony_resolvers::Resolvers;
use prony_source::{AcceptedCodings, OperationResult, PreparedField};
use tokio::sync::{mpsc, oneshot};

use self::staying::Threads;
use crate::{
    config::Settings,
    graphql::{
        DOES_NOT_WAIT, Engine, ExecutionContext, OpenError, RequestContext, Served, StageClock,
        outcome::{Outcome, RequestError},
        pipeline::{AllowedKinds, Finished, Prepared, respond},
        reuse::control,
    },
    http::{
        self as web, Reply,
        reply::{ReplyBody, StreamedBody},
    },
    joins::JoinNode,
    observe::CoreMetrics,
    site::Site,
    subscriptions,
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
///
/// Subscriptions over WebSockets and server-sent events come at the same path; a path that ends in `/stream` is for
/// reserved streams. What stays open is served by threads of its own, which start with the first of it.
#[derive(Clone)]
pub struct Service {
    shared: Arc<ServiceState>,
}

struct ServiceState {
    site: Arc<Site>,
    resolvers: Resolvers,
    threads: Threads,
}

impl Service {
    /// With the limits of `prony serve`.
    pub fn new(resolvers: Resolvers) -> Result<Self, OpenError> {
        Self::with_settings(Settings::default(), resolvers)
    }

    /// With other limits. Of the settings count those of requests and subscriptions, and the number of `cores`; sources
    /// that they name are not opened.
    pub fn with_settings(mut settings: Settings, resolvers: Resolvers) -> Result<Self, OpenError> {
        settings.sources.clear();
        settings.functions.sources.clear();
        settings.functions.resolvers = Some(resolvers.clone());
        let engine = Engine::open(&settings).now_or_never().expect("only databases are waited for")?;
        let threads = settings.cores.threads();
        // One more: requests with one answer are counted apart.
        let site = Arc::new(Site::new(settings, engine, threads + 1)?);
        let threads = Threads::new(Arc::clone(&site), threads);
        Ok(Self { shared: Arc::new(ServiceState { site, resolvers, threads }) })
    }

    /// From the JSON text of a request to the JSON text of its answer, without HTTP. Queries and mutations are
    /// taken.
    pub async fn execute(&self, request: &[u8]) -> Vec<u8> {
        let (head, ()) = Request::new(()).into_parts();
        self.execute_for(&head, request).await
    }

    /// The same for functions that want to know who asks.
    pub async fn execute_for(&self, head: &Parts, request: &[u8]) -> Vec<u8> {
        let context = self.site().context(head, None);
        let parsed = async { RequestParameters::from_json(request) };
        let response = respond(self, context, parsed, AllowedKinds::QueriesAndMutations).await;
        match response.outcome {
            Outcome::Executed { .. } | Outcome::Overloaded | Outcome::Refused(RequestError::Invalid(_)) => {
                response.body.bytes.into()
            }
            Outcome::Refused(RequestError::Unreadable(fault)) => web::reply::refusal_text(&fault.to_string()),
            Outcome::Refused(RequestError::NotAllowed | RequestError::Denied(_)) => {
                web::reply::refusal_text("subscriptions have more than one answer")
            }
        }
    }

    /// Tells all subscribers to come back later, and those that come from now on: for the host's own stopping, which
    /// would wait for them.
    pub fn stop(&self) {
        self.shared.threads.stop();
    }

    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.site().engine.sdl()
    }

    fn answer_socket<B>(&self, mut request: Request<B>) -> Response<ServiceBody> {
        let mut reply = subscriptions::open_socket(&request, &self.site().settings, false, None);
        let Some(upgrade) = reply.extensions_mut().remove() else { return whole(reply) };
        let upgraded = hyper::upgrade::on(&mut request);
        let started = self.shared.threads.run(move |core| {
            Box::pin(async move {
                // Without it the client has gone, or the host cannot do it; either way nobody is there.
                let Ok(upgraded) = upgraded.await else { return };
                subscriptions::serve_socket(TokioIo::new(upgraded), Vec::new(), upgrade, core).await;
            })
        });
        if started { whole(reply) } else { broken() }
    }

    /// The answer is made where what stays lives, and its pieces come from there.
    async fn answer_staying<B>(&self, request: Request<B>) -> Response<ServiceBody>
    where
        B: Body<Data = Bytes, Error: Display> + Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let started = self.shared.threads.run(move |core| {
            Box::pin(async move {
                let (head, body) = web::answer_staying(&core, request).await.into_parts();
                match body {
                    ReplyBody::Whole(body) => {
                        let _ =
                            tell.send(Response::from_parts(head, ServiceBody(ServiceBodyKind::Whole(body))));
                    }
                    ReplyBody::Stream(stream) => {
                        let (pieces, body) = mpsc::channel(PIECES);
                        let body = ServiceBody(ServiceBodyKind::Pieces(body));
                        if tell.send(Response::from_parts(head, body)).is_ok() {
                            pump(*stream, pieces, core.settings().write_timeout).await;
                        }
                    }
                }
            })
        });
        match told.await {
            Ok(response) if started => response,
            _ => broken(),
        }
    }
}

/// Pieces of a stream that are on their way to the host; what waits beyond them is within the stream's own bounds.
const PIECES: usize = 4;

/// Carries a stream's pieces over until either side ends it, or the client does not read for too long.
async fn pump(mut stream: StreamedBody, pieces: mpsc::Sender<Bytes>, write_timeout: Duration) {
    loop {
        let piece = tokio::select! {
            piece = poll_fn(|context| stream.poll(context)) => piece,
            () = pieces.closed() => return,
        };
        // Events alone come here, which are not cut.
        let Some(Ok(piece)) = piece else { return };
        if !matches!(tokio::time::timeout(write_timeout, pieces.send(piece)).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// The body of an answer: whole, or events as they come.
#[derive(Debug)]
pub struct ServiceBody(ServiceBodyKind);

#[derive(Debug)]
enum ServiceBodyKind {
    Whole(Full<Bytes>),
    Pieces(mpsc::Receiver<Bytes>),
}

impl Body for ServiceBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().0 {
            ServiceBodyKind::Whole(whole) => Pin::new(whole).poll_frame(context),
            ServiceBodyKind::Pieces(pieces) => {
                pieces.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, ServiceBodyKind::Whole(whole) if whole.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            ServiceBodyKind::Whole(whole) => whole.size_hint(),
            ServiceBodyKind::Pieces(_) => SizeHint::default(),
        }
    }
}

fn whole(reply: Reply) -> Response<ServiceBody> {
    reply.map(|body| match body {
        ReplyBody::Whole(whole) => ServiceBody(ServiceBodyKind::Whole(whole)),
        ReplyBody::Stream(_) => unreachable!("one request has one answer here"),
    })
}

/// A thread could not be started, or what ran on it has panicked.
fn broken() -> Response<ServiceBody> {
    let message = "the request could not be answered: the server's log has more";
    whole(web::refusal(StatusCode::INTERNAL_SERVER_ERROR, web::JSON, message))
}

impl fmt::Debug for Service {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Service").field("resolvers", &self.shared.resolvers).finish_non_exhaustive()
    }
}

impl ExecutionContext for Service {
    type Served = Arc<Served>;

    fn site(&self) -> &Site {
        &self.shared.site
    }

    fn served(&self, _context: &RequestContext) -> Arc<Served> {
        self.site().engine.served()
    }

    fn share(served: &Arc<Served>) -> Arc<Served> {
        Arc::clone(served)
    }

    fn metrics(&self) -> &CoreMetrics {
        self.site().metrics.core(0)
    }

    fn answer(&self, _source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.shared.resolvers.answer_now(field, variables).expect(DOES_NOT_WAIT)
    }

    async fn query(&self, _source: SourceId, field: &PreparedField, variables: &Variables) -> FieldResult {
        self.shared.resolvers.query(field, variables).await
    }

    async fn query_all(
        &self,
        _source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        join_all(fields.iter().map(|field| self.shared.resolvers.query(field, variables))).await
    }

    async fn mutate(
        &self,
        _source: SourceId,
        fields: &[&PreparedField],
        variables: &Variables,
    ) -> Vec<FieldResult> {
        self.shared.resolvers.mutate(fields, variables).await
    }

    async fn execute(
        &self,
        _: SourceId,
        _: &PreparedField,
        _: &Variables,
        _: AcceptedCodings,
    ) -> OperationResult {
        unreachable!("functions do not plan whole operations")
    }

    async fn join(&self, _: &Field, _: &JoinNode, _: &Variables, _: &mut FieldResult) {
        unreachable!("joins are between the sources of a configuration")
    }

    async fn finish_by_rules(
        &self,
        prepared: &Prepared<Arc<Served>>,
        clock: &mut StageClock,
    ) -> Result<Finished, RequestError> {
        control::in_place(self, prepared, clock).await
    }
}

impl<B> tower_service::Service<Request<B>> for Service
where
    B: Body<Data = Bytes, Error: Display> + Send + 'static,
{
    type Response = Response<ServiceBody>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            Ok(if subscriptions::wants_socket(request.headers()) {
                service.answer_socket(request)
            } else if web::stays(&request) {
                service.answer_staying(request).await
            } else {
                whole(web::answer_graphql(&service, request).await)
            })
        })
    }
}
