//! One connection: HTTP/1.1 by hyper, with limits on headers and time, until either side ends it.

use std::{
    future::{Future, poll_fn},
    pin::pin,
    rc::Rc,
    time::Duration,
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use super::{
    core::{Arrival, Connections},
    stream::{BoundedStream, Progress},
};
use crate::{config::Settings, graphql::CoreEngine, http};

/// Bytes that hyper reads ahead and keeps to write; a larger body is still taken, piece by piece.
const SMALLEST_BUFFER_BYTES: usize = 64 << 10;

/// The protocol's settings, the same for each connection. Not `pipeline_flush`: with it hyper keeps back its answer to
/// a head that is too large, because it holds bytes that it has not read.
pub(crate) fn protocol(settings: &Settings) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        .timer(TokioTimer::new())
        .header_read_timeout(settings.header_timeout)
        .max_headers(settings.max_headers)
        .max_buf_size(settings.max_header_bytes.max(SMALLEST_BUFFER_BYTES))
        .max_header_size(settings.max_header_bytes);
    protocol
}

/// Serves the connection until it ends. A client that closes it in mid-request cancels the request, because
/// hyper then drops the request's future; the stream tells it of the end a moment later.
pub(crate) async fn serve(
    arrival: Arrival,
    protocol: http1::Builder,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
) {
    let Arrival { socket, place: _place } = arrival;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    let write_timeout: Duration = engine.settings().write_timeout;
    let progress = Rc::new(Progress::default());
    let io = TokioIo::new(BoundedStream::new(socket, write_timeout, Rc::clone(&progress)));
    let service = service_fn(|request| async {
        progress.begin();
        let response = http::answer(&engine, request).await;
        progress.end();
        response
    });
    let mut connection = pin!(protocol.serve_connection(io, service));
    let entry = connections.enter();
    let mut registered = false;
    let mut told = false;
    let outcome = poll_fn(|context| {
        if !registered {
            entry.register(context.waker());
            registered = true;
        }
        if connections.draining() && !told {
            connection.as_mut().graceful_shutdown();
            told = true;
        }
        connection.as_mut().poll(context)
    })
    .await;
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended early");
    }
}
