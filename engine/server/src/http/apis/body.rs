//! A request's body that an API reads piece by piece, held to the server's limits of bytes, time and memory.

use std::{
    fmt::{Debug, Display},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::StatusCode;
use hyper::body::Body;
use prony_source::http_api::{BodyError, RequestBody};
use tokio::time::Sleep;

use crate::{
    config::Settings,
    http::body::broken,
    memory::MemoryBound,
    pace::{LeastRate, Pace, time_of},
};

#[derive(Debug)]
pub(super) struct StreamedRequestBody<B> {
    body: B,
    read_bytes: u64,
    max_bytes: u64,
    memory: MemoryBound,
    /// Its time is the timeout.
    rate: LeastRate,
    pace: Pace,
    /// Armed while the client is waited for.
    pause: Option<Pin<Box<Sleep>>>,
}

impl<B> StreamedRequestBody<B> {
    pub(super) fn new(body: B, settings: &Settings, memory: &MemoryBound) -> Self {
        let (max_bytes, rate) = (settings.max_bulk_bytes, settings.body_rate());
        Self {
            body,
            read_bytes: 0,
            max_bytes,
            memory: memory.clone(),
            rate,
            pace: Pace::default(),
            pause: None,
        }
    }
}

impl<B: Body<Data = Bytes, Error: Display> + Unpin> StreamedRequestBody<B> {
    fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        loop {
            let piece = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(broken(&error)))),
                Some(Ok(frame)) => frame.into_data(),
            };
            // Trailers say nothing that we need.
            let Ok(piece) = piece else { continue };
            let is_first = self.read_bytes == 0;
            self.read_bytes += piece.len() as u64;
            let fault = self.fault(piece.len(), is_first);
            return Poll::Ready(Some(fault.map_or(Ok(piece), Err)));
        }
    }

    /// Why a piece that has come is the last one.
    fn fault(&mut self, bytes: usize, is_first: bool) -> Option<BodyError> {
        let pause = self.pause.take();
        let waited = pause.map_or(Duration::ZERO, |pause| time_of(&pause, self.rate.span));
        if self.read_bytes > self.max_bytes {
            return Some(too_large(self.max_bytes));
        }
        // Whoever was let in has the first piece; a body without end would go past the bound.
        if !is_first && let Some(message) = self.memory.refuse() {
            return Some(BodyError { status: StatusCode::SERVICE_UNAVAILABLE, message });
        }
        self.pace.is_too_slow(self.rate, waited, bytes, 0).then(|| too_slow(self.rate.bytes_per_s))
    }
}

impl<B: Body<Data = Bytes, Error: Display> + Debug + Unpin> RequestBody for StreamedRequestBody<B> {
    fn try_next(&mut self) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.poll_body(&mut Context::from_waker(std::task::Waker::noop()))
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Poll::Ready(piece) = self.poll_body(context) {
            self.pause = None;
            return Poll::Ready(piece);
        }
        let timeout = self.rate.span;
        let pause = self.pause.get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        ready!(pause.as_mut().poll(context));
        Poll::Ready(Some(Err(too_late(timeout))))
    }
}

fn too_slow(bytes_per_s: u64) -> BodyError {
    let message = format!("the body came at less than {bytes_per_s} bytes a second (min_rate_bytes)");
    BodyError { status: StatusCode::REQUEST_TIMEOUT, message }
}

fn too_late(timeout: Duration) -> BodyError {
    let message = format!("nothing came for {} ms (body_timeout_ms)", timeout.as_millis());
    BodyError { status: StatusCode::REQUEST_TIMEOUT, message }
}

fn too_large(limit: u64) -> BodyError {
    let message = format!("the body is over the limit of {limit} bytes (max_bulk_bytes)");
    BodyError { status: StatusCode::PAYLOAD_TOO_LARGE, message }
}

#[cfg(test)]
mod tests {
    use std::{convert::Infallible, iter};

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    use super::*;

    /// What comes of a body of three pieces.
    fn read(max_memory_bytes: u64) -> Vec<Result<Bytes, BodyError>> {
        let pieces =
            ["a", "b", "c"].map(|text| Ok::<_, Infallible>(Frame::data(Bytes::from_static(text.as_bytes()))));
        let memory = MemoryBound::start(Some(max_memory_bytes));
        let body = StreamBody::new(stream::iter(pieces));
        let mut body = StreamedRequestBody::new(body, &Settings::default(), &memory);
        let next = || match body.try_next() {
            Poll::Ready(piece) => piece,
            Poll::Pending => panic!("all of it is here"),
        };
        iter::from_fn(next).take(4).collect()
    }

    #[test]
    fn a_body_that_has_begun_ends_at_the_bound_of_memory() {
        assert_eq!(
            read(0).into_iter().collect::<Result<Vec<_>, _>>(),
            Ok(["a", "b", "c"].map(Bytes::from).to_vec())
        );
        let at_the_bound = read(1);
        assert_eq!(at_the_bound[0], Ok(Bytes::from("a")), "the request was let in");
        let refused = at_the_bound[1].as_ref().expect_err("the process holds more than a byte");
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.message.contains("(max_memory_bytes): try again"), "{refused:?}");
    }
}
