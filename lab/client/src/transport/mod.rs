//! One connection's bytes, whatever carries them: TCP or a Unix-domain socket, plain or TLS; non-blocking throughout.
//!
//! What the bytes say is left to [`crate::http`] and [`crate::http2`], when to call to the worker.

pub(crate) mod explain;
mod outcome;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod trust;

use prony_model::TransportError;
use prony_model::program::call::TlsFacts;
use rustls::HandshakeKind;
use socket2::Socket;
use std::mem;
use tls::{Session, TlsTarget};

pub(crate) use outcome::{Fault, Progress, Read};
pub(crate) use socket::Address;

/// A connection's socket, its encryption, and what the kernel did not take yet.
#[derive(Debug)]
pub struct Transport {
    socket: Socket,
    stage: OpeningStage,
    security: Security,
    /// Plain bytes that were not taken; empty nearly always. Encrypted ones wait in the session.
    unsent: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpeningStage {
    Connecting,
    Handshaking,
    Open,
}

#[derive(Debug)]
enum Security {
    Plain,
    Tls(Box<Session>),
}

impl Transport {
    /// Begins to connect; the socket becomes writable once that is over, well or not.
    pub fn open(
        address: &Address,
        source: Option<std::net::IpAddr>,
        tls: Option<&TlsTarget>,
    ) -> Result<Self, Fault> {
        let security = match tls {
            None => Security::Plain,
            Some(target) => {
                Security::Tls(Box::new(target.session().map_err(Fault::of(TransportError::Tls))?))
            }
        };
        let socket = socket::connect(address, source).map_err(Fault::of(TransportError::Connect))?;
        Ok(Self { socket, stage: OpeningStage::Connecting, security, unsent: Vec::new() })
    }

    pub const fn socket(&self) -> &Socket {
        &self.socket
    }

    pub fn is_open(&self) -> bool {
        self.stage == OpeningStage::Open
    }

    /// True until the socket's own connection stands.
    pub fn is_connecting(&self) -> bool {
        self.stage == OpeningStage::Connecting
    }

    /// Goes on with connecting and the handshake; called on each event until the connection is open. A socket that
    /// is still connecting has no events.
    pub fn progress(&mut self) -> Result<Progress, Fault> {
        if self.stage == OpeningStage::Connecting {
            let connect = Fault::of(TransportError::Connect);
            if let Some(cause) = self.socket.take_error().map_err(&connect)? {
                return Err(connect(cause));
            }
            self.stage = OpeningStage::Handshaking;
        }
        if let (OpeningStage::Handshaking, Security::Tls(session)) = (self.stage, &mut self.security)
            && !session.handshake(&self.socket)?
        {
            return Ok(Progress::Waiting);
        }
        self.stage = OpeningStage::Open;
        Ok(Progress::Open)
    }

    /// Reads plaintext to the beginning of `buffer`. Its second half holds what is still encrypted meanwhile.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Read, Fault> {
        match &mut self.security {
            Security::Plain => {
                let read = socket::read(&self.socket, buffer).map_err(Fault::of(TransportError::Read))?;
                Ok(match read {
                    None => Read::Nothing,
                    Some(0) => Read::End,
                    Some(count) => Read::Bytes { count, is_all: count < buffer.len() },
                })
            }
            Security::Tls(session) => session.read(&self.socket, buffer),
        }
    }

    /// Sends as much as the kernel takes and keeps the rest for [`Transport::flush`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        match &mut self.security {
            Security::Plain if self.unsent.is_empty() => {
                let taken = socket::write(&self.socket, bytes).map_err(Fault::of(TransportError::Write))?;
                self.unsent.extend_from_slice(&bytes[taken..]);
                Ok(())
            }
            Security::Plain => {
                self.unsent.extend_from_slice(bytes);
                self.flush()
            }
            Security::Tls(session) => session.send(&self.socket, bytes),
        }
    }

    /// Goes on with what was left.
    pub fn flush(&mut self) -> Result<(), Fault> {
        match &mut self.security {
            Security::Plain if self.unsent.is_empty() => Ok(()),
            Security::Plain => {
                let rest = mem::take(&mut self.unsent);
                self.send(&rest)
            }
            Security::Tls(session) => session.flush(&self.socket),
        }
    }

    pub fn has_unsent(&self) -> bool {
        match &self.security {
            Security::Plain => !self.unsent.is_empty(),
            Security::Tls(session) => session.has_unsent(),
        }
    }

    /// What was agreed on in the handshake, where there was one.
    pub fn tls_facts(&self) -> Option<TlsFacts> {
        match &self.security {
            Security::Plain => None,
            Security::Tls(session) => session.facts(),
        }
    }

    /// True where the target chose HTTP/2 of what was offered.
    pub fn has_chosen_http2(&self) -> bool {
        match &self.security {
            Security::Plain => false,
            Security::Tls(session) => session.has_chosen_http2(),
        }
    }

    /// How the handshake went, where there was one.
    pub fn handshake(&self) -> Option<HandshakeKind> {
        match &self.security {
            Security::Plain => None,
            Security::Tls(session) => session.handshake_kind(),
        }
    }
}
