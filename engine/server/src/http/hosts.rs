//! Under which names a server may be asked for. A page in a browser can have its own name point to a server that its visitor reaches
//! (DNS rebinding) and would then read as one of ours; what it cannot do is send another `Host`.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwap;
use http::{HeaderMap, Uri, header};

/// Which hosts requests may name by the present configuration.
#[derive(Debug)]
pub(crate) struct CurrentHosts {
    hosts: ArcSwap<Hosts>,
    /// Counts configurations from 1.
    generation: AtomicU64,
}

impl CurrentHosts {
    /// Of a server that listens on these addresses.
    pub(crate) fn new(listen: &[SocketAddr], names: &[String]) -> Self {
        let hosts = ArcSwap::from_pointee(Hosts::new(listen, names));
        Self { hosts, generation: AtomicU64::new(1) }
    }

    /// Other names count from now on.
    pub(crate) fn replace(&self, listen: &[SocketAddr], names: &[String]) {
        self.hosts.store(Arc::new(Hosts::new(listen, names)));
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Who keeps what was [included](Self::include) asks again where this has changed; to be read before it.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// As [`Hosts::include`].
    pub(crate) fn include(&self, host: &[u8]) -> bool {
        self.hosts.load().include(host)
    }

    /// As [`Hosts::include_request`].
    pub(crate) fn include_request(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.hosts.load().include_request(uri, headers)
    }
}

/// Which hosts requests may name.
#[derive(Debug)]
enum Hosts {
    /// Others than this machine reach the server, and nothing says by which names.
    Any,
    /// Names of this machine itself, and these.
    Local(Vec<String>),
    /// As [`Local`](Self::Local), of a server that others reach. By an address they may ask too: probes of load balancers do, and no
    /// page can have an address point elsewhere.
    Reachable(Vec<String>),
}

impl Hosts {
    /// Of a server that listens on these addresses; `*` among the names allows all.
    fn new(listen: &[SocketAddr], names: &[String]) -> Self {
        let is_local = listen.iter().all(|address| address.ip().is_loopback());
        if names.iter().any(|name| name == "*") {
            Self::Any
        } else if is_local {
            Self::Local(names.to_vec())
        } else if names.is_empty() {
            Self::Any
        } else {
            Self::Reachable(names.to_vec())
        }
    }

    /// Whether the value of a `Host` field may be asked for.
    fn include(&self, host: &[u8]) -> bool {
        let (names, takes_addresses) = match self {
            Self::Any => return true,
            Self::Local(names) => (names, false),
            Self::Reachable(names) => (names, true),
        };
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = without_port(host);
        // A whole name may end with a dot; addresses in a browser do where somebody has typed it.
        let without_dot = name.strip_suffix('.').unwrap_or(name);
        let is_one =
            |known: &String| [without_dot, name, host].iter().any(|asked| known.eq_ignore_ascii_case(asked));
        is_of_this_machine(name) || (takes_addresses && address(name).is_some()) || names.iter().any(is_one)
    }

    /// Whether a request may be answered. Of HTTP/1.0, and of no browser, there may be none.
    fn include_request(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let of_target = uri.authority().map(|authority| authority.as_str().as_bytes());
        let of_fields = headers.get_all(header::HOST).into_iter().map(http::HeaderValue::as_bytes);
        of_target.into_iter().chain(of_fields).all(|host| self.include(host))
    }
}

/// RFC 9110, section 7.2: `uri-host [ ":" port ]`.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    }
}

/// RFC 6761, section 6.3, has all of `localhost` point here.
fn is_of_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_localhost = |name: &str| name.eq_ignore_ascii_case("localhost");
    if is_localhost(name) || name.rsplit_once('.').is_some_and(|(_, last)| is_localhost(last)) {
        return true;
    }
    address(name).is_some_and(|address| address.is_loopback())
}

/// Of a host that is an address and no name.
fn address(host: &str) -> Option<IpAddr> {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_of_this_machine_is_asked_for_by_its_names() {
        let local: SocketAddr = "127.0.0.1:8080".parse().unwrap();
        let hosts = Hosts::new(&[local], &["api.test".to_owned(), "other.test:81".to_owned()]);
        for host in [
            "localhost",
            "LocalHost:8080",
            "shop.localhost",
            "localhost.",
            "127.0.0.1",
            "127.8.0.1:9",
            "[::1]:8080",
            "[::1]",
            "api.test",
            "API.test:1",
            "api.test.",
            "api.test.:1",
            "other.test:81",
        ] {
            assert!(hosts.include(host.as_bytes()), "{host}");
        }
        for host in [
            "",
            "evil.test",
            "localhost.evil.test",
            "notlocalhost",
            "127.0.0.1.evil.test",
            "10.0.0.1",
            "[::2]",
            "other.test",
            "other.test:82",
            "127.0.0.1:80:80",
            "localhost:evil",
            "api.test.evil",
            "api.test..",
        ] {
            assert!(!hosts.include(host.as_bytes()), "{host}");
        }
        assert!(!hosts.include(b"\xff"));
    }

    #[test]
    fn other_servers_are_asked_for_by_any_name_unless_names_are_given() {
        let (local, other) = ("[::1]:80".parse().unwrap(), "0.0.0.0:80".parse().unwrap());
        assert!(matches!(Hosts::new(&[local], &[]), Hosts::Local(_)));
        assert!(matches!(Hosts::new(&[local, other], &[]), Hosts::Any));
        for listen in [&[local][..], &[local, other]] {
            assert!(matches!(Hosts::new(listen, &["api.test".to_owned(), "*".to_owned()]), Hosts::Any));
        }
        for listen in [&[other][..], &[local, other]] {
            let hosts = Hosts::new(listen, &["api.test".to_owned()]);
            for host in
                ["api.test", "API.test:80", "localhost", "127.0.0.1:80", "10.0.0.1:80", "[fd00::1]:80"]
            {
                assert!(hosts.include(host.as_bytes()), "{host}");
            }
            for host in ["evil.test", "api.test.evil", "10.0.0.1.evil.test", "10.0.0.1:evil", ""] {
                assert!(!hosts.include(host.as_bytes()), "{host}");
            }
        }
    }

    #[test]
    fn the_target_counts_as_the_field_does() {
        let hosts = Hosts::new(&["127.0.0.1:80".parse().unwrap()], &[]);
        let headers = |values: &[&'static str]| {
            values
                .iter()
                .map(|value| (header::HOST, http::HeaderValue::from_static(value)))
                .collect::<HeaderMap>()
        };
        let evil: Uri = "http://evil.test/graphql".parse().unwrap();
        assert!(hosts.include_request(&Uri::from_static("/graphql"), &headers(&[])));
        assert!(hosts.include_request(&Uri::from_static("/graphql"), &headers(&["localhost"])));
        assert!(!hosts.include_request(&evil, &headers(&["localhost"])));
        assert!(!hosts.include_request(&Uri::from_static("/graphql"), &headers(&["localhost", "evil.test"])));
    }
}
