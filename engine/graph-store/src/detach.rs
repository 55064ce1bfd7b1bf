//! Drops the relationships of deleted nodes that had too many to drop with them: some at a time, on a thread of its own that is there
//! only as long as there are some, so that other writers wait for none of it longer than for a short turn.
//!
//! The log has the node's deletion first. Where the process ends before all is dropped, a start finds relationships without this node, and
//! goes on.

use crate::memory::Memory;
use crate::snapshot::throttle::{Share, Throttle};
use crate::state::{Shared, operate};
use crate::types::change::Change;
use crate::types::id::Ref;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

/// Always with a rest between two turns, so that those who wait for the store's lock get it.
const SHARE: Share = Share { of_free: 0.75, least: 0.25 };
/// After a turn in which the log could take nothing; doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Detacher {
    shared: Arc<Shared>,
    state: Mutex<State>,
    /// Tells the thread of the end.
    closes: Condvar,
    is_closing: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    thread: Option<JoinHandle<()>>,
    is_running: bool,
    /// Of those who wait until a node is detached.
    wakers: Vec<Waker>,
}

impl Detacher {
    pub(crate) fn new(shared: Arc<Shared>) -> Arc<Self> {
        Arc::new(Self {
            shared,
            state: Mutex::default(),
            closes: Condvar::new(),
            is_closing: AtomicBool::new(false),
        })
    }

    /// Called once a node may have to be detached, also with the store's lock.
    pub(crate) fn start(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.is_running || self.is_closing.load(Ordering::Relaxed) {
            return;
        }
        let detacher = Arc::clone(self);
        let thread = std::thread::Builder::new().name("graph-detach".to_owned());
        // Where there can be no thread now, the next write tries it again.
        if let Ok(thread) = thread.spawn(move || detacher.run()) {
            // The one before has ended, or is about to.
            state.thread = Some(thread);
            state.is_running = true;
        }
    }

    /// What is left to do is done at the next start.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        self.is_closing.store(true, Ordering::Relaxed);
        self.closes.notify_all();
        let thread = state.thread.take();
        drop(state);
        if let Some(thread) = thread {
            // A thread that panicked has said so itself.
            let _ = thread.join();
        }
        self.wake();
    }

    fn run(&self) {
        let mut pause = PAUSE;
        loop {
            let memory = self.shared.state.memory.load_full();
            let Some(node) = memory.detaching.first() else {
                let mut state = self.lock();
                // Looked at again with the lock: whoever adds one starts a thread where none is running.
                if self.shared.state.memory.load().detaching.is_empty() {
                    state.is_running = false;
                    return;
                }
                continue;
            };
            if self.detach(&memory, node) {
                pause = PAUSE;
            } else {
                self.rest(pause);
                pause = (pause * 2).min(PAUSE_MAX);
            }
            self.wake();
            if self.is_closing.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// False where it is to be tried again.
    fn detach(&self, memory: &Arc<Memory>, node: Ref) -> bool {
        let mut relationships = Vec::new();
        // None comes any more: the node is not there for those who write.
        memory.links_of(node, None, &crossbeam_epoch::pin(), |link| relationships.push(link.relationship));
        // A loop is there twice.
        relationships.sort_unstable();
        relationships.dedup();
        let urgency = || 0.0;
        let mut throttle = Throttle::new(SHARE, &urgency);
        let mut left = &relationships[..];
        while !left.is_empty() {
            let Some(done) = self.drop_some(memory, node, left, &mut throttle) else { return false };
            left = &left[done..];
            throttle.rest();
            if self.is_closing.load(Ordering::Relaxed) {
                return false;
            }
        }
        // What is taken back later would have no node, and the node's slot may be filled by then.
        if self.shared.sync_log().is_err() {
            return false;
        }
        let mut queue = self.shared.lock();
        if Arc::ptr_eq(&self.shared.state.memory.load(), memory) && memory.detaching.contains(node) {
            memory.detach(node, &mut queue.writer.state, &crossbeam_epoch::pin());
        }
        drop(queue);
        !memory.detaching.contains(node)
    }

    /// Drops relationships until a rest is due; how many. None where that cannot be done now.
    fn drop_some(
        &self,
        memory: &Arc<Memory>,
        node: Ref,
        relationships: &[Ref],
        throttle: &mut Throttle<'_>,
    ) -> Option<usize> {
        let mut queue = self.shared.lock_with_room();
        let mut done = 0;
        // The graph may have been cleared, or the deletion taken back.
        if !Arc::ptr_eq(&self.shared.state.memory.load(), memory) || !memory.detaching.contains(node) {
            return Some(relationships.len());
        }
        let dropped = operate(&self.shared, &mut queue, |mut pending| {
            for at in relationships {
                done += 1;
                // One that was dropped since may have left its slot to another.
                let ends = memory.relationship(*at, &crossbeam_epoch::pin()).map(|ends| [ends.from, ends.to]);
                if ends.is_some_and(|ends| ends.contains(&node)) {
                    pending.change(memory, &Change::DropRelationship { at: *at });
                }
                if throttle.is_rest_due() {
                    break;
                }
            }
            Ok(())
        });
        let _ = self.shared.next_ticket(&mut queue);
        self.shared.submit(queue);
        dropped.is_ok().then_some(done)
    }

    fn rest(&self, pause: Duration) {
        let state = self.lock();
        if !self.is_closing.load(Ordering::Relaxed) {
            drop(self.closes.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn wake(&self) {
        let wakers = std::mem::take(&mut self.lock().wakers);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ready once the relationships of a deleted node are dropped, and what it took can be taken by others; also where the store is closed.
#[derive(Debug)]
pub struct Detached {
    detacher: Arc<Detacher>,
    node: Ref,
}

impl Detached {
    pub(crate) const fn new(detacher: Arc<Detacher>, node: Ref) -> Self {
        Self { detacher, node }
    }

    /// Whether there is nothing to wait for.
    pub fn is_over(&self) -> bool {
        !self.detacher.shared.state.memory.load().detaching.contains(self.node)
            || self.detacher.is_closing.load(Ordering::Relaxed)
    }
}

impl Future for Detached {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.detacher.lock();
        // With the lock: whoever detaches it looks for wakers afterwards.
        if self.is_over() {
            return Poll::Ready(());
        }
        state.wakers.push(context.waker().clone());
        drop(state);
        // Where a write that cleared the graph was taken back, nobody may be at it.
        self.detacher.start();
        Poll::Pending
    }
}
