//! `prony health`: asks a running server whether requests should be sent to it; for health checks of containers, in which there is no
//! other client.

use std::{process::ExitCode, sync::Arc, time::Duration};

use anyhow::{Context as _, bail};
use prony_model::Nanos;
use ureq::{
    Agent,
    http::{
        Uri,
        uri::{Authority, PathAndQuery},
    },
    tls::{RootCerts, TlsConfig},
};

use crate::many::duration;

/// What a response may have: `/health` of a server with very many sources has less.
const BODY_BYTES_MAX: u64 = 4 << 20;
/// Where the address has no path.
const PATH: &str = "/ready";
/// The server does not respond as it should, or not at all.
const NOT_HEALTHY: u8 = 1;

#[derive(Debug, clap::Args)]
pub(crate) struct HealthArguments {
    /// Where the server is, or which of its paths is asked: /live, /ready (where there is no path) or /health
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// How long the response may take
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    timeout: Nanos,
    /// Take any certificate: that of a server is seldom for the address by which its own machine asks it
    #[arg(long)]
    insecure: bool,
}

/// Exit code 0 where the status is 2xx, 1 otherwise; what is no address of a server could not be asked.
pub(crate) fn execute(arguments: &HealthArguments) -> anyhow::Result<ExitCode> {
    let url = address(&arguments.url)?;
    match ask(arguments, &url) {
        Ok((is_success, body)) => {
            crate::print(&format!("{}\n", body.trim_end()))?;
            Ok(if is_success { ExitCode::SUCCESS } else { ExitCode::from(NOT_HEALTHY) })
        }
        Err(error) => {
            crate::say(&error);
            Ok(ExitCode::from(NOT_HEALTHY))
        }
    }
}

fn address(given: &str) -> anyhow::Result<Uri> {
    let uri: Uri = given.parse().with_context(|| format!("`{given}` is no address"))?;
    // A port that is none is left out by those who ask for it, and another server would be asked.
    let is_faulty = |of: &Authority| of.port_u16().is_none() && !of.as_str().ends_with(of.host());
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.authority().is_none_or(is_faulty) {
        bail!(
            "`{given}` is no address of a server; write http://HOST:PORT or https://HOST:PORT, with a path or without"
        );
    }
    if uri.path() != "/" {
        return Ok(uri);
    }
    let mut parts = uri.into_parts();
    parts.path_and_query = Some(PathAndQuery::from_static(PATH));
    Uri::from_parts(parts).with_context(|| format!("`{given}` is no address"))
}

fn ask(arguments: &HealthArguments, url: &Uri) -> anyhow::Result<(bool, String)> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(provider)
        .root_certs(RootCerts::Specific(Arc::new(roots(arguments, url))))
        .disable_verification(arguments.insecure)
        .build();
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(Duration::from_nanos(arguments.timeout.0)))
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .tls_config(tls)
        .build()
        .into();
    let mut response = agent.get(url).call().map_err(|error| unanswered(url, error))?;
    let is_success = response.status().is_success();
    let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_string();
    Ok((is_success, body.with_context(|| format!("{url} does not respond to the end"))?))
}

fn unanswered(url: &Uri, error: ureq::Error) -> anyhow::Error {
    let refused = match &error {
        ureq::Error::Rustls(error) => Some(error),
        ureq::Error::Io(error) => error.get_ref().and_then(|inner| inner.downcast_ref()),
        _ => None,
    };
    let Some(rustls::Error::InvalidCertificate(reason)) = refused else {
        return anyhow::Error::new(error).context(format!("{url} does not respond"));
    };
    // Others have a text only within.
    let reason = match reason {
        rustls::CertificateError::Other(reason) => in_words(&reason.0.to_string()),
        reason => reason.to_string(),
    };
    anyhow::anyhow!(
        "{url} shows a certificate that this machine does not trust for it: {reason}; trust its authority here, ask by a name that is in it, \
         or take any certificate with --insecure"
    )
}

/// What the library has but a name of its own for.
fn in_words(reason: &str) -> String {
    match reason {
        "CaUsedAsEndEntity" => "the server has made it itself, as an authority".to_owned(),
        "UnsupportedCertVersion" => "it is of version 1, and version 3 is needed".to_owned(),
        other => other.to_owned(),
    }
}

/// The system's authorities, where their word is asked for.
fn roots(arguments: &HealthArguments, url: &Uri) -> Vec<ureq::tls::Certificate<'static>> {
    if arguments.insecure || url.scheme_str() != Some("https") {
        return Vec::new();
    }
    let found = rustls_native_certs::load_native_certs().certs;
    found.iter().map(|root| ureq::tls::Certificate::from_der(root).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_path_is_asked_whether_it_is_ready() {
        let asked = |given| address(given).map(|uri| uri.to_string()).map_err(|error| error.to_string());
        assert_eq!(asked("http://[::1]:80"), Ok("http://[::1]:80/ready".to_owned()));
        assert_eq!(asked("https://api.test/"), Ok("https://api.test/ready".to_owned()));
        assert_eq!(asked("http://api.test/live"), Ok("http://api.test/live".to_owned()));
        let wrong_ports = ["http://localhost:99999", "http://localhost:x/live", "http://[::1]:99999"];
        let others = ["", "localhost", "localhost:8080", "/ready", "file:///etc"];
        for wrong in others.into_iter().chain(wrong_ports) {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn reasons_are_words() {
        assert_eq!(in_words("CaUsedAsEndEntity"), "the server has made it itself, as an authority");
        assert_eq!(in_words("the name differs"), "the name differs");
    }
}
