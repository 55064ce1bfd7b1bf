//! How requests travel: protocol, connections and their sharing, name resolution, TLS. What is sent is not known here.

use crate::plan::target::Target;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// More users on one HTTP/2 connection than any server lets open streams at the same time.
pub const STREAMS_MAX: u32 = 10_000;
/// Deeper pipelines than any server reads ahead.
pub const PIPELINE_MAX: u32 = 1_000;

/// For all connections of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WireOptions {
    pub protocol: Protocol,
    pub connections: Connections,
    /// HTTP/2: how many users of a thread share a connection. HTTP/1.1 answers in order and shares none, so there it
    /// is not used.
    pub streams: u32,
    /// HTTP/1.1: how many requests a user writes before it waits for the first answer.
    pub pipeline: u32,
    pub dns: Dns,
    pub tls: TlsOptions,
}

/// What is spoken over the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1; over TLS only `http/1.1` is offered by ALPN.
    #[default]
    Http1,
    /// HTTP/2; over TLS only `h2` is offered, without TLS it is spoken from the first byte (prior knowledge).
    Http2,
    /// Over TLS the target chooses of `h2` and `http/1.1`; without TLS HTTP/1.1.
    Auto,
}

impl Protocol {
    /// For people and results.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Auto => "HTTP/2 or HTTP/1.1, as the target chooses",
        }
    }
}

/// What is spoken with a target, once that is settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoken {
    Http1,
    Http2,
}

impl Spoken {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Whether a user keeps its connection from one request to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Connections {
    /// Opened again only when it was lost.
    #[default]
    Kept,
    /// A connection of its own for each request.
    Fresh,
}

/// When the target's name is resolved. Connections take turns at its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dns {
    /// Before the run.
    #[default]
    Once,
    /// Again while the run goes, as connections are opened, so that a change of the name's addresses is followed.
    PerConnection,
}

/// For targets with `https://`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsOptions {
    /// Takes any certificate for any name. The result says so.
    pub insecure: bool,
    /// PEM files of certificates that are trusted instead of the system's.
    pub ca: Vec<PathBuf>,
    /// PEM file of the client's certificate, its issuers after it.
    pub cert: Option<PathBuf>,
    /// PEM file of the client certificate's private key; may be the same file.
    pub key: Option<PathBuf>,
    /// Sent as SNI and checked against the certificate, instead of the target's host.
    pub server_name: Option<String>,
    /// Sessions are resumed where the target allows it.
    pub resume: bool,
    /// Every version that there is, where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<TlsVersion>,
    /// The cipher suites of TLS 1.2 that are offered, by their IANA names; all where empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cipher_suites: Vec<String>,
}

/// A version of TLS, where there is to be no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "tls1.2")]
    Tls12,
    #[serde(rename = "tls1.3")]
    Tls13,
}

impl Default for WireOptions {
    fn default() -> Self {
        Self {
            protocol: Protocol::default(),
            connections: Connections::default(),
            streams: 1,
            pipeline: 1,
            dns: Dns::default(),
            tls: TlsOptions::default(),
        }
    }
}

impl Default for TlsOptions {
    fn default() -> Self {
        Self {
            insecure: false,
            ca: Vec::new(),
            cert: None,
            key: None,
            server_name: None,
            resume: true,
            version: None,
            cipher_suites: Vec::new(),
        }
    }
}

/// An option that makes no sense, with the name of its key as plans write it (`tls.cert`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireFault {
    pub key: &'static str,
    pub message: String,
}

impl WireOptions {
    /// Everything in which the options contradict each other or the targets.
    pub fn faults(&self, targets: &[Target]) -> Vec<WireFault> {
        let mut faults = Vec::new();
        let mut fault = |key, message: String| faults.push(WireFault { key, message });
        if !(1..=STREAMS_MAX).contains(&self.streams) {
            fault("streams", format!("{} streams a connection; use 1 to {STREAMS_MAX}", self.streams));
        } else if self.streams > 1 && self.protocol == Protocol::Http1 {
            fault(
                "streams",
                format!(
                    "{} streams need HTTP/2; set `protocol = \"http2\"` (--http2), or use `pipeline`",
                    self.streams
                ),
            );
        } else if self.streams > 1 && self.connections == Connections::Fresh {
            fault("streams", "a fresh connection carries one request, so it has one stream".to_owned());
        }
        if !(1..=PIPELINE_MAX).contains(&self.pipeline) {
            fault("pipeline", format!("{} requests in a pipeline; use 1 to {PIPELINE_MAX}", self.pipeline));
        } else if self.pipeline > 1 && self.protocol != Protocol::Http1 {
            fault("pipeline", "pipelining belongs to HTTP/1.1; HTTP/2 has `streams`".to_owned());
        } else if self.pipeline > 1 && self.connections == Connections::Fresh {
            fault("pipeline", "a fresh connection carries one request, so nothing can follow it".to_owned());
        }
        self.tls.faults(targets, &mut fault);
        faults
    }
}

impl TlsOptions {
    fn faults(&self, targets: &[Target], fault: &mut impl FnMut(&'static str, String)) {
        if self.cert.is_some() != self.key.is_some() {
            let (has, lacks) =
                if self.cert.is_some() { ("tls.cert", "tls.key") } else { ("tls.key", "tls.cert") };
            fault(has, format!("a client certificate needs its key too; set `{lacks}` (PEM files)"));
        }
        if self.insecure && !self.ca.is_empty() {
            fault(
                "tls.insecure",
                "any certificate is taken, so `tls.ca` has no use; leave one out".to_owned(),
            );
        }
        if self.server_name.as_deref().is_some_and(str::is_empty) {
            fault("tls.server_name", "an empty name cannot be asked for; leave it out".to_owned());
        }
        let is_set = *self != Self { resume: self.resume, ..Self::default() };
        if is_set && !targets.is_empty() && !targets.iter().any(Target::is_tls) {
            fault("tls", "no target is encrypted; write `https://` for at least one".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(change: impl FnOnce(&mut WireOptions), expected: &Expect) {
        let mut options = WireOptions::default();
        change(&mut options);
        let faults = options.faults(&[Target::new("a", 80)]);
        let lines: Vec<_> = faults.iter().map(|fault| format!("{}: {fault}", fault.key)).collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn options_that_contradict_are_named() {
        check(|_| {}, &expect![[""]]);
        check(|o| o.streams = 0, &expect!["streams: 0 streams a connection; use 1 to 10000"]);
        check(
            |o| o.streams = 8,
            &expect![[
                r#"streams: 8 streams need HTTP/2; set `protocol = "http2"` (--http2), or use `pipeline`"#
            ]],
        );
        check(
            |o| (o.streams, o.protocol, o.connections) = (8, Protocol::Http2, Connections::Fresh),
            &expect!["streams: a fresh connection carries one request, so it has one stream"],
        );
        check(|o| (o.streams, o.protocol) = (8, Protocol::Auto), &expect![[""]]);
        check(|o| o.pipeline = 1_001, &expect!["pipeline: 1001 requests in a pipeline; use 1 to 1000"]);
        check(
            |o| (o.pipeline, o.protocol) = (2, Protocol::Http2),
            &expect!["pipeline: pipelining belongs to HTTP/1.1; HTTP/2 has `streams`"],
        );
        check(
            |o| (o.pipeline, o.connections) = (2, Connections::Fresh),
            &expect!["pipeline: a fresh connection carries one request, so nothing can follow it"],
        );
    }

    #[test]
    fn tls_options_that_contradict_are_named() {
        check(
            |o| o.tls.cert = Some("c.pem".into()),
            &expect![[r#"
                tls.cert: a client certificate needs its key too; set `tls.key` (PEM files)
                tls: no target is encrypted; write `https://` for at least one"#]],
        );
        check(
            |o| (o.tls.insecure, o.tls.ca) = (true, vec!["ca.pem".into()]),
            &expect![[r#"
                tls.insecure: any certificate is taken, so `tls.ca` has no use; leave one out
                tls: no target is encrypted; write `https://` for at least one"#]],
        );
        check(|o| o.tls.resume = false, &expect![[""]]);
        let mut options = WireOptions::default();
        options.tls.insecure = true;
        assert_eq!(options.faults(&[Target::parse("https://a").unwrap()]), []);
    }

    #[test]
    fn plans_may_leave_everything_out() {
        let options: WireOptions =
            serde_json::from_str(r#"{"protocol":"http2","tls":{"insecure":true}}"#).unwrap();
        assert_eq!((options.protocol, options.streams), (Protocol::Http2, 1));
        assert!(options.tls.insecure && options.tls.resume);
    }
}
