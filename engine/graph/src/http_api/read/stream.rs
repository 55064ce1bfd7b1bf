//! Responses of any length: the first part of their body is made at once, and the rest as the client takes it, with others of
//! the core going first in between.
//!
//! Nothing is held of the graph between two parts: writers free what they replace while a client reads slowly. A response
//! whose graph is changed while it is sent has what was there all the time once, and what came or went perhaps.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use prony_source::http_api::ResponseStream;

use super::{list::List, neighborhood::LargeNeighborhood};

/// Slots that are visited in one go: well below a millisecond, or a few where they are far apart in memory.
pub(super) const SLICE_VISITS: usize = 4096;
/// A part of a body ends with the member that makes it as long.
const SLICE_BYTES: usize = 64 << 10;

/// What is being written.
#[derive(Debug)]
pub(super) enum LongBody {
    List(List),
    Neighborhood(LargeNeighborhood),
}

pub(super) fn is_full(out: &[u8]) -> bool {
    out.len() >= SLICE_BYTES
}

impl LongBody {
    async fn next_slice(&mut self) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let has_more = match self {
            Self::List(list) => {
                let database = Arc::clone(&list.database);
                list.write_slice(&database.store.read(), &mut out)
            }
            Self::Neighborhood(neighborhood) => neighborhood.write_slice(&mut out).await,
        };
        (out, has_more)
    }

    /// What is not written yet. To be polled on a core's thread.
    pub(super) fn into_stream(self) -> ResponseStream {
        Box::pin(stream::unfold(Some(self), async |rest| {
            let mut rest = rest?;
            loop {
                tokio::task::yield_now().await;
                let (slice, has_more) = rest.next_slice().await;
                match (slice.is_empty(), has_more) {
                    (false, _) => return Some((Bytes::from(slice), has_more.then_some(rest))),
                    (true, true) => {}
                    (true, false) => return None,
                }
            }
        }))
    }
}
