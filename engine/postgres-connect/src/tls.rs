//! The driver's seam for TLS, with rustls beneath.

use std::{
    fmt, io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll},
};

use aws_lc_rs::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, ServerName},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;
use x509_parser::{certificate::X509Certificate, prelude::FromDer};

/// How TLS is spoken with a server; none where there is to be none.
#[derive(Clone)]
pub struct Tls {
    config: Option<Arc<ClientConfig>>,
    /// The server has agreed to speak TLS.
    has_begun: Arc<AtomicBool>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tls").field("is_on", &self.config.is_some()).finish_non_exhaustive()
    }
}

/// What went wrong between the first byte of TLS and the last one of its handshake.
#[derive(Debug)]
pub struct HandshakeError(io::Error);

impl HandshakeError {
    /// What TLS itself said, where it was not the connection that broke.
    pub(crate) fn reason(&self) -> Option<&rustls::Error> {
        self.0.get_ref()?.downcast_ref()
    }

    /// Whether the server has closed the connection before it was read why, as where a TLS 1.2 server refuses what the client has not
    /// written to its end.
    pub(crate) fn is_broken_off(&self) -> bool {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        matches!(self.0.kind(), BrokenPipe | ConnectionReset | ConnectionAborted)
    }
}

impl fmt::Display for HandshakeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for HandshakeError {}

impl Tls {
    pub(crate) fn off() -> Self {
        Self { config: None, has_begun: Arc::default() }
    }

    pub(crate) fn new(config: Arc<ClientConfig>) -> Self {
        Self { config: Some(config), has_begun: Arc::default() }
    }

    /// Whether a server has agreed to speak it.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.load(Relaxed)
    }
}

/// A handshake to come.
#[derive(Debug)]
pub struct Handshake {
    tls: Tls,
    host: String,
}

impl<S> MakeTlsConnect<S> for Tls
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> Result<Handshake, io::Error> {
        Ok(Handshake { tls: self.clone(), host: host.to_owned() })
    }
}

impl<S> TlsConnect<S> for Handshake
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = TlsStream<S>;
    type Error = HandshakeError;
    type Future = Pin<Box<dyn Future<Output = Result<TlsStream<S>, HandshakeError>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let off = || io::Error::other("TLS is off");
            self.tls.has_begun.store(true, Relaxed);
            let config = self.tls.config.ok_or_else(off).map_err(HandshakeError)?;
            let name = ServerName::try_from(self.host).map_err(|_| {
                HandshakeError(io::Error::other("the host's name cannot be that of a certificate"))
            })?;
            let stream = TlsConnector::from(config).connect(name, stream).await.map_err(HandshakeError)?;
            Ok(TlsStream(stream))
        })
    }
}

/// An encrypted connection.
#[derive(Debug)]
pub struct TlsStream<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> tokio_postgres::tls::TlsStream for TlsStream<S> {
    /// `tls-server-end-point` (RFC 5929, section 4): the certificate's hash, by that of its signature.
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates().unwrap_or_default();
        let hash = certificates.first().and_then(end_point);
        hash.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let (_, parsed) = X509Certificate::from_der(certificate).ok()?;
    let algorithm = hash_of(&parsed.signature_algorithm.algorithm.to_id_string())?;
    Some(digest(algorithm, certificate).as_ref().to_vec())
}

/// By the signature's object identifier; MD5 and SHA-1 are replaced by SHA-256, and those without a hash of their own have none.
fn hash_of(signature: &str) -> Option<&'static Algorithm> {
    Some(match signature {
        // RSA (PKCS #1) with MD5, SHA-1 and SHA-256; ECDSA with SHA-1 and SHA-256.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => &SHA256,
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => &SHA384,
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => &SHA512,
        _ => return None,
    })
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for TlsStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TlsStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
