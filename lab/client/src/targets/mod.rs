//! The targets of a run: where they are, how connections to them are opened, and where those come from.
//!
//! [`addresses`] finds addresses, [`probe`] tries targets before the run, [`dynamic`] finds those that are known only while
//! it goes, [`limits`] are the system's.

mod addresses;
mod destination;
mod dynamic;
mod limits;
mod probe;

pub use destination::{Destination, Finding, Speaks};
pub use dynamic::Waker;
pub use limits::DESCRIPTORS_SPARE;

use crate::error::ClientError;
use crate::transport::Address;
use crate::transport::trust::Trust;
use addresses::Addresses;
use destination::SourceAddresses;
use dynamic::DynamicTargets;
use prony_model::Target;
use prony_model::plan::hosts::Hosts;
use prony_model::plan::wire::{Dns, Protocol, Spoken, WireOptions};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// A target of a run: those of the plan by their index, behind them those that programs name while the run goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetId(pub u32);

/// The targets of a run, shared by its threads.
#[derive(Debug)]
pub struct Targets {
    /// Each was tried once.
    planned: Vec<Arc<Destination>>,
    /// Where programs name targets while the run goes.
    dynamic: Option<DynamicTargets>,
}

/// What a run's targets are prepared with.
#[derive(Debug)]
pub struct TargetSettings<'a> {
    pub targets: Vec<&'a Target>,
    pub wire: &'a WireOptions,
    pub users: u32,
    /// Connections besides those of users.
    pub subscribers: u32,
    /// Where programs name targets while the run goes: names that the system is not asked for.
    pub dynamic: Option<Option<&'a Hosts>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listener {
    OtherMachine,
    Port(u16),
    Socket(PathBuf),
}

impl Targets {
    /// Resolves, raises the limits, and tries each target once, so that what cannot work is an error and not a result.
    pub fn prepare(settings: &TargetSettings<'_>) -> Result<Self, ClientError> {
        let planned = probe_all(settings)?.into_iter().map(Arc::new).collect();
        let mut dynamic = None;
        if let Some(hosts) = settings.dynamic {
            // How many more connections than one a user will make is not known.
            limits::raise_descriptors(settings.users)?;
            dynamic = Some(DynamicTargets::new(settings.wire, hosts, settings.users)?);
        }
        Ok(Self { planned, dynamic })
    }

    /// What is known of a target. `named` says which one it is, where it is not one of the plan's; nothing where no program
    /// has named it.
    pub fn find(
        &self,
        target: TargetId,
        waker: &Waker,
        named: impl FnOnce(usize) -> Option<Arc<Target>>,
    ) -> Option<Finding> {
        let index = target.0 as usize;
        if let Some(place) = self.planned.get(index) {
            return Some(Finding::Known(Arc::clone(place)));
        }
        let index = index - self.planned.len();
        Some(self.dynamic.as_ref()?.find(index, &named(index)?, waker))
    }

    /// One of the plan's.
    pub fn planned(&self, target: TargetId) -> &Arc<Destination> {
        &self.planned[target.0 as usize]
    }

    pub fn planned_count(&self) -> usize {
        self.planned.len()
    }

    /// What is spoken with each of the plan's targets.
    pub fn all_spoken(&self) -> Vec<Spoken> {
        self.planned.iter().map(|place| place.spoken()).collect()
    }

    /// True where programs name targets while the run goes.
    pub fn has_dynamic(&self) -> bool {
        self.dynamic.is_some()
    }

    /// Where the first target listens, as far as this machine knows.
    pub fn listener(&self) -> Listener {
        let planned = self.planned.first().map(|place| place.addresses.first());
        let first = planned.or_else(|| self.dynamic.as_ref().and_then(DynamicTargets::first_address));
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

fn probe_all(settings: &TargetSettings<'_>) -> Result<Vec<Destination>, ClientError> {
    let TargetSettings { targets, wire, users, subscribers, .. } = settings;
    let connections = match wire.protocol {
        Protocol::Http1 => *users,
        Protocol::Http2 | Protocol::Auto => users.div_ceil(wire.streams.max(1)),
    };
    let needs_tls = targets.iter().any(|target| target.is_tls());
    let trust = needs_tls.then(|| Trust::new(&wire.tls, wire.protocol)).transpose()?;
    // Users of an automatic protocol may turn out to need a connection each.
    let most = if wire.protocol == Protocol::Auto { *users } else { connections };
    // A user keeps a connection to each target that it has asked.
    limits::raise_descriptors(most.saturating_mul(targets.len() as u32).saturating_add(*subscribers))?;
    let mut places = Vec::new();
    for target in targets {
        let reached = probe::probe(target, wire, trust.as_ref())?;
        let addresses = match (wire.dns, target.port()) {
            (Dns::PerConnection, Some(port)) => Addresses::renewed(target.host(), port, reached.addresses)?,
            _ => Addresses::Fixed(reached.addresses),
        };
        let (tls, speaks) = (reached.tls, Speaks::Always(reached.spoken));
        let tls_http1 = tls.clone().map(|tls| probe::offering_only(Spoken::Http1, tls));
        let sources = SourceAddresses::Loopback(0);
        places.push(Destination { addresses, tls, tls_http1, sources, speaks });
    }
    let needed = if places.iter().all(|place| place.spoken() == Spoken::Http2) { connections } else { most };
    let sources = sources(&places, needed.saturating_add(*subscribers))?;
    for place in &mut places {
        place.sources = SourceAddresses::Loopback(sources);
    }
    Ok(places)
}

/// As many as the target needs that needs most: one port can go to several targets.
fn sources(places: &[Destination], connections: u32) -> Result<u32, ClientError> {
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
