//! Streams to upstreams: TCP, TLS over it, and Unix-domain sockets; and how they are opened.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};

use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream, lookup_host},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::error::{SendError, SendErrorKind};
use crate::{
    address::{Address, Place},
    settings::HttpVersion,
};

#[derive(Debug)]
pub(crate) enum Transport {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// An upstream that has gone without a word is found so: on a stream that is silent for this long it is asked, this many times, this
/// often, whether it is there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMES: u32 = 3;

/// Opens streams to the addresses of one upstream.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    tls: Option<Arc<rustls::ClientConfig>>,
    timeout: Duration,
    version: HttpVersion,
    /// Counts connections: those of a name that has several addresses begin with each of them in turn.
    next: Arc<AtomicUsize>,
}

/// A stream, and whether HTTP/2 is spoken on it.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) transport: Transport,
    pub(super) is_http2: bool,
}

impl Connector {
    pub(crate) fn new(
        tls: Option<Arc<rustls::ClientConfig>>,
        timeout: Duration,
        version: HttpVersion,
    ) -> Self {
        Self { tls, timeout, version, next: Arc::default() }
    }

    pub(super) async fn open(&self, address: &Address) -> Result<Opened, SendError> {
        let limit_ms = self.timeout.as_millis();
        match tokio::time::timeout(self.timeout, self.connect(address)).await {
            Ok(opened) => opened.map_err(|error| SendError::unsent(SendErrorKind::Connect(error))),
            Err(_) => Err(SendError::unsent(SendErrorKind::Timeout {
                what: "to connect",
                limit_ms,
                option: "connect_timeout_ms",
            })),
        }
    }

    /// A stream on which HTTP/1.1 is spoken, for what stays open.
    pub(crate) async fn open_stream(&self, address: &Address) -> Result<Transport, SendError> {
        let tls = self.tls.as_ref().map(|tls| {
            let mut tls = (**tls).clone();
            tls.alpn_protocols = vec![b"http/1.1".to_vec()];
            Arc::new(tls)
        });
        let connector = Self { tls, version: HttpVersion::Http1, ..self.clone() };
        Ok(connector.open(address).await?.transport)
    }

    /// To one of the addresses of a name, the next in turn first.
    async fn connect_to_any(&self, mut addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
        if addresses.len() > 1 {
            let first = self.next.fetch_add(1, Relaxed) % addresses.len();
            addresses.rotate_left(first);
        }
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    async fn connect(&self, address: &Address) -> io::Result<Opened> {
        let is_http2 = self.version == HttpVersion::Http2;
        let (host, port) = match &address.place {
            Place::Unix(path) => {
                let transport = Transport::Unix(UnixStream::connect(path).await?);
                return Ok(Opened { transport, is_http2 });
            }
            Place::Tcp { host, port } => (host.as_str(), *port),
        };
        let stream = self.connect_to_any(lookup_host((host, port)).await?.collect()).await?;
        stream.set_nodelay(true)?;
        keep_alive(&stream)?;
        let Some(tls) = self.tls.as_ref().filter(|_| address.is_secure) else {
            return Ok(Opened { transport: Transport::Tcp(stream), is_http2 });
        };
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let stream = TlsConnector::from(Arc::clone(tls)).connect(name, stream).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        if self.version == HttpVersion::Http2 && !is_http2 {
            return Err(io::Error::other("it does not agree on HTTP/2"));
        }
        Ok(Opened { transport: Transport::Tls(Box::new(stream)), is_http2 })
    }
}

/// Has the system watch a stream, and give up what it has sent when it is not acknowledged for as long (RFC 5482).
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE_AFTER).with_interval(KEEPALIVE_EVERY);
    socket.set_tcp_keepalive(&keepalive.with_retries(KEEPALIVE_TIMES))?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(KEEPALIVE_AFTER + KEEPALIVE_EVERY * KEEPALIVE_TIMES))?;
    Ok(())
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Self::Unix(stream) => Pin::new(stream).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the system does then is its own; that it is asked to is ours.
    #[tokio::test]
    async fn the_system_watches_streams() -> io::Result<()> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let stream = TcpStream::connect(listener.local_addr()?).await?;
        keep_alive(&stream)?;
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive()?);
        assert_eq!(socket.tcp_keepalive_time()?, KEEPALIVE_AFTER);
        assert_eq!(socket.tcp_keepalive_interval()?, KEEPALIVE_EVERY);
        assert_eq!(socket.tcp_keepalive_retries()?, KEEPALIVE_TIMES);
        assert_eq!(socket.tcp_user_timeout()?, Some(Duration::from_secs(30)));
        Ok(())
    }
}
