//! The target's address, the addresses to connect from, and the limits of the system that many users meet.

use crate::error::RunError;
use prony_load_model::Plan;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::Socket;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Descriptors for anything but users: the result file, epoll and timers of each thread, and the caller's own.
const DESCRIPTORS_SPARE: u64 = 100;
/// Sources for the loopback are 127.1.0.1 and up; this many are far more than descriptors allow.
const SOURCES_MAX: u32 = 250;
const REACH_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub(crate) target: SocketAddr,
    /// How many source addresses the users are spread over; 0 where the system chooses.
    sources: u32,
}

impl Network {
    /// Resolves, raises the limits, and tries the target once, so that a wrong address is an error and not a result.
    pub(crate) fn prepare(plan: &Plan) -> Result<Self, RunError> {
        let users = plan.users();
        raise_descriptors(users)?;
        let target = reach(plan)?;
        let sources = sources_for(target.ip(), users, ports_available())?;
        Ok(Self { target, sources })
    }

    pub(crate) fn source_of(&self, user: u32) -> Option<Ipv4Addr> {
        let index = user.checked_rem(self.sources)?;
        Some(Ipv4Addr::new(127, 1, 0, (index + 1) as u8))
    }

    /// Binds to a source address and leaves the port to `connect`, which may use one port for several targets.
    #[expect(clippy::unused_self, reason = "binding belongs to the network's choice of a source")]
    pub(crate) fn bind(&self, socket: &Socket, source: Ipv4Addr) -> io::Result<()> {
        set_bind_address_no_port(socket)?;
        socket.bind(&SocketAddr::new(IpAddr::V4(source), 0).into())
    }

    pub(crate) fn is_local_target(&self) -> bool {
        // Only an address of this machine can be bound to.
        self.target.ip().is_loopback() || std::net::UdpSocket::bind((self.target.ip(), 0)).is_ok()
    }
}

fn reach(plan: &Plan) -> Result<SocketAddr, RunError> {
    let target = plan.target();
    let fault = |cause| RunError::Resolve { host: target.host().to_owned(), cause };
    let addresses = (target.host(), target.port().unwrap_or(0)).to_socket_addrs().map_err(fault)?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    if target.is_tls() || target.port().is_none() {
        let cause = io::Error::new(io::ErrorKind::Unsupported, "only `http://HOST` can be loaded");
        return Err(RunError::Unreachable { target: target.to_string(), cause });
    }
    for address in addresses {
        match TcpStream::connect_timeout(&address, REACH_TIMEOUT) {
            Ok(_) => return Ok(address),
            Err(error) => last = error,
        }
    }
    Err(RunError::Unreachable { target: target.to_string(), cause: last })
}

fn raise_descriptors(users: u32) -> Result<(), RunError> {
    let limits = getrlimit(Resource::Nofile);
    let needed = u64::from(users) + DESCRIPTORS_SPARE;
    let hard = limits.maximum.unwrap_or(u64::MAX);
    if needed > hard {
        return Err(RunError::Descriptors { users, needed, limit: hard });
    }
    if limits.current.is_some_and(|soft| soft < hard) {
        let raised = Rlimit { current: limits.maximum, maximum: limits.maximum };
        setrlimit(Resource::Nofile, raised)
            .map_err(|error| RunError::system("raise the limit of descriptors")(error.into()))?;
    }
    Ok(())
}

/// How many ports one source address has for one target; Linux's default where it cannot be read.
fn ports_available() -> u32 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse::<u32>().ok());
    match (bounds.next(), bounds.next()) {
        (Some(low), Some(high)) if low <= high => high - low + 1,
        _ => 28_232,
    }
}

/// Half of the ports are left to connections that are still closing.
fn sources_for(target: IpAddr, users: u32, ports: u32) -> Result<u32, RunError> {
    let IpAddr::V4(address) = target else {
        return if users > ports { Err(RunError::Ports { users, available: ports }) } else { Ok(0) };
    };
    let sources = users.div_ceil((ports / 2).max(1));
    match address.is_loopback() {
        true if sources <= 1 => Ok(0),
        true if sources <= SOURCES_MAX => Ok(sources),
        false if users <= ports => Ok(0),
        _ => Err(RunError::Ports { users, available: ports }),
    }
}

/// `IP_BIND_ADDRESS_NO_PORT`, for which neither socket2 nor rustix has a call.
fn set_bind_address_no_port(socket: &Socket) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the descriptor is open while `socket` is borrowed, and the value is a `c_int` of that length.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            length,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_targets_get_as_many_sources_as_their_users_need() {
        let sources = |address: &str, users| sources_for(address.parse().unwrap(), users, 28_000).ok();
        assert_eq!(sources("127.0.0.1", 14_000), Some(0));
        assert_eq!(sources("127.0.0.1", 14_001), Some(2));
        assert_eq!(sources("127.0.0.1", 100_000), Some(8));
        assert_eq!(sources("10.0.0.1", 28_000), Some(0));
        assert_eq!(sources("10.0.0.1", 28_001), None);
        assert_eq!(sources("::1", 28_001), None);
    }

    #[test]
    fn users_take_turns_at_the_sources() {
        let network = Network { target: "127.0.0.1:80".parse().unwrap(), sources: 2 };
        let last = |user| network.source_of(user).map(|source| source.octets()[3]);
        assert_eq!((last(0), last(1), last(2)), (Some(1), Some(2), Some(1)));
    }

    #[test]
    fn limits_are_named_with_the_remedy() {
        let error = raise_descriptors(999_999_999).unwrap_err().to_string();
        assert!(error.contains("1000000099 descriptors are needed for 999999999 users"), "{error}");
        assert!(error.contains("ulimit -Hn"), "{error}");
        let error = sources_for("10.0.0.1".parse().unwrap(), 40_000, 28_000).unwrap_err().to_string();
        assert!(error.contains("one source address has 28000"), "{error}");
    }
}
