//! A stream of pages as server-sent events: who is slow misses some, and is never waited for.

use crate::state::{Drawn, Shared};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Something is sent at least so often, so that a reader that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// A reader that has taken nothing for so long is let go.
pub(crate) const SLOW: Duration = Duration::from_secs(15);
/// Pages that are open at the same time.
pub(crate) const READERS_MAX: usize = 8;
/// A browser that has lost the stream tries again after so many milliseconds.
const RETRY: &[u8] = b"retry: 1000\n\n";

/// Counts a reader from the stream's beginning to the end of its connection, by when all of it has been handed over.
#[derive(Debug)]
pub(crate) struct Reader {
    shared: Arc<Shared>,
    /// When the connection last had room for more.
    pub(crate) taken: Cell<Instant>,
}

impl Reader {
    /// None where there are too many.
    pub(crate) fn admit(shared: &Arc<Shared>) -> Option<Rc<Self>> {
        let admitted = shared
            .readers
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                (count < READERS_MAX).then_some(count + 1)
            })
            .is_ok();
        admitted.then(|| Rc::new(Self { shared: Arc::clone(shared), taken: Cell::new(Instant::now()) }))
    }

    pub(crate) fn is_slow(&self) -> bool {
        self.taken.get().elapsed() > SLOW
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

enum Stage {
    Begin,
    Going,
    Ended,
}

/// The page as it is, then each time that it is drawn anew.
pub(crate) fn events(reader: Rc<Reader>) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let pages = reader.shared.drawn.subscribe();
    stream::unfold((reader, pages, Stage::Begin), |(reader, mut pages, stage)| async move {
        reader.taken.set(Instant::now());
        let (bytes, stage) = match stage {
            Stage::Ended => return None,
            Stage::Begin => {
                pages.mark_changed();
                (Bytes::from_static(RETRY), Stage::Going)
            }
            Stage::Going => next(&mut pages).await,
        };
        reader.taken.set(Instant::now());
        Some((Ok(bytes), (reader, pages, stage)))
    })
}

async fn next(pages: &mut watch::Receiver<Drawn>) -> (Bytes, Stage) {
    match tokio::time::timeout(KEEP_ALIVE, pages.changed()).await {
        // Nobody draws any more.
        Ok(Err(_)) => (Bytes::new(), Stage::Ended),
        Ok(Ok(())) => {
            let drawn = pages.borrow_and_update();
            (drawn.event.clone(), if drawn.is_last { Stage::Ended } else { Stage::Going })
        }
        Err(_) => (Bytes::from_static(b": the run goes on\n\n"), Stage::Going),
    }
}
