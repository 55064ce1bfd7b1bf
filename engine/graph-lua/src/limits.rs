//! What a script may use, and what notices that it has.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// The most bytes of a script: to compile it cannot be interrupted, and takes at worst the square of its length.
pub const SCRIPT_BYTES_MAX: usize = 256 << 10;
/// What the thread that runs scripts needs for its stack: Lua bounds the depth of its own calls, and functions that call back into
/// Lua are as deep as that at most.
pub const STACK_BYTES: usize = 32 << 20;

/// What one script may use.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Of Lua's values; and once more of the reply to a call.
    pub memory_bytes: usize,
    /// Of its result.
    pub result_bytes: usize,
    /// How long it may take, and when that is over; none where it may take any time.
    pub time: Option<(Duration, Instant)>,
    /// Set when nobody waits for it any more.
    pub is_cancelled: Arc<AtomicBool>,
}

/// Why a script is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Stop {
    #[error("it takes longer than {} ms (statement_timeout_ms)", .0.as_millis())]
    Time(Duration),
    #[error("nobody waits for it any more")]
    Cancelled,
}

impl Limits {
    /// Whether a script may go on.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(Stop::Cancelled);
        }
        match self.time {
            Some((time, end)) if Instant::now() >= end => Err(Stop::Time(time)),
            _ => Ok(()),
        }
    }
}
