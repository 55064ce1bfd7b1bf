//! The beginning of a connection over TLS: a handshake, bounded in time and number, or a 400 for HTTP without TLS.

use std::{io, sync::Arc};

use rustls::{HandshakeKind, server::Acceptor};
use tokio::{net::TcpStream, sync::Semaphore, task::yield_now};
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use super::refusal::respond_and_close;
use crate::tls::{ClientCertificate, HTTP2, HandshakeOutcome, Tls};

const PLAIN_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json; charset=utf-8\r\n\
    connection: close\r\ncontent-length: 81\r\n\r\n\
    {\"errors\":[{\"message\":\"this port speaks TLS; ask with https:// or wss:// here\"}]}";

thread_local! {
    static TURN: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// A connection whose handshake is done.
pub(super) struct Secured {
    pub(super) stream: TlsStream<TcpStream>,
    /// Whether HTTP/2 was agreed on.
    pub(super) is_http2: bool,
    pub(super) certificate: Option<Arc<ClientCertificate>>,
}

/// Why there is no connection.
enum Fault {
    PlainHttp(TcpStream),
    Io(io::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// None where the connection ends with it; that is counted.
pub(super) async fn secure(tls: &Arc<Tls>, socket: TcpStream) -> Option<Secured> {
    let Some(pending) = tls.begin_handshake() else {
        tls.counts.ended(HandshakeOutcome::Refused);
        return None;
    };
    let ended = tokio::time::timeout(tls.settings().handshake_timeout, shake_hands(tls, socket)).await;
    drop(pending);
    let (outcome, error) = match ended {
        Ok(Ok(secured)) => {
            let is_resumed = secured.stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed);
            tls.counts.ended(if is_resumed { HandshakeOutcome::Resumed } else { HandshakeOutcome::Full });
            return Some(secured);
        }
        Ok(Err(Fault::PlainHttp(socket))) => {
            tls.counts.ended(HandshakeOutcome::PlainHttp);
            respond_and_close(socket, PLAIN_HTTP).await;
            return None;
        }
        Ok(Err(Fault::Io(error))) => (HandshakeOutcome::Failed, error),
        Err(_) => (HandshakeOutcome::TimedOut, io::ErrorKind::TimedOut.into()),
    };
    tls.counts.ended(outcome);
    tracing::debug!(%error, "a TLS handshake did not succeed");
    None
}

/// What follows a greeting is signed, which takes some hundred microseconds: one on a core between two looks at what else it has to do, however
/// many have come.
async fn turn() {
    let turn = TURN.with(Arc::clone).acquire_owned().await;
    yield_now().await;
    drop(turn);
}

async fn shake_hands(tls: &Arc<Tls>, socket: TcpStream) -> Result<Secured, Fault> {
    let mut first = [0];
    // A method begins with a capital letter, a handshake with 22 (RFC 8446, section 5.1).
    if socket.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
        return Err(Fault::PlainHttp(socket));
    }
    let greeted = LazyConfigAcceptor::new(Acceptor::default(), socket).await?;
    turn().await;
    let stream = greeted.into_stream(tls.config()).await?;
    let session = stream.get_ref().1;
    let is_http2 = session.alpn_protocol() == Some(HTTP2);
    let certificate = match session.peer_certificates() {
        Some(chain) => Some(Arc::new(tls.client(chain).map_err(io::Error::other)?)),
        None => None,
    };
    Ok(Secured { stream, is_http2, certificate })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_to_plain_http_is_as_long_as_it_says() {
        let text = std::str::from_utf8(PLAIN_HTTP).expect("it is ASCII");
        let (head, body) = text.split_once("\r\n\r\n").expect("the head ends");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
    }
}
