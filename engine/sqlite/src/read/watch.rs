//! Ends statements that take too long or that nobody waits for: SQLite asks a connection's watch every few
//! thousand instructions, the row writers between rows.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use prony_source::threads::{YIELD_EVERY, yield_processor};

use crate::statement::pace::{INLINE_BUDGET, INLINE_BUDGET_WALL, thread_time};

/// Instructions of SQLite's virtual machine between two looks at the clock: some tens of microseconds.
pub(crate) const INSTRUCTIONS_PER_CHECK: i32 = 2000;

/// Bytes of text that are searched between two looks at the clock: some tens of microseconds.
const SEARCHED_BYTES_PER_CHECK: usize = 64 * 1024;

/// Why a statement was interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The inline budget is used up; the statement may run elsewhere.
    Budget,
    /// The statement's time limit has passed.
    Timeout,
    /// Nobody waits for the answer any more.
    Cancelled,
}

/// Set when the one who waits for an answer is gone.
pub(crate) type Cancelled = Arc<AtomicBool>;

/// The limits of what a connection is doing now. Used by one thread; `Sync` only because SQLite's callback
/// must be `Send`.
#[derive(Debug)]
pub(crate) struct Watch {
    base: Instant,
    /// Nanoseconds since `base`; `u64::MAX` for none.
    timeout_at_ns: AtomicU64,
    budget_at_ns: AtomicU64,
    /// Processor time of the thread when the work began.
    thread_started_ns: AtomicU64,
    cancelled: Mutex<Option<Cancelled>>,
    reason: AtomicU8,
    /// When others of the processor are let go first.
    yield_at_ns: AtomicU64,
    /// Since the clock was last looked at.
    searched_bytes: AtomicUsize,
}

impl Watch {
    pub(crate) fn new() -> Self {
        Self {
            base: Instant::now(),
            timeout_at_ns: AtomicU64::new(u64::MAX),
            budget_at_ns: AtomicU64::new(u64::MAX),
            thread_started_ns: AtomicU64::new(0),
            cancelled: Mutex::new(None),
            reason: AtomicU8::new(0),
            yield_at_ns: AtomicU64::new(0),
            searched_bytes: AtomicUsize::new(0),
        }
    }

    /// Begins work on the core's own thread: short, or to be done elsewhere.
    pub(crate) fn start_inline(&self) {
        self.start(None, self.now_ns() + INLINE_BUDGET.as_nanos() as u64, None);
        self.thread_started_ns.store(u64::MAX, Relaxed);
    }

    /// Begins work on a thread that may block.
    pub(crate) fn start_blocking(&self, deadline: Instant, cancelled: Option<Cancelled>) {
        self.start(Some(deadline), u64::MAX, cancelled);
    }

    /// No limits any more.
    pub(crate) fn stop(&self) {
        self.start(None, u64::MAX, None);
    }

    fn start(&self, deadline: Option<Instant>, budget_at_ns: u64, cancelled: Option<Cancelled>) {
        let timeout =
            deadline.map_or(u64::MAX, |at| at.saturating_duration_since(self.base).as_nanos() as u64);
        self.timeout_at_ns.store(timeout, Relaxed);
        self.budget_at_ns.store(budget_at_ns, Relaxed);
        self.reason.store(0, Relaxed);
        *self.cancelled.lock().unwrap_or_else(PoisonError::into_inner) = cancelled;
    }

    /// Whether the work is on a core's own thread.
    pub(crate) fn is_inline(&self) -> bool {
        self.budget_at_ns.load(Relaxed) != u64::MAX
    }

    /// Whether the work must end now; remembers why.
    pub(crate) fn expired(&self) -> bool {
        let now = self.now_ns();
        if now >= self.timeout_at_ns.load(Relaxed) {
            return self.expire(Interruption::Timeout);
        }
        if now >= self.budget_at_ns.load(Relaxed) && self.budget_is_used(now) {
            return self.expire(Interruption::Budget);
        }
        if !self.is_inline() && now >= self.yield_at_ns.load(Relaxed) {
            yield_processor();
            self.yield_at_ns.store(now + YIELD_EVERY.as_nanos() as u64, Relaxed);
        }
        let cancelled = self.cancelled.lock().unwrap_or_else(PoisonError::into_inner);
        if cancelled.as_ref().is_some_and(|flag| flag.load(Relaxed)) {
            return self.expire(Interruption::Cancelled);
        }
        false
    }

    /// Whether the work must end, now that so many bytes more are searched.
    pub(crate) fn expired_by(&self, bytes: usize) -> bool {
        let searched = self.searched_bytes.load(Relaxed).saturating_add(bytes);
        let is_due = searched >= SEARCHED_BYTES_PER_CHECK;
        self.searched_bytes.store(if is_due { 0 } else { searched }, Relaxed);
        is_due && self.expired()
    }

    /// Looks at the thread's processor time only when the clock on the wall says so: that takes a system call.
    fn budget_is_used(&self, now: u64) -> bool {
        if now >= self.budget_at_ns.load(Relaxed).saturating_add(INLINE_BUDGET_WALL.as_nanos() as u64) {
            return true;
        }
        let spent = thread_time().as_nanos() as u64;
        let started = self.thread_started_ns.load(Relaxed);
        if started == u64::MAX {
            // First look: whoever kept the thread from running has done so before; half a budget is left.
            self.thread_started_ns.store(spent, Relaxed);
            return false;
        }
        spent.saturating_sub(started) >= INLINE_BUDGET.as_nanos() as u64 / 2
    }

    fn expire(&self, reason: Interruption) -> bool {
        self.reason.store(reason as u8 + 1, Relaxed);
        true
    }

    /// Why the work ended; `None` when something else interrupted it.
    pub(crate) fn reason(&self) -> Option<Interruption> {
        match self.reason.load(Relaxed) {
            1 => Some(Interruption::Budget),
            2 => Some(Interruption::Timeout),
            3 => Some(Interruption::Cancelled),
            _ => None,
        }
    }

    fn now_ns(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }
}
