//! A peer that speaks what the scripted one cannot: TLS, HTTP/2, IPv6 and Unix-domain sockets. It notes what it saw.

use crate::certificates::{Certificates, Identity};
use bytes::Bytes;
use rustls::RootCertStore;
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;

#[derive(Debug, Clone)]
pub struct SecurePeerOptions {
    pub listen: Listen,
    pub tls: Option<ServerTls>,
    pub speaks: Speaks,
}

#[derive(Debug, Clone)]
pub enum Listen {
    /// A free port of this address.
    Tcp(std::net::IpAddr),
    Unix(PathBuf),
}

#[derive(Debug, Clone)]
pub struct ServerTls {
    pub identity: Identity,
    /// Of clients' certificates, where one is required.
    pub client_authority: Option<rustls::pki_types::CertificateDer<'static>>,
    /// In the order of preference; with none, ALPN is not spoken.
    pub alpn: Vec<&'static str>,
}

/// Request *n* of a connection gets reply *n*, later ones the last.
#[derive(Debug, Clone)]
pub enum Speaks {
    /// The same answer to each request, whose body has a `Content-Length`, if there is one.
    Http1(Vec<u8>),
    /// With so many streams at a time; a client that opens more breaks the connection.
    Http2 { replies: Vec<Http2Reply>, streams_max: u32 },
}

#[derive(Debug, Clone)]
pub enum Http2Reply {
    Answer {
        status: u16,
        headers: Vec<(&'static str, &'static str)>,
        body: Vec<u8>,
        piece: usize,
    },
    /// `RST_STREAM`, before or after the head of the answer.
    Reset {
        after_head: bool,
    },
    /// Answers, and then sends GOAWAY and ends when all streams have ended.
    AnswerAndGoAway,
    /// Cuts the connection in the middle of the body.
    Cut,
    /// Says nothing.
    Stall,
}

impl Http2Reply {
    pub fn ok(body: &str) -> Self {
        Self::Answer { status: 200, headers: Vec::new(), body: body.into(), piece: usize::MAX }
    }
}

/// What the peer saw, in the order in which it did.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: usize,
    /// Of each handshake: the name that was asked for, the protocol that was chosen, whether a session was resumed.
    pub handshakes: Vec<Handshake>,
    /// Over HTTP/2: method, scheme, authority, path, headers and body.
    pub requests: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    pub server_name: Option<String>,
    pub alpn: Option<String>,
    pub is_resumed: bool,
    pub has_client_certificate: bool,
}

#[derive(Debug)]
pub struct SecurePeer {
    authority: String,
    scheme: &'static str,
    seen: Arc<Mutex<Seen>>,
    over: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl ServerTls {
    /// For `localhost`, 127.0.0.1 and `::1`.
    pub fn of(certificates: &Certificates, alpn: &[&'static str]) -> Self {
        let names = ["localhost", "127.0.0.1", "::1"];
        let identity = certificates.server(&names, crate::certificates::Validity::Now);
        Self { identity, client_authority: None, alpn: alpn.to_vec() }
    }

    fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("the provider has the default versions");
        let builder = match &self.client_authority {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.clone()).expect("the authority's certificate is one");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("there is a root"))
            }
        };
        let Identity { certificate, key } = self.identity.clone();
        let mut config = builder.with_single_cert(vec![certificate], key).expect("the key fits");
        config.alpn_protocols = self.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        TlsAcceptor::from(Arc::new(config))
    }
}

impl SecurePeer {
    /// # Panics
    /// When the address cannot be listened on.
    pub fn start(options: SecurePeerOptions) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let (listener, authority) = runtime.block_on(listen(&options.listen)).expect("the address is free");
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let (seen, over) = (Arc::new(Mutex::new(Seen::default())), Arc::new(Notify::new()));
        let work = Peer {
            acceptor: options.tls.as_ref().map(ServerTls::acceptor),
            speaks: options.speaks,
            seen: Arc::clone(&seen),
        };
        let ends = Arc::clone(&over);
        let thread = thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = ends.notified() => {}
                    () = accept(listener, Arc::new(work)) => {}
                }
            });
        });
        Self { authority, scheme, seen, over, thread: Some(thread) }
    }

    /// Over TCP and plain, answering each request over HTTP/2 with this body.
    pub fn http2(replies: Vec<Http2Reply>, streams_max: u32) -> Self {
        let listen = Listen::Tcp([127, 0, 0, 1].into());
        Self::start(SecurePeerOptions { listen, tls: None, speaks: Speaks::Http2 { replies, streams_max } })
    }

    pub fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// The same peer under another host name of the same address.
    pub fn url_of(&self, host: &str) -> String {
        let (_, port) = self.authority.rsplit_once(':').expect("only peers over TCP have other names");
        format!("{}://{host}:{port}", self.scheme)
    }

    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for SecurePeer {
    fn drop(&mut self) {
        self.over.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

async fn listen(at: &Listen) -> io::Result<(Listener, String)> {
    match at {
        Listen::Tcp(address) => {
            let listener = TcpListener::bind(SocketAddr::new(*address, 0)).await?;
            let authority = listener.local_addr()?.to_string();
            Ok((Listener::Tcp(listener), authority))
        }
        Listen::Unix(path) => {
            Ok((Listener::Unix(UnixListener::bind(path)?), format!("unix:{}", path.display())))
        }
    }
}

async fn accept(listener: Listener, peer: Arc<Peer>) {
    loop {
        let socket = match &listener {
            Listener::Tcp(listener) => listener.accept().await.map(|(socket, _)| Socket::Tcp(socket)),
            Listener::Unix(listener) => listener.accept().await.map(|(socket, _)| Socket::Unix(socket)),
        };
        let Ok(socket) = socket else { return };
        peer.seen().connections += 1;
        let peer = Arc::clone(&peer);
        // A client that goes away ends its connection early; that is what some tests are about.
        tokio::spawn(async move { drop(peer.serve(socket).await) });
    }
}

struct Peer {
    acceptor: Option<TlsAcceptor>,
    speaks: Speaks,
    seen: Arc<Mutex<Seen>>,
}

impl Peer {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, socket: Socket) -> io::Result<()> {
        let Some(acceptor) = &self.acceptor else { return self.speak(socket).await };
        let stream = acceptor.accept(socket).await?;
        let session = stream.get_ref().1;
        let handshake = Handshake {
            server_name: session.server_name().map(str::to_owned),
            alpn: session.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned()),
            is_resumed: session.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
            has_client_certificate: session.peer_certificates().is_some(),
        };
        self.seen().handshakes.push(handshake);
        self.speak(stream).await
    }

    async fn speak(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
        match &self.speaks {
            Speaks::Http1(answer) => speak_http1(stream, answer).await,
            Speaks::Http2 { replies, streams_max } => {
                self.speak_http2(stream, replies, *streams_max).await.map_err(io::Error::other)
            }
        }
    }

    async fn speak_http2(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin,
        replies: &[Http2Reply],
        streams_max: u32,
    ) -> Result<(), h2::Error> {
        let mut connection =
            h2::server::Builder::new().max_concurrent_streams(streams_max).handshake(stream).await?;
        let mut count = 0;
        // Replies that are never made must keep their streams open.
        let mut stalled = Vec::new();
        while let Some(request) = connection.accept().await {
            let (request, mut respond) = request?;
            let reply = &replies[count.min(replies.len() - 1)];
            count += 1;
            self.note(&request);
            match reply {
                Http2Reply::Answer { status, headers, body, piece } => {
                    answer(&mut respond, *status, headers, body, *piece)?;
                }
                Http2Reply::Reset { after_head: false } => respond.send_reset(h2::Reason::INTERNAL_ERROR),
                Http2Reply::Reset { after_head: true } | Http2Reply::Cut => {
                    let mut body = respond.send_response(http::Response::new(()), false)?;
                    if matches!(reply, Http2Reply::Cut) {
                        body.send_data(Bytes::from_static(b"half"), false)?;
                        poll_fn(|context| write_out(&mut connection, context)).await;
                        return Ok(());
                    }
                    body.send_reset(h2::Reason::INTERNAL_ERROR);
                }
                Http2Reply::AnswerAndGoAway => {
                    respond.send_response(http::Response::new(()), true)?;
                    connection.graceful_shutdown();
                }
                Http2Reply::Stall => stalled.push(respond),
            }
        }
        Ok(())
    }

    fn note(&self, request: &http::Request<h2::RecvStream>) {
        let mut line = format!("{} {}", request.method(), request.uri());
        for (name, value) in request.headers() {
            line.extend([" ", name.as_str(), "=", &String::from_utf8_lossy(value.as_bytes())]);
        }
        self.seen().requests.push(line);
    }
}

/// What is queued goes out before the connection is dropped.
fn write_out<T>(connection: &mut h2::server::Connection<T, Bytes>, context: &mut Context<'_>) -> Poll<()>
where
    T: AsyncRead + AsyncWrite + Unpin,
{
    let _ = connection.poll_accept(context);
    Poll::Ready(())
}

fn answer(
    respond: &mut h2::server::SendResponse<Bytes>,
    status: u16,
    headers: &[(&'static str, &'static str)],
    body: &[u8],
    piece: usize,
) -> Result<(), h2::Error> {
    let mut response = http::Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    let response = response.body(()).expect("tests use valid headers");
    let mut stream = respond.send_response(response, body.is_empty())?;
    let pieces = body.chunks(piece.min(body.len()).max(1)).collect::<Vec<_>>();
    for (index, piece) in pieces.iter().enumerate() {
        stream.send_data(Bytes::copy_from_slice(piece), index + 1 == pieces.len())?;
    }
    Ok(())
}

async fn speak_http1(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8]) -> io::Result<()> {
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return stream.shutdown().await;
        }
        pending.extend_from_slice(&buffer[..count]);
        if !pending.first().is_some_and(u8::is_ascii_uppercase) {
            return stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
        }
        while let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            let request_bytes = end + 4 + body_bytes(&pending[..end]);
            if pending.len() < request_bytes {
                break;
            }
            pending.drain(..request_bytes);
            stream.write_all(answer).await?;
            stream.flush().await?;
        }
    }
}

/// `Content-Length`, or nothing.
fn body_bytes(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    length.and_then(|length| length.trim().parse().ok()).unwrap_or_default()
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Unix(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Unix(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_flush(context),
            Self::Unix(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Self::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
