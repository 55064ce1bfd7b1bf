//! Names that a script gives an address of its own, instead of asking the system.

use core::net::{IpAddr, SocketAddr};
use std::collections::HashMap;

/// Where connections to a name go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    pub address: IpAddr,
    /// Instead of the port that was asked for.
    pub port: Option<u16>,
}

/// By `HOST`, `HOST:PORT` or `*.DOMAIN` (with a port or without), in any case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts(HashMap<String, HostAddress>);

impl Hosts {
    pub fn insert(&mut self, name: &str, address: HostAddress) {
        self.0.insert(name.to_ascii_lowercase(), address);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The most exact entry counts: a name before its domains, with the port before without.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        if self.0.is_empty() {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let domains = host.match_indices('.').map(|(at, _)| format!("*{}", &host[at..]));
        let mut names = std::iter::once(host.clone()).chain(domains);
        let found = names
            .find_map(|name| self.0.get(&format!("{name}:{port}")).or_else(|| self.0.get(&name)).copied())?;
        Some(SocketAddr::new(found.address, found.port.unwrap_or(port)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_name_counts() {
        let mut hosts = Hosts::default();
        for (name, address, port) in [
            ("Shop.test", "10.0.0.1", None),
            ("shop.test:443", "10.0.0.2", Some(8443)),
            ("*.test", "10.0.0.3", None),
            ("*.b.test", "::1", Some(81)),
        ] {
            hosts.insert(name, HostAddress { address: address.parse().unwrap(), port });
        }
        let find = |host, port| hosts.find(host, port).map(|address| address.to_string());
        assert_eq!(find("shop.TEST", 80).as_deref(), Some("10.0.0.1:80"));
        assert_eq!(find("shop.test", 443).as_deref(), Some("10.0.0.2:8443"));
        assert_eq!(find("a.shop.test", 80).as_deref(), Some("10.0.0.3:80"));
        assert_eq!(find("a.b.test", 80).as_deref(), Some("[::1]:81"));
        assert_eq!(find("test", 80), None);
        assert_eq!(Hosts::default().find("test", 80), None);
    }
}
