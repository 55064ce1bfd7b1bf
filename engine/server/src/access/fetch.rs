//! Asks other servers, for key sets and for who asks: over HTTP or HTTPS, without redirects, with bounds of time and size, on
//! threads that may wait.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use http::{HeaderMap, Request, StatusCode, header};
use prony_access::{
    AuthRefusal, Authenticator, CacheFacts, Identity, MAX_KEY_SET_BYTES, RefusalKind, WebhookQuestion,
    WebhookResponse,
};
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

use crate::clock::unix_now;

/// What a webhook's response may have.
const MAX_WEBHOOK_BYTES: usize = 64 << 10;

/// What another server has responded.
pub(super) struct Fetched {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) cache: CacheFacts,
}

/// A key set, or why there is none.
pub(super) fn key_set(address: &str, timeout: Duration) -> Result<Fetched, String> {
    let request = Request::get(address).header(header::ACCEPT, "application/jwk-set+json, application/json");
    let request = request.body(()).map_err(|error| error.to_string())?;
    let fetched = send(request, timeout, MAX_KEY_SET_BYTES)?;
    if fetched.status == StatusCode::OK {
        Ok(fetched)
    } else {
        Err(format!("the status is {}", fetched.status))
    }
}

/// Asks the webhook who asks.
pub(super) async fn ask_webhook(
    authenticator: &Authenticator,
    question: WebhookQuestion<'_>,
) -> Result<Arc<Identity>, AuthRefusal> {
    let unavailable = |reason: String| AuthRefusal::new(RefusalKind::Unavailable, reason);
    let mut request = Request::get(question.address);
    for (name, value) in &question.headers {
        request = request.header(*name, *value);
    }
    let request = request.body(()).map_err(|error| unavailable(error.to_string()))?;
    let timeout = Duration::from_millis(question.timeout_ms);
    let sent = tokio::task::spawn_blocking(move || send(request, timeout, MAX_WEBHOOK_BYTES)).await;
    let fetched = sent.unwrap_or_else(|error| Err(error.to_string())).map_err(unavailable)?;
    let response = WebhookResponse { status: fetched.status, body: &fetched.body, cache: fetched.cache };
    authenticator.webhook_response(&question, &response, unix_now())
}

fn send(request: Request<()>, timeout: Duration, max_bytes: usize) -> Result<Fetched, String> {
    let request = agent().configure_request(request).timeout_global(Some(timeout)).build();
    let mut response = agent().run(request).map_err(|error| error.to_string())?;
    let cache = cache_facts(response.headers());
    // One more than is taken tells what is too much.
    let body = response.body_mut().with_config().limit(max_bytes as u64 + 1).read_to_vec();
    let body = body.map_err(|error| error.to_string())?;
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
