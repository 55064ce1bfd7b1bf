//! A way past hyper for plain calls on a graph, GraphQL that need not wait, and a program's own paths, in the stream that hyper reads from:
//! where hyper has no request in hand and a whole plain one comes, it is answered here, and hyper never sees it. All else
//! is handed over as it came.
//!
//! Hyper has nothing in hand when it has answered all that was handed over, to the last byte, and has flushed what it
//! wrote. Where that cannot be known, because the end of a request is not, the connection stays hyper's.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::stream::{BoundedStream, Progress};
use crate::{
    graph::Served,
    http::{
        lane::Lane,
        plain::{self, Begin, HeaderRoom},
    },
};

/// Answers of requests that came together go out together up to so many bytes; also what a connection keeps of its buffer.
const GATHERED_BYTES: usize = 16 << 10;

/// A connection's stream with the way past hyper, where there is one.
#[derive(Debug)]
pub(super) struct LaneStream {
    stream: BoundedStream,
    way: Option<Box<Way>>,
}

#[derive(Debug)]
struct Way {
    lane: Lane,
    progress: Rc<Progress>,
    /// Came behind a request that is being answered here.
    rest: Vec<u8>,
    /// Answers, of which so many bytes are written.
    out: Vec<u8>,
    written_bytes: usize,
    /// Answered here.
    answered: u64,
    hypers: Hypers,
}

/// What is known of hyper's side.
#[derive(Debug, Default)]
struct Hypers {
    /// Requests that were handed over.
    requests: u64,
    /// Of the last of them, what has not come yet.
    owed_bytes: usize,
    /// Where its requests end is not known any more.
    is_lost: bool,
    /// Its answers that were flushed, and whether it has written since.
    flushed: u64,
    is_unflushed: bool,
}

impl LaneStream {
    pub(super) fn new(stream: BoundedStream, lane: Option<Lane>, progress: Rc<Progress>) -> Self {
        let way = |lane| {
            Box::new(Way {
                lane,
                progress,
                rest: Vec::new(),
                out: Vec::new(),
                written_bytes: 0,
                answered: 0,
                hypers: Hypers::default(),
            })
        };
        Self { stream, way: lane.map(way) }
    }

    /// The stream alone, for another protocol, and what it has not read of what has come.
    pub(super) fn into_parts(self) -> (BoundedStream, Vec<u8>) {
        (self.stream, self.way.map(|way| way.rest).unwrap_or_default())
    }
}

impl Way {
    /// Whether hyper has nothing in hand.
    fn is_open(&self) -> bool {
        let hypers = &self.hypers;
        let answered = self.hyper_answered();
        !hypers.is_lost
            && hypers.owed_bytes == 0
            && !hypers.is_unflushed
            && !self.progress.is_busy()
            && hypers.requests == answered
            && hypers.flushed == answered
    }

    fn hyper_answered(&self) -> u64 {
        self.progress.answered() - self.answered
    }

    /// An answer is being made, or written.
    fn is_busy(&self) -> bool {
        self.lane.is_waiting() || !self.out.is_empty()
    }

    /// Answers requests of `bytes` as long as they are plain calls and need not wait; how many bytes they had.
    fn serve(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while taken < bytes.len() && self.out.len() < GATHERED_BYTES {
            let mut room = HeaderRoom::new();
            let Begin::Plain(request) = plain::read(&bytes[taken..], &mut room, self.lane.settings()) else {
                break;
            };
            let request_bytes = request.whole.len();
            match self.lane.serve(&request, &mut self.out) {
                Served::NotHere => break,
                Served::Answered => self.end(),
                Served::Waits => {
                    self.progress.begin();
                    taken += request_bytes;
                    break;
                }
            }
            taken += request_bytes;
        }
        taken
    }

    fn end(&mut self) {
        self.answered += 1;
        self.progress.end();
    }

    /// Ready when all that was taken in hand is answered and written.
    fn poll_done(&mut self, stream: &mut BoundedStream, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lane.is_waiting() {
            ready!(self.lane.poll(context, &mut self.out));
            self.end();
        }
        while self.written_bytes < self.out.len() {
            let written =
                ready!(Pin::new(&mut *stream).poll_write(context, &self.out[self.written_bytes..]))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written_bytes += written;
        }
        self.written_bytes = 0;
        self.out.clear();
        self.out.shrink_to(GATHERED_BYTES);
        Poll::Ready(Ok(()))
    }

    /// Keeps the books of what hyper is given.
    fn hand_over(&mut self, mut bytes: &[u8]) {
        if let Some(made) = self.lane.take_made() {
            self.progress.is_made(made);
        }
        let hypers = &mut self.hypers;
        loop {
            let come = hypers.owed_bytes.min(bytes.len());
            hypers.owed_bytes -= come;
            bytes = &bytes[come..];
            if bytes.is_empty() || hypers.is_lost {
                return;
            }
            match plain::read(bytes, &mut HeaderRoom::new(), self.lane.settings()) {
                Begin::Plain(request) => hypers.owed_bytes = request.whole.len(),
                Begin::Other(bytes) => hypers.owed_bytes = bytes,
                Begin::Unknown => hypers.is_lost = true,
            }
            hypers.requests += 1;
        }
    }
}

impl AsyncRead for LaneStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, way } = &mut *self;
        let Some(way) = way else { return Pin::new(stream).poll_read(context, buffer) };
        let begin = buffer.filled().len();
        loop {
            if way.is_busy() {
                ready!(way.poll_done(stream, context))?;
                way.progress.beside(false);
            }
            if way.rest.is_empty() {
                ready!(Pin::new(&mut *stream).poll_read(context, buffer))?;
            } else {
                let fitting = way.rest.len().min(buffer.remaining());
                buffer.put_slice(&way.rest[..fitting]);
                way.rest.drain(..fitting);
            }
            let come = &buffer.filled()[begin..];
            if come.is_empty() {
                return Poll::Ready(Ok(()));
            }
            let taken = if way.is_open() { way.serve(come) } else { 0 };
            if taken == 0 {
                way.hand_over(come);
                return Poll::Ready(Ok(()));
            }
            if taken < come.len() {
                // What could not be put into the buffer comes behind what could.
                way.rest.splice(..0, come[taken..].iter().copied());
            }
            buffer.set_filled(begin);
            way.progress.beside(true);
            // What is left may be hyper's: then the end of the client's sending, behind it, must not cancel it.
            if way.rest.is_empty() {
                stream.nothing_in_hand();
            }
        }
    }
}

impl AsyncWrite for LaneStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.hyper_writes();
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.hyper_writes();
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        if let Some(way) = &mut self.way {
            way.hypers.is_unflushed = false;
            way.hypers.flushed = way.hyper_answered();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl LaneStream {
    fn hyper_writes(&mut self) {
        if let Some(way) = &mut self.way {
            way.hypers.is_unflushed = true;
        }
    }
}
