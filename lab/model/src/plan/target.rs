//! Where requests go: scheme, host and port or a Unix-domain socket, and a path prefix. Resolving is the runner's work.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest path that a Unix-domain socket can have: `sun_path` of Linux without its final zero.
pub const UNIX_PATH_BYTES_MAX: usize = 107;
/// What `Host` says to a target behind a Unix-domain socket, and the name its certificate is checked against.
const UNIX_HOST: &str = "localhost";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

/// Where requests go. Written and read as `http[s]://HOST[:PORT][/PREFIX]` or `http[s]://unix:/PATH.sock[:/PREFIX]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Target {
    pub scheme: Scheme,
    pub endpoint: Endpoint,
    /// Put before each request's path; empty or starting with `/`, never ending with it.
    pub path_prefix: String,
    /// Of a program that speaks another protocol than requests of HTTP; no plan has any.
    pub channel: Option<Arc<Channel>>,
}

/// How a program speaks with a target over connections that nothing else uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Channel {
    pub protocol: ChannelProtocol,
    /// Tells a user's channels to one target apart: each has connections of its own.
    pub number: u32,
    /// Over TLS: what differs from the settings of the run.
    pub tls: ChannelTls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChannelProtocol {
    /// HTTP/2 from the first byte (prior knowledge); over TLS only `h2` is offered.
    Http2,
    /// Bytes that the program alone understands; over TLS nothing is offered by ALPN.
    Bytes,
}

/// In PEM.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ChannelTls {
    /// Certificates that are trusted beside those that the run trusts.
    pub authorities: Vec<String>,
    /// The client's certificate, its issuers after it, and its private key.
    pub identity: Option<(String, String)>,
    /// Sent as SNI and checked against the certificate, instead of the target's host.
    pub server_name: Option<String>,
    /// Takes any certificate for any name, whatever the run does.
    pub is_insecure: bool,
}

/// What is connected to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// The host is a name or an address; IPv6 addresses stand without brackets, with `%zone` where they have one.
    Tcp { host: String, port: u16 },
    /// An absolute path of at most [`UNIX_PATH_BYTES_MAX`] bytes.
    Unix { path: PathBuf },
}

impl Target {
    /// Plain HTTP.
    pub fn new(host: &str, port: u16) -> Self {
        let endpoint = Endpoint::Tcp { host: host.to_owned(), port };
        Self { scheme: Scheme::Http, endpoint, path_prefix: String::new(), channel: None }
    }

    /// Reads a URL of the forms that [`Target`] names.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        let fault = |reason| TargetError { url: url.to_owned(), reason };
        let (scheme, rest) = match url.split_once("://") {
            Some((name, rest)) if name.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some((name, rest)) if name.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            _ => return Err(fault(TargetFault::Scheme)),
        };
        let (endpoint, prefix) = match rest.strip_prefix("unix:") {
            Some(rest) => unix_endpoint(rest).map_err(fault)?,
            None => tcp_endpoint(scheme, rest).map_err(fault)?,
        };
        if prefix.contains(|c: char| "?# ".contains(c) || c.is_control()) {
            return Err(fault(TargetFault::Extra));
        }
        let path_prefix = prefix.trim_end_matches('/').to_owned();
        Ok(Self { scheme, endpoint, path_prefix, channel: None })
    }

    pub const fn is_tls(&self) -> bool {
        matches!(self.scheme, Scheme::Https)
    }

    /// The name or address asked for; `localhost` behind a Unix-domain socket.
    pub fn host(&self) -> &str {
        match &self.endpoint {
            Endpoint::Tcp { host, .. } => host,
            Endpoint::Unix { .. } => UNIX_HOST,
        }
    }

    /// None behind a Unix-domain socket.
    pub const fn port(&self) -> Option<u16> {
        match self.endpoint {
            Endpoint::Tcp { port, .. } => Some(port),
            Endpoint::Unix { .. } => None,
        }
    }

    /// What the `Host` header says: no default port, and an IPv6 address in brackets without its zone.
    pub fn authority(&self) -> String {
        let (host, _) = self.host().split_once('%').unwrap_or((self.host(), ""));
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        match self.port() {
            Some(port) if port != self.scheme.default_port() => format!("{host}:{port}"),
            _ => host,
        }
    }
}

/// `/PATH.sock[:/PREFIX]`, the form that nginx has for upstream sockets.
fn unix_endpoint(rest: &str) -> Result<(Endpoint, &str), TargetFault> {
    let (path, prefix) = rest.split_once(':').unwrap_or((rest, ""));
    let is_path = path.starts_with('/') && path.len() > 1 && path.len() <= UNIX_PATH_BYTES_MAX;
    if !is_path || path.contains('\0') {
        return Err(TargetFault::UnixPath);
    }
    if !(prefix.is_empty() || prefix.starts_with('/')) {
        return Err(TargetFault::UnixPrefix);
    }
    Ok((Endpoint::Unix { path: Path::new(path).to_owned() }, prefix))
}

/// `HOST[:PORT][/PREFIX]`.
fn tcp_endpoint(scheme: Scheme, rest: &str) -> Result<(Endpoint, &str), TargetFault> {
    let (authority, prefix) = rest.find(['/', '?', '#']).map_or((rest, ""), |at| rest.split_at(at));
    if authority.contains('@') {
        return Err(TargetFault::Extra);
    }
    let (host, port) = split_port(authority).ok_or(TargetFault::Port)?;
    if host.is_empty() || host.contains(|c: char| !c.is_ascii_graphic()) {
        return Err(TargetFault::Host);
    }
    let port = port.unwrap_or(scheme.default_port());
    // RFC 6874 writes the `%` before a zone as `%25`.
    Ok((Endpoint::Tcp { host: host.replacen("%25", "%", 1), port }, prefix))
}

/// Host and port, where one is given; none where it is no number.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest.split_once(']')?;
            (host, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
        }
        None => match authority.split_once(':') {
            None => (authority, None),
            Some((host, port)) => (host, Some(port)),
        },
    };
    match port {
        None => Some((host, None)),
        Some(port) => Some((host, Some(port.parse().ok()?))),
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.scheme.as_str();
        match &self.endpoint {
            Endpoint::Tcp { .. } => write!(f, "{scheme}://{}{}", self.authority(), self.path_prefix),
            Endpoint::Unix { path } => {
                write!(f, "{scheme}://unix:{}", path.display())?;
                if self.path_prefix.is_empty() { Ok(()) } else { write!(f, ":{}", self.path_prefix) }
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("target `{url}` {reason}")]
pub struct TargetError {
    pub url: String,
    pub reason: TargetFault,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TargetFault {
    #[error("must start with `http://` or `https://`")]
    Scheme,
    #[error("has no usable host; write for example `http://127.0.0.1:8080`")]
    Host,
    #[error("has a port that is not a number from 0 to 65535; write an IPv6 address in brackets")]
    Port,
    #[error("holds more than host, port and path; user names go into headers, queries into requests")]
    Extra,
    #[error(
        "needs the socket's absolute path, of at most {UNIX_PATH_BYTES_MAX} bytes; \
         write for example `http://unix:/run/app.sock`"
    )]
    UnixPath,
    #[error(
        "has something else than a path after the socket's; write for example `http://unix:/run/app.sock:/api`"
    )]
    UnixPrefix,
}

/// A target and the name by which requests ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    pub name: String,
    pub target: Target,
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// How a target prints, what its `Host` header says, and what is connected to; or what is wrong with it.
    fn check(url: &str, expected: &Expect) {
        let shown = match Target::parse(url) {
            Err(error) => error.to_string(),
            Ok(target) => {
                let again = Target::parse(&target.to_string());
                assert_eq!(again.as_ref(), Ok(&target), "prints what it reads");
                format!("{target} | {} | {:?}", target.authority(), target.endpoint)
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn targets_over_tcp() {
        check("http://host", &expect![[r#"http://host | host | Tcp { host: "host", port: 80 }"#]]);
        check("https://host/", &expect![[r#"https://host | host | Tcp { host: "host", port: 443 }"#]]);
        check("HTTPS://host:80", &expect![[r#"https://host:80 | host:80 | Tcp { host: "host", port: 80 }"#]]);
        check(
            "http://10.0.0.1:8080/api/v1/",
            &expect![[
                r#"http://10.0.0.1:8080/api/v1 | 10.0.0.1:8080 | Tcp { host: "10.0.0.1", port: 8080 }"#
            ]],
        );
        check(
            "http://[::1]:8080",
            &expect![[r#"http://[::1]:8080 | [::1]:8080 | Tcp { host: "::1", port: 8080 }"#]],
        );
        check("https://[::1]/x", &expect![[r#"https://[::1]/x | [::1] | Tcp { host: "::1", port: 443 }"#]]);
    }

    #[test]
    fn zones_of_ipv6_addresses_are_connected_to_and_not_sent() {
        let target = Target::parse("http://[fe80::1%25eth0]:81/").unwrap();
        assert_eq!(target.host(), "fe80::1%eth0");
        assert_eq!(target.authority(), "[fe80::1]:81");
    }

    #[test]
    fn targets_over_unix_sockets() {
        check(
            "http://unix:/run/app.sock",
            &expect![[r#"http://unix:/run/app.sock | localhost | Unix { path: "/run/app.sock" }"#]],
        );
        check(
            "https://unix:/run/app.sock:/api/",
            &expect![[r#"https://unix:/run/app.sock:/api | localhost | Unix { path: "/run/app.sock" }"#]],
        );
        check(
            "http://unix:app.sock",
            &expect![
                "target `http://unix:app.sock` needs the socket's absolute path, of at most 107 bytes; write for example `http://unix:/run/app.sock`"
            ],
        );
        check(
            "http://unix:/run/app.sock:8080",
            &expect![
                "target `http://unix:/run/app.sock:8080` has something else than a path after the socket's; write for example `http://unix:/run/app.sock:/api`"
            ],
        );
        let long = format!("http://unix:/{}", "x".repeat(UNIX_PATH_BYTES_MAX));
        assert_eq!(Target::parse(&long).unwrap_err().reason, TargetFault::UnixPath);
        assert!(Target::parse(&long[..long.len() - 1]).is_ok());
    }

    #[test]
    fn what_is_no_target_is_said() {
        let reason = |url| Target::parse(url).unwrap_err().reason;
        assert_eq!(reason("host:80"), TargetFault::Scheme);
        assert_eq!(reason("ftp://host"), TargetFault::Scheme);
        assert_eq!(reason("http://"), TargetFault::Host);
        assert_eq!(reason("http:///path"), TargetFault::Host);
        assert_eq!(reason("http://:80"), TargetFault::Host);
        assert_eq!(reason("http://a b"), TargetFault::Host);
        assert_eq!(reason("http://host:http"), TargetFault::Port);
        assert_eq!(reason("http://host:65536"), TargetFault::Port);
        assert_eq!(reason("http://::1"), TargetFault::Port);
        assert_eq!(reason("http://[::1"), TargetFault::Port);
        assert_eq!(reason("http://me@host"), TargetFault::Extra);
        assert_eq!(reason("http://host/?q"), TargetFault::Extra);
        assert_eq!(reason("http://host?q"), TargetFault::Extra);
        assert_eq!(reason("http://unix:/a.sock:/b#c"), TargetFault::Extra);
    }
}
