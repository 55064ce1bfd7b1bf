//! One HTTP/1.1 connection to an upstream: a request is written at once, and its response read into memory of its own.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll, Waker, ready},
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, ReadBuf},
    time::{Instant, Sleep},
};

use super::{
    chunked::{DecodeError, Decoder},
    error::{SendError, SendErrorKind},
    head::{self, BodyEnd, ResponseHead},
    message::{IncomingResponse, ResponseLimits},
    transport::Transport,
};

/// What is read at once at least.
pub(super) const READ_BYTES: usize = 16 << 10;
/// Interim responses (RFC 9110, section 15.2) before the one that counts.
const INTERIM_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct Connection {
    transport: Transport,
    /// Bytes of the response.
    unread: BytesMut,
    /// What is given room for: as long as the last response was.
    expected_bytes: usize,
    timer: Pin<Box<Sleep>>,
    deadline: Deadline,
    pub(super) idle_since: Instant,
}

/// When an exchange is given up, and why.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at: Instant,
    what: &'static str,
    limit_ms: u128,
    option: &'static str,
}

/// A response, and whether its connection can be used again.
#[derive(Debug)]
pub(super) struct Exchanged {
    pub(super) response: IncomingResponse,
    pub(super) is_reusable: bool,
}

impl Connection {
    pub(super) fn new(transport: Transport, now: Instant) -> Self {
        let deadline = Deadline { at: now, what: "", limit_ms: 0, option: "" };
        Self {
            transport,
            unread: BytesMut::new(),
            expected_bytes: READ_BYTES,
            timer: Box::pin(tokio::time::sleep_until(now)),
            deadline,
            idle_since: now,
        }
    }

    /// Whether nothing has come since the last response: neither its end nor bytes that nobody asked for.
    pub(super) fn is_open(&mut self) -> bool {
        let mut byte = [0];
        let mut buffer = ReadBuf::new(&mut byte);
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(&mut self.transport).poll_read(&mut context, &mut buffer).is_pending()
    }

    /// Sends a request, whose bytes are head and body, and reads its response.
    pub(super) async fn exchange(
        &mut self,
        request: &[u8],
        limits: &ResponseLimits,
    ) -> Result<Exchanged, SendError> {
        let begun = Instant::now();
        let whole = Deadline {
            at: begun + limits.whole,
            what: "the response",
            limit_ms: limits.whole.as_millis(),
            option: "upstream_timeout_ms",
        };
        let first = Deadline {
            at: begun + limits.first_byte,
            what: "the first byte of the response",
            limit_ms: limits.first_byte.as_millis(),
            option: "first_byte_timeout_ms",
        };
        self.set_deadline(if first.at < whole.at { first } else { whole });
        self.write(request).await.map_err(|kind| SendError::sent(kind, false))?;
        let mut has_begun = false;
        let read = self.read_response(limits.max_bytes, whole, &mut has_begun).await;
        read.map_err(|kind| SendError::sent(kind, has_begun))
    }

    async fn write(&mut self, request: &[u8]) -> Result<(), SendErrorKind> {
        let mut written = 0;
        poll_fn(|context| {
            while written < request.len() {
                let wrote = Pin::new(&mut self.transport).poll_write(context, &request[written..]);
                match wrote {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(SendErrorKind::Closed)),
                    Poll::Ready(Ok(count)) => written += count,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(SendErrorKind::Broken(error))),
                    Poll::Pending => return self.poll_deadline(context).map(Err),
                }
            }
            match Pin::new(&mut self.transport).poll_flush(context) {
                Poll::Ready(flushed) => Poll::Ready(flushed.map_err(SendErrorKind::Broken)),
                Poll::Pending => self.poll_deadline(context).map(Err),
            }
        })
        .await
    }

    async fn read_response(
        &mut self,
        max_bytes: usize,
        whole: Deadline,
        has_begun: &mut bool,
    ) -> Result<Exchanged, SendErrorKind> {
        self.unread.clear();
        self.unread.reserve(self.expected_bytes);
        let head = self.read_head(whole, has_begun).await?;
        let mut body = self.unread.split_off(head.bytes);
        // The head's own bytes are let go with the memory that it shares with the body.
        self.unread = BytesMut::new();
        let (is_whole, behind) = match head.body {
            BodyEnd::Length(length) if length > max_bytes => {
                return Err(SendErrorKind::TooLarge { max_bytes });
            }
            BodyEnd::Length(length) => {
                body.reserve(length.saturating_sub(body.len()));
                while body.len() < length {
                    self.read_more(&mut body).await?;
                }
                (true, body.split_off(length))
            }
            BodyEnd::Chunked => {
                let mut input = std::mem::take(&mut body);
                self.read_chunks(&mut input, &mut body, max_bytes).await?;
                (true, input)
            }
            BodyEnd::Close => {
                self.read_to_end(&mut body, max_bytes).await?;
                (false, BytesMut::new())
            }
        };
        self.expected_bytes = (head.bytes + body.len() + 1).clamp(READ_BYTES, 4 * READ_BYTES);
        let ResponseHead { status, is_json, coding, keeps_alive, .. } = head;
        let response = IncomingResponse { status, is_json, coding, body: Bytes::from(body) };
        // Bytes that nobody asked for are nobody's response.
        Ok(Exchanged { response, is_reusable: is_whole && keeps_alive && behind.is_empty() })
    }

    async fn read_head(
        &mut self,
        whole: Deadline,
        has_begun: &mut bool,
    ) -> Result<ResponseHead, SendErrorKind> {
        let mut interim = 0;
        loop {
            if !self.unread.is_empty() {
                match head::parse(&self.unread).map_err(SendErrorKind::Protocol)? {
                    Some(head) if head.status == 101 => {
                        return Err(SendErrorKind::Protocol(
                            "it has changed the protocol unasked".to_owned(),
                        ));
                    }
                    Some(head) if head.status < 200 => {
                        interim += 1;
                        if interim > INTERIM_MAX {
                            return Err(SendErrorKind::Protocol(
                                "it has too many interim responses".to_owned(),
                            ));
                        }
                        let _ = self.unread.split_to(head.bytes);
                        continue;
                    }
                    Some(head) => return Ok(head),
                    None => {}
                }
            }
            let mut bytes = std::mem::take(&mut self.unread);
            let read = self.read_more(&mut bytes).await;
            self.unread = bytes;
            read?;
            if !std::mem::replace(has_begun, true) {
                self.set_deadline(whole);
            }
        }
    }

    async fn read_chunks(
        &mut self,
        input: &mut BytesMut,
        body: &mut BytesMut,
        max_bytes: usize,
    ) -> Result<(), SendErrorKind> {
        let mut decoder = Decoder::new();
        loop {
            match decoder.decode(input, body, max_bytes) {
                Ok(true) => return Ok(()),
                Ok(false) => self.read_more(input).await?,
                Err(DecodeError::TooLarge) => return Err(SendErrorKind::TooLarge { max_bytes }),
                Err(DecodeError::Broken(what)) => return Err(SendErrorKind::Protocol(what.to_owned())),
            }
        }
    }

    async fn read_to_end(&mut self, body: &mut BytesMut, max_bytes: usize) -> Result<(), SendErrorKind> {
        loop {
            if body.len() > max_bytes {
                return Err(SendErrorKind::TooLarge { max_bytes });
            }
            match self.read_more(body).await {
                Ok(()) => {}
                Err(SendErrorKind::Closed) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads once behind what is there.
    async fn read_more(&mut self, bytes: &mut BytesMut) -> Result<(), SendErrorKind> {
        if bytes.capacity() == bytes.len() {
            bytes.reserve(READ_BYTES);
        }
        let count = poll_fn(|context| {
            let polled = {
                let mut read = pin!(self.transport.read_buf(bytes));
                read.as_mut().poll(context)
            };
            match polled {
                Poll::Ready(count) => Poll::Ready(count.map_err(SendErrorKind::Broken)),
                Poll::Pending => self.poll_deadline(context).map(Err),
            }
        });
        match count.await? {
            0 => Err(SendErrorKind::Closed),
            _ => Ok(()),
        }
    }

    /// The timer is armed no later than the deadline, and armed anew only when it goes off before that.
    fn set_deadline(&mut self, deadline: Deadline) {
        self.deadline = deadline;
        if self.timer.is_elapsed() || deadline.at < self.timer.deadline() {
            self.timer.as_mut().reset(deadline.at);
        }
    }

    fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<SendErrorKind> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let Deadline { at, what, limit_ms, option } = self.deadline;
            if Instant::now() >= at {
                return Poll::Ready(SendErrorKind::Timeout { what, limit_ms, option });
            }
            self.timer.as_mut().reset(at);
        }
    }
}
