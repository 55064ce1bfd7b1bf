//! A TLS session of one connection, by rustls: handshake, plaintext in and out of a non-blocking socket.

use super::outcome::{Fault, Read};
use super::socket;
use prony_model::TransportError;
use prony_model::program::call::TlsFacts;
use rustls::client::ClientConnection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};
use socket2::Socket;
use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

/// A target's sessions: with which settings, and under which name.
#[derive(Debug, Clone)]
pub struct TlsTarget {
    pub config: Arc<ClientConfig>,
    /// Sent as SNI unless it is an address, and checked against the certificate.
    pub name: ServerName<'static>,
}

impl TlsTarget {
    pub fn session(&self) -> io::Result<Session> {
        let connection = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        connection.map(Session::new).map_err(io::Error::other)
    }
}

/// The most that one record has on the wire, in any version (RFC 5246, 6.2.3), with its header.
const RECORD_BYTES_MAX: usize = 5 + (1 << 14) + 2048;

#[derive(Debug)]
pub struct Session(ClientConnection);

/// Plaintext that was taken. After the peer's close, whatever follows has no meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Plain {
    count: usize,
    is_over: bool,
}

impl Session {
    fn new(mut connection: ClientConnection) -> Self {
        // What is written is bounded by the caller: a request, or what HTTP/2 lets wait.
        connection.set_buffer_limit(None);
        Self(connection)
    }

    /// True once it is over. A fault's cause is a [`rustls::Error`] where the peer or its certificate is at fault.
    pub fn handshake(&mut self, socket: &Socket) -> Result<bool, Fault> {
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

    /// Takes ciphertext into the end of `buffer` and gives plaintext at its beginning.
    pub fn read(&mut self, socket: &Socket, buffer: &mut [u8]) -> Result<Read, Fault> {
        // What one read of the socket decrypts to has room, with the part of a record that came before.
        let (plain, cipher) = buffer.split_at_mut(usize::midpoint(buffer.len(), RECORD_BYTES_MAX));
        let mut taken = self.take_plain(plain)?;
        let mut is_drained = false;
        while taken == Plain::default() {
            let read = socket::read(socket, cipher);
            let Some(count) = read.map_err(|cause| Fault { kind: TransportError::Read, cause })? else {
                return Ok(Read::Nothing);
            };
            if count == 0 {
                return Ok(Read::End);
            }
            is_drained = count < cipher.len();
            taken = self.decrypt(socket, &cipher[..count], plain)?;
        }
        Ok(match taken {
            Plain { count: 0, .. } => Read::End,
            Plain { count, is_over } => Read::Bytes { count, is_all: is_drained && !is_over },
        })
    }

    pub fn send(&mut self, socket: &Socket, bytes: &[u8]) -> Result<(), Fault> {
        self.0.writer().write_all(bytes).map_err(write)?;
        self.flush(socket)
    }

    pub fn flush(&mut self, socket: &Socket) -> Result<(), Fault> {
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

    pub fn has_unsent(&self) -> bool {
        self.0.wants_write()
    }

    pub fn facts(&self) -> Option<TlsFacts> {
        let version = self.0.protocol_version()?.into();
        Some(TlsFacts { version, cipher_suite: self.0.negotiated_cipher_suite()?.suite().into() })
    }

    pub fn has_chosen_http2(&self) -> bool {
        self.0.alpn_protocol() == Some(b"h2")
    }

    pub fn handshake_kind(&self) -> Option<HandshakeKind> {
        self.0.handshake_kind()
    }

    /// Decrypts what one read of the socket gave. rustls takes ciphertext in pieces, and no more of it while it holds
    /// 16 kB of plaintext: that is taken after each piece.
    fn decrypt(&mut self, socket: &Socket, mut cipher: &[u8], plain: &mut [u8]) -> Result<Plain, Fault> {
        let mut all = Plain::default();
        while !cipher.is_empty() && !all.is_over {
            self.0.read_tls(&mut cipher).map_err(tls)?;
            self.process(socket)?;
            let more = self.take_plain(&mut plain[all.count..])?;
            all = Plain { count: all.count + more.count, is_over: more.is_over };
        }
        if self.0.wants_write() {
            self.flush(socket)?;
        }
        Ok(all)
    }

    /// The peer is told of an error by an alert, if its socket takes one.
    fn process(&mut self, socket: &Socket) -> Result<(), Fault> {
        let Err(error) = self.0.process_new_packets() else { return Ok(()) };
        let _ = self.flush(socket);
        Err(tls(io::Error::other(error)))
    }

    fn take_plain(&mut self, plain: &mut [u8]) -> Result<Plain, Fault> {
        let mut count = 0;
        while count < plain.len() {
            match self.0.reader().read(&mut plain[count..]) {
                Ok(0) => return Ok(Plain { count, is_over: true }),
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(cause) => return Err(Fault { kind: TransportError::Read, cause }),
            }
        }
        Ok(Plain { count, is_over: false })
    }
}

fn tls(cause: io::Error) -> Fault {
    Fault { kind: TransportError::Tls, cause }
}

fn write(cause: io::Error) -> Fault {
    Fault { kind: TransportError::Write, cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_testkit::certificates::{Certificates, Validity};
    use rustls::server::{ServerConfig, ServerConnection};
    use rustls::{RootCertStore, crypto::aws_lc_rs::default_provider};
    use socket2::{Domain, Type};

    /// As long as the buffer of a worker.
    const BUFFER_BYTES: usize = 256 * 1024;

    /// A session after its handshake, its socket, and the two on the other side.
    fn connected() -> (Session, Socket, ServerConnection, Socket) {
        let certificates = Certificates::new();
        let identity = certificates.server(&["localhost"], Validity::Now);
        let provider = Arc::new(default_provider());
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.certificate], identity.key)
            .unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificates.ca()).unwrap();
        let client = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let target = TlsTarget { config: Arc::new(client), name: "localhost".try_into().unwrap() };
        let (socket, peer) = Socket::pair(Domain::UNIX, Type::STREAM, None).unwrap();
        for end in [&socket, &peer] {
            end.set_nonblocking(true).unwrap();
        }
        let mut session = target.session().unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        server.set_buffer_limit(None);
        while !session.handshake(&socket).unwrap() | server.is_handshaking() {
            // It has taken all that is there when it says that it would block.
            let _ = server.complete_io(&mut &peer);
        }
        (session, socket, server, peer)
    }

    /// All plaintext until there is nothing more, and what ended it.
    fn read_all(session: &mut Session, socket: &Socket) -> (Vec<u8>, Read) {
        let (mut all, mut buffer) = (Vec::new(), vec![0; BUFFER_BYTES]);
        loop {
            match session.read(socket, &mut buffer).unwrap() {
                Read::Bytes { count, .. } => all.extend_from_slice(&buffer[..count]),
                end => return (all, end),
            }
        }
    }

    #[test]
    fn many_records_that_come_at_once_are_read_whole() {
        let (mut session, socket, mut server, peer) = connected();
        let text: Vec<u8> = (0..100_000_u32).map(|index| index as u8).collect();
        server.writer().write_all(&text).unwrap();
        while server.wants_write() {
            server.write_tls(&mut &peer).unwrap();
        }
        assert_eq!(read_all(&mut session, &socket), (text, Read::Nothing));
    }

    #[test]
    fn the_end_behind_half_a_record_is_seen_by_the_same_read() {
        let (mut session, socket, mut server, peer) = connected();
        assert_eq!(read_all(&mut session, &socket), (Vec::new(), Read::Nothing));
        server.writer().write_all(&[b'x'; 1000]).unwrap();
        let mut record = Vec::new();
        server.write_tls(&mut record).unwrap();
        (&peer).write_all(&record[..500]).unwrap();
        drop(peer);
        assert_eq!(read_all(&mut session, &socket), (Vec::new(), Read::End));
    }

    #[test]
    fn text_before_the_close_is_read_before_the_end() {
        let (mut session, socket, mut server, peer) = connected();
        server.writer().write_all(b"last words").unwrap();
        server.send_close_notify();
        while server.wants_write() {
            server.write_tls(&mut &peer).unwrap();
        }
        assert_eq!(read_all(&mut session, &socket), (b"last words".to_vec(), Read::End));
    }
}
