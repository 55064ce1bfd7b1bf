//! What the threads of a run know of each other's open models: how many users are free on each, starts that wait for any user,
//! and starts that one thread hands over to another. It does not decide who takes a start; [`super::arrivals`] does.
//!
//! In the usual case a thread claims a user of its own: one atomic operation on a cache line that no other thread touches.
//! Only a start for which its thread has no free user looks at the others.

use prony_model::Nanos;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// So many starts wait at most, in all scenarios together: 64 MB. As wrk2 has it a start may wait as long as the run lasts, and a target
/// that hangs would fill all memory with them.
const WAITING_MAX: usize = 8 << 20;

/// `first_waiting` where no start waits.
const NONE: u64 = u64::MAX;

/// Shared by all threads of a run.
#[derive(Debug)]
pub(crate) struct StartExchange {
    scenarios: Box<[ScenarioStarts]>,
    threads: Box<[ThreadStarts]>,
    /// Of a scenario.
    waiting_max: usize,
}

/// A start that was claimed a user of another thread for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HandedStart {
    pub(super) scenario: usize,
    pub(super) due: Nanos,
    /// No user was free anywhere when it was due.
    pub(super) has_waited: bool,
    pub(super) readiness: Readiness,
}

/// Whether a user that serves starts is made already. One that is not serves a start only where no ready one is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readiness {
    Ready,
    Unready,
}

/// Two values that different threads write must not share a cache line; processors fetch lines of 64 bytes in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Padded<T>(T);

#[derive(Debug)]
struct ScenarioStarts {
    /// When the first of the starts that wait was due. Read at the end of each iteration, written only while starts wait.
    first_waiting: Padded<AtomicU64>,
    /// Due times of starts that found no user free on any thread, in order. Those that have waited too long are dropped, and so are
    /// those for which it has no room.
    waiting: Mutex<VecDeque<Nanos>>,
    /// On all threads; those that have left for good are not among them.
    users: AtomicU32,
    /// Threads that have starts to come.
    threads_with_starts: AtomicU32,
}

#[derive(Debug, Default)]
struct FreeUsers {
    ready: AtomicU32,
    unready: AtomicU32,
}

#[derive(Debug)]
struct ThreadStarts {
    /// By scenario: free users of the thread that nobody has claimed, and those among them that are not ready.
    free: Box<[Padded<FreeUsers>]>,
    /// No more than the thread has users, since one is claimed for each.
    handed: Mutex<VecDeque<HandedStart>>,
    has_handed: Padded<AtomicBool>,
    /// The thread takes no more starts from others. Written under the lock of `handed`.
    is_closed: AtomicBool,
    wake: Wake,
}

/// Wakes a thread that waits for its sockets.
#[derive(Default)]
struct Wake(OnceLock<Box<dyn Fn() + Send + Sync>>);

impl fmt::Debug for Wake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wake").finish_non_exhaustive()
    }
}

impl StartExchange {
    /// `users`: of each scenario.
    pub(crate) fn new(users: impl Iterator<Item = u32>, threads: u32) -> Self {
        let scenarios: Box<[_]> = users.map(|users| ScenarioStarts::new(users, threads)).collect();
        let threads = (0..threads).map(|_| ThreadStarts::new(scenarios.len())).collect();
        let waiting_max = WAITING_MAX / scenarios.len().max(1);
        Self { scenarios, threads, waiting_max }
    }

    #[cfg(test)]
    pub(super) fn with_waiting_max(self, waiting_max: usize) -> Self {
        Self { waiting_max, ..self }
    }

    /// How a thread is woken when a start is handed over to it.
    pub(crate) fn set_wake(&self, thread: u32, wake: impl Fn() + Send + Sync + 'static) {
        // A thread sets its own once, before the run begins.
        let _ = self.thread(thread).wake.0.set(Box::new(wake));
    }

    fn thread(&self, thread: u32) -> &ThreadStarts {
        &self.threads[thread as usize]
    }

    fn free(&self, thread: u32, scenario: usize, readiness: Readiness) -> &AtomicU32 {
        let FreeUsers { ready, unready } = &self.thread(thread).free[scenario].0;
        match readiness {
            Readiness::Ready => ready,
            Readiness::Unready => unready,
        }
    }

    // ---- free users

    /// A user of this thread is free.
    pub(super) fn release(&self, thread: u32, scenario: usize, readiness: Readiness) {
        // Ordered with `wait` and `has_waiting`: a start that begins to wait sees this user, or its thread sees the start.
        self.free(thread, scenario, readiness).fetch_add(1, Ordering::SeqCst);
    }

    /// Takes one of the thread's free users, if it has any.
    pub(super) fn claim(&self, thread: u32, scenario: usize, readiness: Readiness) -> bool {
        let free = self.free(thread, scenario, readiness);
        free.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |free| free.checked_sub(1)).is_ok()
    }

    /// Takes a free user of any other thread: of those that keep up with what they are given, the one that has most.
    pub(super) fn claim_elsewhere(&self, thread: u32, scenario: usize, readiness: Readiness) -> Option<u32> {
        let free_on = |other| self.free(other, scenario, readiness).load(Ordering::SeqCst);
        loop {
            let others = (0..self.threads.len() as u32).filter(|other| *other != thread);
            let with_free = others.filter(|other| free_on(*other) > 0);
            let best =
                with_free.max_by_key(|other| (!self.has_handed(*other), free_on(*other), Reverse(*other)));
            let other = best?;
            if self.claim(other, scenario, readiness) {
                return Some(other);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn free_on(&self, thread: u32, scenario: usize) -> u32 {
        let counts =
            [Readiness::Ready, Readiness::Unready].map(|readiness| self.free(thread, scenario, readiness));
        counts.map(|count| count.load(Ordering::SeqCst)).iter().sum()
    }

    /// A user has left for good.
    pub(super) fn user_left(&self, scenario: usize) {
        self.scenarios[scenario].users.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn has_users(&self, scenario: usize) -> bool {
        self.scenarios[scenario].users.load(Ordering::Relaxed) > 0
    }

    // ---- starts that wait

    /// A start waits from now on; false where as many wait as may.
    pub(super) fn wait(&self, scenario: usize, due: Nanos) -> bool {
        self.scenarios[scenario].change_waiting(|waiting| {
            let has_room = waiting.len() < self.waiting_max;
            if has_room {
                insert_in_order(waiting, due);
            }
            has_room
        })
    }

    /// A start that has waited and was taken for a user that is gone waits again.
    pub(super) fn wait_again(&self, scenario: usize, due: Nanos) {
        self.scenarios[scenario].change_waiting(|waiting| insert_in_order(waiting, due));
    }

    pub(super) fn has_waiting(&self, scenario: usize) -> bool {
        self.scenarios[scenario].first_waiting.0.load(Ordering::SeqCst) != NONE
    }

    /// The start that was due first of those that wait.
    pub(super) fn take_waiting(&self, scenario: usize) -> Option<Nanos> {
        if !self.has_waiting(scenario) {
            return None;
        }
        self.scenarios[scenario].change_waiting(VecDeque::pop_front)
    }

    /// The next of the starts that wait and were due before this moment.
    pub(super) fn take_expired(&self, scenario: usize, before: Nanos) -> Option<Nanos> {
        let scenario = &self.scenarios[scenario];
        if scenario.first_waiting.0.load(Ordering::Relaxed) >= before.0 {
            return None;
        }
        scenario.change_waiting(|waiting| {
            waiting.front().filter(|due| **due < before)?;
            waiting.pop_front()
        })
    }

    // ---- starts that are handed over

    /// Gives a start to a thread of which a user was claimed for it; false where that thread takes no more.
    pub(super) fn hand_over(&self, thread: u32, start: HandedStart) -> bool {
        let to = self.thread(thread);
        let mut handed = to.lock();
        if to.is_closed.load(Ordering::Relaxed) {
            return false;
        }
        handed.push_back(start);
        let is_awake = to.has_handed.0.swap(true, Ordering::AcqRel);
        drop(handed);
        // One that has not taken the start before this one will find both.
        if !is_awake {
            self.wake(thread);
        }
        true
    }

    pub(super) fn has_handed(&self, thread: u32) -> bool {
        self.thread(thread).has_handed.0.load(Ordering::Acquire)
    }

    /// The next start that others have given to this thread, in the order in which they did.
    pub(super) fn take_handed(&self, thread: u32) -> Option<HandedStart> {
        if !self.has_handed(thread) {
            return None;
        }
        let own = self.thread(thread);
        let mut handed = own.lock();
        let start = handed.pop_front();
        own.has_handed.0.store(!handed.is_empty(), Ordering::Release);
        start
    }

    /// The thread takes no more starts from others, and has no free users for them: returns those that it has not taken.
    pub(super) fn close(&self, thread: u32) -> VecDeque<HandedStart> {
        let own = self.thread(thread);
        let mut handed = own.lock();
        own.is_closed.store(true, Ordering::Relaxed);
        for Padded(FreeUsers { ready, unready }) in &own.free {
            ready.store(0, Ordering::SeqCst);
            unready.store(0, Ordering::SeqCst);
        }
        own.has_handed.0.store(false, Ordering::Release);
        std::mem::take(&mut handed)
    }

    // ---- the end

    /// This thread has no more starts of a scenario.
    pub(super) fn starts_over(&self, scenario: usize) {
        let threads = &self.scenarios[scenario].threads_with_starts;
        if threads.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Some may wait for nothing but that.
            (0..self.threads.len() as u32).for_each(|thread| self.wake(thread));
        }
    }

    /// True where no thread has starts to come.
    pub(super) fn has_no_starts(&self, scenario: usize) -> bool {
        self.scenarios[scenario].threads_with_starts.load(Ordering::Acquire) == 0
    }

    fn wake(&self, thread: u32) {
        if let Some(wake) = self.thread(thread).wake.0.get() {
            wake();
        }
    }
}

impl ScenarioStarts {
    fn new(users: u32, threads: u32) -> Self {
        Self {
            first_waiting: Padded(AtomicU64::new(NONE)),
            waiting: Mutex::default(),
            users: AtomicU32::new(users),
            threads_with_starts: AtomicU32::new(threads),
        }
    }

    fn change_waiting<T>(&self, change: impl FnOnce(&mut VecDeque<Nanos>) -> T) -> T {
        // Each change is one step: a thread that panicked leaves nothing half done.
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut waiting);
        let first = waiting.front().map_or(NONE, |due| due.0);
        self.first_waiting.0.store(first, Ordering::SeqCst);
        changed
    }
}

fn insert_in_order(waiting: &mut VecDeque<Nanos>, due: Nanos) {
    // Only a thread that was held up comes with a start that was due before others.
    let at = match waiting.back() {
        Some(last) if *last > due => waiting.partition_point(|before| *before <= due),
        _ => waiting.len(),
    };
    waiting.insert(at, due);
}

impl ThreadStarts {
    fn new(scenarios: usize) -> Self {
        Self {
            free: (0..scenarios).map(|_| Padded::default()).collect(),
            handed: Mutex::default(),
            has_handed: Padded::default(),
            is_closed: AtomicBool::new(false),
            wake: Wake::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<HandedStart>> {
        // Each change is one step: a thread that panicked leaves nothing half done.
        self.handed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
