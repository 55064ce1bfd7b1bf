//! A target whose addresses are known, and how connections to it are opened.

use super::addresses::Addresses;
use crate::transport::tls::TlsTarget;
use crate::transport::{Address, Fault, Transport};
use prony_model::plan::network::Sources;
use prony_model::plan::wire::Spoken;
use prony_model::program::call::CallFault;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

/// A target that can be connected to.
#[derive(Debug)]
pub struct Destination {
    pub(super) addresses: Addresses,
    pub(super) tls: Option<TlsTarget>,
    /// For WebSockets, whose opening is a request of HTTP/1.1.
    pub(super) tls_http1: Option<TlsTarget>,
    pub(super) sources: SourceAddresses,
    pub(super) speaks: Speaks,
}

/// Where connections come from.
#[derive(Debug)]
pub(super) enum SourceAddresses {
    /// How many addresses of the loopback the users are spread over; 0 where the system chooses.
    Loopback(u32),
    /// Whatever the target is.
    Given(Sources),
}

/// What is spoken with a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// On every connection.
    Always(Spoken),
    /// Each connection agrees on it (ALPN); without TLS it is HTTP/1.1.
    Negotiated,
}

/// What is known of a target at the moment.
#[derive(Debug)]
pub enum Finding {
    Known(Arc<Destination>),
    /// Somebody is asking for its addresses; the waker tells when that is over.
    Resolving,
    Failed(CallFault),
}

impl Destination {
    /// Begins to connect, and says to which address. Connections take turns at the target's addresses by `turn`, and at
    /// the sources of the loopback by `user`. `address` replaces the target's.
    pub fn open(
        &self,
        user: u32,
        turn: u32,
        address: Option<SocketAddr>,
        is_for_websocket: bool,
    ) -> (Address, Result<Transport, Fault>) {
        let tls = if is_for_websocket { &self.tls_http1 } else { &self.tls };
        let open = |address: &Address| {
            let source = match &self.sources {
                SourceAddresses::Loopback(count) => source_of(*count, user, address).map(IpAddr::V4),
                SourceAddresses::Given(sources) => sources.of_user(user),
            };
            (address.clone(), Transport::open(address, source, tls.as_ref()))
        };
        match address {
            Some(address) => open(&Address::Tcp(address)),
            None => self.addresses.with(turn, open),
        }
    }

    pub const fn speaks(&self) -> Speaks {
        self.speaks
    }

    /// What is spoken on every connection; HTTP/1.1 where each negotiates it.
    pub const fn spoken(&self) -> Spoken {
        match self.speaks {
            Speaks::Always(spoken) => spoken,
            Speaks::Negotiated => Spoken::Http1,
        }
    }

    pub const fn is_tls(&self) -> bool {
        self.tls.is_some()
    }
}

/// Users take turns at the sources of the loopback.
fn source_of(sources: u32, user: u32, address: &Address) -> Option<Ipv4Addr> {
    let Address::Tcp(SocketAddr::V4(address)) = address else { return None };
    if !address.ip().is_loopback() {
        return None;
    }
    let index = user.checked_rem(sources)?;
    Some(Ipv4Addr::new(127, 1, 0, (index + 1) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns_at_the_sources_of_the_loopback() {
        let address = |text: &str| Address::Tcp(text.parse().unwrap());
        let last = |user, to: &str| source_of(2, user, &address(to)).map(|source| source.octets()[3]);
        let loopback = "127.0.0.1:80";
        assert_eq!((last(0, loopback), last(1, loopback), last(2, loopback)), (Some(1), Some(2), Some(1)));
        assert_eq!((last(0, "10.0.0.1:80"), last(0, "[::1]:80")), (None, None));
    }
}
