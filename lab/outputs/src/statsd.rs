//! `StatsD` over UDP (github.com/statsd/statsd, `docs/metric_types.md`): counters, gauges, and response times as timers.

use crate::graphite::{address, path};
use crate::second::{Second, outcome_word};
use crate::sender::Sender;
use prony_model::measurement::record::OutcomeKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _, UdpSocket};

/// What fits in one packet of an Ethernet with the heads of IPv6 and UDP.
const DATAGRAM_BYTES_MAX: usize = 1_432;

#[derive(Debug)]
struct StatsD {
    socket: Option<UdpSocket>,
    target: String,
}

pub(crate) fn open(target: &str) -> Result<Box<dyn Sender>, String> {
    Ok(Box::new(StatsD { socket: None, target: address(target)? }))
}

impl Sender for StatsD {
    fn send(&mut self, second: &Second) -> Result<(), String> {
        if self.socket.is_none() {
            self.socket = Some(connect(&self.target).map_err(|cause| cause.to_string())?);
        }
        let Some(socket) = &self.socket else { return Ok(()) };
        for datagram in datagrams(&lines(second)) {
            // Where nobody listens the system says so of the datagram before.
            if let Err(cause) = socket.send(datagram.as_bytes()) {
                self.socket = None;
                return Err(cause.to_string());
            }
        }
        Ok(())
    }
}

/// To the first of the target's addresses that this machine can send to, from a socket of that address's family.
fn connect(target: &str) -> std::io::Result<UdpSocket> {
    let mut last = std::io::Error::other("the name has no address");
    for address in target.to_socket_addrs()? {
        let any: IpAddr =
            if address.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let connected = UdpSocket::bind((any, 0)).and_then(|socket| {
            socket.connect(address)?;
            Ok(socket)
        });
        match connected {
            Ok(socket) => return Ok(socket),
            Err(cause) => last = cause,
        }
    }
    Err(last)
}

/// A timer's line stands for as many samples as its rate says, so that all of them take as many lines as there are different times.
fn lines(second: &Second) -> Vec<String> {
    let run = format!("prony.{}", path(&second.run));
    let mut lines =
        vec![format!("{run}.users:{}|g", second.users), format!("{run}.dropped_starts:{}|c", second.dropped)];
    for (name, request) in &second.requests {
        let (of, cell) = (format!("{run}.requests.{}", path(name)), &request.cell);
        for kind in OutcomeKind::ALL.into_iter().filter(|kind| cell.outcome(*kind) > 0) {
            lines.push(format!("{of}.{}:{}|c", outcome_word(kind), cell.outcome(kind)));
        }
        if cell.requests() > 0 {
            lines.push(format!("{of}.bytes_sent:{}|c", cell.bytes_sent));
            lines.push(format!("{of}.bytes_received:{}|c", cell.bytes_received));
        }
        for (time, count) in cell.response.recorded() {
            let milliseconds = time.as_millis_f64();
            lines.push(match count {
                1 => format!("{of}.response_time:{milliseconds}|ms"),
                count => format!("{of}.response_time:{milliseconds}|ms|@{}", 1.0 / count as f64),
            });
        }
    }
    lines
}

fn datagrams(lines: &[String]) -> Vec<String> {
    let mut datagrams: Vec<String> = Vec::new();
    for line in lines {
        match datagrams.last_mut() {
            Some(last) if last.len() + 1 + line.len() <= DATAGRAM_BYTES_MAX => {
                last.push('\n');
                last.push_str(line);
            }
            _ => datagrams.push(line.clone()),
        }
    }
    datagrams
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without brackets it is a name that the system is asked for, as one that has no other address.
    #[test]
    fn a_name_with_an_address_of_ipv6_alone_is_sent_to() {
        // Not every machine has that address.
        let Ok(peer) = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
        let address = peer.local_addr().unwrap();
        let socket = connect(&format!("::1:{}", address.port())).unwrap();
        assert_eq!(socket.peer_addr().unwrap(), address);
    }
}
