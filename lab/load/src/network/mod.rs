//! Where the targets are, how connections to them are opened, and where they come from.
//!
//! [`names`] finds addresses, [`reach`] tries them before the run, [`late`] finds targets that are known only while it goes,
//! [`limits`] are the system's.

mod late;
mod limits;
mod names;
mod reach;

pub(crate) use late::{Bell, Finding, LatePlace};
pub(crate) use limits::DESCRIPTORS_SPARE;

use crate::error::RunError;
use crate::transport::tls::TlsTarget;
use crate::transport::trust::Trust;
use crate::transport::{Address, Fault, Transport};
use late::LateTargets;
use names::Addresses;
pub(crate) use prony_model::plan::wire::Spoken;
use prony_model::plan::wire::{Dns, Protocol, WireOptions};
use prony_model::program::Workload;
use prony_model::{Plan, Target};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The targets of a run, each tried once.
#[derive(Debug)]
pub(crate) struct Network {
    places: Vec<Place>,
    /// How many source addresses the users are spread over; 0 where the system chooses.
    sources: u32,
    /// Where the workload finds targets while the run goes.
    late: Option<LateTargets>,
}

/// A target as the runner sees it.
#[derive(Debug)]
struct Place {
    addresses: Addresses,
    tls: Option<TlsTarget>,
    spoken: Spoken,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listener {
    OtherMachine,
    Port(u16),
    Socket(PathBuf),
}

impl Network {
    /// Resolves, raises the limits, and tries each target once, so that what cannot work is an error and not a result.
    pub(crate) fn prepare(plan: &Plan, workload: &dyn Workload) -> Result<Self, RunError> {
        let targets: Vec<_> = plan.targets().iter().map(|named| &named.target).collect();
        // More than a number of users holds is too much for any limit.
        let subscribers = u32::try_from(plan.subscriber_connections()).unwrap_or(u32::MAX);
        let mut network = Self::reach_all(&targets, plan.wire(), plan.users(), subscribers)?;
        if workload.tables().is_some() {
            // How many more connections than one a user will make is not known.
            limits::raise_descriptors(plan.users())?;
            network.late = Some(LateTargets::new(plan.wire(), workload.hosts(), plan.users())?);
        }
        Ok(network)
    }

    fn reach_all(
        targets: &[&Target],
        wire: &WireOptions,
        users: u32,
        subscribers: u32,
    ) -> Result<Self, RunError> {
        let connections = match wire.protocol {
            Protocol::Http1 => users,
            Protocol::Http2 | Protocol::Auto => users.div_ceil(wire.streams.max(1)),
        };
        let needs_tls = targets.iter().any(|target| target.is_tls());
        let trust = needs_tls.then(|| Trust::new(&wire.tls, wire.protocol)).transpose()?;
        // Users of an automatic protocol may turn out to need a connection each.
        let most = if wire.protocol == Protocol::Auto { users } else { connections };
        // A user keeps a connection to each target that it has asked.
        limits::raise_descriptors(most.saturating_mul(targets.len() as u32).saturating_add(subscribers))?;
        let mut places = Vec::new();
        for target in targets {
            let reached = reach::reach(target, wire, trust.as_ref())?;
            let addresses = match (wire.dns, target.port()) {
                (Dns::PerConnection, Some(port)) => {
                    Addresses::renewed(target.host(), port, reached.addresses)?
                }
                _ => Addresses::Fixed(reached.addresses),
            };
            places.push(Place { addresses, tls: reached.tls, spoken: reached.spoken });
        }
        let needed =
            if places.iter().all(|place| place.spoken == Spoken::Http2) { connections } else { most };
        let sources = sources(&places, needed.saturating_add(subscribers))?;
        Ok(Self { places, sources, late: None })
    }

    /// Begins to connect. Connections take turns at the target's addresses, and at the sources by their user;
    /// `address` replaces the target's, for a thread that has one of its own.
    pub(crate) fn open(
        &self,
        target: usize,
        user: u32,
        turn: u32,
        address: Option<SocketAddr>,
    ) -> Result<Transport, Fault> {
        let place = &self.places[target];
        let open = |address: &Address| {
            Transport::open(address, source_of(self.sources, user, address), place.tls.as_ref())
        };
        match address {
            Some(address) => open(&Address::Tcp(address)),
            None => place.addresses.with(user.wrapping_add(turn), open),
        }
    }

    pub(crate) fn spoken(&self, target: usize) -> Spoken {
        self.places[target].spoken
    }

    /// With each of the plan's targets.
    pub(crate) fn all_spoken(&self) -> Vec<Spoken> {
        self.places.iter().map(|place| place.spoken).collect()
    }

    pub(crate) fn is_tls(&self, target: usize) -> bool {
        self.places[target].tls.is_some()
    }

    pub(crate) fn late(&self) -> Option<&LateTargets> {
        self.late.as_ref()
    }

    /// Where the first target listens, as far as this machine knows.
    pub(crate) fn listener(&self) -> Listener {
        let planned = self.places.first().map(|place| place.addresses.first());
        let first = planned.or_else(|| self.late.as_ref().and_then(LateTargets::first_address));
        match first {
            Some(Address::Unix(path)) => Listener::Socket(path),
            // Only an address of this machine can be bound to.
            Some(Address::Tcp(address))
                if address.ip().is_loopback() || std::net::UdpSocket::bind((address.ip(), 0)).is_ok() =>
            {
                Listener::Port(address.port())
            }
            Some(Address::Tcp(_)) | None => Listener::OtherMachine,
        }
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

/// As many as the target needs that needs most: one port can go to several targets.
fn sources(places: &[Place], connections: u32) -> Result<u32, RunError> {
    let ports = limits::ports_available();
    let mut most = 0;
    for place in places {
        let (address, count) = (place.addresses.first(), place.addresses.count() as u32);
        let ip: IpAddr = match address {
            Address::Tcp(address) => address.ip(),
            Address::Unix(_) => continue,
        };
        most = most.max(limits::sources_for(ip, connections.div_ceil(count.max(1)), ports)?);
    }
    Ok(most)
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
