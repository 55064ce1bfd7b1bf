//! Responses of any length: the first part of their body is made at once, and the rest as the client takes it, with others of
//! the core going first in between.
//!
//! Nothing is held of the graph between two parts: writers free what they replace while a client reads slowly. A response
//! whose graph is changed while it is sent has what was there all the time once, and what came or went perhaps.

use bytes::Bytes;
use futures_util::stream;
use prony_source::http_api::ResponseStream;

/// Slots that are visited in one go: well below a millisecond, or a few where they are far apart in memory.
pub(super) const SLICE_VISITS: usize = 4096;
/// A part of a body ends with the member that makes it as long.
const SLICE_BYTES: usize = 64 << 10;

/// A body that is being written.
pub(super) trait LongBody {
    /// Writes the next part, which may be empty; true where there may be more.
    async fn write_slice(&mut self, out: &mut Vec<u8>) -> bool;
}

pub(super) fn is_full(out: &[u8]) -> bool {
    out.len() >= SLICE_BYTES
}

/// What is not written yet. To be polled on a core's thread.
pub(super) fn of(body: impl LongBody + 'static) -> ResponseStream {
    Box::pin(stream::unfold(Some(body), async |rest| {
        let mut rest = rest?;
        loop {
            tokio::task::yield_now().await;
            let mut slice = Vec::new();
            let has_more = rest.write_slice(&mut slice).await;
            match (slice.is_empty(), has_more) {
                (false, _) => return Some((Bytes::from(slice), has_more.then_some(rest))),
                (true, true) => {}
                (true, false) => return None,
            }
        }
    }))
}
