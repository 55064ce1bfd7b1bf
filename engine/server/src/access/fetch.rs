//! Asks other servers, for key sets and for who asks: over HTTP or HTTPS, without redirects, with bounds of time and size, on
//! threads that may wait.

use std::{
    io::ErrorKind,
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{HeaderMap, Request, StatusCode, header};
use prony_access::{
    AuthRefusal, Authenticator, CacheFacts, Identity, MAX_KEY_SET_BYTES, RefusalKind, WebhookQuestion,
    WebhookResponse,
};
use prony_source::trace::in_detached_span;
use tokio::sync::Semaphore;
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

use super::spans;
use crate::clock::unix_now;

/// What a webhook's response may have.
const MAX_WEBHOOK_BYTES: usize = 64 << 10;

/// What another server has responded.
pub(super) struct Fetched {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) cache: CacheFacts,
}

/// Fetches a key set. `take` is given it, or why there is none, also where nobody waits for this any more.
pub(super) async fn key_set(
    address: &str,
    timeout: Duration,
    take: impl FnOnce(Result<&Fetched, String>) + Send + 'static,
) {
    let accept = (header::ACCEPT.as_str(), &b"application/jwk-set+json, application/json"[..]);
    let ended = move |sent: &Result<Fetched, SendError>| {
        take(match sent {
            Ok(fetched) if fetched.status == StatusCode::OK => Ok(fetched),
            Ok(fetched) => Err(format!("the status is {}", fetched.status)),
            Err(error) => Err(error.reason.clone()),
        });
    };
    // What has become of it is known.
    let _ = ask(address, &[accept], timeout, MAX_KEY_SET_BYTES, ended).await;
}

/// Asks the webhook who has sent a request, once one of the places is free: it has as many as it may be asked for at a time.
pub(super) async fn ask_webhook(
    authenticator: &Authenticator,
    question: WebhookQuestion<'_>,
    places: &Arc<Semaphore>,
) -> Result<Arc<Identity>, AuthRefusal> {
    let timeout = Duration::from_millis(question.timeout_ms);
    let unavailable = |reason: String| AuthRefusal::new(RefusalKind::Unavailable, reason);
    let Ok(Ok(place)) = tokio::time::timeout(timeout, Arc::clone(places).acquire_owned()).await else {
        return Err(unavailable(format!(
            "the webhook has left as many requests unanswered for {} ms (`timeout_ms`) as it may be sent at a time (`max_in_flight`)",
            timeout.as_millis()
        )));
    };
    // With the thread and not with this future: where the client has gone, the webhook is still being asked.
    let ended = move |_: &Result<_, _>| drop(place);
    let fetched = ask(question.address, &question.headers, timeout, MAX_WEBHOOK_BYTES, ended).await;
    let fetched = fetched.map_err(unavailable)?;
    let response = WebhookResponse { status: fetched.status, body: &fetched.body, cache: fetched.cache };
    authenticator.webhook_response(&question, &response, unix_now())
}

/// Sends a GET with these headers, for the request that this thread is at; where that is traced, the other server is told of it in place of
/// what the headers say of a trace. `ended` is told of the end by the thread that has waited for it, also where the request is gone.
async fn ask(
    address: &str,
    headers: &[(&str, &[u8])],
    timeout: Duration,
    max_bytes: usize,
    ended: impl FnOnce(&Result<Fetched, SendError>) + Send + 'static,
) -> Result<Fetched, String> {
    let (span, traced) = spans::begin(address);
    let mut request = Request::get(address);
    let is_replaced = |name: &str| !traced.is_empty() && spans::is_of_trace(name);
    for (name, value) in headers.iter().filter(|(name, _)| !is_replaced(name)) {
        request = request.header(*name, *value);
    }
    for (name, value) in traced {
        request = request.header(name, value);
    }
    let request =
        request.body(()).map_err(|error| SendError { kind: "invalid_request", reason: error.to_string() });
    let sent = async {
        let waiting = tokio::task::spawn_blocking(move || {
            let sent = request.and_then(|request| send(request, timeout, max_bytes));
            ended(&sent);
            sent
        });
        waiting.await.unwrap_or_else(|error| Err(SendError { kind: "_OTHER", reason: error.to_string() }))
    };
    let sent = in_detached_span(span, sent, |span, sent| {
        spans::describe_outcome(
            span,
            sent.as_ref().map(|fetched| fetched.status).map_err(|error| error.kind),
        );
    });
    sent.await.map_err(|error| error.reason)
}

/// Why there is no response.
struct SendError {
    /// One of few words.
    kind: &'static str,
    reason: String,
}

impl From<ureq::Error> for SendError {
    fn from(error: ureq::Error) -> Self {
        let kind = match &error {
            ureq::Error::Timeout(_) => "timeout",
            ureq::Error::HostNotFound => "host_not_found",
            ureq::Error::ConnectionFailed => "connect",
            ureq::Error::Io(error) if error.kind() == ErrorKind::ConnectionRefused => "connect",
            ureq::Error::Io(_) => "broken",
            ureq::Error::BodyExceedsLimit(_) => "too_large",
            ureq::Error::Protocol(_) => "protocol",
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => "tls",
            _ => "_OTHER",
        };
        Self { kind, reason: error.to_string() }
    }
}

fn send(request: Request<()>, timeout: Duration, max_bytes: usize) -> Result<Fetched, SendError> {
    let request = agent().configure_request(request).timeout_global(Some(timeout)).build();
    let mut response = agent().run(request)?;
    let cache = cache_facts(response.headers());
    // One more than is taken tells what is too much.
    let body = response.body_mut().with_config().limit(max_bytes as u64 + 1).read_to_vec()?;
    Ok(Fetched { status: response.status(), body, cache })
}

fn cache_facts(headers: &HeaderMap) -> CacheFacts {
    let field = |name| headers.get(name).and_then(|value: &http::HeaderValue| value.to_str().ok());
    let (control, age) = (field(header::CACHE_CONTROL), field(header::AGE));
    CacheFacts::from_fields(control, age, field(header::EXPIRES), unix_now())
}

/// One for all, so that connections are kept. The system's roots are trusted, as everywhere on the machine.
fn agent() -> &'static Agent {
    static AGENT: OnceLock<Agent> = OnceLock::new();
    AGENT.get_or_init(|| {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
            .build();
        Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .build()
            .new_agent()
    })
}
