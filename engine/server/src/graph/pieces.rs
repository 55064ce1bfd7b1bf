//! Answers that may be of any length, made piece by piece: what is short goes out whole; the rest of what is not is made
//! by a task of its own as the client takes it, which lets others go first between two slices.
//!
//! Such a task holds no look at the graph between slices: writers free what they replace while a client reads slowly. An
//! answer that is changed while it goes out has what was there all the time once, and what came or went perhaps.

use bytes::Bytes;
use prony_graph_store::Read;
use tokio::sync::mpsc;

use super::{around::Surroundings, list::List};
use crate::http::reply;

/// Slots that are looked at in one go: well below a millisecond, or a few where they are far apart in memory.
pub(super) const SLICE_VISITS: usize = 4096;
/// A piece ends with the member that makes it as long.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that wait for a client that reads slowly; hyper has as many again.
const PIECES_WAITING_MAX: usize = 1;

/// What is being made.
#[derive(Debug)]
pub(super) enum Pieces {
    List(List),
    Around(Surroundings),
}

/// An answer whose first piece is made.
#[derive(Debug)]
pub(super) struct Long {
    pub(super) first: Vec<u8>,
    pub(super) pieces: Pieces,
}

pub(super) fn is_full(out: &[u8]) -> bool {
    out.len() >= PIECE_BYTES
}

impl Pieces {
    /// The first piece, and true where there may be more.
    pub(super) fn begin(&mut self, read: &Read) -> (Vec<u8>, bool) {
        let mut out = Vec::with_capacity(128);
        let has_more = match self {
            Self::List(list) => list.write_slice(read, &mut out),
            // Many were found, so that it never ends with the first.
            Self::Around(_) => true,
        };
        (out, has_more)
    }

    async fn next(&mut self) -> (Vec<u8>, bool) {
        let mut out = Vec::new();
        let has_more = match self {
            Self::List(list) => {
                let database = std::sync::Arc::clone(&list.database);
                list.write_slice(&database.store.read(), &mut out)
            }
            Self::Around(surroundings) => surroundings.write_slice(&mut out).await,
        };
        (out, has_more)
    }
}

impl Long {
    /// Call it on a core's thread, inside its `LocalSet`.
    pub(super) fn into_body(self) -> reply::Pieces {
        let (sender, receiver) = mpsc::channel(PIECES_WAITING_MAX);
        tokio::task::spawn_local(async move {
            let Self { first, mut pieces } = self;
            // A client that has gone away takes no more.
            if !first.is_empty() && sender.send(Bytes::from(first)).await.is_err() {
                return;
            }
            loop {
                let (piece, has_more) = tokio::select! {
                    made = pieces.next() => made,
                    () = sender.closed() => return,
                };
                let is_taken = piece.is_empty() || sender.send(Bytes::from(piece)).await.is_ok();
                if !has_more || !is_taken {
                    return;
                }
                tokio::task::yield_now().await;
            }
        });
        reply::Pieces::new(receiver)
    }
}
