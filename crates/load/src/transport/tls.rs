//! A TLS session of one connection, by rustls: handshake, plaintext in and out of a non-blocking socket.

use super::{Fault, Read, socket};
use prony_load_model::TransportError;
use prony_load_model::call::TlsFacts;
use rustls::client::ClientConnection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};
use socket2::Socket;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

/// A target's sessions: with which settings, and under which name.
#[derive(Debug, Clone)]
pub(crate) struct TlsTarget {
    pub(crate) config: Arc<ClientConfig>,
    /// Sent as SNI unless it is an address, and checked against the certificate.
    pub(crate) name: ServerName<'static>,
}

impl TlsTarget {
    pub(crate) fn session(&self) -> io::Result<Session> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        connection.map(Session::new).map_err(io::Error::other)
    }
}

#[derive(Debug)]
pub(crate) struct Session(ClientConnection);

impl Session {
    fn new(mut connection: ClientConnection) -> Self {
        // What is written is bounded by the caller: a request, or what HTTP/2 lets wait.
        connection.set_buffer_limit(None);
        Self(connection)
    }

    /// True once it is over. A fault's cause is a [`rustls::Error`] where the peer or its certificate is at fault.
    pub(crate) fn handshake(&mut self, socket: &Socket) -> Result<bool, Fault> {
        loop {
            self.flush(socket).map_err(|fault| Fault { kind: TransportError::Tls, ..fault })?;
            if !self.0.is_handshaking() {
                return Ok(true);
            }
            match self.0.read_tls(&mut &*socket) {
                Ok(0) => return Err(tls(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => self.process(socket)?,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(tls(error)),
            }
        }
    }

    /// Takes ciphertext into the second half of `buffer` and gives plaintext in the first.
    pub(crate) fn read(&mut self, socket: &Socket, buffer: &mut [u8]) -> Result<Read, Fault> {
        let (plain, cipher) = buffer.split_at_mut(buffer.len() / 2);
        if let Some(read) = self.take_plain(plain, false)? {
            return Ok(read);
        }
        loop {
            let read = socket::read(socket, cipher);
            let Some(count) = read.map_err(|cause| Fault { kind: TransportError::Read, cause })? else {
                return Ok(Read::Nothing);
            };
            if count == 0 {
                return Ok(Read::End);
            }
            self.feed(socket, &cipher[..count])?;
            if let Some(read) = self.take_plain(plain, count < cipher.len())? {
                return Ok(read);
            }
            if count < cipher.len() {
                return Ok(Read::Nothing);
            }
        }
    }

    pub(crate) fn send(&mut self, socket: &Socket, bytes: &[u8]) -> Result<(), Fault> {
        self.0.writer().write_all(bytes).map_err(write)?;
        self.flush(socket)
    }

    pub(crate) fn flush(&mut self, socket: &Socket) -> Result<(), Fault> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut &*socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(write(error)),
            }
        }
        Ok(())
    }

    pub(crate) fn has_unsent(&self) -> bool {
        self.0.wants_write()
    }

    pub(crate) fn facts(&self) -> Option<TlsFacts> {
        let version = self.0.protocol_version()?.into();
        Some(TlsFacts { version, cipher_suite: self.0.negotiated_cipher_suite()?.suite().into() })
    }

    pub(crate) fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.0.handshake_kind()
    }

    /// Decrypts what came; one call per read of the socket, however large that was.
    fn feed(&mut self, socket: &Socket, mut cipher: &[u8]) -> Result<(), Fault> {
        while !cipher.is_empty() {
            let taken = self.0.read_tls(&mut cipher).map_err(tls)?;
            self.process(socket)?;
            if taken == 0 {
                // After the peer's close, whatever follows has no meaning.
                return Ok(());
            }
        }
        if self.0.wants_write() { self.flush(socket) } else { Ok(()) }
    }

    /// The peer is told of an error by an alert, if its socket takes one.
    fn process(&mut self, socket: &Socket) -> Result<(), Fault> {
        let Err(error) = self.0.process_new_packets() else { return Ok(()) };
        let _ = self.flush(socket);
        Err(tls(io::Error::other(error)))
    }

    /// None where there is no plaintext. The socket holds nothing more where `is_drained`.
    fn take_plain(&mut self, plain: &mut [u8], is_drained: bool) -> Result<Option<Read>, Fault> {
        let mut count = 0;
        while count < plain.len() {
            match self.0.reader().read(&mut plain[count..]) {
                Ok(0) if count == 0 => return Ok(Some(Read::End)),
                Ok(0) => return Ok(Some(Read::Bytes { count, is_all: false })),
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(cause) => return Err(Fault { kind: TransportError::Read, cause }),
            }
        }
        Ok((count > 0).then_some(Read::Bytes { count, is_all: is_drained && count < plain.len() }))
    }
}

fn tls(cause: io::Error) -> Fault {
    Fault { kind: TransportError::Tls, cause }
}

fn write(cause: io::Error) -> Fault {
    Fault { kind: TransportError::Write, cause }
}
