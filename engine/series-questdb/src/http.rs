//! Sends rows to QuestDB over HTTP, on a connection that is kept, and reads what it says of them.

use crate::address::QuestAddress;
use prony_series_database::{Fault, FaultKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A group of writes that takes longer may have been done or not.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// Of what QuestDB says where it refuses rows.
const REASON_BYTES_MAX: u64 = 4096;

/// Sends rows.
#[derive(Debug)]
pub(crate) struct Sender {
    agent: Mutex<Agent>,
    address: QuestAddress,
}

impl Sender {
    pub(crate) fn new(address: QuestAddress) -> Self {
        let roots = rustls_native_certs::load_native_certs().certs;
        let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(roots.collect())))
            .build();
        let agent: Agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(SEND_TIMEOUT))
            .build()
            .into();
        Self { agent: Mutex::new(agent), address }
    }

    fn agent(&self) -> Agent {
        self.agent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Goes on with another connection: QuestDB knows tables by their names as each connection has seen them first, also those that were
    /// dropped and made again.
    pub(crate) fn reconnect(&self) {
        let config = self.agent().config().clone();
        *self.agent.lock().unwrap_or_else(PoisonError::into_inner) = Agent::new_with_config(config);
    }

    /// `http://host:port`, for people.
    pub(crate) fn place(&self) -> &str {
        &self.address.http_url
    }

    /// Whether QuestDB responds.
    pub(crate) fn ping(&self) -> Result<(), Fault> {
        let url = format!("{}/ping", self.address.http_url);
        let mut request = self.agent().get(url);
        if let Some(authorization) = &self.address.authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = request.call().map_err(|error| self.fault(&error))?;
        self.check(&mut response)
    }

    /// Returns once QuestDB has all rows in its log, or nothing of them.
    pub(crate) fn send(&self, lines: &[u8]) -> Result<(), Fault> {
        let url = format!("{}/write?precision=ms", self.address.http_url);
        let mut request = self.agent().post(url).content_type("text/plain; charset=utf-8");
        if let Some(authorization) = &self.address.authorization {
            request = request.header("authorization", authorization);
        }
        let mut response = request.send(lines).map_err(|error| self.fault(&error))?;
        self.check(&mut response)
    }

    fn check(&self, response: &mut ureq::http::Response<ureq::Body>) -> Result<(), Fault> {
        let status = response.status();
        let body = response.body_mut().with_config().limit(REASON_BYTES_MAX).read_to_string();
        if status.is_success() {
            return Ok(());
        }
        let body = body.unwrap_or_default();
        let why = format!("{} responded with status {}: {}", self.place(), status.as_u16(), body.trim());
        let kind = if status.is_client_error() { FaultKind::Refused } else { FaultKind::Gone };
        Err(Fault { why: why.into(), kind })
    }

    fn fault(&self, error: &ureq::Error) -> Fault {
        Fault::gone(&format!("{} cannot be reached: {error}", self.place()))
    }
}
