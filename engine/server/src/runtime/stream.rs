//! A TCP stream with manners: writes are bounded in time, so that a client that does not read loses its connection;
//! the end of a client's sending does not cancel its request at once; and closing does not take back the last answer.

use std::{
    cell::Cell,
    fmt,
    future::Future,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::Response;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

/// How long a request runs on after its client has ended sending. A client that half-closes waits for its answer, one
/// that is gone does not, and until we write the two look the same.
const PATIENCE_AFTER_END: Duration = Duration::from_secs(1);

/// How long, and how much, a client may go on sending after the last answer; to close with unread bytes would reset
/// the connection before the client has read why.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 4 << 20;

type Timer = Pin<Box<Sleep>>;

/// A connection's stream; it lives on its core's thread.
#[derive(Debug)]
pub(super) struct BoundedStream {
    stream: TcpStream,
    write_timeout: Duration,
    progress: Rc<Progress>,
    /// Nothing was there to be read at a time when nothing was being answered: hyper has no request in hand.
    idle: bool,
    /// Armed only while the kernel's buffer is full.
    blocked: Option<Timer>,
    ended: End,
    lingering: Option<Timer>,
    lingered_bytes: usize,
}

/// What is known of the end of the client's sending.
#[derive(Debug)]
enum End {
    NotYet,
    /// It came behind a request that is not answered yet, after so many that were.
    Early {
        timer: Timer,
        answered: u64,
    },
    Told,
}

/// How far a connection's requests are; the connection writes it, its stream reads it.
#[derive(Default)]
pub(super) struct Progress {
    busy: Cell<bool>,
    answered: Cell<u64>,
    written: Cell<u64>,
    /// An answer is being made or written beside hyper.
    is_beside: Cell<bool>,
    /// The answer to the request that hyper has next, where it was made beside it.
    made: Cell<Option<Box<Response<Bytes>>>>,
}

impl fmt::Debug for Progress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { busy, answered, written, is_beside, made: _ } = self;
        let states = (busy, answered, written, is_beside);
        formatter.debug_tuple("Progress").field(&states).finish()
    }
}

impl Progress {
    pub(super) fn begin(&self) {
        self.busy.set(true);
    }

    pub(super) fn end(&self) {
        self.busy.set(false);
        self.answered.set(self.answered.get() + 1);
    }

    /// A request's head has come, and its answer has not been made.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    pub(super) fn beside(&self, is_beside: bool) {
        self.is_beside.set(is_beside);
    }

    /// Hyper does not know of what is being answered.
    pub(super) fn is_beside(&self) -> bool {
        self.is_beside.get()
    }

    pub(super) fn is_made(&self, response: Box<Response<Bytes>>) {
        self.made.set(Some(response));
    }

    pub(super) fn take_made(&self) -> Option<Box<Response<Bytes>>> {
        self.made.take()
    }

    /// Changes with each answer, and with each write of one.
    pub(super) fn steps(&self) -> u64 {
        self.answered.get() + self.written.get()
    }

    /// Requests so far.
    pub(super) fn answered(&self) -> u64 {
        self.answered.get()
    }
}

impl BoundedStream {
    pub(super) fn new(stream: TcpStream, write_timeout: Duration, progress: Rc<Progress>) -> Self {
        Self {
            stream,
            write_timeout,
            progress,
            idle: true,
            blocked: None,
            ended: End::NotYet,
            lingering: None,
            lingered_bytes: 0,
        }
    }

    /// All that came was taken by somebody else than hyper.
    pub(super) fn nothing_in_hand(&mut self) {
        self.idle = true;
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

    fn bound<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.progress.written.set(self.progress.written.get() + 1);
            self.blocked = None;
            return outcome;
        }
        let timeout = self.write_timeout;
        let timer = self.blocked.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read its response")))
    }
}

impl AsyncRead for BoundedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let End::NotYet = this.ended {
            let before = buffer.filled().len();
            let Poll::Ready(outcome) = Pin::new(&mut this.stream).poll_read(context, buffer) else {
                this.idle |= !this.progress.is_busy();
                return Poll::Pending;
            };
            if buffer.filled().len() > before || this.idle || outcome.is_err() {
                this.idle = false;
                return Poll::Ready(outcome);
            }
            let timer = Box::pin(tokio::time::sleep(PATIENCE_AFTER_END));
            this.ended = End::Early { timer, answered: this.progress.answered() };
        }
        if let End::Early { timer, answered } = &mut this.ended {
            let is_answered = !this.progress.is_busy() && this.progress.answered() > *answered;
            if !is_answered {
                ready!(timer.as_mut().poll(context));
            }
        }
        this.ended = End::Told;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for BoundedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bound(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.bound(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        self.poll_linger(context).map(Ok)
    }
}
