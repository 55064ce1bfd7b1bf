//! The limits of the system that many users meet, each with its number and the remedy.

use crate::error::ClientError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs;
use std::net::IpAddr;

/// Descriptors for anything but users: the result file, epoll and timers of each thread, and the caller's own.
pub const DESCRIPTORS_SPARE: u64 = 100;
/// Sources for the loopback are 127.1.0.1 and up; this many are far more than descriptors allow.
const SOURCES_MAX: u32 = 250;

pub(crate) fn raise_descriptors(connections: u32) -> Result<(), ClientError> {
    let limits = getrlimit(Resource::Nofile);
    let needed = u64::from(connections) + DESCRIPTORS_SPARE;
    let hard = limits.maximum.unwrap_or(u64::MAX);
    if needed > hard {
        return Err(ClientError::Descriptors { connections, needed, limit: hard });
    }
    if limits.current.is_some_and(|soft| soft < hard) {
        let raised = Rlimit { current: limits.maximum, maximum: limits.maximum };
        setrlimit(Resource::Nofile, raised)
            .map_err(|error| ClientError::system("raise the limit of descriptors")(error.into()))?;
    }
    Ok(())
}

/// How many ports one source address has for one target; Linux's default where it cannot be read.
pub(crate) fn ports_available() -> u32 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    let mut bounds = range.split_whitespace().filter_map(|bound| bound.parse::<u32>().ok());
    match (bounds.next(), bounds.next()) {
        (Some(low), Some(high)) if low <= high => high - low + 1,
        _ => 28_232,
    }
}

/// Half of the ports are left to connections that are still closing.
pub(crate) fn sources_for(target: IpAddr, users: u32, ports: u32) -> Result<u32, ClientError> {
    let IpAddr::V4(address) = target else {
        return if users > ports { Err(ClientError::Ports { users, available: ports }) } else { Ok(0) };
    };
    let sources = users.div_ceil((ports / 2).max(1));
    match address.is_loopback() {
        true if sources <= 1 => Ok(0),
        true if sources <= SOURCES_MAX => Ok(sources),
        false if users <= ports => Ok(0),
        _ => Err(ClientError::Ports { users, available: ports }),
    }
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
    fn limits_are_named_with_the_remedy() {
        let error = raise_descriptors(999_999_999).unwrap_err().to_string();
        assert!(error.contains("1000000099 descriptors are needed for 999999999 connections"), "{error}");
        assert!(error.contains("ulimit -Hn"), "{error}");
        let error = sources_for("10.0.0.1".parse().unwrap(), 40_000, 28_000).unwrap_err().to_string();
        assert!(error.contains("one source address has 28000"), "{error}");
    }
}
