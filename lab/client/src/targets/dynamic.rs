//! Targets that are found while a run goes: asked for at their first use, by a thread of their own, so that no event loop
//! ever waits for a name server.

use super::addresses::{ADDRESSES_MAX, Addresses};
use super::destination::{Destination, Finding, SourceAddresses, Speaks};
use super::{limits, probe};
use crate::error::ClientError;
use crate::fault;
use crate::transport::Address;
use crate::transport::tls::TlsTarget;
use crate::transport::trust::Trust;
use prony_model::Target;
use prony_model::plan::hosts::Hosts;
use prony_model::plan::target::{Channel, ChannelProtocol, Endpoint};
use prony_model::plan::wire::{Dns, Protocol, Spoken, TlsOptions, WireOptions};
use prony_model::program::call::{CallFault, CallFaultKind};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a name counts as unknown without being asked for again.
const FAILURE_KEPT: Duration = Duration::from_secs(1);
/// What calls over TLS offer, as k6 does; without TLS they speak HTTP/1.1.
const PROTOCOL: Protocol = Protocol::Auto;

/// The targets of a run whose program finds them, shared by its threads.
#[derive(Debug)]
pub(super) struct DynamicTargets {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    wire: WireOptions,
    hosts: Hosts,
    users: u32,
    /// Made at the first target that needs it: reading the system's certificates takes its time.
    trust: OnceLock<Result<Trust, String>>,
    /// By the index of the target.
    entries: Mutex<Vec<Entry>>,
}

#[derive(Debug, Default)]
enum Entry {
    #[default]
    Unknown,
    /// Somebody is asking; these threads wait.
    Resolving(Vec<Waker>),
    Known(Arc<Destination>),
    Failed {
        fault: CallFault,
        at: Instant,
    },
}

/// Wakes an event loop.
#[derive(Debug, Clone)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)))
    }

    pub fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    pub fn wake(&self) {
        // Fails only if the eventfd's counter is full, so that a wake-up is already pending.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Makes it ready to wake its loop again.
    pub fn reset(&self) {
        let _ = rustix::io::read(&*self.0, &mut [0; 8]);
    }
}

impl DynamicTargets {
    /// Settings of TLS that name files are read at once, so that what is wrong with them ends the run before it begins.
    pub(crate) fn new(wire: &WireOptions, hosts: Option<&Hosts>, users: u32) -> Result<Self, ClientError> {
        let trust = OnceLock::new();
        if wire.tls != (TlsOptions { resume: wire.tls.resume, ..TlsOptions::default() }) {
            let _ = trust.set(Ok(Trust::new(&wire.tls, PROTOCOL)?));
        }
        let shared = Shared {
            wire: wire.clone(),
            hosts: hosts.cloned().unwrap_or_default(),
            users,
            trust,
            entries: Mutex::default(),
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The target of this index, if it is known; else it is asked for, and the waker wakes its loop when that is over.
    pub(super) fn find(&self, index: usize, target: &Arc<Target>, waker: &Waker) -> Finding {
        let mut entries = self.shared.lock();
        if index >= entries.len() {
            entries.resize_with(index + 1, Entry::default);
        }
        match &mut entries[index] {
            Entry::Known(place) => return Finding::Known(Arc::clone(place)),
            Entry::Failed { fault, at } if at.elapsed() < FAILURE_KEPT => {
                return Finding::Failed(fault.clone());
            }
            Entry::Resolving(wakers) => {
                wakers.push(waker.clone());
                return Finding::Resolving;
            }
            Entry::Unknown | Entry::Failed { .. } => {}
        }
        entries[index] = Entry::Resolving(vec![waker.clone()]);
        drop(entries);
        if !target.is_tls() && self.shared.needs_no_name_server(target) {
            self.shared.settle(index, target);
        } else {
            self.ask(index, target);
        }
        self.now(index)
    }

    /// Of the first target that was found.
    pub(crate) fn first_address(&self) -> Option<Address> {
        let entries = self.shared.lock();
        entries.iter().find_map(|entry| match entry {
            Entry::Known(place) => Some(place.addresses.first()),
            _ => None,
        })
    }

    /// What is known without asking.
    fn now(&self, index: usize) -> Finding {
        match &self.shared.lock()[index] {
            Entry::Known(place) => Finding::Known(Arc::clone(place)),
            Entry::Failed { fault, .. } => Finding::Failed(fault.clone()),
            Entry::Unknown | Entry::Resolving(_) => Finding::Resolving,
        }
    }

    fn ask(&self, index: usize, target: &Arc<Target>) {
        let (shared, target) = (Arc::clone(&self.shared), Arc::clone(target));
        // Not waited for at the end of the run: a name server may take its time.
        let asking = thread::Builder::new()
            .name("prony-resolve".to_owned())
            .spawn(move || shared.settle(index, &target));
        if let Err(error) = asking {
            let fault = fault::new(CallFaultKind::Resolve, format!("cannot start a thread: {error}"));
            self.shared.put(index, Err(fault));
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Vec<Entry>> {
        // Each entry is replaced in one step: a thread that panicked leaves nothing half done.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the target and tells those that wait for it.
    fn settle(&self, index: usize, target: &Target) {
        self.put(index, self.find(target));
    }

    fn put(&self, index: usize, found: Result<Destination, CallFault>) {
        let entry = match found {
            Ok(place) => Entry::Known(Arc::new(place)),
            Err(fault) => Entry::Failed { fault, at: Instant::now() },
        };
        let before = std::mem::replace(&mut self.lock()[index], entry);
        if let Entry::Resolving(wakers) = before {
            wakers.iter().for_each(Waker::wake);
        }
    }

    fn needs_no_name_server(&self, target: &Target) -> bool {
        match &target.endpoint {
            Endpoint::Unix { .. } => true,
            Endpoint::Tcp { host, port } => {
                host.parse::<IpAddr>().is_ok() || self.hosts.find(host, *port).is_some()
            }
        }
    }

    fn find(&self, target: &Target) -> Result<Destination, CallFault> {
        let found = self.addresses(target)?;
        self.check_blocked(&found)?;
        let channel = target.channel.as_deref();
        let tls = match channel {
            _ if !target.is_tls() => None,
            Some(channel) => Some(self.tls_of_channel(target, channel)?),
            None => Some(self.tls(target)?),
        };
        let sources = match &found[0] {
            Address::Unix(_) => 0,
            // With too few ports, connections fail and say so.
            Address::Tcp(address) => {
                limits::sources_for(address.ip(), self.users, limits::ports_available()).unwrap_or(0)
            }
        };
        let addresses = match &target.endpoint {
            Endpoint::Tcp { host, port }
                if self.wire.dns == Dns::PerConnection
                    && !self.needs_no_name_server(target)
                    // Addresses that come later are not checked.
                    && self.hosts.blocked_networks.is_empty() =>
            {
                Addresses::renewed(host, *port, found)
                    .map_err(|error| fault::new(CallFaultKind::Resolve, error.to_string()))?
            }
            _ => Addresses::Fixed(found),
        };
        let tls_http1 = tls.clone().map(|tls| probe::offering_only(Spoken::Http1, tls));
        let speaks = match channel.map(|channel| channel.protocol) {
            Some(ChannelProtocol::Http2) => Speaks::Always(Spoken::Http2),
            Some(ChannelProtocol::Bytes) | None => Speaks::Negotiated,
        };
        let sources = if self.hosts.sources.is_empty() {
            SourceAddresses::Loopback(sources)
        } else {
            SourceAddresses::Given(self.hosts.sources.clone())
        };
        Ok(Destination { addresses, tls, tls_http1, sources, speaks })
    }

    /// At least one, all of one family: IPv4 where there is one, as k6 prefers it.
    fn addresses(&self, target: &Target) -> Result<Vec<Address>, CallFault> {
        let (host, port) = match &target.endpoint {
            Endpoint::Unix { path } => return Ok(vec![Address::Unix(path.clone())]),
            Endpoint::Tcp { host, port } => (host.as_str(), *port),
        };
        if let Some(pattern) = self.hosts.blocking_pattern(host) {
            let message = format!("hostname ({host}) is in a blocked pattern ({pattern})");
            return Err(fault::new(CallFaultKind::BlockedName, message));
        }
        if let Some(address) = self.hosts.find(host, port) {
            return Ok(vec![Address::Tcp(address)]);
        }
        let resolved = (host, port).to_socket_addrs().map_err(|error| {
            fault::new(CallFaultKind::Resolve, format!("cannot resolve the host name `{host}`: {error}"))
        })?;
        let all: Vec<SocketAddr> = resolved.collect();
        let has_ipv4 = all.iter().any(SocketAddr::is_ipv4);
        let usable = all.into_iter().filter(|address| address.is_ipv4() == has_ipv4);
        let mut found: Vec<_> = usable.take(ADDRESSES_MAX).collect();
        // One address may stand there once for each kind of socket.
        found.dedup();
        if found.is_empty() {
            return Err(fault::new(
                CallFaultKind::NoAddress,
                format!("the host name `{host}` has no address"),
            ));
        }
        Ok(found.into_iter().map(Address::Tcp).collect())
    }

    fn check_blocked(&self, found: &[Address]) -> Result<(), CallFault> {
        for address in found {
            if let Address::Tcp(address) = address
                && let Some(network) = self.hosts.blocking_network(address.ip())
            {
                let message = format!("IP ({}) is in a blacklisted range ({network})", address.ip());
                return Err(fault::new(CallFaultKind::BlockedAddress, message));
            }
        }
        Ok(())
    }

    fn tls(&self, target: &Target) -> Result<TlsTarget, CallFault> {
        let trust = self
            .trust
            .get_or_init(|| Trust::new(&self.wire.tls, PROTOCOL).map_err(|error| error.to_string()));
        let trust = trust.as_ref().map_err(|message| fault::new(CallFaultKind::Tls, message.as_str()))?;
        probe::tls_target(target, &self.wire, trust)
            .map_err(|error| fault::new(CallFaultKind::Tls, error.to_string()))
    }

    /// A channel has settings of its own.
    fn tls_of_channel(&self, target: &Target, channel: &Channel) -> Result<TlsTarget, CallFault> {
        let fault = |error: ClientError| fault::new(CallFaultKind::Tls, error.to_string());
        let trust = Trust::of_channel(&self.wire.tls, channel).map_err(fault)?;
        let mut wire = self.wire.clone();
        if let Some(name) = &channel.tls.server_name {
            wire.tls.server_name = Some(name.clone());
        }
        probe::tls_target(target, &wire, &trust).map_err(fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dynamic(wire: &WireOptions, hosts: &Hosts) -> DynamicTargets {
        DynamicTargets::new(wire, Some(hosts), 10).unwrap()
    }

    fn settled(dynamic: &DynamicTargets, index: usize, url: &str) -> Finding {
        let (target, waker) = (Arc::new(Target::parse(url).unwrap()), Waker::new().unwrap());
        loop {
            match dynamic.find(index, &target, &waker) {
                Finding::Resolving => {
                    let mut waited =
                        [rustix::event::PollFd::new(waker.descriptor(), rustix::event::PollFlags::IN)];
                    rustix::event::poll(&mut waited, None).unwrap();
                    waker.reset();
                }
                finding => return finding,
            }
        }
    }

    #[test]
    fn addresses_and_given_names_need_no_name_server() {
        let mut hosts = Hosts::default();
        let address = "127.0.0.9".parse().unwrap();
        hosts.insert("shop.test:80", prony_model::plan::hosts::HostAddress { address, port: Some(81) });
        let dynamic = dynamic(&WireOptions::default(), &hosts);
        for (index, (url, expected)) in [
            ("http://127.0.0.1:5", "127.0.0.1:5"),
            ("http://[::1]:6", "[::1]:6"),
            ("http://shop.test", "127.0.0.9:81"),
        ]
        .into_iter()
        .enumerate()
        {
            let (target, waker) = (Arc::new(Target::parse(url).unwrap()), Waker::new().unwrap());
            let Finding::Known(place) = dynamic.find(index, &target, &waker) else {
                panic!("{url} is asked for")
            };
            assert_eq!(place.addresses.first(), Address::Tcp(expected.parse().unwrap()));
        }
    }

    #[test]
    fn a_name_is_asked_for_by_another_thread_and_its_fault_is_told() {
        let dynamic = dynamic(&WireOptions::default(), &Hosts::default());
        assert!(matches!(settled(&dynamic, 3, "http://localhost:1"), Finding::Known(_)));
        let Finding::Failed(fault) = settled(&dynamic, 0, "http://no..such.host") else { panic!() };
        assert_eq!(fault.kind, CallFaultKind::Resolve);
        assert!(fault.message.contains("`no..such.host`"), "{}", fault.message);
    }

    #[test]
    fn files_that_are_no_certificates_end_the_run_before_it_begins() {
        let mut wire = WireOptions::default();
        wire.tls.ca = vec!["/no/such.pem".into()];
        assert!(DynamicTargets::new(&wire, None, 1).is_err());
    }
}
