//! One connection: its TLS handshake where there is one, then HTTP/1.1, on the fast path and then by hyper, or HTTP/2, with limits on
//! headers and time, until either side ends it.

use std::{
    cell::Cell,
    convert::Infallible,
    future::{Future, poll_fn},
    net::{IpAddr, Ipv4Addr},
    pin::Pin,
    rc::Rc,
    task::Poll,
};

use http::{HeaderValue, Version, header};
use http_body_util::BodyExt as _;
use hyper::{
    Request,
    body::Incoming,
    server::conn::http1::{self, Parts},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{
    admin,
    connections::{Arrival, Connections, DrainPhase, Entrance, Entry},
    guard::{Guard, drive},
    handshake::{self, Secured},
    http2,
    load::LoadPlace,
    simple::{Next, Remains, SimpleConnection},
    stream::{BoundedStream, Progress},
    transport::Transport,
};
use crate::{
    access::Peer,
    config::Settings,
    graphql::{CoreEngine, ExecutionContext as _},
    http::{self as web, Reply, reply::ReplyBody, simple::Responder},
    subscriptions::{self, Upgrade},
};

/// Bytes that hyper reads ahead and keeps to write; a larger body is still taken, piece by piece.
const SMALLEST_BUFFER_BYTES: usize = 64 << 10;

/// The protocol's settings, the same for each connection. Not `pipeline_flush`: with it hyper keeps back its answer to
/// a head that is too large, because it holds bytes that it has not read.
pub(crate) fn protocol(settings: &Settings) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        // Its timer would be made and dropped with each request; [`HeaderTimeout`] costs a request nothing.
        .header_read_timeout(None)
        .max_headers(settings.max_headers)
        .max_buf_size(settings.max_header_bytes.max(SMALLEST_BUFFER_BYTES))
        .max_header_size(settings.max_header_bytes);
    protocol
}

/// Serves the connection until it ends: HTTP/2 where the client has chosen it, otherwise simple requests first, then, from the first
/// that is not, by hyper.
pub(crate) async fn serve(
    arrival: Arrival,
    entry: Entry,
    protocol: http1::Builder,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
) {
    let Arrival { socket, entrance, place } = arrival;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    if entrance == Entrance::Admin {
        Box::pin(admin::serve(socket, entry, protocol, engine, connections)).await;
        return drop(place);
    }
    let address = socket.peer_addr().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
    let mut peer = Peer::of(address);
    let (transport, is_http2) = match &engine.site().tls {
        None => (Transport::Plain(socket), false),
        Some(tls) => {
            // In a place of its own: its state is larger than that of all that follows.
            let handshake = Box::pin(handshake::secure(tls, socket));
            let Some(secured) = until_idle_close(handshake, &entry, &connections).await else { return };
            let Secured { stream, is_http2, certificate } = secured;
            peer.certificate = certificate;
            (Transport::Tls(Box::new(stream)), is_http2)
        }
    };
    let progress = Rc::new(if is_http2 { Progress::of_http2() } else { Progress::default() });
    let stream = BoundedStream::new(transport, engine.settings().response_rate(), Rc::clone(&progress));
    let guard = Guard::new(entry, &engine, Rc::clone(&progress));
    if is_http2 {
        Box::pin(http2::serve(stream, peer, engine, connections, guard)).await;
    } else {
        serve_http1(stream, peer, place, protocol, engine, connections, guard).await;
    }
}

/// None also where the server stops and closes the connections without a request: a client that is not known yet has sent none.
async fn until_idle_close(
    mut handshake: impl Future<Output = Option<Secured>> + Unpin,
    entry: &Entry,
    connections: &Connections,
) -> Option<Secured> {
    poll_fn(|context| {
        entry.register(context.waker());
        match Pin::new(&mut handshake).poll(context) {
            Poll::Pending if connections.phase().closes_idle() => Poll::Ready(None),
            polled => polled,
        }
    })
    .await
}

async fn serve_http1(
    stream: BoundedStream,
    peer: Peer,
    place: LoadPlace,
    protocol: http1::Builder,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
    mut guard: Guard,
) {
    let progress = Rc::clone(&guard.progress);
    let mut simple = SimpleConnection::new(stream, Responder::new(&engine, peer.clone()), progress);
    let ended = poll_fn(|context| {
        if guard.is_silent_too_long(context) {
            return Poll::Ready(Ok(Next::Closed));
        }
        let phase = connections.phase();
        guard.progress.note_phase(phase);
        simple.poll(context, phase)
    });
    match ended.await {
        Ok(Next::Closed) => {
            let _ = poll_fn(|context| simple.poll_close(context)).await;
        }
        Ok(Next::HandOver(reason)) => {
            engine.metrics().handed_over(reason);
            let remains = simple.into_parts();
            // In a place of its own: most connections never need it.
            Box::pin(serve_by_hyper(remains, peer, place, protocol, engine, connections, guard)).await;
        }
        Err(error) => tracing::debug!(%error, "connection ended early"),
    }
}

/// Serves the rest of the connection's life. A client that closes it in mid-request cancels the request, because hyper then
/// drops the request's future; the stream tells it of the end a moment later.
async fn serve_by_hyper(
    Remains { stream, made, connections: apis }: Remains,
    peer: Peer,
    place: LoadPlace,
    protocol: http1::Builder,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
    mut guard: Guard,
) {
    let progress = Rc::clone(&guard.progress);
    let made = Cell::new(made);
    let upgrade: Cell<Option<Upgrade>> = Cell::new(None);
    let service = service_fn(|mut request: Request<Incoming>| {
        progress.begin();
        request.extensions_mut().insert(peer.clone());
        Box::pin(async {
            let version = request.version();
            // Only the first request's may be here already.
            let mut response = match made.take() {
                Some(response) => {
                    // It has all come; left unread, it would end the connection.
                    let _ = request.into_body().collect().await;
                    *response
                }
                None => web::answer(&engine, &apis, request).await?,
            };
            let upgraded: Option<Upgrade> = response.extensions_mut().remove();
            if connections.phase().is_stopping() && upgraded.is_none() && version == Version::HTTP_11 {
                tell_last(&mut response);
            }
            upgrade.set(upgraded);
            match response.body_mut() {
                ReplyBody::Whole(_) => progress.end(),
                ReplyBody::Stream(stream) => stream.hold(Box::new(Streaming(Rc::clone(&progress)))),
            }
            Ok::<_, Infallible>(response)
        })
    });
    let mut connection = protocol.serve_connection(TokioIo::new(stream), service);
    let shut_down = |connection: Pin<&mut _>| http1::Connection::graceful_shutdown(connection);
    // Hyper would close a connection without a request at once.
    let is_due = |phase: DrainPhase, progress: &Progress| {
        phase.closes_idle() || (phase.is_stopping() && progress.is_busy())
    };
    let outcome = drive(Pin::new(&mut connection), &mut guard, &connections, is_due, shut_down).await;
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended early");
    } else if let Some(upgrade) = upgrade.take() {
        // Hyper has left the stream open. A task of its own, and a copy of what has come, let all that HTTP needed be freed.
        let Parts { io, read_buf, .. } = connection.into_parts();
        let mut stream = io.into_inner();
        let begin = [&read_buf[..], &stream.take_unread()].concat();
        let socket = subscriptions::serve_socket(stream, begin, upgrade, Rc::clone(&engine));
        let entry = guard.entry;
        entry.unregister();
        tokio::task::spawn_local(async move {
            let _held = (entry, place);
            socket.await;
        });
    }
}

/// Hyper closes the connection behind it (RFC 9112, section 9.6). It would say so itself only of a response that is made after it was told to end.
fn tell_last(response: &mut Reply) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// The request of a stream is answered when the stream has ended.
struct Streaming(Rc<Progress>);

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.end();
    }
}
