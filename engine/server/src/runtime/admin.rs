//! Connections of operators: on listeners of their own, beside the limit of connections, without TLS, and for `/metrics`, `/health`, `/ready`,
//! `/live` and profiles alone.

use std::{convert::Infallible, pin::Pin, rc::Rc};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{
    connections::{Connections, DrainPhase, Entry},
    guard::{Guard, drive},
    stream::{BoundedStream, Progress},
    transport::Transport,
};
use crate::{
    graphql::{CoreEngine, ExecutionContext as _},
    http,
};

/// Connections at a time; more are closed.
pub(super) const MAX_CONNECTIONS: usize = 64;

/// Serves the connection until it ends.
pub(super) async fn serve(
    socket: TcpStream,
    entry: Entry,
    protocol: http1::Builder,
    engine: Rc<CoreEngine>,
    connections: Rc<Connections>,
) {
    let progress = Rc::new(Progress::default());
    let rate = engine.settings().response_rate();
    let stream = BoundedStream::new(Transport::Plain(socket), rate, Rc::clone(&progress));
    let mut guard = Guard::new(entry, &engine, Rc::clone(&progress));
    let service = service_fn(|request: Request<Incoming>| {
        progress.begin();
        let (engine, progress) = (&engine, &progress);
        async move {
            let reply = http::answer_operator(engine, &request).await;
            progress.end();
            Ok::<_, Infallible>(reply)
        }
    });
    let mut connection = protocol.serve_connection(TokioIo::new(stream), service);
    let shut_down = |connection: Pin<&mut _>| http1::Connection::graceful_shutdown(connection);
    // Nothing is changed here, so that whoever is not responded to may ask again.
    let is_due = |phase: DrainPhase, _: &Progress| phase.is_stopping();
    if let Err(error) = drive(Pin::new(&mut connection), &mut guard, &connections, is_due, shut_down).await {
        tracing::debug!(%error, "connection ended early");
    }
}
