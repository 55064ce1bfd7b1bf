//! Binding listeners, with errors that name the address and, where Linux tells, who holds it.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener},
};

use listenfd::ListenFd;
use socket2::{Domain, Protocol, Socket, Type};

/// Connections that the kernel completes before they are accepted. Enough for a burst of load generators;
/// the kernel cuts it to `net.core.somaxconn`.
pub(super) const BACKLOG: i32 = 4096;

/// An address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {reason}")]
pub struct ListenError {
    pub address: SocketAddr,
    reason: String,
    #[source]
    source: io::Error,
}

/// Sockets that a service manager has opened for this process (`sd_listen_fds(3)`), in its order; none where it has not. They are taken once.
pub(super) fn inherited() -> Result<Vec<TcpListener>, InheritedError> {
    let mut given = ListenFd::from_env();
    let count = given.len();
    let take = |place: usize| {
        let not_one = |source| InheritedError { place: place + 1, source };
        let listener = given.take_tcp_listener(place).map_err(not_one)?;
        listener.iter().try_for_each(make_ready).map_err(not_one)?;
        Ok(listener)
    };
    (0..count).map(take).filter_map(Result::transpose).collect()
}

/// Has a socket that was handed over polled.
///
/// # Errors
/// It is a connection, as socket units with `Accept=yes` hand over, or nothing can connect to it.
fn make_ready(listener: &TcpListener) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if !socket2::SockRef::from(listener).is_listener()? {
        return Err(io::Error::other("it does not listen (Accept=yes hands over connections)"));
    }
    listener.set_nonblocking(true)
}

/// A socket that was handed over cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error(
    "socket {place} of those that the service manager has opened is none to listen on with TCP: {source}; write ListenStream=ADDRESS:PORT into the socket unit"
)]
pub struct InheritedError {
    place: usize,
    source: io::Error,
}

/// Binds `address` with the options that a server wants; the socket is ready to be polled.
pub fn bind(address: SocketAddr) -> Result<TcpListener, ListenError> {
    bind_of("--listen", address)
}

/// As [`bind`], of an address that this flag gives.
pub(super) fn bind_of(flag: &str, address: SocketAddr) -> Result<TcpListener, ListenError> {
    try_bind(address).map_err(|source| {
        let reason = reason(flag, address, &source);
        ListenError { address, reason, source }
    })
}

fn try_bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

fn reason(flag: &str, address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            let holder = holder(address.port()).map_or_else(String::new, |who| format!(" by {who}"));
            let other = SocketAddr::new(address.ip(), free_port_after(address));
            format!("the port is in use{holder}; try {flag} {other}")
        }
        io::ErrorKind::PermissionDenied => {
            format!("ports below 1024 need privileges; try {flag} {}:8080", address.ip())
        }
        io::ErrorKind::AddrNotAvailable => {
            format!("no interface of this machine has the address; try {flag} 127.0.0.1:8080")
        }
        _ => error.to_string(),
    }
}

/// The next port that can be bound just now, for the suggestion only.
fn free_port_after(address: SocketAddr) -> u16 {
    const TRIES: u16 = 100;
    (1..=TRIES)
        .filter_map(|step| address.port().checked_add(step))
        .find(|&port| TcpListener::bind((address.ip(), port)).is_ok())
        .unwrap_or(0)
}

/// `NAME (process ID)` of the process that listens on `port`, as far as `/proc` lets us see it.
fn holder(port: u16) -> Option<String> {
    let inode = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .find_map(|table| listening_inode(&fs::read_to_string(table).ok()?, port))?;
    let wanted = format!("socket:[{inode}]");
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let id: u32 = entry.file_name().to_str()?.parse().ok()?;
        let holds = fs::read_dir(entry.path().join("fd"))
            .ok()?
            .flatten()
            .any(|fd| fs::read_link(fd.path()).is_ok_and(|target| target.as_os_str() == wanted.as_str()));
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        holds.then(|| format!("{} (process {id})", name.trim_end()))
    })
}

/// The socket's inode in the kernel's table of TCP sockets (`proc_pid_net(5)`): state 0A is LISTEN.
fn listening_inode(table: &str, port: u16) -> Option<String> {
    const LISTEN: &str = "0A";
    let suffix = format!(":{port:04X}");
    table.lines().skip(1).find_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let local = columns.nth(1)?;
        let state = columns.nth(1)?;
        let inode = columns.nth(5)?;
        (state == LISTEN && local.ends_with(&suffix)).then(|| inode.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inode_is_read_from_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            \x20  0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41251 1 0 100 0\n\
            \x20  1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 41252 1 0 100 0\n";
        assert_eq!(listening_inode(table, 8080).as_deref(), Some("41251"));
        assert_eq!(listening_inode(table, 8081), None);
    }

    /// A bug of the first version: the server started, and could never accept a connection.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_socket_that_does_not_listen_is_not_taken() {
        let listening = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        make_ready(&listening).unwrap();
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
        let fault = make_ready(&socket.into()).unwrap_err().to_string();
        assert!(fault.starts_with("it does not listen"), "{fault}");
    }

    #[test]
    fn a_port_in_use_names_the_address_and_the_holder() {
        let first = bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = first.local_addr().unwrap();
        let message = bind(address).unwrap_err().to_string();
        assert!(message.starts_with(&format!("cannot listen on {address}: the port is in use")), "{message}");
        assert!(message.contains("; try --listen 127.0.0.1:"), "{message}");
        let of_operators = bind_of("--admin-listen", address).unwrap_err().to_string();
        assert!(of_operators.contains("; try --admin-listen 127.0.0.1:"), "{of_operators}");
        if cfg!(target_os = "linux") {
            assert!(message.contains(&format!("(process {})", std::process::id())), "{message}");
        }
    }
}
