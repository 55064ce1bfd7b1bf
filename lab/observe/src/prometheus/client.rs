//! Asks the endpoint: blocking, on the observer's own thread, with limits of time and size.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
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
    /// Without user and password.
    url: String,
    /// Basic authentication, where the URL had a user.
    authorization: Option<String>,
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
        let (url, authorization) = without_user(url);
        Ok(Self { agent: config.into(), url, authorization })
    }

    /// The answer's text, or what went wrong; never with the URL, which may hold a password.
    pub(super) fn get(&self) -> Result<String, String> {
        let request = self.agent.get(&self.url).header("accept", "text/plain;version=0.0.4");
        let request = self
            .authorization
            .iter()
            .fold(request, |request, value| request.header("authorization", value.as_str()));
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

/// What stands before the host is sent as it is meant, without the escapes that a URL needs: `%40` is `@`.
fn without_user(url: &str) -> (String, Option<String>) {
    let found = url.split_once("://").and_then(|(scheme, rest)| {
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        rest[..end].rfind('@').map(|at| (scheme, &rest[..at], &rest[at + 1..]))
    });
    let Some((scheme, user, rest)) = found else { return (url.to_owned(), None) };
    let (user, password) = user.split_once(':').unwrap_or((user, ""));
    let parts = [user, password].map(|text| percent_decode_str(text).collect::<Vec<u8>>());
    let credentials = BASE64_STANDARD.encode(parts.join(&b':'));
    (format!("{scheme}://{rest}"), Some(format!("Basic {credentials}")))
}

fn system_roots() -> Result<Vec<Certificate<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err("this machine has no certificates of authorities; install ca-certificates".to_owned());
    }
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_passwords_are_sent_without_the_escapes_of_urls() {
        for (url, bare, credentials) in [
            ("http://bob:p%40s%3As@db:1/m?x=@#a", "http://db:1/m?x=@#a", Some("bob:p@s:s")),
            ("https://b%C3%B6b@db", "https://db", Some("böb:")),
            ("http://bob:a@b@db/", "http://db/", Some("bob:a@b")),
            ("http://db/m@x", "http://db/m@x", None),
        ] {
            let authorization = credentials.map(|text| format!("Basic {}", BASE64_STANDARD.encode(text)));
            assert_eq!(without_user(url), (bare.to_owned(), authorization), "{url}");
        }
    }
}
