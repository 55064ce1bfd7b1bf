//! What is done with the store in memory once writes are durable, or when they cannot be.

use crate::listen::{Events, Listener};
use crate::memory::{Applying, Memory, reading, writing};
use crate::write::{Limits, SeriesWriter};
use prony_log::commit::{Batch, CommitQueue, Logged, Queue, Waiter};
use prony_log::frames::LOG_FRAME_HEAD_BYTES;
use prony_log::register::Register;
use prony_log::trigger::LengthTrigger;
use std::sync::{Arc, MutexGuard, RwLock};
use std::thread;
use std::time::Duration;

/// Of a frame that is applied while readers wait.
const PIECE_BYTES: usize = 512 << 10;
/// Between two pieces, so that readers who wait have their turn: they would not win the lock against a thread that takes it again at once.
const PAUSE: Duration = Duration::from_micros(100);

/// What the store, its writers and the log's thread share.
pub(crate) type Shared = CommitQueue<SeriesState>;

#[derive(Debug)]
pub(crate) struct SeriesState {
    pub(crate) memory: Arc<RwLock<Memory>>,
    pub(crate) trigger: LengthTrigger,
    pub(crate) listeners: Register<Listener>,
}

impl SeriesState {
    pub(crate) fn new(memory: Memory) -> Self {
        Self {
            memory: Arc::new(RwLock::new(memory)),
            trigger: LengthTrigger::default(),
            listeners: Register::default(),
        }
    }
}

/// Makes visible what is durable; readers wait for no more than a piece of it.
fn apply_in_pieces(memory: &RwLock<Memory>, payload: &[u8]) {
    let mut frame = Applying::of(payload);
    loop {
        let applied = writing(memory).apply_piece(&mut frame, PIECE_BYTES);
        applied.expect("what a write has put into the log can be read");
        if frame.is_done() {
            return;
        }
        thread::sleep(PAUSE);
    }
}

impl Logged for SeriesState {
    type Writer = SeriesWriter;
    type Attached = ();

    fn pending(writer: &SeriesWriter) -> &Batch<()> {
        &writer.pending
    }

    fn pending_mut(writer: &mut SeriesWriter) -> &mut Batch<()> {
        &mut writer.pending
    }

    /// What is durable is made visible; those who listen hear of it before those who wait for it.
    fn logged(&self, queue: MutexGuard<'_, Queue<Self>>, batch: &mut Batch<()>) {
        drop(queue);
        if let Some(payload) = batch.frame.get(LOG_FRAME_HEAD_BYTES..) {
            apply_in_pieces(&self.memory, payload);
            if !self.listeners.is_empty() {
                self.listeners.each(|listener| listener(&Events::new(payload, &*self.memory)));
            }
        }
    }

    /// Names that were made since are forgotten.
    fn roll_back(&self, writer: &mut SeriesWriter) -> Vec<Waiter> {
        let memory = reading(&self.memory);
        let before = SeriesWriter::new(memory.catalog.clone(), memory.last_number, Limits::default());
        std::mem::replace(writer, before).pending.waiters
    }

    fn rotated(&self) {
        writing(&self.memory).freeze();
    }

    fn note_log_bytes(&self, bytes: u64) {
        self.trigger.note_log_bytes(bytes);
    }
}
