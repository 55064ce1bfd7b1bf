//! Where traces go, and which requests are traced: the section `[traces]`.

use std::{fmt, path::PathBuf, time::Duration};

use http::{HeaderName, Uri, uri::Scheme};

/// Where traces are taken at an address without a path.
pub(super) const PATH: &str = "/v1/traces";
/// Of all ratios, as options have them.
pub(super) const RATIO_MAX: u64 = 1_000_000_000;

/// Where traces go, and which requests are traced.
#[derive(Clone, PartialEq, Eq)]
pub struct TracesSettings {
    /// Where they are sent by OTLP over HTTP; nobody is traced where it is empty.
    pub endpoint: String,
    /// Headers of each of these requests, which may be secret.
    pub headers: Vec<(String, String)>,
    /// Certificates (PEM) that are trusted for the collector, in place of the system's.
    pub ca_file: Option<PathBuf>,
    /// The share of requests that are traced, in billionths: of those that do not say themselves whether they are.
    pub sample_billionths: u64,
    /// Whether a request with a `traceparent` is traced as that says.
    pub follows_parent: bool,
    pub service_name: String,
    /// Further attributes of the service.
    pub resource_attributes: Vec<(String, String)>,
    pub compresses: bool,
    /// How long a request with traces may take.
    pub timeout: Duration,
    /// Spans that are sent together, and how long the first of them waits for others.
    pub batch_spans: usize,
    pub batch_delay: Duration,
    /// Spans that wait to be sent; further ones are dropped.
    pub max_queued_spans: usize,
    /// What is to be told of variables that were passed over.
    pub notes: Vec<String>,
}

impl Default for TracesSettings {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            headers: Vec::new(),
            ca_file: None,
            sample_billionths: RATIO_MAX,
            follows_parent: true,
            service_name: "prony".to_owned(),
            resource_attributes: Vec::new(),
            compresses: false,
            timeout: Duration::from_secs(10),
            batch_spans: 512,
            batch_delay: Duration::from_secs(1),
            max_queued_spans: 16_384,
            notes: Vec::new(),
        }
    }
}

/// Without the values of headers.
impl fmt::Debug for TracesSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        formatter
            .debug_struct("TracesSettings")
            .field("endpoint", &self.endpoint)
            .field("headers", &headers)
            .field("ca_file", &self.ca_file)
            .field("sample_billionths", &self.sample_billionths)
            .field("follows_parent", &self.follows_parent)
            .field("service_name", &self.service_name)
            .field("resource_attributes", &self.resource_attributes)
            .finish_non_exhaustive()
    }
}

impl TracesSettings {
    pub(crate) fn is_on(&self) -> bool {
        !self.endpoint.is_empty()
    }

    /// The share of requests that are traced, from 0 to 1.
    pub(crate) fn sample_ratio(&self) -> f64 {
        self.sample_billionths as f64 / RATIO_MAX as f64
    }
}

/// `NAME=VALUE` of each.
pub(super) fn pairs(list: &[String], what: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        // Never with the text, which may be secret.
        _ => Err(format!("one of the {what} is no NAME=VALUE")),
    };
    list.iter().filter(|text| !text.is_empty()).map(pair).collect()
}

pub(super) fn headers(list: &[String]) -> Result<Vec<(String, String)>, String> {
    let all = pairs(list, "headers")?;
    match all.iter().find(|(name, _)| HeaderName::from_bytes(name.as_bytes()).is_err()) {
        Some((name, _)) => Err(format!("`{name}` is no name of a header")),
        None => Ok(all),
    }
}

/// The address at which traces are taken, in full; the path in place of none.
pub(super) fn endpoint(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let (base, uri) = split(text)?;
    Ok(if matches!(uri.path(), "" | "/") && uri.query().is_none() {
        format!("{base}{PATH}")
    } else {
        text.to_owned()
    })
}

/// An address and what is before its path.
pub(super) fn split(text: &str) -> Result<(String, Uri), String> {
    let wanted = "write http://HOST:PORT or https://HOST:PORT, with the path /v1/traces or without";
    let uri: Uri = text.parse().map_err(|_| format!("it is no address; {wanted}"))?;
    let scheme = uri.scheme().filter(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
    let (Some(scheme), Some(authority)) = (scheme, uri.authority()) else {
        return Err(format!("it is no address of HTTP; {wanted}"));
    };
    if authority.as_str().contains('@') {
        return Err(
            "it has a user or password; write them into `headers`, as authorization=Basic ${NAME}".to_owned()
        );
    }
    // Who asks would leave it out, and send to another server.
    if authority.port_u16().is_none() && !authority.as_str().ends_with(authority.host()) {
        return Err(format!("its port is none; {wanted}"));
    }
    Ok((format!("{scheme}://{authority}"), uri))
}
