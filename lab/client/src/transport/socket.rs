//! Sockets that never block: TCP and Unix-domain ones, opened, read and written.

#![expect(unsafe_code, reason = "a socket option that no crate has a call for")]

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// What a socket connects to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    pub fn domain(&self) -> Domain {
        match self {
            Self::Tcp(address) => Domain::for_address(*address),
            Self::Unix(_) => Domain::UNIX,
        }
    }

    fn to_sock_addr(&self) -> io::Result<SockAddr> {
        match self {
            Self::Tcp(address) => Ok((*address).into()),
            Self::Unix(path) => SockAddr::unix(path),
        }
    }
}

/// Begins to connect. A Unix-domain socket whose listener's queue is full fails at once: the kernel tells of no
/// later moment.
pub(crate) fn connect(address: &Address, source: Option<IpAddr>) -> io::Result<Socket> {
    let is_tcp = matches!(address, Address::Tcp(_));
    let socket =
        Socket::new(address.domain(), Type::STREAM.nonblocking().cloexec(), is_tcp.then_some(Protocol::TCP))?;
    if is_tcp {
        socket.set_tcp_nodelay(true)?;
    }
    if let Some(source) = source {
        bind(&socket, source)?;
    }
    match socket.connect(&address.to_sock_addr()?) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// None where nothing is there yet. A bare system call: the C library's is a point of cancellation, which cost 4 % of a
/// small request.
pub(crate) fn read(socket: &Socket, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        return match recv(socket, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => Ok(Some(count)),
            Err(Errno::AGAIN) => Ok(None),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

/// How many bytes the kernel took.
pub(crate) fn write(socket: &Socket, bytes: &[u8]) -> io::Result<usize> {
    let mut taken = 0;
    while taken < bytes.len() {
        match send(socket, &bytes[taken..], SendFlags::NOSIGNAL) {
            Ok(count) => taken += count,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(taken)
}

/// Binds to a source address and leaves the port to `connect`, which may use one port for several targets.
fn bind(socket: &Socket, source: IpAddr) -> io::Result<()> {
    set_bind_address_no_port(socket)?;
    socket.bind(&SocketAddr::new(source, 0).into())
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
