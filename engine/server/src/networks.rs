//! Who is counted together in limits by address, and how much each of them has: clients of one IPv4 address, or of one IPv6 network of 64
//! bits, of which a client has all addresses. This machine is not limited: proxies, and those who measure the server, are there.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use prony_access::client_network;

/// The network of an address; none where it is not limited: of this machine, or not known.
pub(crate) fn network_of(address: IpAddr) -> Option<IpAddr> {
    let address = address.to_canonical();
    if address.is_loopback() || address.is_unspecified() {
        return None;
    }
    Some(client_network(address))
}

/// How much of something each network has. Those that have nothing take no memory.
#[derive(Debug, Default)]
pub(crate) struct NetworkCounts(Mutex<HashMap<IpAddr, usize>>);

/// What one client has of it; dropping it gives that back.
#[derive(Debug)]
pub(crate) struct NetworkShare {
    counts: Arc<NetworkCounts>,
    /// None where the client is not limited.
    network: Option<IpAddr>,
    amount: usize,
}

impl NetworkCounts {
    /// Nothing yet.
    pub(crate) fn begin(self: &Arc<Self>, network: Option<IpAddr>) -> NetworkShare {
        NetworkShare { counts: Arc::clone(self), network, amount: 0 }
    }

    /// One; none where the network has as many as it may have.
    pub(crate) fn take(self: &Arc<Self>, network: Option<IpAddr>, most: usize) -> Option<NetworkShare> {
        let mut share = self.begin(network);
        share.add(1, most).then_some(share)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NetworkShare {
    /// Adds to it; where the network would have more than the most, nothing is added. Whether it was.
    pub(crate) fn add(&mut self, amount: usize, most: usize) -> bool {
        let Some(network) = self.network else { return true };
        let mut counts = self.counts.lock();
        let known = counts.get(&network).copied().unwrap_or(0);
        if known.saturating_add(amount) > most {
            return false;
        }
        counts.insert(network, known + amount);
        self.amount += amount;
        true
    }
}

impl Drop for NetworkShare {
    fn drop(&mut self) {
        let Some(network) = self.network.filter(|_| self.amount > 0) else { return };
        let mut counts = self.counts.lock();
        let left = counts.get(&network).map_or(0, |known| known - self.amount);
        if left == 0 {
            counts.remove(&network);
        } else {
            counts.insert(network, left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Option<String> {
        network_of(text.parse().expect("it is an address")).map(|network| network.to_string())
    }

    #[test]
    fn an_ipv6_network_counts_together_and_this_machine_not_at_all() {
        for (address, expected) in [
            ("192.0.2.7", Some("192.0.2.7")),
            ("::ffff:192.0.2.7", Some("192.0.2.7")),
            ("2001:db8:1:2:3:4:5:6", Some("2001:db8:1:2::")),
            ("2001:db8:1:2::", Some("2001:db8:1:2::")),
            ("127.0.0.1", None),
            ("127.9.9.9", None),
            ("::ffff:127.0.0.1", None),
            ("::1", None),
            ("0.0.0.0", None),
        ] {
            assert_eq!(network(address).as_deref(), expected, "{address}");
        }
    }

    #[test]
    fn a_network_has_its_most_and_others_have_theirs() {
        let counts = Arc::<NetworkCounts>::default();
        let [one, other] =
            ["192.0.2.1", "192.0.2.2"].map(|text| network_of(text.parse().expect("an address")));
        let taken = [(); 3].map(|()| counts.take(one, 2));
        assert_eq!(taken.each_ref().map(Option::is_some), [true, true, false]);
        assert!(counts.take(other, 2).is_some());
        let mut share = counts.begin(other);
        assert!(share.add(5, 10) && share.add(5, 10) && !share.add(1, 10));
        drop(taken);
        assert!(counts.take(one, 1).is_some(), "what is dropped is given back");
        drop(share);
        assert!(counts.lock().is_empty(), "who has nothing takes no memory");
    }

    #[test]
    fn who_is_not_limited_has_all() {
        let counts = Arc::<NetworkCounts>::default();
        assert!((0..10).all(|_| counts.take(None, 0).is_some()));
        assert!(counts.lock().is_empty());
    }
}
