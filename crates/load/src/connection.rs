//! One connection to the target: opening it, writing what is left of a request, reading into a shared buffer.

use crate::http::scanner::Scanner;
use crate::network::Network;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::mem;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) socket: Socket,
    pub(crate) scanner: Scanner,
    /// What the kernel did not take yet; empty nearly always.
    unsent: Vec<u8>,
    pub(crate) is_open: bool,
}

/// What a read gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Bytes(usize),
    Nothing,
    End,
}

impl Connection {
    /// Begins to connect; the socket becomes writable once that is over, well or not.
    pub(crate) fn open(network: &Network, user: u32) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(network.target),
            Type::STREAM.nonblocking(),
            Some(Protocol::TCP),
        )?;
        socket.set_tcp_nodelay(true)?;
        if let Some(source) = network.source_of(user) {
            network.bind(&socket, source)?;
        }
        match socket.connect(&network.target.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
            _ => Ok(Self { socket, scanner: Scanner::new(), unsent: Vec::new(), is_open: false }),
        }
    }

    /// Writes as much as the kernel takes and keeps the rest.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let taken = self.write(bytes)?;
        if taken < bytes.len() {
            self.unsent = bytes[taken..].to_vec();
        }
        Ok(())
    }

    /// Goes on with what was left.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.unsent.is_empty() {
            return Ok(());
        }
        let rest = mem::take(&mut self.unsent);
        self.send(&rest)
    }

    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> io::Result<Read> {
        loop {
            return match (&self.socket).read(buffer) {
                Ok(0) => Ok(Read::End),
                Ok(count) => Ok(Read::Bytes(count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Nothing),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut taken = 0;
        while taken < bytes.len() {
            match (&self.socket).write(&bytes[taken..]) {
                Ok(count) => taken += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }
}
