//! How far writes have come, for those who read what is written without the log's lock: numbers that tell what a read may have seen, and
//! whether all of that is settled.
//!
//! A writer moves them before it changes anything that readers see, and the log's thread once it has settled writes. What is made of them
//! is in `read_fence.rs`.

use crate::ticket::Ticket;
use std::cell::Cell;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// Each read looks at them, so they share their cache lines with nothing else; two, because processors fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Positions {
    /// Twice the ticket of the last write that readers may have seen; one more while a write is being made.
    seen: AtomicU64,
    /// Writes up to this ticket are settled: as durable as was asked for, or taken back.
    settled: AtomicU64,
    /// How often something was taken back that readers may have seen, be it of a write that was refused or of those that the log could not be
    /// given.
    taken_back: AtomicU64,
    /// How often writes were taken back that the log could not be given.
    failures: AtomicU64,
}

/// A write that is being made, with the log's lock.
#[derive(Debug)]
pub struct WriteMark<'p> {
    positions: &'p Positions,
    ticket: Ticket,
    /// What readers may have seen without it.
    before: u64,
    is_begun: Cell<bool>,
}

impl Positions {
    /// For a write that will have this ticket. Called with the log's lock.
    pub fn begin_write(&self, ticket: Ticket) -> WriteMark<'_> {
        let before = self.seen.load(Relaxed);
        WriteMark { positions: self, ticket, before, is_begun: Cell::new(false) }
    }

    /// The last write that may have been seen by a read that ends here. None while one is being made of which it is not known whether it is
    /// kept: that is known with the log's lock.
    ///
    /// Where it is known what the read has looked at, `changed` gives the last write that has changed any of it, or a later one. It is asked only
    /// while there is something to wait for.
    pub(crate) fn last_seen(&self, changed: impl FnOnce() -> Option<Ticket>) -> Option<Ticket> {
        // Together with the fence of `WriteMark::change`: where a read has loaded what a write has stored, it finds the write's mark here.
        fence(Acquire);
        let seen = self.seen.load(Acquire);
        let (last, is_being_made) = (Ticket(seen / 2), seen & 1 == 1);
        if !is_being_made && self.is_settled(last) {
            return Some(last);
        }
        match changed() {
            Some(changed) if changed < last => Some(changed),
            // One behind the last was not seen: it has begun since, or was refused.
            _ => (!is_being_made).then_some(last),
        }
    }

    /// As [`Self::last_seen`]. Called with the log's lock, so that no write is being made.
    pub(crate) fn last_seen_locked(&self) -> Ticket {
        Ticket(self.seen.load(Acquire) / 2)
    }

    pub(crate) fn is_settled(&self, ticket: Ticket) -> bool {
        self.settled.load(Acquire) >= ticket.0
    }

    /// How often something was taken back that readers may have seen.
    pub fn taken_back(&self) -> u64 {
        self.taken_back.load(Acquire)
    }

    /// How often writes were taken back that the log could not be given.
    pub fn failures(&self) -> u64 {
        self.failures.load(Acquire)
    }

    /// Writes up to this one are as durable as was asked for.
    pub(crate) fn settle(&self, up_to: Ticket) {
        self.settled.store(up_to.0, Release);
    }

    /// Writes up to this one that were not settled were taken back. In this order: who finds them settled finds the failure, and who begins
    /// to read when the failure is counted reads nothing of them.
    pub fn fail(&self, up_to: Ticket) {
        self.failures.fetch_add(1, Release);
        self.taken_back.fetch_add(1, Release);
        self.settle(up_to);
    }
}

impl WriteMark<'_> {
    /// Of the write, where it is kept.
    pub const fn ticket(&self) -> Ticket {
        self.ticket
    }

    /// Called before each change that readers may see.
    pub fn change(&self) {
        if !self.is_begun.replace(true) {
            self.positions.seen.store(2 * self.ticket.0 + 1, Relaxed);
            // Whoever sees a change knows of the mark, however the change is stored.
            fence(Release);
        }
    }

    /// Called behind changes that were taken back, of all that was changed or of a part.
    pub fn take_back(&self) {
        self.positions.taken_back.fetch_add(1, Release);
    }

    /// Whether what was changed is kept, or was all taken back.
    pub fn end(self, is_kept: bool) {
        if self.is_begun.get() {
            let seen = if is_kept { 2 * self.ticket.0 } else { self.before };
            self.positions.seen.store(seen, Release);
        }
    }
}
