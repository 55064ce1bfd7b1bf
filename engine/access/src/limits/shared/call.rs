//! What a server asks of the store in which limits are shared, and what that responds.

use crate::limits::rate::RateLimit;

/// The bound of a limit, as the store holds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedBound {
    Rate(RateLimit),
    /// So many until the window ends (Unix seconds).
    Quota {
        most: u64,
        ends_at: i64,
    },
}

/// What is asked of the store for one key of one limit, in this order: units that were not used come back, and others are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreCall {
    /// For who has asked.
    pub(crate) id: u64,
    /// Of the limit and the key; a quota's counts of different windows have it too.
    pub key: [u8; 16],
    pub bound: SharedBound,
    /// Units that were taken ahead and are given back.
    pub unused: u64,
    /// Fewer units than so many are of no use.
    pub least: u64,
    /// So many are waited for; 0 where units are only given back.
    pub need: u64,
    /// So many more are wanted, where there is enough for other servers too.
    pub ahead: u64,
}

/// What the store has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreReply {
    /// None, or at least [`StoreCall::least`].
    pub granted: u64,
    /// What others can take now.
    pub left: u64,
    /// After so long there is [`StoreCall::least`], where nobody else takes it; 0 where the store does not know.
    pub wait_ns: u64,
}

/// What has become of who waits for units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// With what is left.
    Taken {
        left: u64,
    },
    Refused {
        wait_ns: u64,
    },
    /// The store could not be asked.
    Unreachable,
}
