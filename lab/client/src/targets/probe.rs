//! Tries a target before the run, as far as speaking TLS and HTTP/2 with it, and says clearly what does not work.

use super::addresses::ADDRESSES_MAX;
use crate::error::ClientError;
use crate::transport::Address;
use crate::transport::explain::{explain, is_silence};
use crate::transport::tls::TlsTarget;
use crate::transport::trust::Trust;
use prony_model::Target;
use prony_model::plan::target::Endpoint;
use prony_model::plan::wire::{Protocol, Spoken, WireOptions};
use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const REACH_TIMEOUT: Duration = Duration::from_secs(5);
/// For the further addresses of a name of which one has answered.
const FURTHER_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a refusal of our missing certificate may take, which TLS 1.3 sends after the handshake.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// A client's preface and empty SETTINGS (RFC 9113, 3.4).
const HTTP2_HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
const FRAME_HEAD_BYTES: usize = 9;
const SETTINGS: u8 = 4;

/// What was found.
#[derive(Debug)]
pub(crate) struct Reached {
    /// Those that can be connected to, of the first one's family.
    pub(crate) addresses: Vec<Address>,
    pub(crate) tls: Option<TlsTarget>,
    pub(crate) spoken: Spoken,
}

pub(crate) fn probe(
    target: &Target,
    wire: &WireOptions,
    trust: Option<&Trust>,
) -> Result<Reached, ClientError> {
    let (addresses, socket) = connect(target)?;
    let trust = trust.filter(|_| target.is_tls());
    let (tls, spoken) = match trust {
        Some(trust) => {
            let tls = tls_target(target, wire, trust)?;
            let spoken = handshake(target, wire.protocol, trust, &tls, socket)?;
            (Some(offering_only(spoken, tls)), spoken)
        }
        None if wire.protocol == Protocol::Http2 => {
            greet_http2(target, socket)?;
            (None, Spoken::Http2)
        }
        None => (None, Spoken::Http1),
    };
    Ok(Reached { addresses, tls, spoken })
}

/// All addresses that can be connected to, and a connection to the first.
fn connect(target: &Target) -> Result<(Vec<Address>, Socket), ClientError> {
    let mut reached: Vec<Address> = Vec::new();
    let mut first = None;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in find(target)?.into_iter().take(ADDRESSES_MAX) {
        if reached.first().is_some_and(|first| first.domain() != address.domain()) {
            continue;
        }
        let timeout = if first.is_none() { REACH_TIMEOUT } else { FURTHER_TIMEOUT };
        match try_address(&address, timeout) {
            Ok(socket) => {
                first.get_or_insert(socket);
                reached.push(address);
            }
            Err(error) => last = error,
        }
    }
    let unreachable = || ClientError::Unreachable { target: target.to_string(), cause: last };
    first.map(|socket| (reached, socket)).ok_or_else(unreachable)
}

fn find(target: &Target) -> Result<Vec<Address>, ClientError> {
    match &target.endpoint {
        Endpoint::Unix { path } => Ok(vec![Address::Unix(path.clone())]),
        Endpoint::Tcp { host, port } => {
            let fault = |cause| ClientError::Resolve { host: host.clone(), cause };
            let found: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs().map_err(fault)?.collect();
            Ok(found.into_iter().map(Address::Tcp).collect())
        }
    }
}

fn try_address(address: &Address, timeout: Duration) -> io::Result<Socket> {
    let socket = Socket::new(address.domain(), Type::STREAM, None)?;
    match address {
        Address::Tcp(address) => socket.connect_timeout(&(*address).into(), timeout)?,
        Address::Unix(path) => {
            debug_assert_eq!(address.domain(), Domain::UNIX);
            socket.set_write_timeout(Some(timeout))?;
            socket.connect(&SockAddr::unix(path)?)?;
        }
    }
    socket.set_read_timeout(Some(REACH_TIMEOUT))?;
    socket.set_write_timeout(Some(REACH_TIMEOUT))?;
    Ok(socket)
}

pub(crate) fn tls_target(
    target: &Target,
    wire: &WireOptions,
    trust: &Trust,
) -> Result<TlsTarget, ClientError> {
    let host = wire.tls.server_name.as_deref().unwrap_or(target.host());
    // A zone belongs to this machine's link, not to the peer's name.
    let host = host.split_once('%').map_or(host, |(host, _)| host);
    let name = ServerName::try_from(host.to_owned()).map_err(|_| ClientError::TlsSettings {
        message: format!(
            "`{host}` can be no name in a certificate; set another with --server-name (tls.server_name)"
        ),
    })?;
    Ok(TlsTarget { config: Arc::clone(&trust.config), name })
}

/// A whole handshake, and what the target chose to speak.
fn handshake(
    target: &Target,
    protocol: Protocol,
    trust: &Trust,
    tls: &TlsTarget,
    mut socket: Socket,
) -> Result<Spoken, ClientError> {
    let fault = |cause: &io::Error| ClientError::Handshake {
        target: target.to_string(),
        reason: explain(cause, trust.wants_certificate.load(Ordering::Relaxed)),
    };
    let mut session = ClientConnection::new(Arc::clone(&tls.config), tls.name.clone())
        .map_err(|error| fault(&io::Error::other(error)))?;
    while session.is_handshaking() || session.wants_write() {
        session.complete_io(&mut socket).map_err(|error| fault(&error))?;
    }
    if trust.wants_certificate.load(Ordering::Relaxed) {
        wait_for_refusal(&mut session, &mut socket).map_err(|error| fault(&error))?;
    }
    match (session.alpn_protocol(), protocol) {
        (Some(b"h2"), _) => Ok(Spoken::Http2),
        (_, Protocol::Http2) => Err(ClientError::NotHttp2 {
            target: target.to_string(),
            reason: "it does not choose `h2` when that is offered by ALPN".to_owned(),
        }),
        _ => Ok(Spoken::Http1),
    }
}

/// A target that only wishes for a certificate says nothing, or sends tickets.
fn wait_for_refusal(session: &mut ClientConnection, socket: &mut Socket) -> io::Result<()> {
    socket.set_read_timeout(Some(REFUSAL_TIMEOUT))?;
    match session.read_tls(socket) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => session.process_new_packets().map(drop).map_err(io::Error::other),
        Err(error) if is_silence(&error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Later connections offer what was chosen, so that each speaks the same.
pub(crate) fn offering_only(spoken: Spoken, tls: TlsTarget) -> TlsTarget {
    let name: &[u8] = match spoken {
        Spoken::Http1 => b"http/1.1",
        Spoken::Http2 => b"h2",
    };
    let mut config = (*tls.config).clone();
    config.alpn_protocols = vec![name.to_vec()];
    TlsTarget { config: Arc::new(config), ..tls }
}

/// A server that speaks HTTP/2 answers the preface with its SETTINGS.
fn greet_http2(target: &Target, mut socket: Socket) -> Result<(), ClientError> {
    let mut head = [0; FRAME_HEAD_BYTES];
    let exchanged = socket.write_all(HTTP2_HELLO).and_then(|()| socket.read_exact(&mut head));
    let reason = match exchanged {
        Ok(()) if head[3] == SETTINGS => return Ok(()),
        Ok(()) if head.starts_with(b"HTTP/1") => "it answers HTTP/1.1".to_owned(),
        Ok(()) => "what it answers is no HTTP/2".to_owned(),
        Err(error) if is_silence(&error) => "it does not answer the preface in time".to_owned(),
        Err(error) => format!("it does not answer the preface ({error})"),
    };
    Err(ClientError::NotHttp2 { target: target.to_string(), reason })
}
