//! What all cores share of an upstream: its addresses with what is known of them, its counters, and its schema at present.

use std::{
    fs, io,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use arc_swap::ArcSwapOption;
use tokio::sync::Notify;

use crate::{
    address::Address,
    balance::{Balancer, Breaker, RetryBudget},
    client::{Connector, SendErrorKind, TlsError},
    counters::{AddressCounters, AddressSample, UpstreamCounters},
    exchange::TokenExchange,
    response::Shown,
    schema::{ModelError, UpstreamModel},
    settings::UpstreamSettings,
};

/// What all cores share of an upstream.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) settings: UpstreamSettings,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) balancer: Balancer,
    pub(crate) retries: RetryBudget,
    pub(crate) counters: UpstreamCounters,
    pub(crate) connector: Connector,
    pub(crate) begun: Instant,
    pub(crate) schema: CurrentSchema,
    /// Where tokens of clients become others for it.
    pub(crate) exchange: Option<Arc<TokenExchange>>,
    /// Names of the client's headers that are needed, in lower case.
    pub(crate) wanted_headers: Vec<String>,
}

/// One address with what is known of it.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: Arc<Address>,
    pub(crate) breaker: Breaker,
    pub(crate) counters: AddressCounters,
    /// Subscriptions that are open there, over all cores.
    pub(crate) streams: AtomicUsize,
}

/// The schema at present, and who waits for another.
#[derive(Debug, Default)]
pub(crate) struct CurrentSchema {
    pub(crate) model: ArcSwapOption<KnownModel>,
    /// Counts models; the second is of the one that was asked for last.
    pub(crate) generation: AtomicU64,
    pub(crate) asked: AtomicU64,
    pub(crate) changed: Notify,
    pub(crate) reload: Notify,
    /// Why it is not known, or not renewed.
    pub(crate) failure: Mutex<Option<String>>,
}

#[derive(Debug)]
pub(crate) struct KnownModel {
    sdl: String,
    pub(crate) model: Arc<UpstreamModel>,
}

/// Why an upstream cannot be served at all.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UpstreamOpenError {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("its `schema_file` {path} cannot be read: {source}")]
    SchemaFile { path: String, source: io::Error },
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl Upstream {
    /// Of the clock of breakers.
    pub(crate) fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    pub(crate) fn shown(&self) -> Shown {
        Shown { errors: self.settings.shows_errors, extensions: self.settings.forwards_extensions }
    }

    /// The headers of the configuration for one of its addresses, with the credentials that stand in that.
    pub(crate) fn headers(&self, endpoint: &Endpoint) -> Vec<(String, String)> {
        let mut headers = self.settings.headers.clone();
        let has_own = headers.iter().any(|(name, _)| name == "authorization");
        if let Some((user, password)) = endpoint.address.basic.as_ref().filter(|_| !has_own) {
            headers.push(("authorization".to_owned(), basic(user, password)));
        }
        headers
    }

    /// The value of `Authorization` for a client with these headers, where it is another for each.
    pub(crate) async fn authorization(
        &self,
        headers: &[(Box<str>, Box<[u8]>)],
    ) -> Result<Option<Arc<str>>, SendErrorKind> {
        let Some(exchange) = &self.exchange else { return Ok(None) };
        exchange.authorize(headers).await.map_err(SendErrorKind::Exchange)
    }

    /// The address that a subscription is opened at next: one that was not tried, and is in use if there is such.
    pub(crate) fn address_for_stream(&self, tried: &[usize]) -> Option<usize> {
        let usable = |uses_all: bool| -> Vec<Option<usize>> {
            let each = self.endpoints.iter().enumerate();
            let each = each.map(|(index, endpoint)| {
                let is_usable = uses_all || !endpoint.breaker.is_open();
                (is_usable && !tried.contains(&index)).then(|| endpoint.streams.load(Ordering::Relaxed))
            });
            each.collect()
        };
        let choose =
            |pending: Vec<Option<usize>>| self.balancer.choose(self.settings.balance, &pending, None);
        choose(usable(false)).or_else(|| choose(usable(true)))
    }

    /// Why the schema is not known; none where it is.
    pub(crate) fn missing_schema(&self) -> Option<String> {
        if self.schema.model.load().is_some() {
            return None;
        }
        let failure = self.schema.failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Some(failure.unwrap_or_else(|| "it has not responded yet".to_owned()))
    }

    /// The text of the `schema_file`.
    pub(crate) fn read_schema_file(&self) -> Result<String, UpstreamOpenError> {
        let path = self.settings.schema_file.clone().unwrap_or_default();
        let named = |source| UpstreamOpenError::SchemaFile { path: path.display().to_string(), source };
        fs::read_to_string(&path).map_err(named)
    }

    /// Serves a schema; whether it is another one.
    pub(crate) fn serve(&self, sdl: String) -> Result<bool, ModelError> {
        if self.schema.model.load().as_ref().is_some_and(|known| known.sdl == sdl) {
            return Ok(false);
        }
        let path = self.settings.schema_file.clone().unwrap_or_else(|| PathBuf::from("schema"));
        let has_subscriptions = self.settings.common.subscriptions;
        let model = UpstreamModel::read(&sdl, &path, &self.settings.names, has_subscriptions)?;
        self.schema.model.store(Some(Arc::new(KnownModel { sdl, model: Arc::new(model) })));
        self.schema.generation.fetch_add(1, Ordering::Release);
        self.schema.changed.notify_waiters();
        Ok(true)
    }
}

/// `Basic` credentials (RFC 7617).
fn basic(user: &str, password: &str) -> String {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

impl Endpoint {
    pub(crate) fn sample(&self) -> AddressSample<'_> {
        AddressSample {
            address: self.address.to_string(),
            counters: &self.counters,
            is_open: self.breaker.is_open(),
        }
    }
}
