//! Finding TCP ports of the loopback that nobody listens on.

use std::net::{Ipv4Addr, TcpListener};

/// A port of 127.0.0.1 that was free a moment ago. Another process can take it before the caller does, so
/// whoever can should listen on port 0 instead.
///
/// # Panics
/// When the loopback has no free port.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("the loopback has a free port");
    listener.local_addr().expect("a bound listener has an address").port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_can_be_bound() {
        TcpListener::bind((Ipv4Addr::LOCALHOST, free_port())).unwrap();
    }
}
