//! The body of a request that is sent piece by piece, as the peer's windows let it (RFC 9113, 5.2).

use bytes::Bytes;
use h2::SendStream;
use std::collections::VecDeque;
use std::task::{Context, Poll};

/// What may wait for a peer that does not open its window; more fails the request.
pub(crate) const WAITING_BYTES_MAX: usize = 64 << 20;

/// Pieces that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// No more come.
    is_whole: bool,
}

impl Pieces {
    /// False where more wait than may.
    pub(crate) fn push(&mut self, bytes: Vec<u8>, is_last: bool) -> bool {
        self.is_whole |= is_last;
        self.bytes += bytes.len();
        if !bytes.is_empty() {
            self.waiting.push_back(bytes.into());
        }
        self.bytes <= WAITING_BYTES_MAX
    }
}

#[derive(Debug)]
pub(crate) struct Upload {
    pieces: Pieces,
    /// None once the body's end is sent, or the peer wants no more of it.
    stream: Option<SendStream<Bytes>>,
}

impl Upload {
    pub(crate) fn new(pieces: Pieces, stream: SendStream<Bytes>) -> Self {
        Self { pieces, stream: Some(stream) }
    }

    /// As [`Pieces::push`].
    pub(crate) fn push(&mut self, bytes: Vec<u8>, is_last: bool) -> bool {
        self.stream.is_none() || self.pieces.push(bytes, is_last)
    }

    /// Sends what the windows let.
    pub(crate) fn advance(&mut self, context: &mut Context<'_>) {
        let Some(stream) = &mut self.stream else { return };
        let is_over = match send(&mut self.pieces, stream, context) {
            Poll::Pending => false,
            Poll::Ready(Ok(())) => self.pieces.is_whole,
            // The peer has ended the stream: its response says why.
            Poll::Ready(Err(_)) => true,
        };
        if is_over {
            self.pieces = Pieces::default();
            self.stream = None;
        }
    }
}

fn send(
    pieces: &mut Pieces,
    stream: &mut SendStream<Bytes>,
    context: &mut Context<'_>,
) -> Poll<Result<(), h2::Error>> {
    while let Some(piece) = pieces.waiting.front_mut() {
        stream.reserve_capacity(piece.len());
        let mut capacity = stream.capacity();
        if capacity == 0 {
            capacity = match stream.poll_capacity(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Some(Ok(capacity))) => capacity,
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Err(error)),
                Poll::Ready(None) => return Poll::Ready(Err(h2::Reason::STREAM_CLOSED.into())),
            };
        }
        if capacity == 0 {
            return Poll::Pending;
        }
        let part = piece.split_to(capacity.min(piece.len()));
        pieces.bytes -= part.len();
        if piece.is_empty() {
            pieces.waiting.pop_front();
        }
        let is_last = pieces.is_whole && pieces.waiting.is_empty();
        stream.send_data(part, is_last)?;
        if is_last {
            return Poll::Ready(Ok(()));
        }
    }
    if pieces.is_whole {
        stream.send_data(Bytes::new(), true)?;
    }
    Poll::Ready(Ok(()))
}
