//! Bodies of responses over HTTP/2: they are given to hyper in pieces and counted until they are sent. There a client holds a response
//! back by its window (RFC 9113, section 5.2), and no write waits for it.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use prony_source::http_api::BodyCut;

use crate::{http::reply::ReplyBody, pace::LeastRate};

/// What hyper is given at a time.
const PIECE_BYTES: usize = 64 << 10;

/// What of the responses of a connection is not sent, and how many bytes of them have gone.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    waiting_bytes: AtomicU64,
    gone_bytes: AtomicU64,
}

impl Unsent {
    fn begin(&self, bytes: usize) {
        self.waiting_bytes.fetch_add(bytes as u64, Relaxed);
    }

    fn end(&self, bytes: usize) {
        self.waiting_bytes.fetch_sub(bytes as u64, Relaxed);
        self.gone_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns when the client has taken too little of what waited for it.
    pub(super) async fn taken_too_slowly(&self, rate: LeastRate) {
        loop {
            let before = (self.waiting_bytes.load(Relaxed), self.gone_bytes.load(Relaxed));
            tokio::time::sleep(rate.span).await;
            if self.is_too_slow(rate, rate.span, before) {
                return;
            }
        }
    }

    /// Whether the client was too slow since so many bytes waited and so many had gone.
    fn is_too_slow(&self, rate: LeastRate, waited: Duration, (waiting, gone): (u64, u64)) -> bool {
        let moved = self.gone_bytes.load(Relaxed) - gone;
        // What has begun to wait meanwhile has not waited so long.
        moved < waiting && (moved == 0 || rate.is_missed(waited, moved, waiting))
    }
}

/// A body whose bytes are counted.
#[derive(Debug)]
pub(super) struct CountedBody {
    body: ReplyBody,
    /// Of its last piece, what hyper has not asked for.
    rest: Bytes,
    unsent: Arc<Unsent>,
}

impl CountedBody {
    pub(super) const fn new(body: ReplyBody, unsent: Arc<Unsent>) -> Self {
        Self { body, rest: Bytes::new(), unsent }
    }
}

/// Hyper drops it when it is sent.
struct CountedPiece {
    bytes: Bytes,
    unsent: Arc<Unsent>,
}

impl AsRef<[u8]> for CountedPiece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedPiece {
    fn drop(&mut self) {
        self.unsent.end(self.bytes.len());
    }
}

impl Drop for CountedBody {
    fn drop(&mut self) {
        self.unsent.end(self.rest.len());
    }
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = BodyCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyCut>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => frame,
                ended => return Poll::Ready(ended),
            };
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            if data.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            this.unsent.begin(data.len());
            this.rest = data;
        }
        let bytes = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        let piece = CountedPiece { bytes, unsent: Arc::clone(&this.unsent) };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::default();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use http_body_util::Full;

    use super::*;

    const RATE: LeastRate = LeastRate { bytes_per_s: 1000, span: Duration::from_secs(30) };

    fn body(bytes: usize) -> (CountedBody, Arc<Unsent>) {
        let unsent = Arc::<Unsent>::default();
        let whole = ReplyBody::Whole(Full::new(vec![b'x'; bytes].into()));
        (CountedBody::new(whole, Arc::clone(&unsent)), unsent)
    }

    fn next(body: &mut CountedBody) -> Option<Bytes> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(body).poll_frame(&mut context) {
            Poll::Ready(Some(Ok(frame))) => frame.into_data().ok(),
            Poll::Ready(None) => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_long_body_comes_in_pieces_that_count_until_they_are_sent() {
        let (mut body, unsent) = body(2 * PIECE_BYTES + 1);
        let waiting = || unsent.waiting_bytes.load(Relaxed) as usize;
        assert_eq!(body.size_hint().exact(), Some(2 * PIECE_BYTES as u64 + 1));
        let first = next(&mut body).expect("there are bytes");
        assert_eq!((first.len(), waiting()), (PIECE_BYTES, 2 * PIECE_BYTES + 1));
        assert!(!body.is_end_stream());
        drop(first);
        assert_eq!(waiting(), PIECE_BYTES + 1);
        let rest = [next(&mut body), next(&mut body)];
        assert_eq!(rest.each_ref().map(|piece| piece.as_ref().map(Bytes::len)), [Some(PIECE_BYTES), Some(1)]);
        assert!(body.is_end_stream() && next(&mut body).is_none());
        drop((body, rest));
        assert_eq!(waiting(), 0);
        assert_eq!(unsent.gone_bytes.load(Relaxed) as usize, 2 * PIECE_BYTES + 1);
    }

    #[test]
    fn a_body_that_is_dropped_waits_for_nobody() {
        let (mut body, unsent) = body(3 * PIECE_BYTES);
        drop(next(&mut body));
        drop(body);
        assert_eq!(unsent.waiting_bytes.load(Relaxed), 0);
    }

    /// A bug of the first version: a client could hold back a hundred of them without end.
    #[test]
    fn a_short_body_counts_too() {
        let (mut body, unsent) = body(10);
        let held = next(&mut body).expect("there are bytes");
        assert_eq!((held.len(), unsent.waiting_bytes.load(Relaxed)), (10, 10));
        assert!(body.is_end_stream() && next(&mut body).is_none());
        drop(held);
        assert_eq!((unsent.waiting_bytes.load(Relaxed), unsent.gone_bytes.load(Relaxed)), (0, 10));
    }

    #[test]
    fn what_waited_must_move() {
        let unsent = Unsent::default();
        let since = |waiting, moved| {
            let gone = unsent.gone_bytes.load(Relaxed);
            unsent.gone_bytes.fetch_add(moved, Relaxed);
            unsent.is_too_slow(RATE, RATE.span, (waiting, gone))
        };
        assert!(!since(0, 0), "nothing waited");
        assert!(since(100_000, 29_999));
        assert!(!since(100_000, 30_000));
        assert!(!since(10_000, 10_000), "all that waited has gone");
        let any = LeastRate { bytes_per_s: 0, ..RATE };
        assert!(unsent.is_too_slow(any, RATE.span, (1, unsent.gone_bytes.load(Relaxed))), "it stands still");
    }
}
