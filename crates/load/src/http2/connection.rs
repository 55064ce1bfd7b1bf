//! One HTTP/2 connection that several users share: requests in, events out, driven by the worker's loop.

use super::io::{Io, ReadBuffer, Shared};
use super::streams::{ConnectionWaker, Phase, Stream, Streams};
use super::translate::Translated;
use crate::transport::{Fault, Progress, Transport};
use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Reason, RecvStream};
use http::Response;
use prony_load_model::TransportError;
use rustls::HandshakeKind;
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future as _;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What a stream, and all streams together, may send us before we have looked at it: never a reason to wait.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;

/// What happened to a user's request.
#[derive(Debug)]
pub(crate) enum Event {
    /// The final head.
    Head { user: u32, head: Response<()> },
    /// Some of the body.
    Data { user: u32, bytes: Bytes },
    /// The answer is whole. `received_bytes`: of the connection, since the last answer was.
    End { user: u32, received_bytes: u64 },
    /// No answer comes any more.
    Failed { user: u32, error: TransportError },
    /// The peer has done nothing with the request, and says so (RFC 9113, 6.8 and 8.7): it can be sent again.
    Unprocessed { user: u32, request: Rc<Translated> },
}

/// Whether a connection takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    Takes,
    /// It was told to go away; streams that are open come to their end.
    Drains,
    /// No event comes from it any more.
    Over,
}

pub(crate) struct Http2Connection {
    shared: Rc<Shared>,
    buffer: ReadBuffer,
    stage: Stage,
    has_event: bool,
    streams: Streams,
    /// Requests that the peer's limit of streams holds back, or that wait for the connection to open.
    queue: VecDeque<(u32, Rc<Translated>)>,
    has_work: Arc<ConnectionWaker>,
    waker: Waker,
}

enum Stage {
    Opening,
    Open(Box<Engine>),
    Over,
}

struct Engine {
    sender: SendRequest<Bytes>,
    connection: Connection<Io, Bytes>,
    drains: bool,
}

impl Http2Connection {
    pub(crate) fn new(transport: Transport, buffer: ReadBuffer) -> Self {
        let has_work = Arc::new(ConnectionWaker::default());
        Self {
            shared: Shared::new(transport),
            buffer,
            stage: Stage::Opening,
            has_event: false,
            streams: Streams::default(),
            queue: VecDeque::new(),
            waker: Waker::from(Arc::clone(&has_work)),
            has_work,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// How the handshake of TLS went, where there was one.
    pub(crate) fn handshake(&self) -> Option<HandshakeKind> {
        self.shared.transport.borrow().handshake()
    }

    /// Takes a request, which the next [`Http2Connection::drive`] writes.
    pub(crate) fn send(&mut self, user: u32, request: Rc<Translated>) {
        self.queue.push_back((user, request));
    }

    /// Gives up the user's request; its stream is reset.
    pub(crate) fn cancel(&mut self, user: u32) {
        if !self.streams.cancel(user) {
            self.queue.retain(|(queued, _)| *queued != user);
        }
    }

    /// Of a connection that could not be opened: those that wait for it.
    pub(crate) fn take_users(&mut self) -> std::vec::IntoIter<u32> {
        self.queue.drain(..).map(|(user, _)| user).collect::<Vec<_>>().into_iter()
    }

    /// True where no user waits for anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.streams.is_empty()
    }

    /// An event came. `is_ending`: nothing comes after what can be read.
    pub(crate) fn note_event(&mut self, is_readable: bool, is_ending: bool) {
        self.has_event = true;
        if is_readable {
            self.shared.is_drained.set(false);
            self.shared.is_ending.set(is_ending);
        }
    }

    /// Reads and writes as far as that goes, and tells what happened. A fault is one of opening the connection;
    /// later ones are events of all streams.
    pub(crate) fn drive(&mut self, events: &mut Vec<Event>) -> Result<Life, Fault> {
        if matches!(self.stage, Stage::Opening) {
            // Before the first event the socket is still connecting.
            if !self.has_event || self.shared.transport.borrow_mut().progress()? == Progress::Waiting {
                return Ok(Life::Takes);
            }
            self.stage = Stage::Open(Box::new(self.greet()?));
        }
        let flushed = self.shared.transport.borrow_mut().flush();
        if let Err(fault) = flushed {
            self.fail_all(fault.kind, events);
            return Ok(Life::Over);
        }
        self.has_work.set();
        loop {
            let has_started = self.start_queued(events);
            if !self.has_work.take() && !has_started {
                break;
            }
            if !self.round(events) {
                return Ok(Life::Over);
            }
        }
        Ok(self.life())
    }

    fn life(&self) -> Life {
        match &self.stage {
            Stage::Open(engine) if engine.drains => Life::Drains,
            Stage::Opening | Stage::Open(_) => Life::Takes,
            Stage::Over => Life::Over,
        }
    }

    /// The preface and our settings. The transport takes them at once, so there is nothing to wait for.
    fn greet(&mut self) -> Result<Engine, Fault> {
        let io = Io::new(Rc::clone(&self.shared), Rc::clone(&self.buffer));
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
        let mut greeting = pin!(builder.handshake(io));
        let fault = |cause| Fault { kind: TransportError::Write, cause };
        match greeting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok((sender, connection))) => Ok(Engine { sender, connection, drains: false }),
            Poll::Ready(Err(error)) => Err(fault(io::Error::other(error))),
            Poll::Pending => Err(fault(io::ErrorKind::WriteZero.into())),
        }
    }

    /// Opens streams for requests that wait. False where none was opened.
    fn start_queued(&mut self, events: &mut Vec<Event>) -> bool {
        let Stage::Open(engine) = &mut self.stage else { return false };
        let mut context = Context::from_waker(&self.waker);
        let mut has_started = false;
        while !self.queue.is_empty() {
            match engine.sender.poll_ready(&mut context) {
                Poll::Pending => break,
                // The connection takes no stream any more: what waits goes to another one.
                Poll::Ready(Err(_)) => {
                    engine.drains = true;
                    let left = self.queue.drain(..);
                    events.extend(left.map(|(user, request)| Event::Unprocessed { user, request }));
                    break;
                }
                Poll::Ready(Ok(())) => {}
            }
            let Some((user, request)) = self.queue.pop_front() else { break };
            match start(&mut engine.sender, user, &request) {
                Ok(stream) => self.streams.add(stream),
                Err(_) => events.push(Event::Unprocessed { user, request }),
            }
            has_started = true;
        }
        has_started
    }

    /// Drives the connection, then each stream that it has news of. False where the connection is over.
    fn round(&mut self, events: &mut Vec<Event>) -> bool {
        let Stage::Open(engine) = &mut self.stage else { return false };
        let polled = pin!(&mut engine.connection).poll(&mut Context::from_waker(&self.waker));
        let shared = &self.shared;
        self.streams.visit_woken(|stream, waker| advance(stream, waker, &shared.bytes_read, events));
        match polled {
            Poll::Pending => true,
            Poll::Ready(end) => {
                self.fail_all(kind_of(end.err().as_ref()), events);
                false
            }
        }
    }

    fn fail_all(&mut self, error: TransportError, events: &mut Vec<Event>) {
        self.stage = Stage::Over;
        events.extend(self.streams.take_all().map(|stream| Event::Failed { user: stream.user, error }));
        events.extend(self.queue.drain(..).map(|(user, request)| Event::Unprocessed { user, request }));
    }
}

fn start(sender: &mut SendRequest<Bytes>, user: u32, request: &Rc<Translated>) -> Result<Stream, h2::Error> {
    let body = request.body();
    let (response, mut stream) = sender.send_request(request.request(), body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body, true)?;
    }
    Ok(Stream { user, request: Rc::clone(request), phase: Phase::AwaitsHead(response) })
}

/// Takes what came on a stream; gives the stream back where more is to come.
fn advance(stream: Stream, waker: &Waker, bytes_read: &Cell<u64>, events: &mut Vec<Event>) -> Option<Stream> {
    let Stream { user, request, phase } = stream;
    let mut context = Context::from_waker(waker);
    let mut body = match phase {
        Phase::Body(body) => body,
        Phase::AwaitsHead(mut response) => match pin!(&mut response).poll(&mut context) {
            Poll::Pending => return Some(Stream { user, request, phase: Phase::AwaitsHead(response) }),
            Poll::Ready(Err(error)) => {
                events.push(failed(user, request, &error));
                return None;
            }
            Poll::Ready(Ok(response)) => {
                let (head, body) = response.into_parts();
                events.push(Event::Head { user, head: Response::from_parts(head, ()) });
                body
            }
        },
    };
    match take_body(user, &mut body, &mut context, events) {
        Poll::Pending => return Some(Stream { user, request, phase: Phase::Body(body) }),
        Poll::Ready(Ok(())) => events.push(Event::End { user, received_bytes: bytes_read.take() }),
        Poll::Ready(Err(error)) => events.push(Event::Failed { user, error: kind_of(Some(&error)) }),
    }
    None
}

fn take_body(
    user: u32,
    body: &mut RecvStream,
    context: &mut Context<'_>,
    events: &mut Vec<Event>,
) -> Poll<Result<(), h2::Error>> {
    while !body.is_end_stream() {
        match body.poll_data(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => break,
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(Some(Ok(bytes))) => {
                body.flow_control().release_capacity(bytes.len())?;
                events.push(Event::Data { user, bytes });
            }
        }
    }
    // Trailers are read so that the stream is over; nothing measured is in them.
    body.poll_trailers(context).map_ok(drop)
}

/// A refused stream, and one past the last that a GOAWAY names, were not looked at.
fn failed(user: u32, request: Rc<Translated>, error: &h2::Error) -> Event {
    let is_refused = error.is_remote() && error.reason() == Some(Reason::REFUSED_STREAM);
    let is_past_the_last =
        error.is_remote() && error.is_go_away() && error.reason() == Some(Reason::NO_ERROR);
    if is_refused || is_past_the_last {
        Event::Unprocessed { user, request }
    } else {
        Event::Failed { user, error: kind_of(Some(error)) }
    }
}

fn kind_of(error: Option<&h2::Error>) -> TransportError {
    match error {
        // We found fault with what the peer sent.
        Some(error) if error.is_library() => TransportError::Protocol,
        _ => TransportError::Read,
    }
}

impl std::fmt::Debug for Http2Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http2Connection").field("life", &self.life()).finish_non_exhaustive()
    }
}
