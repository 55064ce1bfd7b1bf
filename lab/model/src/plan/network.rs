//! Ranges of addresses: networks (RFC 4632), and where connections come from.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// Such as `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    /// The first of its addresses.
    first: IpAddr,
    prefix: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    #[error("`{0}` is no network; write for example `10.0.0.0/8`")]
    Network(String),
    #[error("`{0}` is no valid IP, IP range or CIDR")]
    Range(String),
    #[error("`{0}` has addresses of two kinds, or ends before it begins")]
    Order(String),
}

/// The bits of an address, and how many of them there are.
fn bits(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    }
}

fn address(bits: u128, width: u8) -> IpAddr {
    if width == 32 { Ipv4Addr::from_bits(bits as u32).into() } else { Ipv6Addr::from_bits(bits).into() }
}

/// The part of an address that is not the network's.
fn host_mask(width: u8, prefix: u8) -> u128 {
    1_u128.checked_shl(u32::from(width - prefix)).map_or(u128::MAX, |bit| bit - 1)
}

impl Network {
    pub fn contains(&self, other: IpAddr) -> bool {
        let ((first, width), (other, other_width)) = (bits(self.first), bits(other));
        width == other_width && other & !host_mask(width, self.prefix) == first
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let fault = || NetworkError::Network(text.to_owned());
        let (first, prefix) = text.split_once('/').ok_or_else(fault)?;
        let (given, width) = bits(first.parse().map_err(|_| fault())?);
        let prefix: u8 = prefix.parse().map_err(|_| fault())?;
        if prefix > width {
            return Err(fault());
        }
        Ok(Self { first: address(given & !host_mask(width, prefix), width), prefix })
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

/// Addresses of this machine that users take turns at; none where the system chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources(Vec<Range>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    first: u128,
    width: u8,
    /// At least one; a whole IPv6 network counts as one less.
    count: u128,
}

impl Sources {
    /// A list of addresses, ranges of them and networks: `10.0.0.1,10.0.0.3-10.0.0.7,fd:1::/120`. Of a network of IPv4 the first
    /// and the last address are left out.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        text.split(',').map(|range| Range::parse(range.trim())).collect::<Result<_, _>>().map(Self)
    }

    /// That of a user, from 0.
    pub fn of_user(&self, user: u32) -> Option<IpAddr> {
        let total = self.0.iter().fold(0_u128, |sum, range| sum.saturating_add(range.count));
        let mut index = u128::from(user).checked_rem(total)?;
        for range in &self.0 {
            if index < range.count {
                return Some(address(range.first + index, range.width));
            }
            index -= range.count;
        }
        None
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Range {
    fn parse(text: &str) -> Result<Self, NetworkError> {
        let fault = || NetworkError::Range(text.to_owned());
        if text.contains('/') {
            let Network { first, prefix } = text.parse().map_err(|_| fault())?;
            let (first, width) = bits(first);
            let (first, count) = match host_mask(width, prefix) {
                last if width == 32 && last > 1 => (first + 1, last - 1),
                last => (first, last.saturating_add(1)),
            };
            return Ok(Self { first, width, count });
        }
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let read = |text: &str| text.parse().map(bits).map_err(|_| fault());
        let ((first, width), (last, last_width)) = (read(first)?, read(last)?);
        if width != last_width || last < first {
            return Err(NetworkError::Order(text.to_owned()));
        }
        Ok(Self { first, width, count: (last - first).saturating_add(1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_addresses() {
        let holds = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(holds("10.1.2.3/8", "10.255.0.1") && !holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("::/0", "fd::1") && !holds("::/0", "127.0.0.1") && holds("127.0.0.1/32", "127.0.0.1"));
        assert_eq!("10.1.2.3/8".parse::<Network>().unwrap().to_string(), "10.0.0.0/8");
        for text in ["10.0.0.1", "10.0.0.0/33", "x/8", "10.0.0.0/"] {
            assert_eq!(text.parse::<Network>(), Err(NetworkError::Network(text.to_owned())));
        }
    }

    #[test]
    fn users_take_turns_at_sources() {
        let sources = Sources::parse("10.0.0.9,10.0.0.1-10.0.0.2, 192.168.0.0/30").unwrap();
        let of = |user| sources.of_user(user).unwrap().to_string();
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(of),
            ["10.0.0.9", "10.0.0.1", "10.0.0.2", "192.168.0.1", "192.168.0.2", "10.0.0.9"]
        );
        assert_eq!(Sources::parse("fd::/127").unwrap().of_user(3).unwrap().to_string(), "fd::1");
        assert_eq!(Sources::default().of_user(3), None);
        let fault = |text| Sources::parse(text).unwrap_err().to_string();
        assert_eq!(fault("10.0.0.1,x"), "`x` is no valid IP, IP range or CIDR");
        assert_eq!(
            fault("10.0.0.2-10.0.0.1"),
            "`10.0.0.2-10.0.0.1` has addresses of two kinds, or ends before it begins"
        );
    }
}
