//! What a script says of names and addresses: those that it gives itself, those that must not be connected to, and where
//! connections come from.

use super::network::{Network, Sources};
use core::net::{IpAddr, SocketAddr};
use std::collections::HashMap;

/// Where connections to a name go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostAddress {
    pub address: IpAddr,
    /// Instead of the port that was asked for.
    pub port: Option<u16>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    /// By `HOST`, `HOST:PORT` or `*.DOMAIN` (with a port or without), in any case.
    given: HashMap<String, HostAddress>,
    /// In lower case, each with an asterisk at its beginning or without.
    blocked_names: Vec<String>,
    pub blocked_networks: Vec<Network>,
    /// Where connections come from, user by user; as the system chooses where there are none.
    pub sources: Sources,
}

impl Hosts {
    pub fn insert(&mut self, name: &str, address: HostAddress) {
        self.given.insert(name.to_ascii_lowercase(), address);
    }

    /// `name`, or `*END` for all names that end so.
    pub fn block_name(&mut self, pattern: &str) {
        self.blocked_names.push(pattern.to_ascii_lowercase());
    }

    /// The pattern that keeps a name from being connected to.
    pub fn blocking_pattern(&self, host: &str) -> Option<&str> {
        let host = host.to_ascii_lowercase();
        let is_match = |pattern: &&String| match pattern.strip_prefix('*') {
            Some(end) => host.ends_with(end),
            None => **pattern == host,
        };
        self.blocked_names.iter().find(is_match).map(String::as_str)
    }

    /// The network that keeps an address from being connected to.
    pub fn blocking_network(&self, address: IpAddr) -> Option<&Network> {
        self.blocked_networks.iter().find(|network| network.contains(address))
    }

    /// The most exact entry counts: a name before its domains, with the port before without.
    pub fn find(&self, host: &str, port: u16) -> Option<SocketAddr> {
        if self.given.is_empty() {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let domains = host.match_indices('.').map(|(at, _)| format!("*{}", &host[at..]));
        let mut names = std::iter::once(host.clone()).chain(domains);
        let found = names.find_map(|name| {
            self.given.get(&format!("{name}:{port}")).or_else(|| self.given.get(&name)).copied()
        })?;
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

    #[test]
    fn names_and_addresses_are_blocked_by_patterns_and_networks() {
        let mut hosts = Hosts::default();
        hosts.block_name("*.Example.com");
        hosts.block_name("shop.test");
        let pattern = |name| hosts.blocking_pattern(name);
        assert_eq!(pattern("API.example.com"), Some("*.example.com"));
        assert_eq!((pattern("example.com"), pattern("Shop.test")), (None, Some("shop.test")));
        hosts.block_name("*");
        assert_eq!(hosts.blocking_pattern("anything"), Some("*"));
        hosts.blocked_networks = vec!["10.0.0.0/8".parse().unwrap()];
        let network =
            |address: &str| hosts.blocking_network(address.parse().unwrap()).map(ToString::to_string);
        assert_eq!((network("10.1.2.3"), network("11.0.0.1")), (Some("10.0.0.0/8".to_owned()), None));
    }
}
