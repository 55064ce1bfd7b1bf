//! Tickets: a write's place in the order in which writes become durable. Cheaper than a call for each, where one thread
//! has many writes that wait: it is told once for all of them.

use crate::error::LogError;

/// A write's place; later writes have greater ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub(crate) u64);

impl Ticket {
    /// Before all writes: what waits for nothing.
    pub const SETTLED: Self = Self(0);

    pub const fn number(self) -> u64 {
        self.0
    }

    /// The ticket that gave this [number](Self::number).
    pub const fn of_number(number: u64) -> Self {
        Self(number)
    }
}

/// What has become of all writes up to one that were not settled before.
#[derive(Debug, Clone)]
pub struct Settled {
    pub up_to: Ticket,
    /// An error where they were taken back.
    pub outcome: Result<(), LogError>,
}
