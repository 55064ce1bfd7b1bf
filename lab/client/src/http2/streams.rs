//! The streams of one connection: each is a request on its way, and which of them the h2 crate has news of.

use super::upload::Upload;
use h2::RecvStream;
use h2::client::ResponseFuture;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

/// By which its caller knows a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamKey(pub u64);

/// A request that was given to the connection.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) key: StreamKey,
    pub(crate) interest: Interest,
    pub(crate) phase: Phase,
    /// Of a request whose body is sent piece by piece.
    pub(crate) upload: Option<Box<Upload>>,
}

/// How much of an answer is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Its status, when it is whole.
    Status,
    Everything,
}

#[derive(Debug)]
pub(crate) enum Phase {
    AwaitsHead(ResponseFuture),
    Body { status: u16, body: RecvStream },
}

/// Whether a stream has more to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamProgress {
    GoesOn,
    Over,
}

/// Slots are used again, so that their wakers need no new memory.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    slots: Vec<Slot>,
    free: Vec<u32>,
    woken: Arc<Woken>,
    /// Taken from `woken`, and used again.
    batch: Vec<u32>,
}

#[derive(Debug)]
struct Slot {
    stream: Option<Stream>,
    waker: Waker,
}

/// Filled from within the h2 crate, emptied by the connection's loop; one thread does both.
#[derive(Debug, Default)]
struct Woken(Mutex<Vec<u32>>);

#[derive(Debug)]
struct StreamWaker {
    slot: u32,
    woken: Arc<Woken>,
}

impl Wake for StreamWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.0.lock().unwrap_or_else(PoisonError::into_inner).push(self.slot);
    }
}

impl Streams {
    /// Its first poll is due at once: only that makes the h2 crate tell of news.
    pub(crate) fn add(&mut self, stream: Stream) {
        let slot = self.free.pop().unwrap_or_else(|| {
            let slot = self.slots.len() as u32;
            let waker = Waker::from(Arc::new(StreamWaker { slot, woken: Arc::clone(&self.woken) }));
            self.slots.push(Slot { stream: None, waker });
            slot
        });
        let entry = &mut self.slots[slot as usize];
        entry.stream = Some(stream);
        entry.waker.wake_by_ref();
    }

    /// Visits each stream with news.
    pub(crate) fn visit_woken(&mut self, mut visit: impl FnMut(&mut Stream, &Waker) -> StreamProgress) {
        let mut batch = std::mem::take(&mut self.batch);
        std::mem::swap(&mut batch, &mut self.woken.0.lock().unwrap_or_else(PoisonError::into_inner));
        for slot in batch.drain(..) {
            let entry = &mut self.slots[slot as usize];
            // Woken twice, or for a request that was there before.
            let Some(stream) = &mut entry.stream else { continue };
            if visit(stream, &entry.waker) == StreamProgress::Over {
                entry.stream = None;
                self.free.push(slot);
            }
        }
        self.batch = batch;
    }

    /// The body of a stream that is sent piece by piece; it is visited next.
    pub(crate) fn upload(&mut self, key: StreamKey) -> Option<&mut Upload> {
        let is_it = |slot: &&mut Slot| slot.stream.as_ref().is_some_and(|stream| stream.key == key);
        let slot = self.slots.iter_mut().find(is_it)?;
        slot.waker.wake_by_ref();
        slot.stream.as_mut()?.upload.as_deref_mut()
    }

    /// Drops a stream, which resets it. False where it has none.
    pub(crate) fn cancel(&mut self, key: StreamKey) -> bool {
        let is_it = |slot: &Slot| slot.stream.as_ref().is_some_and(|stream| stream.key == key);
        let Some(slot) = self.slots.iter().position(is_it) else { return false };
        self.slots[slot].stream = None;
        self.free.push(slot as u32);
        true
    }

    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = Stream> + '_ {
        self.free.clear();
        self.slots.drain(..).filter_map(|slot| slot.stream)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

/// Whether the connection has something to do besides what events tell of, such as a window to open.
#[derive(Debug, Default)]
pub(crate) struct ConnectionWaker(AtomicBool);

impl ConnectionWaker {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Wake for ConnectionWaker {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}
