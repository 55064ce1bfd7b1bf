//! What is done with the graph in memory while its changes become durable, or do not.

use crate::error::Refusal;
use crate::events::{self, Listener};
use crate::memory::Memory;
use crate::writer::{Changes, PendingWrite, Writer, only_removes};
use arc_swap::ArcSwap;
use prony_log::commit::{Batch, CommitQueue, Logged, Queue, Waiter};
use prony_log::frames::LOG_FRAME_HEAD_BYTES;
use prony_log::register::Register;
use prony_log::reserve::{RESERVE_BYTES_MIN, Reserve};
use prony_log::trigger::LengthTrigger;
use std::path::Path;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the store, its writers and the log's thread share.
pub(crate) type Shared = CommitQueue<GraphState>;

#[derive(Debug)]
pub(crate) struct GraphState {
    pub(crate) memory: ArcSwap<Memory>,
    pub(crate) trigger: LengthTrigger,
    pub(crate) listeners: Register<Listener>,
    pub(crate) reserve: Reserve,
    /// Length of the log at which the reserve is to grow.
    reserve_grows_at: AtomicU64,
}

impl GraphState {
    /// The files have so many bytes.
    pub(crate) fn new(memory: Memory, directory: &Path, bytes: u64) -> Self {
        Self::with_reserve(memory, Reserve::open(directory, bytes), bytes)
    }

    /// Of a graph that is only read.
    pub(crate) fn read_only(memory: Memory) -> Self {
        Self::with_reserve(memory, Reserve::none(), 0)
    }

    fn with_reserve(memory: Memory, reserve: Reserve, bytes: u64) -> Self {
        Self {
            reserve,
            reserve_grows_at: AtomicU64::new(2 * bytes.max(RESERVE_BYTES_MIN)),
            memory: ArcSwap::from_pointee(memory),
            trigger: LengthTrigger::default(),
            listeners: Register::default(),
        }
    }
}

/// Makes changes, all or none, for whoever holds the lock.
pub(crate) fn operate<T>(
    shared: &Shared,
    queue: &mut Queue<GraphState>,
    operate: impl FnOnce(PendingWrite<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let GraphState { memory, reserve, .. } = &shared.state;
    let mark = shared.begin_write(queue);
    let result = if queue.is_full {
        let result = queue.writer.operate_when_full((memory, &mark), reserve.is_whole(), operate);
        result.map(|(result, is_probe)| {
            queue.is_probing = is_probe;
            result
        })
    } else {
        queue.writer.operate((memory, &mark), operate)
    };
    mark.end(result.is_ok());
    result
}

impl Logged for GraphState {
    type Writer = Writer;
    type Attached = Changes;
    const KEEPS_RESERVE: bool = true;

    fn pending(writer: &Writer) -> &Batch<Changes> {
        &writer.pending
    }

    fn pending_mut(writer: &mut Writer) -> &mut Batch<Changes> {
        &mut writer.pending
    }

    fn taken(&self, writer: &mut Writer, changes: &mut Changes) {
        writer.in_flight = Some(std::mem::take(&mut changes.undo));
    }

    fn logged(&self, mut queue: MutexGuard<'_, Queue<Self>>, batch: &mut Batch<Changes>) {
        let undo = queue.writer.in_flight.take().unwrap_or_default();
        // Before those who wait: whoever keeps what it has read knows of a change when the one who made it does.
        if let Some((first, schema)) = batch.attached.heard.take() {
            // Whoever begins to listen holds the lock meanwhile.
            if self.listeners.is_empty() {
                queue.writer.is_listened_to = false;
            }
            drop(queue);
            // Without a write since somebody began to listen there is not even a head.
            let payload = batch.frame.get(LOG_FRAME_HEAD_BYTES..).unwrap_or_default();
            events::tell(&self.listeners, &self.memory.load(), payload, &undo, first, schema);
        } else {
            drop(queue);
        }
        batch.attached.undo = undo;
    }

    fn roll_back(&self, writer: &mut Writer) -> Vec<Waiter> {
        writer.roll_back(&self.memory)
    }

    fn make_room(&self, payload: &[u8]) -> bool {
        (only_removes(payload) && self.reserve.release(payload.len() as u64)) || self.reserve.was_in_the_way()
    }

    fn note_log_bytes(&self, bytes: u64) {
        if bytes >= self.reserve_grows_at.load(Ordering::Relaxed) {
            self.reserve.grow_for(bytes);
            self.reserve_grows_at.store(2 * bytes, Ordering::Relaxed);
        }
        self.trigger.note_log_bytes(bytes);
    }
}
