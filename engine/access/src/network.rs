//! Addresses of the network: which ranges of them are trusted, and from which one a request came.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    str::FromStr,
};

/// A range of addresses, such as `10.0.0.0/8` or `::1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpRange {
    address: IpAddr,
    /// Leading bits that addresses of the range have in common.
    prefix_bits: u32,
}

/// Bits before an IPv4 address within IPv6 (RFC 4291, section 2.5.5.2).
const MAPPED_BITS: u32 = 96;

impl IpRange {
    /// An IPv4 address within IPv6 counts as the IPv4 address.
    pub fn contains(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(range), IpAddr::V4(address)) => {
                let differing = u32::from(range) ^ u32::from(address);
                differing.leading_zeros() >= self.prefix_bits
            }
            (IpAddr::V6(range), IpAddr::V6(address)) => {
                let differing = u128::from(range) ^ u128::from(address);
                differing.leading_zeros() >= self.prefix_bits
            }
            _ => false,
        }
    }
}

impl fmt::Display for IpRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.address, self.prefix_bits)
    }
}

/// What is no range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write an address, or a range such as 10.0.0.0/8")]
pub struct NotARange;

impl FromStr for IpRange {
    type Err = NotARange;

    fn from_str(text: &str) -> Result<Self, NotARange> {
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| NotARange)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits: u32 = match prefix {
            None => most,
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => {
                bits.parse().ok().filter(|bits| *bits <= most).ok_or(NotARange)?
            }
            Some(_) => return Err(NotARange),
        };
        // Of addresses within IPv6 the first 96 bits say that they are of IPv4.
        Ok(match (address.to_canonical(), prefix_bits.checked_sub(MAPPED_BITS)) {
            (address @ IpAddr::V4(_), Some(prefix_bits)) => Self { address, prefix_bits },
            _ => Self { address, prefix_bits },
        })
    }
}

/// Addresses in `X-Forwarded-For` that are looked at, from the last one on.
const MAX_FORWARDED: usize = 32;

/// The address that a request came from: the peer's, or, behind trusted proxies, the last one in `X-Forwarded-For` that is
/// none of theirs. What is before that was written by whoever wanted to, and need not be text.
pub fn client_address(peer: IpAddr, forwarded_for: &[&[u8]], trusted: &[IpRange]) -> IpAddr {
    let is_trusted = |address: IpAddr| trusted.iter().any(|range| range.contains(address));
    let mut client = peer.to_canonical();
    let addresses = forwarded_for.iter().rev().flat_map(|line| line.rsplit(|byte| *byte == b','));
    for item in addresses.take(MAX_FORWARDED) {
        if !is_trusted(client) {
            break;
        }
        let Some(address) = forwarded(item) else { break };
        client = address.to_canonical();
    }
    client
}

/// By what clients without names are told from each other: of IPv6 the network, since a client can have all addresses of one.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// An address with or without a port; of IPv6 some proxies write brackets around either.
fn forwarded(item: &[u8]) -> Option<IpAddr> {
    let text = std::str::from_utf8(item.trim_ascii()).ok()?;
    let without_brackets = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = without_brackets.unwrap_or(text).parse() {
        return Some(address);
    }
    let with_port: Option<std::net::SocketAddr> = text.parse().ok();
    with_port.map(|address| address.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_network_are_of_one_client() {
        let network = |text: &str| client_network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8::1"), network("2001:db8::ffff:2"));
        assert_ne!(network("2001:db8::1"), network("2001:db8:0:1::1"));
        assert_eq!(network("::ffff:192.0.2.7"), "192.0.2.7");
        assert_ne!(network("192.0.2.7"), network("192.0.2.8"));
    }

    #[test]
    fn ranges_hold_addresses_with_their_prefix() {
        for (range, address, holds) in [
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("0.0.0.0/0", "8.8.8.8", true),
            ("0.0.0.0/0", "::1", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "::ffff:127.0.0.1", true),
            // So an address of IPv4 is written where a listener takes both.
            ("::ffff:127.0.0.1", "127.0.0.1", true),
            ("::ffff:127.0.0.1", "127.0.0.2", false),
            ("::ffff:10.0.0.0/104", "::ffff:10.9.9.9", true),
            ("::ffff:10.0.0.0/104", "11.0.0.1", false),
            ("fd00::/8", "fdab::1", true),
            ("fd00::/8", "fe80::1", false),
            ("::/0", "fe80::1", true),
        ] {
            let range: IpRange = range.parse().expect("it is a range");
            assert_eq!(
                range.contains(address.parse().expect("it is an address")),
                holds,
                "{range} {address}"
            );
        }
        for text in
            ["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "::/129", "10.0.0/8", "a/8", "1.2.3.4/8/8"]
        {
            assert_eq!(text.parse::<IpRange>(), Err(NotARange), "{text}");
        }
    }

    #[test]
    fn only_trusted_proxies_say_where_a_request_came_from() {
        let trusted: Vec<IpRange> =
            vec!["10.0.0.0/8".parse().expect("a range"), "::1".parse().expect("a range")];
        for (peer, forwarded, client) in [
            ("1.2.3.4", &["5.6.7.8"][..], "1.2.3.4"),
            ("10.0.0.1", &["5.6.7.8"], "5.6.7.8"),
            ("10.0.0.1", &["6.6.6.6, 5.6.7.8"], "5.6.7.8"),
            ("10.0.0.1", &["5.6.7.8, 10.0.0.2"], "5.6.7.8"),
            ("10.0.0.1", &["6.6.6.6", "5.6.7.8"], "5.6.7.8"),
            ("10.0.0.1", &["10.0.0.3"], "10.0.0.3"),
            ("10.0.0.1", &["5.6.7.8, unknown"], "10.0.0.1"),
            ("10.0.0.1", &["unknown, 5.6.7.8"], "5.6.7.8"),
            ("10.0.0.1", &["5.6.7.8:443"], "5.6.7.8"),
            ("::1", &["[2001:db8::1]:80"], "2001:db8::1"),
            ("::1", &["2001:db8::2, [2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", &[], "10.0.0.1"),
        ] {
            let peer = peer.parse().expect("it is an address");
            let expected: IpAddr = client.parse().expect("it is an address");
            let lines: Vec<&[u8]> = forwarded.iter().map(|line| line.as_bytes()).collect();
            assert_eq!(client_address(peer, &lines, &trusted), expected, "{forwarded:?}");
        }
    }

    /// A proxy puts its client's address behind what that has sent. A byte that is no text hid the whole line, and with it the address.
    #[test]
    fn odd_bytes_of_a_client_hide_no_address() {
        let trusted: Vec<IpRange> = vec!["10.0.0.0/8".parse().expect("a range")];
        let proxy = IpAddr::from([10, 0, 0, 1]);
        for (line, expected) in [(&b"\xff, 5.6.7.8"[..], "5.6.7.8"), (&b"5.6.7.8, \xff"[..], "10.0.0.1")] {
            assert_eq!(client_address(proxy, &[line], &trusted).to_string(), expected);
        }
    }
}
