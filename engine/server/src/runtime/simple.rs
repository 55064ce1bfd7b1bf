//! The first part of a connection's life: simple requests are read, responded to and written here, without hyper, until one
//! comes that is not simple. `http::simple` says what is simple and who responds.

use std::{
    cell::Cell,
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead as _, AsyncWrite as _, ReadBuf},
    time::Sleep,
};

use super::{
    connections::DrainPhase,
    stream::{BoundedStream, Progress},
};
use crate::http::{
    ApiConnections, Reply,
    simple::{
        Handover, Responded, Responder,
        request::{self, HeaderRoom, Parsed},
    },
};

/// Responses to requests that came together go out together up to so many bytes; also what a connection keeps of its buffer.
const GATHERED_BYTES: usize = 16 << 10;

/// What is read at once, into a buffer that all connections of a thread share.
const READ_BYTES: usize = 16 << 10;

/// How long the rest of a body is waited for here; hyper waits on, as long as `body_timeout_ms` says. Many clients write
/// head and body apart, so that they come one soon after the other.
const BODY_WAIT: Duration = Duration::from_millis(250);

/// What is gathered of a large response to be written at once.
const LARGEST_GATHERED: usize = 64 << 10;

thread_local! {
    static READ_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    static WRITE_BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A connection that has asked for nothing that only hyper does.
#[derive(Debug)]
pub(super) struct SimpleConnection {
    stream: BoundedStream,
    responder: Responder,
    progress: Rc<Progress>,
    /// Has come, and has not been responded to: part of a request, or what is behind one that is waited for.
    unread: Vec<u8>,
    missing: Missing,
    /// Responses.
    out: Vec<u8>,
    /// The body of the last one, where it is large.
    apart: Bytes,
    /// Of both.
    written_bytes: usize,
    /// Where in `out` the last response begins.
    last_begins: usize,
    /// The last response says that the connection ends with it.
    is_last_told: bool,
    /// The response to the first request of `unread`, where one has been made that hyper must write.
    made: Option<Box<Reply>>,
    /// Why the first request of `unread` is hyper's, once all before it are responded to.
    handover: Option<Handover>,
}

/// What the first request of `unread` lacks.
#[derive(Debug)]
enum Missing {
    /// It has not been looked at, or it waits for the one before it.
    Unknown,
    /// The end of its head, which is not in the first so many bytes.
    EndOfHead(usize),
    /// The rest of its body, up to so many bytes of the whole.
    Body(usize, Pin<Box<Sleep>>),
}

/// How this part of the connection's life ended.
#[derive(Debug)]
pub(super) enum Next {
    /// The client has ended, or the server is stopping.
    Closed,
    HandOver(Handover),
}

/// What is left of this part of the connection's life.
#[derive(Debug)]
pub(super) struct Remains {
    /// It will give first what was not responded to.
    pub(super) stream: BoundedStream,
    /// The response to the first request, where it is here already.
    pub(super) made: Option<Box<Reply>>,
    pub(super) connections: ApiConnections,
}

impl SimpleConnection {
    pub(super) fn new(stream: BoundedStream, responder: Responder, progress: Rc<Progress>) -> Self {
        Self {
            stream,
            responder,
            progress,
            unread: Vec::new(),
            missing: Missing::Unknown,
            out: Vec::new(),
            apart: Bytes::new(),
            written_bytes: 0,
            last_begins: 0,
            is_last_told: false,
            made: None,
            handover: None,
        }
    }

    /// What hyper goes on with.
    pub(super) fn into_parts(mut self) -> Remains {
        self.stream.unread(self.unread);
        let connections = self.responder.take_connections();
        Remains { stream: self.stream, made: self.made, connections }
    }

    /// Ready when the connection has ended or is hyper's.
    pub(super) fn poll(&mut self, context: &mut Context<'_>, phase: DrainPhase) -> Poll<io::Result<Next>> {
        loop {
            if self.responder.is_waiting() {
                self.last_begins = self.out.len();
                let Poll::Ready(apart) = self.responder.poll(context, &mut self.out) else {
                    // What has been responded to before it does not wait for it.
                    if !self.out.is_empty() {
                        ready!(self.poll_write(context))?;
                    }
                    return self.poll_gone(context);
                };
                self.apart = apart;
                self.progress.end();
            }
            if phase.is_stopping() {
                self.tell_last();
            }
            ready!(self.poll_write(context))?;
            if let Some(reason) = self.handover {
                return Poll::Ready(Ok(Next::HandOver(reason)));
            }
            self.respond_to_unread();
            if self.handover.is_some() || self.responder.is_waiting() || !self.out.is_empty() {
                continue;
            }
            if self.unread.is_empty() {
                if self.is_last_told {
                    return Poll::Ready(Ok(Next::Closed));
                }
                self.stream.nothing_in_hand();
            }
            match self.poll_read(context)? {
                Poll::Ready(0) if self.unread.is_empty() => return Poll::Ready(Ok(Next::Closed)),
                Poll::Ready(0) => return Poll::Ready(Ok(Next::HandOver(Handover::Incomplete))),
                Poll::Ready(_) => {}
                // A request that had come before is responded to.
                Poll::Pending if phase.closes_idle() && self.unread.is_empty() => {
                    return Poll::Ready(Ok(Next::Closed));
                }
                Poll::Pending => return self.poll_missing(context),
            }
        }
    }

    /// Where no further request is here, the response that is about to be written tells that there will be none after it (RFC 9112,
    /// section 9.6), so that its client does not send one whose fate it could not know.
    fn tell_last(&mut self) {
        let is_last = self.unread.is_empty() && self.handover.is_none();
        if !is_last || self.is_last_told || self.written_bytes > self.last_begins {
            return;
        }
        let end_of_status =
            self.out.get(self.last_begins..).and_then(|last| last.iter().position(|byte| *byte == b'\n'));
        if let Some(end) = end_of_status {
            let at = self.last_begins + end + 1;
            self.out.splice(at..at, *b"connection: close\r\n");
            self.is_last_told = true;
        }
    }

    /// Closes in order, so that the client reads its last response.
    pub(super) fn poll_close(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    /// While a response is waited for: ready when the client has ended, and nobody waits for that any more. What comes meanwhile
    /// is kept, up to a bound.
    fn poll_gone(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Next>> {
        while self.responder.can_be_cancelled() && self.unread.len() < READ_BYTES {
            if ready!(self.poll_read(context))? == 0 {
                return Poll::Ready(Ok(Next::Closed));
            }
        }
        Poll::Pending
    }

    /// Reads once, and responds to what has come if nothing came before it. How many bytes there were: 0 at the end.
    fn poll_read(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut bytes = READ_BUFFER.take();
        bytes.resize(READ_BYTES, 0);
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
        let count = buffer.filled().len();
        let is_next = self.unread.is_empty() && !self.responder.is_waiting();
        let taken = if is_next { self.respond_to(&bytes[..count]) } else { 0 };
        self.unread.extend_from_slice(&bytes[taken..count]);
        READ_BUFFER.set(bytes);
        read.map_ok(|()| count)
    }

    fn respond_to_unread(&mut self) {
        if self.unread.is_empty() || !self.may_be_whole() {
            return;
        }
        let unread = std::mem::take(&mut self.unread);
        let taken = self.respond_to(&unread);
        self.unread = unread;
        self.unread.drain(..taken);
        if self.unread.is_empty() {
            self.unread = Vec::new();
        }
    }

    /// Whether enough has come since the first request of `unread` was looked at, or too much.
    fn may_be_whole(&mut self) -> bool {
        let come = self.unread.len();
        match &mut self.missing {
            Missing::Unknown => true,
            Missing::EndOfHead(searched) => {
                let searched = std::mem::replace(searched, come);
                come > self.responder.settings().max_header_bytes
                    || request::has_end_of_head(&self.unread, searched)
            }
            Missing::Body(whole, _) => come >= *whole,
        }
    }

    /// Responds to the requests that `bytes` begin with, as long as none waits and there is room for responses. How many bytes
    /// they had.
    fn respond_to(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        self.missing = Missing::Unknown;
        while taken < bytes.len() && self.out.len() < GATHERED_BYTES {
            let mut room = HeaderRoom::new();
            let request = match request::parse(&bytes[taken..], &mut room, self.responder.settings()) {
                Parsed::Whole(request) => request,
                Parsed::PartOfHead => {
                    self.missing = Missing::EndOfHead(bytes.len() - taken);
                    break;
                }
                Parsed::PartOfBody(whole) => {
                    self.progress.begin();
                    self.missing = Missing::Body(whole, Box::pin(tokio::time::sleep(BODY_WAIT)));
                    break;
                }
                Parsed::NotSimple(reason) => {
                    self.handover = Some(reason);
                    break;
                }
            };
            self.last_begins = self.out.len();
            match self.responder.respond(&request, &mut self.out) {
                Responded::Written => self.progress.end(),
                Responded::Waits => self.progress.begin(),
                Responded::HandOver(reason) => {
                    self.handover = Some(reason);
                    break;
                }
                Responded::Made(reason, response) => {
                    self.made = Some(response);
                    self.handover = Some(reason);
                    break;
                }
            }
            taken += request.whole.len();
            if self.responder.is_waiting() {
                break;
            }
        }
        taken
    }

    /// Nothing more has come: whether the rest of a body has been waited for long enough.
    fn poll_missing(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Next>> {
        let Missing::Body(_, timer) = &mut self.missing else { return Poll::Pending };
        timer.as_mut().poll(context).map(|()| Ok(Next::HandOver(Handover::Incomplete)))
    }

    /// Ready when all responses are written.
    fn poll_write(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written_bytes < self.out.len() + self.apart.len() {
            let written = ready!(self.poll_write_rest(context))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written_bytes += written;
        }
        if self.written_bytes > 0 {
            // TLS keeps what the system has not taken.
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        }
        self.responder.all_sent();
        self.apart = Bytes::new();
        self.written_bytes = 0;
        self.out.clear();
        self.out.shrink_to(GATHERED_BYTES);
        Poll::Ready(Ok(()))
    }

    /// Writes on. What is apart is gathered with what is before it in memory that all connections of a thread share, and that the
    /// processor has at hand: two pieces of a large response take the system longer than this copy.
    fn poll_write_rest(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let stream = Pin::new(&mut self.stream);
        let written_apart = self.written_bytes.saturating_sub(self.out.len());
        let before = self.out.get(self.written_bytes..).unwrap_or_default();
        let apart = &self.apart[written_apart..];
        match (before, apart) {
            (before, []) => stream.poll_write(context, before),
            ([], apart) => stream.poll_write(context, apart),
            (before, apart) => {
                let mut gathered = WRITE_BUFFER.take();
                gathered.clear();
                gathered.extend_from_slice(before);
                gathered.extend_from_slice(&apart[..apart.len().min(LARGEST_GATHERED)]);
                let written = stream.poll_write(context, &gathered);
                WRITE_BUFFER.set(gathered);
                written
            }
        }
    }
}
