//! Which write has changed a node or a relationship last, or has taken a key away: who reads little waits for no writes of others to be durable.
//!
//! What shares a place by its hash shares what is said of it, which is then a later write than the one that is looked for, and never an
//! earlier one. `Memory::stamp` (`apply.rs`) is called before each change, and [`Looked`] keeps what a read has looked at.

use crate::memory::cell::zeroed;
use crate::types::id::Ref;
use prony_log::ticket::Ticket;
use std::array;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// 2 MiB where all are used. With 1,000 nodes that are not durable yet, a read of another one waits once in 260 times.
const PLACES_LOG2: u32 = 18;
/// Places that a read keeps before it looks them up.
const KEPT: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Stamps {
    /// Of what all reads look at: the schema, and that the graph was cleared.
    all: AtomicU64,
    places: OnceLock<Box<[AtomicU64]>>,
}

/// Where the stamp of something stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StampPlace(u32);

impl StampPlace {
    pub(crate) const fn of_node(at: Ref) -> Self {
        Self::hashed(at.bits() << 1)
    }

    pub(crate) const fn of_relationship(at: Ref) -> Self {
        Self::hashed(at.bits() << 1 | 1)
    }

    /// That there is no node any more with a key of this hash.
    pub(crate) const fn of_key(hash: u64) -> Self {
        Self::hashed(hash)
    }

    /// Fibonacci hashing (D. Knuth, The Art of Computer Programming, volume 3, section 6.4).
    const fn hashed(word: u64) -> Self {
        Self((word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - PLACES_LOG2)) as u32)
    }
}

impl Stamps {
    pub(super) fn set(&self, at: StampPlace, ticket: Ticket) {
        let places = self.places.get_or_init(|| zeroed(1 << PLACES_LOG2));
        places[at.0 as usize].store(ticket.number(), Relaxed);
    }

    fn get(&self, at: StampPlace) -> u64 {
        self.places.get().map_or(0, |places| places[at.0 as usize].load(Relaxed))
    }

    /// Of everything that is there.
    pub(crate) fn set_all(&self, ticket: Ticket) {
        self.all.store(ticket.number(), Release);
    }
}

/// What a read has looked at so far.
#[derive(Debug)]
pub(crate) struct Looked {
    is_all: Cell<bool>,
    count: Cell<usize>,
    places: [Cell<StampPlace>; KEPT],
    /// The last stamp of those that are no longer kept.
    last: Cell<u64>,
}

impl Default for Looked {
    fn default() -> Self {
        Self {
            is_all: Cell::new(false),
            count: Cell::new(0),
            places: array::from_fn(|_| Cell::default()),
            last: Cell::new(0),
        }
    }
}

impl Looked {
    /// More is looked at than can be told apart.
    pub(crate) fn at_all(&self) {
        self.is_all.set(true);
    }

    /// Called after the place was read: a stamp that is read before that may be older than what was seen.
    pub(crate) fn at(&self, place: StampPlace, stamps: &Stamps) {
        if self.is_all.get() {
            return;
        }
        if self.count.get() == KEPT {
            self.look_up(stamps);
        }
        self.places[self.count.get()].set(place);
        self.count.set(self.count.get() + 1);
    }

    fn look_up(&self, stamps: &Stamps) {
        // Together with the fence of `Memory::stamp`: where a read has loaded what a change has stored, it finds the stamp.
        fence(Acquire);
        let kept = self.places[..self.count.get()].iter().map(|place| stamps.get(place.get()));
        self.last.set(kept.fold(self.last.get(), u64::max));
        self.count.set(0);
    }

    /// The last write that has changed any of what was looked at, or a later one; none where that is not known.
    pub(crate) fn last_changed(&self, stamps: &Stamps) -> Option<Ticket> {
        if self.is_all.get() {
            return None;
        }
        self.look_up(stamps);
        Some(Ticket::of_number(self.last.get().max(stamps.all.load(Acquire))))
    }
}
