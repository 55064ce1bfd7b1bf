//! How many connections each core has, and who may have one more.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::networks::{NetworkCounts, NetworkShare};

/// How many connections a core has; the acceptor reads it, places change it.
#[derive(Debug, Default)]
pub(crate) struct Load(AtomicUsize);

impl Load {
    pub(crate) fn open_connections(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// With what it has of its address' connections, where these are limited.
    pub(crate) fn take_place(self: &Arc<Self>, share: Option<NetworkShare>) -> LoadPlace {
        self.0.fetch_add(1, Ordering::Relaxed);
        LoadPlace { load: Arc::clone(self), _share: share }
    }
}

/// Counts one connection until it is dropped.
#[derive(Debug)]
pub(crate) struct LoadPlace {
    load: Arc<Load>,
    /// Of its address' connections.
    _share: Option<NetworkShare>,
}

impl Drop for LoadPlace {
    fn drop(&mut self) {
        self.load.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many connections there may be.
#[derive(Debug)]
pub(super) struct ConnectionLimits {
    most: usize,
    most_of_network: usize,
    by_network: Arc<NetworkCounts>,
}

/// Why there is no room for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoRoom {
    All,
    Address,
}

/// Where nothing is said, a network may have one of so many parts of all connections.
const PARTS: usize = 10;

/// But so many at least: people behind one address.
const NETWORK_MIN: usize = 64;

impl ConnectionLimits {
    /// `of_network` as it is given: 0 for no limit.
    pub(super) fn new(most: usize, of_network: Option<usize>) -> Self {
        let most_of_network = match of_network {
            Some(0) => usize::MAX,
            Some(given) => given,
            None => (most / PARTS).max(NETWORK_MIN),
        };
        Self { most, most_of_network, by_network: Arc::default() }
    }

    /// One more beside those that are open, from a network that is limited, or from somewhere else.
    pub(super) fn take(&self, open: usize, network: Option<IpAddr>) -> Result<NetworkShare, NoRoom> {
        if open >= self.most {
            return Err(NoRoom::All);
        }
        self.by_network.take(network, self.most_of_network).ok_or(NoRoom::Address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of a hundred connections of one network have room beside those of nobody in particular.
    fn taken(limits: &ConnectionLimits, network: Option<&str>) -> usize {
        let network = network.map(|text| text.parse().expect("it is an address"));
        let shares: Vec<_> = (0..100).map_while(|open| limits.take(open, network).ok()).collect();
        shares.len()
    }

    #[test]
    fn one_address_does_not_take_all_connections() {
        let one = Some("192.0.2.1");
        for (most, of_network, expected) in [
            (1000, Some(7), 7),
            (1000, Some(0), 100),
            (900, None, 90),
            (100, None, 64),
            (50, None, 50),
            (5, Some(7), 5),
        ] {
            let limits = ConnectionLimits::new(most, of_network);
            assert_eq!(taken(&limits, one), expected, "{most} {of_network:?}");
            assert_eq!(taken(&limits, None), most.min(100), "this machine is not limited");
        }
    }

    #[test]
    fn who_has_no_room_is_told_why() {
        let limits = ConnectionLimits::new(2, Some(1));
        let network = Some("192.0.2.1".parse().expect("it is an address"));
        let share = limits.take(0, network).expect("there is room");
        assert_eq!(limits.take(1, network).map(|_| ()), Err(NoRoom::Address));
        assert_eq!(limits.take(2, network).map(|_| ()), Err(NoRoom::All));
        let place = Arc::<Load>::default().take_place(Some(share));
        assert!(limits.take(1, network).is_err());
        drop(place);
        assert!(limits.take(1, network).is_ok());
    }
}
