//! Requests to outputs that speak HTTP: blocking, on the output's own thread, with a limit of time.

use crate::sender::SEND_TIMEOUT;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::Url;

pub(crate) const AUTHORIZATION: &str = "authorization";

/// Of an error's response; enough to say what is wrong.
const RESPONSE_MAX: u64 = 4 << 10;

#[derive(Debug)]
pub(crate) struct Post {
    agent: Agent,
    url: String,
    /// Names and values.
    headers: Vec<(&'static str, String)>,
}

impl Post {
    /// A user and password in the URL become basic authentication where `headers` have no other.
    pub(crate) fn new(mut url: Url, mut headers: Vec<(&'static str, String)>) -> Result<Self, String> {
        if !headers.iter().any(|(name, _)| *name == AUTHORIZATION) {
            headers.extend(basic(&url).map(|value| (AUTHORIZATION, value)));
        }
        let is_plain = url.set_username("").is_ok() && url.set_password(None).is_ok();
        debug_assert!(is_plain, "URLs with a host can be without a user");
        let roots = if url.scheme() == "https" { system_roots()? } else { Vec::new() };
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::Specific(Arc::new(roots)))
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
            .build();
        // A redirected POST would lose its body, and count as sent.
        let config =
            Agent::config_builder().timeout_global(Some(SEND_TIMEOUT)).max_redirects(0).tls_config(tls);
        let agent = config.http_status_as_error(false).build().into();
        Ok(Self { agent, url: url.into(), headers })
    }

    /// Never with the URL, which may hold a password.
    pub(crate) fn send(&self, body: &[u8]) -> Result<(), String> {
        let request = self
            .headers
            .iter()
            .fold(self.agent.post(&self.url), |request, (name, value)| request.header(*name, value.as_str()));
        let mut response = request.send(body).map_err(|error| match error {
            ureq::Error::Timeout(_) => format!("no response within {} s", SEND_TIMEOUT.as_secs()),
            ureq::Error::BadUri(_) => "the URL cannot be asked".to_owned(),
            error => error.to_string(),
        })?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let text = response.body_mut().with_config().limit(RESPONSE_MAX).read_to_string().unwrap_or_default();
        let text = text.trim().lines().next().unwrap_or_default().to_owned();
        Err(format!("it responded with status {}: {text}", status.as_u16()))
    }
}

/// A URL with a scheme and a host; the path in place of none. Errors leave the text to others, which know what is secret in it.
pub(crate) fn url(text: &str, path: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("its target is no URL ({error})"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("its target is no URL with http:// or https://".to_owned());
    }
    if url.path() == "/" {
        url.set_path(path);
    }
    Ok(url)
}

/// User and password as they are, without the escapes that a URL needs.
fn basic(url: &Url) -> Option<String> {
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let plain: Vec<u8> = percent_decode_str(user).chain([b':']).chain(percent_decode_str(password)).collect();
    (plain != b":").then(|| format!("Basic {}", BASE64_STANDARD.encode(plain)))
}

fn system_roots() -> Result<Vec<Certificate<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this machine has no certificates of authorities; install ca-certificates".to_owned());
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}
