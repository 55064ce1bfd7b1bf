//! A request of a user on its way: whose it is, how it is counted, and by what its program knows it.

use crate::users::UserIndex;
use prony_client::RequestId;
use prony_model::Nanos;
use prony_model::program::call::AskId;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Whose request it is, and how it is counted.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) user: UserIndex,
    /// Under which it is counted.
    pub(super) request: usize,
    pub(super) scheduled: Nanos,
    pub(super) purpose: Purpose,
}

#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// A request of a step, whose response the program judges.
    Step { bytes_sent: u64 },
    /// A call of a waiting program; the statuses that count as a success, where it is counted.
    Call { id: AskId, is_counted: bool, expects: Option<Arc<[RangeInclusive<u16>]>> },
    /// A WebSocket of a waiting program; it is not counted.
    WebSocket { id: AskId },
    /// The connection of a channel of a waiting program; it is not counted.
    Channel { id: AskId },
    /// A stream over a channel of a waiting program; the field with which it counts as a success, where it is counted.
    Stream { id: AskId, is_counted: bool, expects: Option<(&'static str, &'static str)> },
}

/// Something that a user's program has asked for and not heard the end of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    pub(super) id: AskId,
    pub(super) request: RequestId,
    /// WebSockets and channels are not counted.
    pub(super) is_counted: bool,
    /// It goes on when the user's iteration ends.
    pub(super) outlives_iteration: bool,
}
