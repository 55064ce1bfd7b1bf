//! One HTTP/2 connection: requests in, events out, driven by its event loop.

use super::io::{Io, ReadBuffer, SharedTransport};
use super::streams::{ConnectionWaker, Interest, Phase, Stream, StreamKey, StreamProgress, Streams};
use super::translate::Translated;
use super::upload::{Pieces, Upload};
use crate::ids::RequestId;
use crate::transport::{Fault, Progress, Transport};
use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Reason, RecvStream};
use http::{HeaderMap, Response};
use prony_model::TransportError;
use rustls::HandshakeKind;
use std::cell::Cell;
use std::collections::VecDeque;
use std::future::Future as _;
use std::io;
use std::mem;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// What a stream, and all streams together, may send us before we have looked at it: never a reason to wait.
const STREAM_WINDOW_BYTES: u32 = 16 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 1 << 30;

/// What happened on a stream.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// The final head, for a stream whose caller is interested in everything.
    Head { key: StreamKey, head: Box<Response<()>> },
    /// Some of the body, for the same streams.
    Data { key: StreamKey, bytes: Bytes },
    /// The final head has come, and the answer is not whole yet; for streams of which only the status is of interest.
    Begun { key: StreamKey },
    /// The answer is whole. `received_bytes`: of the connection, since the last answer was.
    End { key: StreamKey, status: u16, received_bytes: u64, trailers: Option<Box<HeaderMap>> },
    /// No answer comes any more; the code with which the peer has reset the stream, if it has.
    Failed { key: StreamKey, error: TransportError, reset: Option<u32> },
    /// The connection is open, for a request that asks for no more.
    Ready { key: StreamKey },
    /// The peer has done nothing with the request, and says so (RFC 9113, 6.8 and 8.7): it can be sent again.
    Unprocessed { key: StreamKey },
}

/// Whether a connection takes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Http2State {
    Accepting,
    /// The peer has sent GOAWAY; streams that are open come to their end.
    Draining,
    /// No event comes from it any more.
    Closed,
}

pub(crate) struct Http2Connection {
    shared: Rc<SharedTransport>,
    buffer: ReadBuffer,
    stage: Http2Stage,
    has_event: bool,
    streams: Streams,
    /// Requests that the peer's limit of streams holds back, or that wait for the connection to open.
    queue: VecDeque<Queued>,
    has_work: Arc<ConnectionWaker>,
    waker: Waker,
    /// Requests that were given to it since it was last driven, and whose times are wanted.
    pub(crate) sending: Vec<RequestId>,
}

#[derive(Debug)]
struct Queued {
    key: StreamKey,
    /// None where nothing is asked for but that the connection is open.
    request: Option<Rc<Translated>>,
    interest: Interest,
    /// Of a body that is sent piece by piece.
    pieces: Option<Box<Pieces>>,
}

enum Http2Stage {
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
            shared: SharedTransport::new(transport),
            buffer,
            stage: Http2Stage::Opening,
            has_event: false,
            streams: Streams::default(),
            queue: VecDeque::new(),
            waker: Waker::from(Arc::clone(&has_work)),
            has_work,
            sending: Vec::new(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self.stage, Http2Stage::Open(_))
    }

    /// How the handshake of TLS went, where there was one.
    pub(crate) fn handshake(&self) -> Option<HandshakeKind> {
        self.shared.transport.borrow().handshake()
    }

    /// Takes a request, which the next [`Http2Connection::drive`] writes.
    pub(crate) fn send(&mut self, key: StreamKey, request: Rc<Translated>, interest: Interest) {
        self.queue.push_back(Queued { key, request: Some(request), interest, pieces: None });
    }

    /// As [`Http2Connection::send`], of a request whose body is sent piece by piece.
    pub(crate) fn send_open(&mut self, key: StreamKey, request: Rc<Translated>, pieces: Box<Pieces>) {
        let (request, interest) = (Some(request), Interest::Everything);
        self.queue.push_back(Queued { key, request, interest, pieces: Some(pieces) });
    }

    /// Has [`StreamEvent::Ready`] tell that it is open.
    pub(crate) fn await_open(&mut self, key: StreamKey) {
        self.queue.push_back(Queued { key, request: None, interest: Interest::Status, pieces: None });
    }

    /// Takes more of a body, which the next [`Http2Connection::drive`] writes. False where more waits than may.
    pub(crate) fn send_more(&mut self, key: StreamKey, bytes: Vec<u8>, is_last: bool) -> bool {
        if let Some(upload) = self.streams.upload(key) {
            self.has_work.set();
            return upload.push(bytes, is_last);
        }
        let queued = self.queue.iter_mut().find(|queued| queued.key == key);
        let pieces = queued.and_then(|queued| queued.pieces.as_mut());
        pieces.is_none_or(|pieces| pieces.push(bytes, is_last))
    }

    /// Gives up a request; its stream is reset.
    pub(crate) fn cancel(&mut self, key: StreamKey) {
        if !self.streams.cancel(key) {
            self.queue.retain(|queued| queued.key != key);
        }
    }

    /// Of a connection that could not be opened: those that wait for it.
    pub(crate) fn take_queued(&mut self) -> std::vec::IntoIter<StreamKey> {
        self.queue.drain(..).map(|queued| queued.key).collect::<Vec<_>>().into_iter()
    }

    /// What came since this, or an answer's end, last told of it.
    pub(crate) fn take_received_bytes(&self) -> u64 {
        self.shared.bytes_read.take()
    }

    /// True where nobody waits for anything.
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

    /// Writes what waits, reads what came, and tells what happened. Has to be called again while
    /// [`Http2Connection::has_work`]. A fault is one of opening the connection; later ones are events of all streams.
    pub(crate) fn drive(&mut self, events: &mut Vec<StreamEvent>) -> Result<Http2State, Fault> {
        if matches!(self.stage, Http2Stage::Opening) {
            // Before the first event the socket is still connecting.
            if !self.has_event || self.shared.transport.borrow_mut().progress()? == Progress::Waiting {
                return Ok(Http2State::Accepting);
            }
            self.stage = Http2Stage::Open(Box::new(self.greet()?));
        }
        if mem::take(&mut self.has_event) {
            let flushed = self.shared.transport.borrow_mut().flush();
            if let Err(fault) = flushed {
                self.fail_all(fault.kind, events);
                return Ok(Http2State::Closed);
            }
            self.has_work.set();
        }
        self.start_queued(events);
        if self.has_work.take() {
            self.round(events);
        }
        Ok(self.state())
    }

    /// True where driving it once more has an effect without another event.
    pub(crate) fn has_work(&self) -> bool {
        self.is_open() && self.has_work.is_set()
    }

    fn state(&self) -> Http2State {
        match &self.stage {
            Http2Stage::Open(engine) if engine.drains => Http2State::Draining,
            Http2Stage::Opening | Http2Stage::Open(_) => Http2State::Accepting,
            Http2Stage::Over => Http2State::Closed,
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

    /// Opens streams for requests that wait, as many as the peer allows.
    fn start_queued(&mut self, events: &mut Vec<StreamEvent>) {
        let Http2Stage::Open(engine) = &mut self.stage else { return };
        let mut context = Context::from_waker(&self.waker);
        while !self.queue.is_empty() {
            match engine.sender.poll_ready(&mut context) {
                Poll::Pending => break,
                // The connection takes no stream any more: what waits goes to another one.
                Poll::Ready(Err(_)) => {
                    engine.drains = true;
                    events.extend(
                        self.queue.drain(..).map(|queued| StreamEvent::Unprocessed { key: queued.key }),
                    );
                    break;
                }
                Poll::Ready(Ok(())) => {}
            }
            let Some(Queued { key, request, interest, pieces }) = self.queue.pop_front() else { break };
            let Some(request) = request else {
                events.push(StreamEvent::Ready { key });
                continue;
            };
            match start(&mut engine.sender, &request, pieces) {
                Ok((phase, upload)) => self.streams.add(Stream { key, interest, phase, upload }),
                Err(_) => events.push(StreamEvent::Unprocessed { key }),
            }
            self.has_work.set();
        }
    }

    /// Drives the connection, then each stream that it has news of.
    fn round(&mut self, events: &mut Vec<StreamEvent>) {
        let Http2Stage::Open(engine) = &mut self.stage else { return };
        let polled = pin!(&mut engine.connection).poll(&mut Context::from_waker(&self.waker));
        let shared = &self.shared;
        self.streams.visit_woken(|stream, waker| advance(stream, waker, &shared.bytes_read, events));
        if let Poll::Ready(end) = polled {
            self.fail_all(kind_of(end.err().as_ref()), events);
        }
    }

    fn fail_all(&mut self, error: TransportError, events: &mut Vec<StreamEvent>) {
        self.stage = Http2Stage::Over;
        let failed = |stream: Stream| StreamEvent::Failed { key: stream.key, error, reset: None };
        events.extend(self.streams.take_all().map(failed));
        events.extend(self.queue.drain(..).map(|queued| StreamEvent::Unprocessed { key: queued.key }));
    }
}

fn start(
    sender: &mut SendRequest<Bytes>,
    request: &Translated,
    pieces: Option<Box<Pieces>>,
) -> Result<(Phase, Option<Box<Upload>>), h2::Error> {
    if let Some(pieces) = pieces {
        let (response, stream) = sender.send_request(request.request(), false)?;
        return Ok((Phase::AwaitsHead(response), Some(Box::new(Upload::new(*pieces, stream)))));
    }
    let body = request.body();
    let (response, mut stream) = sender.send_request(request.request(), body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body, true)?;
    }
    Ok((Phase::AwaitsHead(response), None))
}

/// Takes what came on a stream.
fn advance(
    stream: &mut Stream,
    waker: &Waker,
    bytes_read: &Cell<u64>,
    events: &mut Vec<StreamEvent>,
) -> StreamProgress {
    let (key, interest) = (stream.key, stream.interest);
    let mut context = Context::from_waker(waker);
    let mut is_new = false;
    if let Some(upload) = &mut stream.upload {
        upload.advance(&mut context);
    }
    if let Phase::AwaitsHead(response) = &mut stream.phase {
        let (head, body) = match pin!(response).poll(&mut context) {
            Poll::Pending => return StreamProgress::GoesOn,
            Poll::Ready(Err(error)) => {
                events.push(failed(key, &error));
                return StreamProgress::Over;
            }
            Poll::Ready(Ok(response)) => response.into_parts(),
        };
        stream.phase = Phase::Body { status: head.status.as_u16(), body };
        is_new = true;
        if interest == Interest::Everything {
            events.push(StreamEvent::Head { key, head: Box::new(Response::from_parts(head, ())) });
        }
    }
    let Phase::Body { status, body } = &mut stream.phase else { return StreamProgress::GoesOn };
    let taken = take_body(body, &mut context, |bytes| {
        if interest == Interest::Everything {
            events.push(StreamEvent::Data { key, bytes });
        }
    });
    let is_over = taken.is_ready();
    match taken {
        Poll::Pending if is_new && interest == Interest::Status => events.push(StreamEvent::Begun { key }),
        Poll::Pending => {}
        Poll::Ready(Ok(trailers)) => {
            let (status, trailers) = (*status, trailers.map(Box::new));
            events.push(StreamEvent::End { key, status, received_bytes: bytes_read.take(), trailers });
        }
        Poll::Ready(Err(error)) => {
            let reset = reset_code(&error);
            events.push(StreamEvent::Failed { key, error: kind_of(Some(&error)), reset });
        }
    }
    if is_over { StreamProgress::Over } else { StreamProgress::GoesOn }
}

fn take_body(
    body: &mut RecvStream,
    context: &mut Context<'_>,
    mut take: impl FnMut(Bytes),
) -> Poll<Result<Option<HeaderMap>, h2::Error>> {
    while !body.is_end_stream() {
        match body.poll_data(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => return body.poll_trailers(context),
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
            Poll::Ready(Some(Ok(bytes))) => {
                // With the end of the stream its share of the window is given back anyway.
                if !body.is_end_stream() {
                    body.flow_control().release_capacity(bytes.len())?;
                }
                take(bytes);
            }
        }
    }
    Poll::Ready(Ok(None))
}

fn reset_code(error: &h2::Error) -> Option<u32> {
    error.reason().filter(|_| error.is_remote() && error.is_reset()).map(u32::from)
}

/// A refused stream, and one past the last that a GOAWAY names, were not looked at.
fn failed(key: StreamKey, error: &h2::Error) -> StreamEvent {
    let is_refused = error.is_remote() && error.reason() == Some(Reason::REFUSED_STREAM);
    let is_past_the_last =
        error.is_remote() && error.is_go_away() && error.reason() == Some(Reason::NO_ERROR);
    if is_refused || is_past_the_last {
        StreamEvent::Unprocessed { key }
    } else {
        StreamEvent::Failed { key, error: kind_of(Some(error)), reset: reset_code(error) }
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
        f.debug_struct("Http2Connection").field("state", &self.state()).finish_non_exhaustive()
    }
}
