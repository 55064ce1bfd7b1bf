//! One connection: HTTP/1.1 by hyper, with limits on headers and time, until either side ends it.

use std::{
    cell::Cell,
    convert::Infallible,
    future::{Future, poll_fn},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
    time::Duration,
};

use hyper::{
    Request,
    body::Incoming,
    server::conn::http1::{self, Parts},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    time::{Instant, Sleep},
};

use super::{
    core::{Arrival, Connections},
    lane::LaneStream,
    stream::{BoundedStream, Progress},
};
use crate::{
    config::Settings,
    graphql::CoreEngine,
    http::{self, Reply, lane::Lane, reply::ReplyBody},
    subscriptions::{self, Upgrade},
};

/// Bytes that hyper reads ahead and keeps to write; a larger body is still taken, piece by piece.
const SMALLEST_BUFFER_BYTES: usize = 64 << 10;

/// The protocol's settings, the same for each connection. Not `pipeline_flush`: with it hyper keeps back its answer to
/// a head that is too large, because it holds bytes that it has not read.
pub(crate) fn protocol(settings: &Settings) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    protocol
        // Its timer would be made and dropped with each request; `Patience` costs a request nothing.
        .header_read_timeout(None)
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
    let Arrival { socket, place } = arrival;
    let Ok(socket) = TcpStream::from_std(socket) else { return };
    let write_timeout: Duration = engine.settings().write_timeout;
    let progress = Rc::new(Progress::default());
    let stream = BoundedStream::new(socket, write_timeout, Rc::clone(&progress));
    let io = TokioIo::new(LaneStream::new(stream, Lane::new(&engine), Rc::clone(&progress)));
    let upgrade: Cell<Option<Upgrade>> = Cell::new(None);
    let service = service_fn(|request| {
        progress.begin();
        Box::pin(async {
            let mut response = answer(&engine, &progress, request).await?;
            upgrade.set(response.extensions_mut().remove());
            match response.body_mut() {
                ReplyBody::Whole(_) => progress.end(),
                ReplyBody::Pieces(pieces) => pieces.hold(Box::new(Streaming(Rc::clone(&progress)))),
                ReplyBody::Events(stream) => stream.hold(Box::new(Streaming(Rc::clone(&progress)))),
            }
            Ok::<_, Infallible>(response)
        })
    });
    let mut patience = Patience::new(engine.settings().header_timeout);
    let mut connection = protocol.serve_connection(io, service);
    let entry = connections.enter();
    let mut registered = false;
    let mut told = false;
    let outcome = poll_fn(|context| {
        if !registered {
            entry.register(context.waker());
            registered = true;
        }
        if patience.is_over(context, &progress) {
            return Poll::Ready(Ok(()));
        }
        loop {
            // Hyper would end in the middle of an answer that it does not know of.
            if connections.draining() && !told && !progress.is_beside() {
                Pin::new(&mut connection).graceful_shutdown();
                told = true;
            }
            let polled = Pin::new(&mut connection).poll(context);
            if polled.is_ready() || told || !connections.draining() || progress.is_beside() {
                return polled;
            }
        }
    })
    .await;
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended early");
    } else if let Some(upgrade) = upgrade.take() {
        // Hyper has left the stream open. A task of its own, and a copy of what has come, let all that HTTP needed be freed.
        let Parts { io, read_buf, .. } = connection.into_parts();
        let (stream, rest) = io.into_inner().into_parts();
        let begin = [&read_buf[..], &rest].concat();
        let socket = subscriptions::serve_socket(stream, begin, upgrade, Rc::clone(&engine));
        entry.unregister();
        tokio::task::spawn_local(async move {
            let _held = (entry, place);
            socket.await;
        });
    }
}

/// A request whose answer was made beside hyper has it already.
async fn answer(
    engine: &Rc<CoreEngine>,
    progress: &Progress,
    request: Request<Incoming>,
) -> Result<Reply, Infallible> {
    match progress.take_made() {
        Some(response) => Ok(response.map(http::whole)),
        None => http::answer(engine, request).await,
    }
}

/// The request of a stream is answered when the stream has ended.
struct Streaming(Rc<Progress>);

impl Drop for Streaming {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// How long a client may take over the headers of a request, counted from its connection's start or its last answer. It
/// looks eight times in that time, so that requests need not set a timer: a client gets up to an eighth more.
struct Patience {
    timer: Pin<Box<Sleep>>,
    slice: Duration,
    /// What had been answered and written when it last looked, and how often it has found that nothing has come since.
    steps: u64,
    quiet_slices: u32,
    is_registered: bool,
}

impl Patience {
    const SLICES: u32 = 8;

    fn new(timeout: Duration) -> Self {
        let slice = (timeout / Self::SLICES).max(Duration::from_millis(1));
        let timer = Box::pin(tokio::time::sleep(slice));
        Self { timer, slice, steps: 0, quiet_slices: 0, is_registered: false }
    }

    /// Call it whenever the connection is polled: the timer wakes the same task.
    fn is_over(&mut self, context: &mut Context<'_>, progress: &Progress) -> bool {
        while !self.is_registered || self.timer.is_elapsed() {
            if self.timer.as_mut().poll(context).is_pending() {
                self.is_registered = true;
                return false;
            }
            if progress.is_busy() || progress.steps() != self.steps {
                self.steps = progress.steps();
                self.quiet_slices = 0;
            } else {
                self.quiet_slices += 1;
            }
            if self.quiet_slices >= Self::SLICES {
                return true;
            }
            self.timer.as_mut().reset(Instant::now() + self.slice);
            self.is_registered = false;
        }
        false
    }
}
