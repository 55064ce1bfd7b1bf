//! Reads that are told to nobody before all that they may have seen is durable. A read is made at once and without a lock; how far the log
//! must have come is known when it ends, and what was read is kept back until then.
//!
//! It costs a read some loads of one cache line. It waits for nothing where nothing is pending.

use crate::commit::{CommitQueue, Logged, Queue};
use crate::error::LogError;
use crate::positions::WriteMark;
use crate::ticket::Ticket;

/// A read that has begun.
#[derive(Debug, Clone, Copy)]
pub struct BegunRead {
    taken_back: u64,
    failures: u64,
}

/// Something was taken back while a read was made, which may have seen it: it is to be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overtaken;

/// What stands between a read and those who are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadFence {
    /// No later write was seen.
    ticket: Ticket,
    /// How often the log had failed when the read began.
    failures: u64,
}

impl ReadFence {
    /// The write that has to be settled.
    pub const fn ticket(self) -> Ticket {
        self.ticket
    }

    /// That of both reads.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { ticket: self.ticket.max(other.ticket), failures: self.failures.min(other.failures) }
    }
}

impl<S: Logged> CommitQueue<S> {
    /// What tells readers of the next write, for whoever holds the lock and is about to make it.
    pub fn begin_write(&self, queue: &Queue<S>) -> WriteMark<'_> {
        let next = queue.ticket + u64::from(!self.is_acknowledged_at_once(queue));
        self.positions.begin_write(Ticket(next))
    }

    /// To be called before anything is read.
    pub fn begin_read(&self) -> BegunRead {
        // In this order, as `Positions::fail` counts them in the other one.
        let taken_back = self.positions.taken_back();
        BegunRead { taken_back, failures: self.positions.failures() }
    }

    /// What was read since it began has seen no more than stands behind the fence. Waits for a write that is being made at this moment, as
    /// other writes do.
    ///
    /// # Errors
    /// Something was taken back meanwhile.
    pub fn end_read(&self, begun: BegunRead) -> Result<ReadFence, Overtaken> {
        self.end_read_of(begun, || None)
    }

    /// As [`Self::end_read`], where it may be known what was looked at: `changed` gives the last write that has changed any of it, or a later
    /// one, and none where that is not known. Then nothing but that write is waited for, and those before it.
    ///
    /// # Errors
    /// As there.
    pub fn end_read_of(
        &self,
        begun: BegunRead,
        changed: impl FnOnce() -> Option<Ticket>,
    ) -> Result<ReadFence, Overtaken> {
        let ticket = self.positions.last_seen(changed).unwrap_or_else(|| self.last_seen_locked());
        if self.positions.taken_back() != begun.taken_back {
            return Err(Overtaken);
        }
        Ok(ReadFence { ticket, failures: begun.failures })
    }

    /// As [`Self::end_read`], for a write that was refused: with the log's lock it has seen nothing that was taken back but its own.
    pub fn end_refused(&self, begun: BegunRead) -> ReadFence {
        let last_seen = self.positions.last_seen(|| None);
        ReadFence { ticket: last_seen.unwrap_or_else(|| self.last_seen_locked()), failures: begun.failures }
    }

    /// Reads while nothing is written: all writers wait, so that this is for what is short.
    pub fn read_alone<T>(&self, read: impl FnOnce() -> T) -> (T, ReadFence) {
        let _queue = self.lock();
        let failures = self.positions.failures();
        let read = read();
        (read, ReadFence { ticket: self.positions.last_seen_locked(), failures })
    }

    fn last_seen_locked(&self) -> Ticket {
        let _queue = self.lock();
        self.positions.last_seen_locked()
    }

    /// What has become of all that a read may have seen; none while that is not known: those who [watch](Self::watchers) are told of it after
    /// this says so. An error also where the log has failed since the read began and it is not known whether that concerns it.
    pub fn outcome(&self, fence: ReadFence) -> Option<Result<(), LogError>> {
        // First, as what was taken back counts as settled behind its failure.
        let is_settled = self.positions.is_settled(fence.ticket);
        if self.positions.failures() != fence.failures {
            let failure = self.lock().last_failure.clone();
            return Some(Err(failure.unwrap_or(LogError::Closed)));
        }
        is_settled.then_some(Ok(()))
    }
}
