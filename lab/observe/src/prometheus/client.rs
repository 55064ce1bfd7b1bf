//! Asks the endpoint: blocking, on the observer's own thread, with limits of time and size.

use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// Prometheus itself gives up after 10 s; looks are a second apart here.
const TIME_MAX: Duration = Duration::from_secs(5);
/// Ten times what large servers have.
const ANSWER_MAX: u64 = 32 << 20;

#[derive(Debug)]
pub(super) struct Client {
    agent: Agent,
    url: String,
}

impl Client {
    pub(super) fn new(url: &str) -> Result<Self, String> {
        let roots = if url.starts_with("https:") { system_roots()? } else { Vec::new() };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .build();
        // No proxy: what is watched stands beside the target.
        let config =
            Agent::config_builder().timeout_global(Some(TIME_MAX)).proxy(None).tls_config(tls).build();
        Ok(Self { agent: config.into(), url: url.to_owned() })
    }

    /// The answer's text, or what went wrong; never with the URL, which may hold a password.
    pub(super) fn get(&self) -> Result<String, String> {
        let request = self.agent.get(&self.url).header("accept", "text/plain;version=0.0.4");
        let answer = request
            .call()
            .and_then(|mut response| response.body_mut().with_config().limit(ANSWER_MAX).read_to_string());
        answer.map_err(|error| match error {
            ureq::Error::Timeout(_) => format!("no answer within {} s", TIME_MAX.as_secs()),
            ureq::Error::StatusCode(status) => format!("the endpoint answered with status {status}"),
            ureq::Error::BodyExceedsLimit(_) => format!("the answer is longer than {} MB", ANSWER_MAX >> 20),
            ureq::Error::BadUri(_) => "the URL cannot be asked".to_owned(),
            error => error.to_string(),
        })
    }
}

fn system_roots() -> Result<Vec<Certificate<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this machine has no certificates of authorities; install ca-certificates".to_owned());
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}
