//! Settings of an upstream, each with a safe default.

use std::{path::PathBuf, time::Duration};

use prony_source::CommonSettings;

use crate::{address::Address, exchange_settings::ExchangeSettings};

/// How an upstream is asked.
#[derive(Debug, Clone)]
pub(crate) struct UpstreamSettings {
    /// Its servers, at least one once the settings are made.
    pub(crate) addresses: Vec<Address>,
    pub(crate) common: CommonSettings,
    /// A file in the schema definition language that is served in place of what the upstream says of itself.
    pub(crate) schema_file: Option<PathBuf>,
    /// Where the last schema is kept for a start at which the upstream is down.
    pub(crate) schema_cache: Option<PathBuf>,
    /// How often the schema is asked for; never again where it is zero.
    pub(crate) schema_refresh: Duration,
    /// Names of the client's headers that are forwarded, in lower case.
    pub(crate) forward_headers: Vec<String>,
    /// Headers of the configuration, which win over the client's.
    pub(crate) headers: Vec<(String, String)>,
    /// Content codings that it is asked for; it may choose another one that is understood.
    pub(crate) encodings: Vec<String>,
    /// Whether clients see the upstream's own errors.
    pub(crate) shows_errors: bool,
    /// Whether `extensions` of its responses are forwarded.
    pub(crate) forwards_extensions: bool,
    pub(crate) connect_timeout: Duration,
    /// From the end of the request to the first byte of the response.
    pub(crate) first_byte_timeout: Duration,
    /// From the beginning of the request to the end of the response.
    pub(crate) timeout: Duration,
    /// How long a request waits for a connection.
    pub(crate) queue_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    /// Of each core.
    pub(crate) max_connections: usize,
    /// Requests of each core that may wait for a connection.
    pub(crate) max_waiting: usize,
    pub(crate) http_version: HttpVersion,
    pub(crate) tls: TlsSettings,
    pub(crate) balance: Choice,
    /// How often a query is sent again.
    pub(crate) retries: u32,
    /// Of all requests, so many per cent may be retries.
    pub(crate) retry_budget_percent: u32,
    /// After so many failures in a row an address is not asked.
    pub(crate) breaker_failures: u32,
    /// For how long it is not asked then, at first.
    pub(crate) breaker_open: Duration,
    /// How often addresses are asked whether they respond; never where it is zero.
    pub(crate) health_check: Duration,
    pub(crate) subscription_transport: SubscriptionTransport,
    pub(crate) names: NameSettings,
    pub(crate) token_exchange: Option<ExchangeSettings>,
}

/// How an upstream is subscribed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubscriptionTransport {
    WebSocket,
    /// Server-sent events.
    Sse,
}

/// How names of an upstream become names of ours.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NameSettings {
    pub(crate) field_prefix: String,
    pub(crate) type_prefix: String,
    /// `Type` or `Query.field`, and its new name; these win over prefixes.
    pub(crate) renames: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    /// HTTP/2 where TLS agrees on it (RFC 7301), else HTTP/1.1.
    Auto,
    Http1,
    /// Also without TLS.
    Http2,
}

/// How servers are known, and how we are known to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    /// A file of certificates that are trusted in place of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) client_certificate: Option<PathBuf>,
    pub(crate) client_key: Option<PathBuf>,
}

/// Which of several addresses is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice {
    LeastPending,
    RoundRobin,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            addresses: Vec::new(),
            common: CommonSettings::default(),
            schema_file: None,
            schema_cache: None,
            schema_refresh: Duration::from_secs(60),
            forward_headers: vec!["traceparent".to_owned(), "tracestate".to_owned()],
            headers: Vec::new(),
            encodings: Vec::new(),
            shows_errors: true,
            forwards_extensions: false,
            connect_timeout: Duration::from_secs(2),
            first_byte_timeout: Duration::from_secs(10),
            timeout: Duration::from_secs(30),
            queue_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(30),
            max_connections: 256,
            max_waiting: 1024,
            http_version: HttpVersion::Auto,
            tls: TlsSettings::default(),
            balance: Choice::LeastPending,
            retries: 1,
            retry_budget_percent: 20,
            breaker_failures: 5,
            breaker_open: Duration::from_secs(5),
            health_check: Duration::ZERO,
            subscription_transport: SubscriptionTransport::WebSocket,
            names: NameSettings::default(),
            token_exchange: None,
        }
    }
}

impl AsMut<CommonSettings> for UpstreamSettings {
    fn as_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }
}
