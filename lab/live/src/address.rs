//! Where a page is served: what a user writes, and which hosts and origins are taken for the page's own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, TcpListener, ToSocketAddrs as _};

/// Where nobody asks for another; a free one where it is taken.
const PORT: u16 = 5665;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// An address or a name.
    pub(crate) host: String,
    port: u16,
    /// Another free port may take its place.
    is_default: bool,
}

/// Why a page is not served.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    #[error(
        "--live {text}: this is no address; write HOST:PORT, such as 127.0.0.1:5665, or a port from 0 (any that is free) to 65535"
    )]
    Address { text: String },
    #[error(
        "--live {host}:{port}: the port is in use, perhaps by another run; choose another one, or 0 for any that is free"
    )]
    InUse { host: String, port: u16 },
    #[error(
        "--live {host}:{port}: cannot listen there: {cause}; name an address of this machine, such as 127.0.0.1:{port}"
    )]
    Listen { host: String, port: u16, cause: io::Error },
    #[error("--live: the page's thread cannot be started: {cause}")]
    Thread { cause: io::Error },
}

impl Default for Address {
    fn default() -> Self {
        Self { host: Ipv4Addr::LOCALHOST.to_string(), port: PORT, is_default: true }
    }
}

impl Address {
    /// `HOST:PORT`, `:PORT` or `PORT`; without a host it is this machine alone.
    pub fn parse(text: &str) -> Result<Self, LiveError> {
        let wrong = || LiveError::Address { text: text.to_owned() };
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port = port.parse().map_err(|_| wrong())?;
        let host = match host {
            "" => Ipv4Addr::LOCALHOST.to_string(),
            host if host.contains(['/', '@', ' ']) || host.contains(':') != host.starts_with('[') => {
                return Err(wrong());
            }
            host => host.to_owned(),
        };
        Ok(Self { host, port, is_default: false })
    }

    pub(crate) fn bind(&self) -> Result<TcpListener, LiveError> {
        let (host, port) = (self.host.clone(), self.port);
        let host_alone = host.trim_matches(['[', ']']);
        let bind = |port: u16| -> io::Result<TcpListener> {
            let addresses: Vec<_> = (host_alone, port).to_socket_addrs()?.collect();
            let listener = TcpListener::bind(&*addresses)?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        };
        let is_taken = |cause: &io::Error| cause.kind() == io::ErrorKind::AddrInUse;
        match bind(port) {
            Err(cause) if is_taken(&cause) && self.is_default => bind(0),
            bound => bound,
        }
        .map_err(|cause| {
            if is_taken(&cause) {
                LiveError::InUse { host, port }
            } else {
                LiveError::Listen { host, port, cause }
            }
        })
    }
}

/// Whether what stands behind `--live` is meant as its address and not as the next argument.
pub fn looks_like_address(text: &str) -> bool {
    let port = text.rsplit_once(':').map_or(text, |(_, port)| port);
    !text.contains('/') && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a request's `Host` is one by which this page is reached. A foreign name that leads here is a page elsewhere
/// that wants to read this one (DNS rebinding); addresses and names of this machine alone cannot be turned so.
pub(crate) fn is_own_host(host: &str, named: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let name = name.to_ascii_lowercase();
    literal.parse::<IpAddr>().is_ok()
        || name == "localhost"
        || name.ends_with(".localhost")
        || (!name.is_empty() && name == named.to_ascii_lowercase())
}

/// Whether a request comes from the page itself. Programs name no origin; browsers do wherever something is changed.
pub(crate) fn is_own_origin(origin: Option<&str>, host: &str) -> bool {
    origin.is_none_or(|origin| {
        origin.strip_prefix("http://").is_some_and(|from| from.eq_ignore_ascii_case(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text| Address::parse(text).map(|read| (read.host, read.port)).ok();
        let some = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(read("127.0.0.1:0"), some("127.0.0.1", 0));
        assert_eq!(read("0.0.0.0:8080"), some("0.0.0.0", 8080));
        assert_eq!(read("[::1]:80"), some("[::1]", 80));
        assert_eq!(read("lab.example:80"), some("lab.example", 80));
        assert_eq!((read(":80"), read("80")), (some("127.0.0.1", 80), some("127.0.0.1", 80)));
        for wrong in ["", "localhost", "a:b", "1:99999", "http://a:80", "::1:80", "a b:80", "u@h:80"] {
            let error = Address::parse(wrong).unwrap_err().to_string();
            assert!(error.contains(wrong) && error.contains("write HOST:PORT"), "{error}");
        }
    }

    #[test]
    fn what_follows_the_flag_is_its_address_only_where_it_looks_so() {
        for address in ["127.0.0.1:0", ":80", "5665", "[::1]:80", "localhost:99999"] {
            assert!(looks_like_address(address), "{address}");
        }
        for other in ["plan.toml", "http://a:80", "script.js", "--quiet", "", "a:", "./80"] {
            assert!(!looks_like_address(other), "{other}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_said_and_the_default_gives_way() {
        let taken = Address::parse("127.0.0.1:0").unwrap().bind().unwrap();
        let port = taken.local_addr().unwrap().port();
        let given = Address::parse(&port.to_string()).unwrap();
        let error = given.bind().unwrap_err().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("choose another one"), "{error}");
        let default = Address { port, ..Address::default() };
        assert_ne!(default.bind().unwrap().local_addr().unwrap().port(), port);
        // An address for documentation (RFC 5737) is none of this machine.
        let error = Address::parse("192.0.2.1:80").unwrap().bind().unwrap_err().to_string();
        assert!(error.contains("192.0.2.1:80") && error.contains("an address of this machine"), "{error}");
    }

    #[test]
    fn foreign_names_are_not_the_pages_own() {
        for own in [
            "127.0.0.1:5665",
            "[::1]:80",
            "[::1]",
            "10.0.0.7",
            "localhost:1",
            "a.localhost",
            "LAB.example:80",
        ] {
            assert!(is_own_host(own, "lab.example"), "{own}");
        }
        for foreign in [
            "evil.example",
            "evil.example:5665",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "",
            ":80",
        ] {
            assert!(!is_own_host(foreign, "lab.example"), "{foreign}");
        }
    }

    #[test]
    fn foreign_origins_are_not_the_pages_own() {
        let host = "127.0.0.1:5665";
        assert!(is_own_origin(None, host) && is_own_origin(Some("http://127.0.0.1:5665"), host));
        for foreign in ["http://evil.example", "http://127.0.0.1:80", "https://127.0.0.1:5665", "null", ""] {
            assert!(!is_own_origin(Some(foreign), host), "{foreign}");
        }
    }
}
