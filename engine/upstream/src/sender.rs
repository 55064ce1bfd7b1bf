//! One core's way to an upstream: a place among those that may be asked at a time, an address, and another try where that does
//! no harm.

use std::{
    cell::Cell,
    rc::Rc,
    sync::Arc,
    time::{Duration, Instant},
};

use prony_source::{
    AcceptedCodings,
    trace::{SpanKind, begin_span, in_span},
    traced_request,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    balance::Permit,
    client::{IncomingResponse, OutgoingRequest, Pool, ResponseLimits, SendError, SendErrorKind},
    counters::add,
    response::request_text,
    spans,
    upstream::{Endpoint, Upstream},
};

#[derive(Debug)]
pub(crate) struct Sender {
    upstream: Arc<Upstream>,
    /// By address.
    pools: Vec<Pool>,
    /// Requests under way, by address.
    pending: Vec<Cell<usize>>,
    places: Semaphore,
    waiting: Cell<usize>,
}

impl Sender {
    pub(crate) fn new(upstream: Arc<Upstream>) -> Self {
        let settings = &upstream.settings;
        let pool = |endpoint: &Endpoint| {
            let mut headers = upstream.headers(endpoint);
            if !settings.encodings.is_empty() {
                headers.push(("accept-encoding".to_owned(), settings.encodings.join(", ")));
            }
            let address = Arc::clone(&endpoint.address);
            Pool::new(address, upstream.connector.clone(), settings.idle_timeout, Rc::from(headers))
        };
        let pools = upstream.endpoints.iter().map(pool).collect();
        let pending = upstream.endpoints.iter().map(|_| Cell::new(0)).collect();
        let places = Semaphore::new(settings.max_connections);
        Self { upstream, pools, pending, places, waiting: Cell::new(0) }
    }

    /// Sends a request to one address, and a query of which nothing has come to another, or once more. The body of the response is
    /// in no coding.
    pub(crate) async fn send(
        &self,
        is_query: bool,
        headers: &[(Box<str>, Box<[u8]>)],
        body: Vec<u8>,
    ) -> Result<IncomingResponse, SendError> {
        self.send_for(is_query, headers, body, AcceptedCodings::default()).await
    }

    /// As [`send`](Self::send), but the body of the response may be in one of these codings.
    pub(crate) async fn send_for(
        &self,
        is_query: bool,
        headers: &[(Box<str>, Box<[u8]>)],
        body: Vec<u8>,
        kept_codings: AcceptedCodings,
    ) -> Result<IncomingResponse, SendError> {
        let upstream = &*self.upstream;
        let authorization = upstream.authorization(headers).await.map_err(SendError::unsent)?;
        let _place = self.place().await?;
        let settings = &upstream.settings;
        let wanted = |(name, _): &&(Box<str>, Box<[u8]>)| {
            settings.forward_headers.iter().any(|known| **known == **name)
        };
        let limits = ResponseLimits {
            first_byte: settings.first_byte_timeout,
            whole: settings.timeout,
            max_bytes: settings.common.max_response_bytes,
        };
        let is_traced = traced_request().is_some();
        // What the client says of its trace is what stands above the span of this request.
        let wanted =
            |header: &&(Box<str>, Box<[u8]>)| wanted(header) && !(is_traced && spans::is_of_trace(&header.0));
        let all_are_wanted = headers.iter().all(|header| wanted(&header));
        let filtered: Vec<_>;
        let forwarded = if all_are_wanted {
            headers
        } else {
            filtered = headers.iter().filter(wanted).cloned().collect();
            &filtered
        };
        let authorization = authorization.as_deref();
        let mut request =
            OutgoingRequest { headers: forwarded, authorization, trace: None, body, limits, kept_codings };
        upstream.retries.count();
        let mut retry = Retry { begun: Instant::now(), left: if is_query { settings.retries } else { 0 } };
        let (mut tried, mut resends) = (None, 0);
        loop {
            let index = self.choose(tried)?;
            let span = is_traced.then(|| spans::begin(upstream, index, resends)).flatten();
            request.trace = span.as_ref().and_then(|span| spans::trace_fields(settings, span));
            let sent = self.send_to(index, &request).await;
            spans::end(span, &sent);
            let error = match sent {
                Ok(response) => {
                    if let (401, Some(exchange)) = (response.status, &upstream.exchange) {
                        exchange.forget(headers);
                    }
                    return Ok(response);
                }
                Err(error) => error,
            };
            if error.has_begun
                || !retry.may(&mut request.limits, settings.timeout)
                || !upstream.retries.take()
            {
                return Err(error);
            }
            add(&upstream.counters.retries);
            resends += 1;
            tried = Some(index);
        }
    }

    /// Whether an address responds, for its breaker.
    pub(crate) async fn check(&self, index: usize) {
        let settings = &self.upstream.settings;
        let limits = ResponseLimits {
            first_byte: settings.first_byte_timeout,
            whole: settings.timeout,
            max_bytes: settings.common.max_response_bytes,
        };
        let (body, kept_codings) = (request_text("{__typename}"), AcceptedCodings::default());
        let request =
            OutgoingRequest { headers: &[], authorization: None, trace: None, body, limits, kept_codings };
        let Endpoint { breaker, .. } = &self.upstream.endpoints[index];
        // A request that was not permitted is the one request, or is not sent.
        let is_probe = breaker.is_open();
        if is_probe && !breaker.begin_probe() {
            return;
        }
        let sent = Attempt::new(self, index, is_probe).run(&request).await;
        if let Err(error) = sent {
            let address = &self.upstream.endpoints[index].address;
            tracing::debug!(%address, %error, "a health check failed");
        }
        self.pools[index].close_idle();
    }

    async fn place(&self) -> Result<SemaphorePermit<'_>, SendError> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let settings = &self.upstream.settings;
        let waiting = self.waiting.get();
        let shed = |kind| {
            add(&self.upstream.counters.shed);
            SendError::unsent(kind)
        };
        if waiting >= settings.max_waiting {
            return Err(shed(SendErrorKind::QueueFull { waiting }));
        }
        let _waits = Counted::new(&self.waiting);
        let wait = tokio::time::timeout(settings.queue_timeout, self.places.acquire());
        let span = begin_span(spans::POOL_WAIT, SpanKind::Internal);
        match in_span(span, wait, |_, _| ()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(shed(SendErrorKind::QueueTimeout { limit_ms: settings.queue_timeout.as_millis() })),
        }
    }

    fn choose(&self, tried: Option<usize>) -> Result<usize, SendError> {
        let upstream = &*self.upstream;
        if let [only] = upstream.endpoints.as_slice() {
            return if self.permit(only) == Permit::No { Err(open(only)) } else { Ok(0) };
        }
        let pending: Vec<Option<usize>> = upstream
            .endpoints
            .iter()
            .zip(&self.pending)
            .map(|(endpoint, pending)| (self.permit(endpoint) != Permit::No).then(|| pending.get()))
            .collect();
        let chosen = upstream.balancer.choose(upstream.settings.balance, &pending, tried);
        chosen.ok_or_else(|| open(&upstream.endpoints[0]))
    }

    fn permit(&self, endpoint: &Endpoint) -> Permit {
        if endpoint.breaker.is_open() { endpoint.breaker.permit(self.upstream.now_ms()) } else { Permit::Yes }
    }

    async fn send_to(
        &self,
        index: usize,
        request: &OutgoingRequest<'_>,
    ) -> Result<IncomingResponse, SendError> {
        let endpoint = &self.upstream.endpoints[index];
        let is_probe = self.permit(endpoint) == Permit::Probe;
        if is_probe && !endpoint.breaker.begin_probe() {
            return Err(open(endpoint));
        }
        Attempt::new(self, index, is_probe).run(request).await
    }
}

fn open(endpoint: &Endpoint) -> SendError {
    SendError::unsent(SendErrorKind::BreakerOpen { failures: endpoint.breaker.failures() })
}

/// How often a request may be sent again, in the time that it has.
struct Retry {
    begun: Instant,
    left: u32,
}

impl Retry {
    fn may(&mut self, limits: &mut ResponseLimits, timeout: Duration) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        limits.whole = timeout.saturating_sub(self.begun.elapsed());
        !limits.whole.is_zero()
    }
}

/// One try at one address; what has become of it is told to the breaker, also where nobody waits for it any more.
struct Attempt<'a> {
    sender: &'a Sender,
    index: usize,
    is_probe: bool,
}

impl<'a> Attempt<'a> {
    fn new(sender: &'a Sender, index: usize, is_probe: bool) -> Self {
        let pending = &sender.pending[index];
        pending.set(pending.get() + 1);
        Self { sender, index, is_probe }
    }

    async fn run(mut self, request: &OutgoingRequest<'_>) -> Result<IncomingResponse, SendError> {
        let Sender { upstream, pools, .. } = self.sender;
        let Endpoint { breaker, counters, address, .. } = &upstream.endpoints[self.index];
        add(&counters.requests);
        let sent = pools[self.index].send(request).await;
        let is_probe = std::mem::take(&mut self.is_probe);
        if is_failure(&sent) {
            add(&counters.failures);
            if breaker.failed(upstream.now_ms(), is_probe) {
                add(&counters.ejections);
                tracing::warn!(%address, "an upstream's address has failed and is not asked for a while");
            }
        } else {
            breaker.succeeded();
        }
        sent
    }
}

/// Whether it is the address that is in trouble, and not the request.
fn is_failure(sent: &Result<IncomingResponse, SendError>) -> bool {
    match sent {
        Ok(response) => matches!(response.status, 502..=504) || (response.status >= 500 && !response.is_json),
        Err(error) => !matches!(error.kind, SendErrorKind::TooLarge { .. }),
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let pending = &self.sender.pending[self.index];
        pending.set(pending.get() - 1);
        if self.is_probe {
            self.sender.upstream.endpoints[self.index].breaker.abandon_probe();
        }
    }
}

/// Counts as long as it is there.
struct Counted<'a>(&'a Cell<usize>);

impl<'a> Counted<'a> {
    fn new(count: &'a Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
