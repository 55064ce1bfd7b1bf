//! `--out KIND:TARGET`: which kind, and where it goes.

use crate::sender::Sender;
use crate::{graphite, influxdb, otlp, prometheus, statsd};

/// A kind of output by its name, with an example of its target.
#[derive(Debug)]
pub struct SinkKind {
    pub name: &'static str,
    pub example: &'static str,
    pub(crate) open: fn(&str) -> Result<Box<dyn Sender>, String>,
}

/// All kinds.
pub static KINDS: [SinkKind; 5] = [
    SinkKind {
        name: "prometheus",
        example: "prometheus:http://127.0.0.1:9090/api/v1/write",
        open: prometheus::open,
    },
    SinkKind { name: "otlp", example: "otlp:http://127.0.0.1:4318", open: otlp::open },
    SinkKind { name: "influxdb", example: "influxdb:http://127.0.0.1:8086/load", open: influxdb::open },
    SinkKind { name: "statsd", example: "statsd:127.0.0.1:8125", open: statsd::open },
    SinkKind { name: "graphite", example: "graphite:127.0.0.1:2003", open: graphite::open },
];

/// An output that cannot be written to, told before the run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SinkError {
    #[error("--out {name}: {problem}; write for example --out {example}")]
    Target { name: String, problem: String, example: &'static str },
    #[error("--out {name}: more than {SINKS_MAX} outputs; leave some out")]
    TooMany { name: String },
}

/// Each has a thread; more are read by nobody.
pub(crate) const SINKS_MAX: usize = 16;

/// An output as the command line asks for it.
#[derive(Debug, Clone)]
pub struct SinkSpec {
    /// As it was asked for, without credentials.
    pub(crate) name: String,
    pub(crate) kind: &'static SinkKind,
    pub(crate) target: String,
}

impl SinkSpec {
    /// Nothing where the text names none of [`KINDS`]. A colon or `=` stands behind the kind.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, target) = text.split_once([':', '=']).unwrap_or((text, ""));
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        let name = format!("{}{}", &text[..text.len() - target.len()], without_secrets(target));
        Some(Self { name, kind, target: target.to_owned() })
    }

    /// As it was asked for, without credentials.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Sender>, SinkError> {
        (self.kind.open)(&self.target).map_err(|problem| SinkError::Target {
            name: self.name.clone(),
            problem,
            example: self.kind.example,
        })
    }
}

/// A URL without user, password and query, which may have a password or token in it; of a broken one that may have them, nothing.
fn without_secrets(target: &str) -> String {
    let Some((scheme, rest)) = target.split_once("://") else { return target.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let path = &path[..path.find(['?', '#']).unwrap_or(path.len())];
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}{path}"),
        None if rest.contains('@') => format!("{scheme}://***"),
        None => format!("{scheme}://{authority}{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_credentials() {
        for (text, name) in [
            ("otlp=https://h:4318/x", "otlp=https://h:4318/x"),
            ("prometheus:http://bob:geheim@h:9090/w", "prometheus:http://h:9090/w"),
            ("prometheus:http://geheim@h", "prometheus:http://h"),
            ("influxdb:http://h/write?db=a&u=bob&p=geheim", "influxdb:http://h/write"),
            ("influxdb:http://h?u=bob@x&p=geheim", "influxdb:http://***"),
            ("influxdb:http://bob:ge?heim@h/x", "influxdb:http://***"),
            ("influxdb:http://bob:ge/heim@h/x", "influxdb:http://***"),
            ("statsd:größe:8125", "statsd:größe:8125"),
            ("graphite", "graphite"),
        ] {
            assert_eq!(SinkSpec::parse(text).map(|spec| spec.name), Some(name.to_owned()));
        }
    }
}
