//! A connection's stream of bytes: writes are bounded in time, so that a client that does not read, or hardly, loses its connection;
//! the end of a client's sending does not cancel its request at once; and closing does not take back the last answer.

use std::{
    cell::Cell,
    future::Future,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Sleep,
};

use super::{connections::DrainPhase, transport::Transport};
use crate::pace::{LeastRate, Pace, time_of};

/// Why the connection of a client ends that reads, and reads too little.
pub(super) const TOO_SLOW: &str = "the client reads its response too slowly (min_rate_bytes)";

/// Bytes that are given to the system at once.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes that one connection writes before other tasks of its core have a turn.
const TURN_BYTES: usize = 1 << 20;

/// Buffers that are given to the system at once; hyper has a few.
const PIECE_BUFFERS: usize = 16;

/// How long a request runs on after its client has ended sending. A client that half-closes waits for its answer, one
/// that is gone does not, and until we write the two look the same.
const PATIENCE_AFTER_END: Duration = Duration::from_secs(1);

/// How long, and how much, a client may go on sending after the last answer; to close with unread bytes, or before bytes that are
/// on their way, would reset the connection before the client has read why.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 4 << 20;

/// A write of no more says nothing of a response over HTTP/2: a PING, which each silent connection is sent, has 17 bytes (RFC 9113,
/// section 6.7), and other frames of the connection itself come beside it.
const CONTROL_BYTES: usize = 64;

type Timer = Pin<Box<Sleep>>;

/// A connection's stream; it lives on its core's thread.
#[derive(Debug)]
pub(super) struct BoundedStream {
    stream: Transport,
    /// Its time is the write timeout.
    rate: LeastRate,
    pace: Pace,
    progress: Rc<Progress>,
    /// Was read before, and is to be read again.
    unread: Vec<u8>,
    /// Nothing was there to be read at a time when nothing was being answered: no request is in hand.
    idle: bool,
    /// How many responses had been made when bytes last came, and when all that was written was last flushed.
    made_at_read: u64,
    made_at_flush: u64,
    /// Since other tasks of the core had a turn.
    turn_bytes: usize,
    /// Armed only while the kernel's buffer is full.
    blocked: Option<Timer>,
    ended: StreamEnd,
    lingering: Option<Timer>,
    lingered_bytes: usize,
}

/// What is known of the end of the client's sending.
#[derive(Debug)]
enum StreamEnd {
    NotYet,
    /// It came behind a request that is not answered yet, after so many that were.
    Early {
        timer: Timer,
        answered: u64,
    },
    Told,
}

/// How far a connection's requests are; the connection writes it, its stream reads it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    busy: Cell<bool>,
    /// Of HTTP/2: requests whose responses have not been made.
    streams: Cell<usize>,
    answered: Cell<u64>,
    written: Cell<u64>,
    /// Writes of no more bytes are not counted.
    control_bytes: usize,
    /// How many were answered when the server began to stop.
    answered_at_stop: Cell<Option<u64>>,
}

impl Progress {
    pub(super) fn of_http2() -> Self {
        Self { control_bytes: CONTROL_BYTES, ..Self::default() }
    }

    fn note_written(&self, bytes: usize) {
        if bytes > self.control_bytes {
            self.written.set(self.written.get() + 1);
        }
    }

    /// How far stopping has come; to be called before anything is responded to in a phase.
    pub(super) fn note_phase(&self, phase: DrainPhase) {
        if phase.is_stopping() && self.answered_at_stop.get().is_none() {
            self.answered_at_stop.set(Some(self.answered.get()));
        }
    }

    /// Whether the client has a response since the server stops.
    fn has_last_response(&self) -> bool {
        self.answered_at_stop.get().is_some_and(|before| self.answered.get() > before)
    }

    pub(super) fn begin(&self) {
        self.busy.set(true);
    }

    pub(super) fn end(&self) {
        self.busy.set(false);
        self.answered.set(self.answered.get() + 1);
    }

    /// As [`begin`](Self::begin), of one of several requests at a time.
    pub(super) fn begin_stream(&self) {
        self.streams.set(self.streams.get() + 1);
    }

    pub(super) fn end_stream(&self) {
        self.streams.set(self.streams.get() - 1);
        self.answered.set(self.answered.get() + 1);
    }

    /// A request's head has come, and its response has not been made.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get() || self.streams.get() > 0
    }

    /// Changes with each response, and with each write of one.
    pub(super) fn steps(&self) -> u64 {
        self.answered.get() + self.written.get()
    }

    /// Requests so far.
    pub(super) fn answered(&self) -> u64 {
        self.answered.get()
    }
}

impl BoundedStream {
    pub(super) fn new(stream: Transport, rate: LeastRate, progress: Rc<Progress>) -> Self {
        Self {
            stream,
            rate,
            pace: Pace::default(),
            progress,
            unread: Vec::new(),
            idle: true,
            made_at_read: 0,
            made_at_flush: 0,
            turn_bytes: 0,
            blocked: None,
            ended: StreamEnd::NotYet,
            lingering: None,
            lingered_bytes: 0,
        }
    }

    /// All that came has been responded to: the end of the client's sending then cancels nothing.
    pub(super) fn nothing_in_hand(&mut self) {
        self.idle = true;
    }

    /// Has these bytes read before all others.
    pub(super) fn unread(&mut self, bytes: Vec<u8>) {
        self.unread = bytes;
    }

    /// What was to be read again, and has not been.
    pub(super) fn take_unread(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unread)
    }

    /// Whether all that came has its responses, to the last byte.
    fn has_responded(&self) -> bool {
        let made = self.progress.answered();
        !self.progress.is_busy() && made > self.made_at_read && made == self.made_at_flush
    }

    /// Reads and drops what the client still sends; ready when nothing has come, it has ended, or patience has.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [MaybeUninit::uninit(); 4096];
        loop {
            if let Some(timer) = &mut self.lingering
                && timer.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(());
            }
            let mut buffer = ReadBuf::uninit(&mut scratch);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending if self.lingering.is_some() => return Poll::Pending,
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {
                    self.lingered_bytes += buffer.filled().len();
                    if self.lingered_bytes > LINGER_BYTES {
                        return Poll::Ready(());
                    }
                    self.lingering.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
                }
                _ => return Poll::Ready(()),
            }
        }
    }

    /// Lets other tasks of the core go on where this connection has written much without waiting for its client.
    fn poll_turn(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.turn_bytes < TURN_BYTES {
            return Poll::Ready(());
        }
        self.turn_bytes = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }

    fn bound_write(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<usize>>,
        given_bytes: usize,
    ) -> Poll<io::Result<usize>> {
        self.turn_bytes = match &outcome {
            Poll::Ready(Ok(bytes)) => self.turn_bytes + bytes,
            _ => 0,
        };
        let written = if let Poll::Ready(Ok(bytes)) = &outcome { *bytes } else { 0 };
        self.progress.note_written(written);
        self.bound(context, outcome, written, given_bytes - written)
    }

    /// What waits for the client to read waits no longer than the write timeout, and is read at the least rate. So many bytes were
    /// written, and so many wait behind them.
    fn bound<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
        written_bytes: usize,
        waiting_bytes: usize,
    ) -> Poll<io::Result<T>> {
        let timeout = self.rate.span;
        if outcome.is_ready() {
            let blocked = self.blocked.take();
            let waited = blocked.map_or(Duration::ZERO, |timer| time_of(&timer, timeout));
            let is_too_slow = self.pace.is_too_slow(self.rate, waited, written_bytes, waiting_bytes);
            if is_too_slow {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, TOO_SLOW)));
            }
            return outcome;
        }
        let timer = self.blocked.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its response")))
    }
}

/// Puts the first [`PIECE_BYTES`] of the buffers into `pieces`; how many those are.
fn first_bytes<'b>(buffers: &'b [IoSlice<'_>], pieces: &mut [IoSlice<'b>; PIECE_BUFFERS]) -> usize {
    let (mut left, mut count) = (PIECE_BYTES, 0);
    for (piece, buffer) in pieces.iter_mut().zip(buffers) {
        let bytes = buffer.len().min(left);
        *piece = IoSlice::new(&buffer[..bytes]);
        (left, count) = (left - bytes, count + 1);
        if left == 0 {
            break;
        }
    }
    count
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.unread.is_empty() {
            let count = this.unread.len().min(buffer.remaining());
            buffer.put_slice(&this.unread[..count]);
            this.unread.drain(..count);
            this.idle = false;
            this.made_at_read = this.progress.answered();
            return Poll::Ready(Ok(()));
        }
        if let StreamEnd::NotYet = this.ended {
            let before = buffer.filled().len();
            let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) else {
                this.idle |= !this.progress.is_busy();
                return Poll::Pending;
            };
            if buffer.filled().len() > before {
                this.idle = false;
                this.made_at_read = this.progress.answered();
                return Poll::Ready(outcome);
            }
            if this.idle || this.has_responded() || outcome.is_err() {
                return Poll::Ready(outcome);
            }
            let timer = Box::pin(tokio::time::sleep(PATIENCE_AFTER_END));
            this.ended = StreamEnd::Early { timer, answered: this.progress.answered() };
        }
        if let StreamEnd::Early { timer, answered } = &mut this.ended {
            let is_answered = !this.progress.is_busy() && this.progress.answered() > *answered;
            if !is_answered {
                ready!(timer.as_mut().poll(context));
            }
        }
        this.ended = StreamEnd::Told;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(context));
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let outcome = Pin::new(&mut self.stream).poll_write(context, piece);
        self.bound_write(context, outcome, bytes.len())
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_turn(context));
        let mut pieces = [IoSlice::new(&[]); PIECE_BUFFERS];
        let count = first_bytes(slices, &mut pieces);
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, &pieces[..count]);
        let given_bytes = slices.iter().map(|slice| slice.len()).sum();
        self.bound_write(context, outcome, given_bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        ready!(self.bound(context, outcome, 0, 0))?;
        self.made_at_flush = self.progress.answered();
        if matches!(self.ended, StreamEnd::Early { .. }) && self.has_responded() {
            // Who reads is the same task, and waits for the timer.
            context.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        ready!(self.bound(context, outcome, 0, 0))?;
        if self.progress.has_last_response() {
            // What its client has sent before it read that this was the last may still be on its way.
            self.lingering.get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        }
        self.poll_linger(context).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, net, thread};

    use futures_util::task::noop_waker;
    use tokio::net::TcpStream;

    use super::*;

    /// A connection, and what its client has.
    async fn connected(progress: &Rc<Progress>) -> (BoundedStream, net::TcpStream) {
        let listener = net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let client =
            net::TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        let (accepted, _) = listener.accept().expect("the client has connected");
        accepted.set_nonblocking(true).expect("sockets can be so");
        let stream = TcpStream::from_std(accepted).expect("the runtime takes it");
        stream.writable().await.expect("it is connected");
        let rate = LeastRate { bytes_per_s: 0, span: Duration::from_secs(20) };
        (BoundedStream::new(Transport::Plain(stream), rate, Rc::clone(progress)), client)
    }

    /// To close at once would reset the connection of a client that has sent more meanwhile.
    #[test]
    fn a_stream_lingers_after_a_response_that_is_the_last_because_the_server_stops() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let is_open = |phase: DrainPhase, responses: u32| {
            runtime.block_on(async {
                let progress = Rc::<Progress>::default();
                let (mut stream, _client) = connected(&progress).await;
                progress.note_phase(phase);
                for _ in 0..responses {
                    progress.begin();
                    progress.end();
                }
                let waker = noop_waker();
                Pin::new(&mut stream).poll_shutdown(&mut Context::from_waker(&waker)).is_pending()
            })
        };
        assert!(!is_open(DrainPhase::Serving, 1), "its client goes on elsewhere");
        assert!(!is_open(DrainPhase::ClosingIdle, 0), "nothing was responded to");
        assert!(is_open(DrainPhase::LastResponses, 1));
    }

    /// However fast a client reads, others of its core have a turn after each of its megabytes.
    #[test]
    fn a_long_response_is_written_in_pieces_and_turns() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (mut stream, mut client) = connected(&Rc::default()).await;
            let reader = thread::spawn(move || {
                let mut buffer = vec![0; 1 << 20];
                while client.read(&mut buffer).is_ok_and(|read| read > 0) {}
            });
            let response = vec![0; 16 << 20];
            for vectored in [false, true] {
                let mut written = 0;
                loop {
                    let waker = noop_waker();
                    let mut context = Context::from_waker(&waker);
                    let rest = &response[written..];
                    let (head, body) = rest.split_at(100);
                    let buffers = [IoSlice::new(head), IoSlice::new(body)];
                    let outcome = if vectored {
                        Pin::new(&mut stream).poll_write_vectored(&mut context, &buffers)
                    } else {
                        Pin::new(&mut stream).poll_write(&mut context, rest)
                    };
                    let Poll::Ready(outcome) = outcome else { break };
                    let bytes = outcome.expect("the client reads");
                    assert!(bytes <= PIECE_BYTES, "{bytes} bytes are written at once");
                    written += bytes;
                    assert!(written < 2 * TURN_BYTES, "{written} bytes are written in one turn");
                }
                tokio::task::yield_now().await;
            }
            drop(stream);
            reader.join().expect("the client ends");
        });
    }
}
